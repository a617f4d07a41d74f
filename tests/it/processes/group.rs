//! The API, or its connection to the database, dies between a commit and its answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use reqwest::Response;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use super::job;
use crate::support::callback::client;
use crate::support::db::Db;
use crate::support::process::{MARGIN, Server, token};
use crate::support::program::eventually;

/// Stands between a server and its database. Once it is armed, the next connection that says COMMIT
/// is heard and never answered again.
struct Wire {
    trap: Arc<Trap>,
}

#[derive(Default)]
struct Trap {
    armed: AtomicBool,
    sprung: Notify,
}

impl Wire {
    /// In front of the database at `url`, and where that is reached through it.
    async fn to(url: &str) -> (Self, String) {
        let mut url = url::Url::parse(url).unwrap();
        let database = (url.host_str().unwrap(), url.port().unwrap_or(5432));
        let database = tokio::net::lookup_host(database).await.unwrap().next().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, trap) = (listener.local_addr().unwrap(), Arc::new(Trap::default()));
        let tasks = TaskTracker::new();
        let set = Arc::clone(&trap);
        tasks.clone().spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (from, to) = client.into_split();
                let (answers, questions) = TcpStream::connect(database).await.unwrap().into_split();
                let silent = Arc::new(AtomicBool::new(false));
                tasks.spawn(ask(from, questions, Arc::clone(&set), Arc::clone(&silent)));
                tasks.spawn(answer(answers, to, silent));
            }
        });
        url.set_ip_host(address.ip()).unwrap();
        url.set_port(Some(address.port())).unwrap();
        (Self { trap }, url.into())
    }
}

async fn ask(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    trap: Arc<Trap>,
    silent: Arc<AtomicBool>,
) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        let bytes = &buffer[..count];
        let commits = bytes.windows(7).any(|window| window == b"COMMIT\0");
        if commits && trap.armed.swap(false, Ordering::SeqCst) {
            silent.store(true, Ordering::SeqCst);
            trap.sprung.notify_one();
        }
        to.write_all(bytes).await.unwrap();
    }
}

async fn answer(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, silent: Arc<AtomicBool>) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        if !silent.load(Ordering::SeqCst) {
            to.write_all(&buffer[..count]).await.unwrap();
        }
    }
}

/// Registers a job under a key named like it.
fn register(
    server: &Server,
    name: &str,
) -> impl Future<Output = reqwest::Result<Response>> + use<> {
    let mut asked = job("http://127.0.0.1:1/");
    asked["name"] = Value::from(name);
    let request = client().post(format!("http://{}/v1/jobs", server.address()));
    let request = request.header("idempotency-key", format!("\"{name}\""));
    request.bearer_auth(token("acme")).json(&asked).send()
}

/// The names of the jobs that are there.
async fn jobs(db: &Db) -> Vec<String> {
    let row = db.ask("SELECT coalesce(array_agg(name), '{}') AS names FROM jobs").await;
    row.get("names")
}

#[tokio::test]
async fn b109_a_kill_between_commit_and_answer_leaves_one_job_which_the_repeat_finds() {
    let db = Db::new().await;
    let (wire, url) = Wire::to(&db.url).await;
    let mut server = Server::start(&url, "api", &[]).await;
    wire.trap.armed.store(true, Ordering::SeqCst);
    let unanswered = register(&server, "order-17");
    let dying = async {
        wire.trap.sprung.notified().await;
        // It has gone through when somebody else sees it; the server has not heard of that.
        eventually("committed", MARGIN, async || (!jobs(&db).await.is_empty()).then_some(())).await;
        server.kill().await;
    };
    let (unanswered, ()) = futures_util::join!(unanswered, dying);
    assert!(unanswered.is_err(), "{unanswered:?}");

    let again = Server::start(&db.url, "api", &[]).await;
    let reply = register(&again, "order-17").await.unwrap();
    assert_eq!(reply.status(), 201);
    assert_eq!(reply.headers()["idempotent-replayed"], "true");
    let id = reply.json::<Value>().await.unwrap()["id"].as_str().unwrap().to_owned();
    assert_eq!(again.api().get(&format!("/v1/jobs/{id}")).await["name"], "order-17");
    assert_eq!(jobs(&db).await, ["order-17"]);
}

#[tokio::test]
async fn a_connection_that_died_without_a_word_holds_up_its_own_transaction_only() {
    let db = Db::new().await;
    let (wire, url) = Wire::to(&db.url).await;
    let server = Server::start(&url, "api", &[]).await;
    wire.trap.armed.store(true, Ordering::SeqCst);
    let mut unanswered = Box::pin(register(&server, "first"));
    tokio::select! {
        answer = &mut unanswered => panic!("{answer:?}"),
        () = wire.trap.sprung.notified() => {}
    }
    for name in ["second", "third"] {
        let reply = timeout(MARGIN, register(&server, name)).await.expect("not held up").unwrap();
        assert_eq!(reply.status(), 201);
    }
    assert!(futures_util::poll!(&mut unanswered).is_pending());
}
