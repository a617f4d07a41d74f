//! The API dies between a commit and its answer.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio_util::task::TaskTracker;

use super::job;
use crate::support::callback::client;
use crate::support::db::Db;
use crate::support::process::{MARGIN, Server, token};
use crate::support::program::eventually;

/// Stands between a server and its database. Once it is armed, it passes the next COMMIT on and
/// nothing that comes back after that.
struct Wire {
    address: SocketAddr,
    cut: Arc<Cut>,
}

#[derive(Default)]
struct Cut {
    is_armed: AtomicBool,
    has_happened: AtomicBool,
    done: Notify,
}

impl Wire {
    async fn to(database: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, cut) = (listener.local_addr().unwrap(), Arc::new(Cut::default()));
        let tasks = TaskTracker::new();
        let seen = Arc::clone(&cut);
        tasks.clone().spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (from, back) = client.into_split();
                let (answers, to) = TcpStream::connect(database).await.unwrap().into_split();
                tasks.spawn(pass(from, to, Arc::clone(&seen), true));
                tasks.spawn(pass(answers, back, Arc::clone(&seen), false));
            }
        });
        Self { address, cut }
    }
}

async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, cut: Arc<Cut>, is_asking: bool) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        let bytes = &buffer[..count];
        let commits = || bytes.windows(7).any(|window| window == b"COMMIT\0");
        if is_asking && cut.is_armed.load(Ordering::SeqCst) && commits() {
            cut.has_happened.store(true, Ordering::SeqCst);
            cut.done.notify_one();
        }
        if is_asking || !cut.has_happened.load(Ordering::SeqCst) {
            to.write_all(bytes).await.unwrap();
        }
    }
}

/// The names of the jobs that are there.
async fn jobs(db: &Db) -> Vec<String> {
    let row = db.ask("SELECT coalesce(array_agg(name), '{}') AS names FROM jobs").await;
    row.get("names")
}

#[tokio::test]
async fn b109_a_kill_between_commit_and_answer_leaves_one_job_which_the_repeat_finds() {
    let db = Db::new().await;
    let url = url::Url::parse(&db.url).unwrap();
    let database = (url.host_str().unwrap(), url.port().unwrap_or(5432));
    let database = tokio::net::lookup_host(database).await.unwrap().next().unwrap();
    let wire = Wire::to(database).await;
    let mut through = url.clone();
    through.set_ip_host(wire.address.ip()).unwrap();
    through.set_port(Some(wire.address.port())).unwrap();

    let mut server = Server::start(through.as_str(), "api", &[]).await;
    let ask = |server: &Server| {
        let mut asked = job("http://127.0.0.1:1/");
        asked["name"] = Value::from("order 17");
        let request = client().post(format!("http://{}/v1/jobs", server.address()));
        let request = request.header("idempotency-key", "\"order-17\"");
        request.bearer_auth(token("acme")).json(&asked).send()
    };
    wire.cut.is_armed.store(true, Ordering::SeqCst);
    let unanswered = ask(&server);
    let dying = async {
        wire.cut.done.notified().await;
        // It has gone through when somebody else sees it; the server has not heard of that.
        eventually("committed", MARGIN, async || (!jobs(&db).await.is_empty()).then_some(())).await;
        server.kill().await;
    };
    let (unanswered, ()) = futures_util::join!(unanswered, dying);
    assert!(unanswered.is_err(), "{unanswered:?}");

    let again = Server::start(&db.url, "api", &[]).await;
    let reply = ask(&again).await.unwrap();
    assert_eq!(reply.status(), 201);
    assert_eq!(reply.headers()["idempotent-replayed"], "true");
    let id = reply.json::<Value>().await.unwrap()["id"].as_str().unwrap().to_owned();
    assert_eq!(again.api().get(&format!("/v1/jobs/{id}")).await["name"], "order 17");
    assert_eq!(jobs(&db).await, ["order 17"]);
}
