//! Targets in TLS. The real program calls them, since it is told in its environment to trust the
//! test's certificate; what it is called by, over HTTP/2, is written down.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axle::domain::run::RunState;
use axle::domain::state::State;
use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream};
use hyper::header::HeaderMap;
use hyper::{Request, Response};
use rcgen::{CertificateParams, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_util::task::TaskTracker;

use crate::support::db::Db;
use crate::support::engine::job;
use crate::support::process::{Api, Server};
use crate::support::rig::Rig;

/// What the target was asked.
#[derive(Debug)]
struct Asked {
    url: String,
    headers: HeaderMap,
    body: Vec<u8>,
}

/// A target that speaks HTTP/2 in TLS and nothing else. It ends with the runtime of the test.
#[derive(Clone)]
struct Target {
    port: u16,
    /// Its certificate, as a file.
    root: Arc<(TempDir, String)>,
    asked: Arc<Mutex<Vec<Asked>>>,
    connections: Arc<AtomicUsize>,
    /// How the next requests are refused, the last first; then all are answered.
    refusals: Arc<Mutex<Vec<Reason>>>,
}

impl Target {
    async fn start(refusals: &[Reason]) -> Self {
        let names = ["localhost", "target.invalid"].map(str::to_owned);
        let (key, dir) = (KeyPair::generate().unwrap(), TempDir::new().unwrap());
        let cert = CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
        let root = dir.path().join("root.pem");
        std::fs::write(&root, cert.pem()).unwrap();
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        let mut config = ServerConfig::builder_with_provider(ring::default_provider().into())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key)
            .unwrap();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let target = Self {
            port: listener.local_addr().unwrap().port(),
            root: Arc::new((dir, root.to_str().unwrap().to_owned())),
            asked: Arc::default(),
            connections: Arc::default(),
            refusals: Arc::new(Mutex::new(refusals.to_vec())),
        };
        let (this, acceptor) = (target.clone(), TlsAcceptor::from(Arc::new(config)));
        let tasks = TaskTracker::new();
        tasks.clone().spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tasks.spawn(this.clone().serve(stream, acceptor.clone(), tasks.clone()));
            }
        });
        target
    }

    async fn serve(self, stream: TcpStream, acceptor: TlsAcceptor, tasks: TaskTracker) {
        // Who does not trust the certificate goes away here.
        let Ok(stream) = acceptor.accept(stream).await else { return };
        let Ok(mut connection) = h2::server::handshake(stream).await else { return };
        self.connections.fetch_add(1, Ordering::SeqCst);
        while let Some(Ok((request, respond))) = connection.accept().await {
            tasks.spawn(self.clone().answer(request, respond));
        }
    }

    async fn answer(self, request: Request<RecvStream>, mut respond: SendResponse<Bytes>) {
        let (head, mut stream) = request.into_parts();
        let mut body = Vec::new();
        while let Some(Ok(data)) = stream.data().await {
            stream.flow_control().release_capacity(data.len()).unwrap();
            body.extend_from_slice(&data);
        }
        let asked = Asked { url: head.uri.to_string(), headers: head.headers, body };
        self.asked.lock().unwrap().push(asked);
        let refusal = self.refusals.lock().unwrap().pop();
        if let Some(reason) = refusal {
            respond.send_reset(reason);
            return;
        }
        let answer = Response::builder().status(201).header("x-answer", "yes").body(()).unwrap();
        let mut rest = respond.send_response(answer, false).unwrap();
        rest.send_data(Bytes::from_static(b"done"), true).unwrap();
    }

    /// A server that trusts this target.
    async fn server(&self, db: &Db, env: &[(&str, &str)]) -> Server {
        let env = [&[("SSL_CERT_FILE", self.root.1.as_str())], env].concat();
        Server::start(&db.url, "all", &env).await
    }

    fn url(&self) -> String {
        format!("https://localhost:{}/work?order=42", self.port)
    }

    fn count(&self) -> (usize, usize) {
        (self.asked.lock().unwrap().len(), self.connections.load(Ordering::SeqCst))
    }
}

async fn create(api: &Api, url: &str) -> String {
    let payload = "x".repeat(200_000);
    api.create(&json!({"target": {"url": url, "headers": {"X-Shop": "7"}}, "payload": payload}))
        .await
}

async fn first_run(api: &Api, id: &str) -> Value {
    api.get(&format!("/v1/jobs/{id}/runs")).await["data"][0].take()
}

