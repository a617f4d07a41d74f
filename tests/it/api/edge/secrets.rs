//! What callers send in confidence is in no log at any level, whatever goes wrong with it.

use reqwest::{Method, RequestBuilder};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::callback::client;
use crate::support::db::Db;
use crate::support::process::{Server, token};
use crate::support::program::eventually;
use crate::support::target::PATIENCE;

/// In every secret below, so that one search finds them all.
const MARK: &str = "m4rk3r";

async fn status(request: RequestBuilder) -> u16 {
    request.send().await.unwrap().status().as_u16()
}

/// What comes back for bytes that no client would send.
async fn raw(server: &Server, request: String) -> Vec<u8> {
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = Vec::new();
    _ = stream.read_to_end(&mut answer).await;
    answer
}

#[tokio::test]
async fn no_secret_of_a_request_is_logged_at_any_level() {
    let db = Db::new().await;
    for format in ["text", "json"] {
        let env =
            [("AXLE_LOG", "trace,actix_http::h1::dispatcher=trace"), ("AXLE_LOG_FORMAT", format)];
        let server = Server::start(&db.url, "all", &env).await;
        let base = format!("http://{}", server.address());
        let ask = |method: Method, path: &str| client().request(method, format!("{base}{path}"));
        let token = token("acme");
        let signature = token.rsplit('.').next().unwrap();

        // Tokens that are refused, by each reason there is.
        for bad in [MARK.to_owned(), format!("axk_{MARK}_{MARK}"), format!("{token}{MARK}")] {
            assert_eq!(status(ask(Method::GET, "/v1/jobs").bearer_auth(bad)).await, 401);
        }
        let basic = ask(Method::GET, "/v1/jobs").basic_auth(MARK, Some(MARK));
        assert_eq!(status(basic).await, 401);
        let header = ask(Method::GET, "/v1/jobs").header("x-api-key", MARK);
        assert_eq!(status(header.header("cookie", MARK)).await, 401);

        // Tokens in the address are no tokens.
        for name in ["access_token", "token", "api_key", "authorization", "key"] {
            let path = format!("/v1/jobs?{name}={token}{MARK}");
            assert_eq!(status(ask(Method::GET, &path)).await, 401, "{name}");
            let path = format!("/v1/jobs?{name}={token}");
            assert_eq!(status(ask(Method::GET, &path)).await, 401, "{name}");
        }
        let callback = "/v1/runs/run_01KB9YQ6Z4F0R8M3T1C5W7X2V0_1/callback";
        let callback = ask(Method::POST, &format!("{callback}?token={MARK}"));
        let refused = status(callback.json(&json!({"status": "succeeded"}))).await;
        assert!(matches!(refused, 401 | 404 | 422), "{refused}");

        // A known caller, with a job whose target has a secret and is not there.
        let job = json!({
            "target": {"url": "http://127.0.0.1:9/", "headers": {"authorization": MARK}},
            "retry": {"max_dispatch_retries": 0},
        });
        let request = ask(Method::POST, "/v1/jobs").bearer_auth(&token).json(&job);
        assert_eq!(status(request).await, 201);
        eventually("the job has failed", PATIENCE, async || {
            let found = server.api().get("/v1/jobs?state=FAILED,RETRY_WAIT").await;
            (!found["data"].as_array()?.is_empty()).then_some(())
        })
        .await;

        // Requests that break before or while they are read.
        let head = format!("POST /v1/jobs HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {MARK}\r\n");
        for rest in ["Content-Length: x\r\n\r\n", "A: b\0\r\n\r\n", "Content-Length: 9\r\n\r\n", ""]
        {
            raw(&server, format!("{head}{rest}")).await;
        }
        let head = head.replace(MARK, &token);
        for rest in ["Transfer-Encoding: chunked\r\n\r\nzz\r\n", "Content-Length: 9\r\n\r\n{"] {
            raw(&server, format!("{head}{rest}")).await;
        }

        server.err.with("/v1/runs/run_01KB9YQ6Z4F0R8M3T1C5W7X2V0_1/callback").await;
        let printed = format!("{}\n{}", server.out.so_far(), server.err.so_far());
        assert!(printed.contains("TRACE") && printed.contains("DEBUG"), "the log is a full one");
        for secret in [MARK, signature] {
            let lines = printed.lines().filter(|line| line.contains(secret));
            let lines: Vec<_> = lines.collect();
            assert!(lines.is_empty(), "{format}: {lines:#?}");
        }
    }
}

#[tokio::test]
async fn a_broken_request_of_a_stranger_is_no_error_of_ours() {
    let db = Db::new().await;
    let server = Server::start(&db.url, "api", &[("AXLE_LOG", "info,axle=debug")]).await;
    for broken in ["G\0", "GET / HTTP/1.1\r\n\r\n", "POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n"]
    {
        assert!(raw(&server, broken.to_owned()).await.starts_with(b"HTTP/1.1 400 "), "{broken}");
    }
    server.api().get("/v1/jobs").await;
    server.err.with("/v1/jobs").await;
    let printed = server.err.so_far();
    assert!(!printed.contains("ERROR"), "{printed}");
}
