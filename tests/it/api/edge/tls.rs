//! The API with a certificate of its own, and every way in which that can be set up wrongly.

use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axle::http::Bounds;
use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use reqwest::{Certificate, Client};
use rustix::process::Signal;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, StreamOwned};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use crate::support::api::{Api, Setup};
use crate::support::db::Db;
use crate::support::process::Server;
use crate::support::program::{Env, axle};
use crate::support::target::PATIENCE;

const SECOND: Duration = Duration::from_secs(1);

/// A certificate and its key, as files.
struct Pair {
    cert: PathBuf,
    key: PathBuf,
}

/// Valid from and to the first of January of these years.
fn pair(dir: &TempDir, name: &str, (from, to): (i32, i32)) -> Pair {
    let mut params =
        CertificateParams::new(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    (params.not_before, params.not_after) = (date_time_ymd(from, 1, 1), date_time_ymd(to, 1, 1));
    let key = KeyPair::generate().unwrap();
    let cert = params.self_signed(&key).unwrap();
    let file = |end: &str, text: String| {
        let path = dir.path().join(format!("{name}.{end}"));
        std::fs::write(&path, text).unwrap();
        path
    };
    Pair { cert: file("crt", cert.pem()), key: file("key", key.serialize_pem()) }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn client(pair: &Pair) -> Client {
    let root = Certificate::from_pem(&std::fs::read(&pair.cert).unwrap()).unwrap();
    Client::builder().no_proxy().tls_certs_only([root]).build().unwrap()
}

#[tokio::test]
async fn the_api_speaks_tls_with_its_certificate_and_nothing_else() {
    let (db, dir) = (Db::new().await, TempDir::new().unwrap());
    let good = pair(&dir, "good", (2020, 2090));
    let env = [("AXLE_TLS_CERT", text(&good.cert)), ("AXLE_TLS_KEY", text(&good.key))];
    let server = Server::start(&db.url, "api", &env).await;
    let url = format!("https://{}/v1/version", server.address());
    let answer = client(&good).get(&url).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    // HTTP/2 is not offered, so its own attacks are not either.
    assert_eq!(answer.version(), reqwest::Version::HTTP_11);
    assert!(answer.headers().contains_key("content-security-policy"));
    // Who expects another certificate refuses.
    let other = pair(&dir, "other", (2020, 2090));
    assert!(client(&other).get(&url).send().await.is_err());
    // Plain HTTP gets no answer that means anything.
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    stream.write_all(b"GET /v1/version HTTP/1.1\r\nHost: h\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    _ = timeout(PATIENCE, stream.read_to_end(&mut answer)).await.expect("it is ended");
    assert!(!answer.starts_with(b"HTTP/"), "{answer:?}");
    // Neither the half of a handshake nor its silence holds a connection.
    let mut silent = TcpStream::connect(server.address()).await.unwrap();
    _ = timeout(Duration::from_secs(20), silent.read_to_end(&mut answer))
        .await
        .expect("it is ended");
}

#[tokio::test]
async fn certificate_and_key_may_be_given_as_their_text() {
    let (db, dir) = (Db::new().await, TempDir::new().unwrap());
    let good = pair(&dir, "good", (2020, 2090));
    // As any setting: the file of a variable holds the value.
    let env = [("AXLE_TLS_CERT_FILE", text(&good.cert)), ("AXLE_TLS_KEY_FILE", text(&good.key))];
    let server = Server::start(&db.url, "api", &env).await;
    let url = format!("https://{}/v1/version", server.address());
    assert_eq!(client(&good).get(&url).send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_renewed_certificate_is_read_on_sighup_and_a_broken_one_is_not() {
    let (db, dir) = (Db::new().await, TempDir::new().unwrap());
    let first = pair(&dir, "first", (2020, 2090));
    let used = Pair { cert: dir.path().join("used.crt"), key: dir.path().join("used.key") };
    let put = |pair: &Pair| {
        std::fs::copy(&pair.cert, &used.cert).unwrap();
        std::fs::copy(&pair.key, &used.key).unwrap();
    };
    put(&first);
    let env = [("AXLE_TLS_CERT", text(&used.cert)), ("AXLE_TLS_KEY", text(&used.key))];
    let server = Server::start(&db.url, "api", &env).await;
    let url = format!("https://{}/v1/version", server.address());
    let second = pair(&dir, "second", (2020, 2090));
    put(&second);
    server.signal(Signal::HUP);
    server.err.with("the certificate was read again").await;
    assert!(client(&second).get(&url).send().await.is_ok());
    assert!(client(&first).get(&url).send().await.is_err());
    put(&Pair { key: first.key, ..pair(&dir, "third", (2020, 2090)) });
    server.signal(Signal::HUP);
    let line = server.err.with("the certificate stays as it was").await;
    assert!(line.contains("tls_key is not the key of"), "{line}");
    assert!(client(&second).get(&url).send().await.is_ok());
}

#[tokio::test]
async fn b142_a_slow_second_head_is_ended_through_tls_too() {
    let dir = TempDir::new().unwrap();
    let good = pair(&dir, "good", (2020, 2090));
    let provider = Arc::new(ring::default_provider());
    let chain = CertificateDer::from_pem_file(&good.cert).unwrap();
    let key = PrivateKeyDer::from_pem_file(&good.key).unwrap();
    let tls = ServerConfig::builder_with_provider(Arc::clone(&provider));
    let tls = tls.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let mut setup = Setup::default();
    setup.edge.tls = Some(tls.with_single_cert(vec![chain.clone()], key).unwrap());
    setup.edge.bounds = Bounds { head: SECOND, idle: SECOND, ..Bounds::default() };
    let api = Api::with(setup).await;

    let mut roots = RootCertStore::empty();
    roots.add(chain).unwrap();
    let tls = ClientConfig::builder_with_provider(provider);
    let tls = tls.with_safe_default_protocol_versions().unwrap();
    let tls = Arc::new(tls.with_root_certificates(roots).with_no_client_auth());
    let connection = ClientConnection::new(tls, "localhost".try_into().unwrap()).unwrap();
    let socket = std::net::TcpStream::connect(api.address()).unwrap();
    let mut stream = StreamOwned::new(connection, socket);
    stream.write_all(b"GET /v1/version HTTP/1.1\r\nHost: h\r\n\r\nGET /").unwrap();
    // A read that waits in vain sets the pace.
    stream.sock.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let begun = Instant::now();
    let mut buffer = [0; 4096];
    let ended = loop {
        match stream.read(&mut buffer) {
            Ok(0) => break "closed",
            Err(error) if error.kind() != ErrorKind::WouldBlock => break "reset",
            Ok(_) | Err(_) => {}
        }
        if stream.write_all(b"x").and_then(|()| stream.flush()).is_err() {
            break "reset";
        }
        assert!(begun.elapsed() < PATIENCE, "it goes on");
    };
    assert!(begun.elapsed() < SECOND * 16, "{ended} after {:?}", begun.elapsed());
}

#[tokio::test]
async fn a_pair_that_cannot_be_used_stops_the_start_with_a_sentence() {
    let dir = TempDir::new().unwrap();
    let good = pair(&dir, "good", (2020, 2090));
    let other = pair(&dir, "other", (2020, 2090));
    let old = pair(&dir, "old", (2020, 2021));
    let early = pair(&dir, "early", (2089, 2090));
    let empty = dir.path().join("empty.pem");
    std::fs::write(&empty, "nothing\n").unwrap();
    let broken = dir.path().join("broken.pem");
    std::fs::write(&broken, "-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n")
        .unwrap();
    let junk = dir.path().join("junk.pem");
    std::fs::write(&junk, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
        .unwrap();
    for (cert, key, expected) in [
        (text(&good.cert), "", "tls_cert (AXLE_TLS_CERT): given without tls_key"),
        ("", text(&good.key), "tls_key (AXLE_TLS_KEY): given without tls_cert"),
        (text(&good.cert), text(&other.key), "tls_key is not the key of"),
        (
            text(&old.cert),
            text(&old.key),
            "has expired: it was valid until 2021-01-01 00:00:00 UTC",
        ),
        (text(&early.cert), text(&early.key), "is not valid before 2089-01-01 00:00:00 UTC"),
        (
            "/nowhere/a.crt",
            text(&good.key),
            "tls_cert: /nowhere/a.crt cannot be read: No such file",
        ),
        (
            text(&good.cert),
            "/nowhere/a.key",
            "tls_key: /nowhere/a.key cannot be read: No such file",
        ),
        (text(&empty), text(&good.key), "holds no certificate"),
        (text(&good.cert), text(&empty), "holds no private key"),
        (text(&good.cert), text(&good.cert), "holds no private key"),
        (text(&good.key), text(&good.key), "holds no certificate"),
        (text(&broken), text(&good.key), "is not PEM: a section is not base 64"),
        (text(&junk), text(&good.key), "is no X.509 certificate"),
    ] {
        let env: Env<'_> = &[
            ("AXLE_TLS_CERT", cert),
            ("AXLE_TLS_KEY", key),
            ("AXLE_DATABASE_URL", "postgres://nobody@127.0.0.1:9/none"),
            ("AXLE_JWT_SECRET", "a secret of the tests, 32 bytes or more"),
            ("AXLE_LISTEN", "127.0.0.1:0"),
            ("AXLE_ADMIN_LISTEN", "127.0.0.1:0"),
        ];
        let key_text = std::fs::read_to_string(&good.key).unwrap();
        let inside = key_text.lines().nth(1).unwrap();
        for command in [&["config", "check"][..], &["serve"], &["doctor"]] {
            let ended = axle(command, env).await;
            let told = format!("{}{}", ended.out, ended.err);
            assert_eq!(ended.code, Some(1), "{command:?} {expected}: {told}");
            assert!(told.contains(expected), "{command:?} {expected}: {told}");
            assert!(!told.contains(inside), "{command:?}: {told}");
        }
    }
}