#[tokio::test]
async fn a_target_that_offers_http_2_is_called_by_it_many_times_over_one_connection() {
    let (db, target) = (Db::new().await, Target::start(&[]).await);
    let server = target.server(&db, &[]).await;
    let api = server.api();
    let first = create(&api, &target.url()).await;
    api.wait_state(&first, "SUCCESS").await;
    let run = first_run(&api, &first).await;
    assert_eq!((&run["http_status"], &run["response"]["body"]), (&json!(201), &json!("done")));
    assert_eq!(run["response"]["headers"]["x-answer"], "yes");
    let mut more = Vec::new();
    for _ in 0..10 {
        more.push(create(&api, &target.url()).await);
    }
    for id in &more {
        api.wait_state(id, "SUCCESS").await;
    }
    assert_eq!(target.count(), (11, 1));
    let asked = target.asked.lock().unwrap();
    let Asked { url, headers, body } = &asked[0];
    assert_eq!((url, body.len()), (&target.url(), 200_002));
    let header = |name: &str| headers.get(name).map(|value| value.to_str().unwrap());
    assert_eq!((header("content-length"), header("host")), (Some("200002"), None));
    assert_eq!((header("x-shop"), header("accept")), (Some("7"), Some("*/*")));
    assert_eq!(header("axle-job-id"), Some(first.as_str()));
    assert!(header("user-agent").unwrap().starts_with("Axle/"));
}

#[tokio::test]
async fn b138_what_http_2_says_was_not_looked_at_is_sent_again_and_nothing_else() {
    let refused = [Reason::INTERNAL_ERROR, Reason::REFUSED_STREAM, Reason::REFUSED_STREAM];
    let (db, target) = (Db::new().await, Target::start(&refused).await);
    let server = target.server(&db, &[]).await;
    let api = server.api();
    let id = create(&api, &target.url()).await;
    let job = api.wait_state(&id, "RETRY_WAIT").await;
    assert_eq!((&job["last_error"]["class"], &job["attempt"]), (&json!("protocol"), &json!(1)));
    assert_eq!(target.count().0, 3, "twice more, and not after it had been looked at");
    let asked = target.asked.lock().unwrap();
    let run = &asked[0].headers["axle-run-id"];
    assert!(asked.iter().all(|one| one.headers["axle-run-id"] == run), "one run");
}

#[tokio::test]
async fn b138_who_refuses_again_and_again_has_failed() {
    let (db, target) = (Db::new().await, Target::start(&[Reason::REFUSED_STREAM; 3]).await);
    let server = target.server(&db, &[]).await;
    let api = server.api();
    let id = create(&api, &target.url()).await;
    let job = api.wait_state(&id, "RETRY_WAIT").await;
    assert_eq!((&job["last_error"]["class"], target.count().0), (&json!("protocol"), 3));
}

#[tokio::test]
async fn a_target_whose_certificate_is_not_trusted_is_not_called() {
    let (rig, target) = (Rig::new().await, Target::start(&[]).await);
    let run = rig.run(job(&target.url())).await;
    let error = run.error.unwrap();
    assert_eq!((run.state, error.class.as_str()), (RunState::Failed, "tls"), "{error:?}");
    assert!(error.message.starts_with("no TLS: invalid peer certificate"), "{}", error.message);
    assert!(!error.message.contains("order"), "the URL is not told: {}", error.message);
    let job = rig.get(run.id.job).await;
    assert_eq!((job.state(), job.standing.attempt), (State::RetryWait, 0));
    assert_eq!(target.count(), (0, 0));
}

#[tokio::test]
async fn a_proxy_leads_to_a_target_in_tls_whose_name_it_alone_knows() {
    let (db, target) = (Db::new().await, Target::start(&[]).await);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = format!("http://{}", listener.local_addr().unwrap());
    let (port, heads) = (target.port, Arc::new(Mutex::new(Vec::new())));
    let kept = Arc::clone(&heads);
    // It ends with the runtime of the test.
    TaskTracker::new().spawn(async move {
        while let Ok((mut from, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(from.read_u8().await.unwrap());
            }
            kept.lock().unwrap().push(String::from_utf8(head).unwrap());
            from.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
            let mut to = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
            _ = copy_bidirectional(&mut from, &mut to).await;
        }
    });
    let server = target.server(&db, &[("AXLE_EGRESS_PROXY", &proxy)]).await;
    let api = server.api();
    for _ in 0..2 {
        let id = create(&api, "https://target.invalid/work").await;
        api.wait_state(&id, "SUCCESS").await;
    }
    assert_eq!(target.count(), (2, 1));
    assert_eq!(target.asked.lock().unwrap()[0].url, "https://target.invalid/work");
    let heads = heads.lock().unwrap();
    assert_eq!(heads.len(), 1, "{heads:?}");
    assert!(heads[0].starts_with("CONNECT target.invalid:443 HTTP/1.1\r\n"), "{}", heads[0]);
    assert!(heads[0].contains("\r\nuser-agent: Axle/"), "{}", heads[0]);
}
