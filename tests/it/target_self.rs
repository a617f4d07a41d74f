//! The test target tested: if it does not misbehave exactly as told, the tests built on it prove
//! nothing.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use reqwest::Response;
use serde_json::{Value, json as value};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use crate::support::callback::{self, client};
use crate::support::target::{
    Call, ClosedPort, Gate, HangUp, Held, PATIENCE, Play, Script, Target, accepted, continue_flood,
    drip, drip_body, drip_head, endless_headers, gzip_bomb, huge_body, json, ok, raw, redirect,
    status,
};

/// Short, and long enough to be told from zero.
const MOMENT: Duration = Duration::from_millis(50);

/// A caller's patience with a target that never ends.
const LIMIT: Duration = Duration::from_millis(300);

async fn get(target: &Target, path: &str) -> Response {
    client().get(target.url(path)).send().await.expect("the target answers")
}

/// Calls a path that does not end within [`LIMIT`], and returns the hang-up that the target saw
/// and how long after the call it saw it.
async fn give_up(target: &Target, path: &str) -> (HangUp, Duration) {
    let answer = async { client().get(target.url(path)).send().await?.bytes().await };
    assert!(timeout(LIMIT, answer).await.is_err(), "{path} must not end");
    let hang_up = target.wait_hang_ups(path, 1, PATIENCE).await[0];
    let call = &target.calls(path)[0];
    assert_eq!(hang_up.seq, call.seq);
    (hang_up, hang_up.at - call.at)
}

/// Sends these bytes on a new connection and returns what comes back until the target closes.
async fn exchange(target: &Target, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(target.address()).await.unwrap();
    stream.write_all(request).await.unwrap();
    rest(&mut stream).await
}

async fn rest(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    timeout(PATIENCE, stream.read_to_end(&mut answer)).await.unwrap().unwrap();
    String::from_utf8(answer).unwrap()
}

/// Sends a request on an open connection and reads the answer with its empty body.
async fn ask(stream: &mut TcpStream, path: &str) -> String {
    stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: t\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(timeout(PATIENCE, stream.read_u8()).await.unwrap().unwrap());
    }
    String::from_utf8(answer).unwrap()
}

#[tokio::test]
async fn a_call_is_recorded_whole_and_answered_200_by_default() {
    let target = Target::start().await;
    let before = Instant::now();
    let request = client()
        .put(target.url("/a%20b?x=1&y"))
        .header("Axle-Job-Id", "job_1")
        .header("Axle-Run-Id", "run_1")
        .header("Axle-Fence", "7")
        .header("X-Twice", "a")
        .header("X-Twice", "b")
        .body(r#"{"order":42}"#);
    let answer = request.send().await.unwrap();
    assert_eq!((answer.status().as_u16(), answer.bytes().await.unwrap()), (200, Bytes::new()));

    let calls: Vec<Arc<Call>> = target.calls("/a%20b");
    let [call] = calls.as_slice() else { panic!("one call, not {calls:?}") };
    assert_eq!((call.method.as_str(), call.path.as_str()), ("PUT", "/a%20b"));
    assert_eq!(call.query.as_deref(), Some("x=1&y"));
    assert_eq!((call.job_id(), call.run_id(), call.fence()), ("job_1", "run_1", 7));
    assert_eq!(call.header("x-twice"), Some("a, b"));
    assert_eq!(call.header("axle-callback-url"), None);
    assert!(call.head.starts_with(b"PUT /a%20b?x=1&y HTTP/1.1\r\n"));
    assert!(call.head.ends_with(b"\r\n\r\n"));
    assert_eq!(call.json(), value!({"order": 42}));
    assert_eq!((call.seq, call.connection), (0, 1));
    assert!(before <= call.at && call.at <= Instant::now());
    assert!(target.calls("/").is_empty());
}

#[tokio::test]
async fn steps_are_played_in_order_and_the_last_repeats() {
    let target = Target::start().await;
    let busy = status(503).header("retry-after", "120").body("busy");
    target.script("/", Script::new().then(busy).then(json(404, &value!({"a": 1}))).then(ok()));

    let first = get(&target, "/").await;
    assert_eq!(first.status(), 503);
    assert_eq!(first.headers()["retry-after"], "120");
    assert_eq!(first.text().await.unwrap(), "busy");
    let second = get(&target, "/").await;
    assert_eq!((second.status().as_u16(), second.json().await.unwrap()), (404, value!({"a": 1})));
    for _ in 0..2 {
        assert_eq!(get(&target, "/").await.status(), 200);
    }
    target.script("/", accepted());
    assert_eq!(get(&target, "/").await.status(), 202);
    target.script("/", redirect(307, &target.url("/elsewhere")));
    let redirected = get(&target, "/").await;
    assert_eq!(redirected.status(), 307);
    assert_eq!(redirected.headers()["location"], target.url("/elsewhere").as_str());
    let seqs: Vec<usize> = target.calls("/").iter().map(|call| call.seq).collect();
    assert_eq!(seqs, [0, 1, 2, 3, 4, 5]);
}

#[tokio::test]
async fn an_answer_can_be_late() {
    let target = Target::start().await;
    target.script("/", ok().delay(MOMENT));
    get(&target, "/").await;
    let call = &target.wait_calls("/", 1, PATIENCE).await[0];
    assert!(call.at.elapsed() >= MOMENT);
    assert!(target.hang_ups("/").is_empty());
}

#[tokio::test]
async fn connections_are_kept_alive_counted_and_closed() {
    let target = Target::start().await;
    target.script("/last", status(204).close());
    let mut stream = TcpStream::connect(target.address()).await.unwrap();
    assert!(ask(&mut stream, "/a").await.contains("content-length: 0"));
    assert!(ask(&mut stream, "/b").await.starts_with("HTTP/1.1 200 OK\r\n"));
    assert_eq!((target.open(), target.accepted()), (1, 1));
    let last = ask(&mut stream, "/last").await;
    assert!(last.contains("connection: close") && !last.contains("content-length"), "{last}");
    assert_eq!(rest(&mut stream).await, "");
    target.wait_open(0, PATIENCE).await;

    exchange(&target, b"HEAD /a HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n").await;
    let connections: Vec<usize> = target.calls("/a").iter().map(|call| call.connection).collect();
    assert_eq!(connections, [1, 2]);
    assert_eq!((target.accepted(), target.broken()), (2, 0));
}

#[tokio::test]
async fn a_chunked_body_is_read_and_the_next_request_found() {
    let target = Target::start().await;
    let request = b"POST /c HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n\
        3\r\nabc\r\n2;x=y\r\nde\r\n0\r\ntrailer: t\r\n\r\n\
        GET /d HTTP/1.1\r\nconnection: close\r\n\r\n";
    let answers = exchange(&target, request).await;
    assert_eq!(answers.matches("HTTP/1.1 200 OK").count(), 2, "{answers}");
    assert_eq!(target.calls("/c")[0].body, "abcde");
    assert_eq!(target.calls("/d").len(), 1);
}

#[tokio::test]
async fn what_is_not_clean_http_is_refused_and_counted() {
    let long = format!("GET / HTTP/1.1\r\nx: {}", "a".repeat(70_000));
    let cases: [(&[u8], &str); 8] = [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc", "400"), // a TLS hello
        (b"GET / HTTP/1.0\r\n\r\n", "400"),
        (b"GET  / HTTP/1.1\r\n\r\n", "400"),
        (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", "400"),
        (b"POST / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 1\r\n\r\n", "400"),
        (b"POST / HTTP/1.1\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n", "400"),
        (b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", "400"),
        (b"POST / HTTP/1.1\r\ncontent-length: 99999999\r\n\r\n", "413"),
    ];
    let target = Target::start().await;
    for (request, code) in cases {
        let answer = exchange(&target, request).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {code} ")), "{answer} to {request:?}");
    }
    // The answer to an endless head may be lost in the reset that unread bytes cause.
    let mut stream = TcpStream::connect(target.address()).await.unwrap();
    stream.write_all(long.as_bytes()).await.unwrap();
    target.wait_broken(cases.len() + 1, PATIENCE).await;

    // Cut off in the middle of a body.
    let mut stream = TcpStream::connect(target.address()).await.unwrap();
    stream.write_all(b"POST / HTTP/1.1\r\ncontent-length: 9\r\n\r\nabc").await.unwrap();
    drop(stream);
    target.wait_broken(cases.len() + 2, PATIENCE).await;
    assert_eq!((target.broken(), target.calls("/").len()), (cases.len() + 2, 0));
}

#[tokio::test]
async fn a_hang_lasts_until_the_caller_hangs_up() {
    let target = Target::start().await;
    target.script("/", Play::Hang);
    let (hang_up, stayed) = give_up(&target, "/").await;
    assert_eq!(hang_up.sent, 0);
    assert!(stayed < PATIENCE, "the target noticed {stayed:?} after the call");
    target.wait_open(0, PATIENCE).await;
}

#[tokio::test]
async fn a_reset_and_a_close_come_without_an_answer() {
    let target = Target::start().await;
    target.script("/", Script::new().then(Play::Close).then(Play::Reset));
    let request = b"GET / HTTP/1.1\r\n\r\n";
    assert_eq!(exchange(&target, request).await, "");
    let mut stream = TcpStream::connect(target.address()).await.unwrap();
    stream.write_all(request).await.unwrap();
    let error = timeout(PATIENCE, stream.read_u8()).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    assert!(target.hang_ups("/").is_empty());
}

#[tokio::test]
async fn a_drip_is_slow_and_may_be_endless() {
    let target = Target::start().await;
    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";
    let pace = Duration::from_millis(1);
    target.script("/whole", drip(answer, pace));
    let started = Instant::now();
    assert_eq!(get(&target, "/whole").await.text().await.unwrap(), "hi");
    assert!(started.elapsed() >= pace * 40);

    target.script("/head", drip_head(pace));
    target.script("/body", drip_body(pace));
    for path in ["/head", "/body"] {
        let (hang_up, _) = give_up(&target, path).await;
        // More than the opening, and far less than an unpaced flow.
        assert!((27..2_000).contains(&hang_up.sent), "{path}: {hang_up:?}");
    }
}

#[tokio::test]
async fn a_huge_body_stops_when_the_caller_leaves() {
    let target = Target::start().await;
    let len = 10_000_000_000;
    target.script("/", Script::new().then(huge_body(200_000)).then(huge_body(len)));
    let whole = get(&target, "/").await.bytes().await.unwrap();
    assert!(whole.len() == 200_000 && whole.iter().all(|byte| *byte == 0));
    let mut answer = get(&target, "/").await;
    assert_eq!(answer.content_length(), Some(len));
    assert!(answer.chunk().await.unwrap().is_some());
    drop(answer);
    let hang_ups = target.wait_hang_ups("/", 1, PATIENCE).await;
    assert!((1..len / 10).contains(&hang_ups[0].sent), "{hang_ups:?}");
}

#[tokio::test]
async fn headers_without_end_and_floods_of_100_are_sent() {
    let target = Target::start().await;
    target.script("/headers", endless_headers());
    let mut stream = TcpStream::connect(target.address()).await.unwrap();
    stream.write_all(b"GET /headers HTTP/1.1\r\n\r\n").await.unwrap();
    let mut head = vec![0; 3_000_000];
    timeout(PATIENCE, stream.read_exact(&mut head)).await.unwrap().unwrap();
    assert!(!head.windows(4).any(|bytes| bytes == b"\r\n\r\n"));
    drop(stream);
    target.wait_hang_ups("/headers", 1, PATIENCE).await;

    target.script("/flood", Script::new().then(continue_flood(10_000)).then(continue_flood(3)));
    let request = b"GET /flood HTTP/1.1\r\n\r\n";
    let answers = exchange(&target, request).await;
    assert_eq!(answers.matches("HTTP/1.1 100 Continue\r\n\r\n").count(), 10_000);
    assert!(answers.ends_with("content-length: 0\r\n\r\n"));
    assert_eq!(get(&target, "/flood").await.status(), 200);
}

#[tokio::test]
async fn bytes_that_are_not_http_arrive_as_they_are() {
    let target = Target::start().await;
    target.script("/", raw("SSH-2.0-x\r\n"));
    assert_eq!(exchange(&target, b"GET / HTTP/1.1\r\n\r\n").await, "SSH-2.0-x\r\n");
    target.script("/latin", ok().header("x-name", b"caf\xe9").header("Content-Length", "0"));
    let answer = get(&target, "/latin").await;
    assert_eq!(answer.headers()["x-name"].as_bytes(), b"caf\xe9");
    assert_eq!(answer.headers().get_all("content-length").iter().count(), 1);
}

#[tokio::test]
async fn the_bomb_is_a_mebibyte_of_gzip() {
    let target = Target::start().await;
    target.script("/", gzip_bomb());
    let answer = get(&target, "/").await;
    assert_eq!(answer.headers()["content-encoding"], "gzip");
    let body = answer.bytes().await.unwrap();
    assert!(body.starts_with(&[0x1f, 0x8b, 8]) && body.len() < 1_100_000);
    // A gzip member ends with the length of what is inside.
    let inside = u32::from_le_bytes(*body.last_chunk().unwrap());
    assert!(inside > 1 << 30);
}

#[tokio::test]
async fn a_kept_connection_can_go_stale() {
    let target = Target::start().await;
    target.script("/stale", ok().stale_keep_alive());
    let mut stream = TcpStream::connect(target.address()).await.unwrap();
    assert!(!ask(&mut stream, "/stale").await.contains("close"));
    assert_eq!(target.open(), 1);
    stream.write_all(b"GET /stale HTTP/1.1\r\n\r\n").await.unwrap();
    let error = timeout(PATIENCE, stream.read_u8()).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    assert_eq!(target.calls("/stale").len(), 1, "the second request was not read");

    target.script("/idle", ok().close_idle(MOMENT));
    let mut stream = TcpStream::connect(target.address()).await.unwrap();
    ask(&mut stream, "/idle").await;
    let answered = Instant::now();
    assert_eq!(rest(&mut stream).await, "");
    assert!(answered.elapsed() >= MOMENT / 2);
}

#[tokio::test]
async fn a_gate_lets_the_test_order_the_answers() {
    let target = Target::start().await;
    let gate = target.gate("/");
    let call = |body: &'static str| {
        let request = client().post(target.url("/")).body(body);
        async move { request.send().await.unwrap().text().await.unwrap() }
    };
    let test = async {
        let first: Held = gate.arrived().await;
        let second: Held = gate.arrived().await;
        assert_ne!(first.call.body, second.call.body);
        assert_eq!(target.hang_ups("/").len(), 0);
        let (a, b) = (second.call.body.clone(), first.call.body.clone());
        assert!(second.release(ok().body(a)));
        assert!(first.release(ok().body(b)));
    };
    let (one, two, ()) = tokio::join!(call("one"), call("two"), test);
    assert_eq!((one.as_str(), two.as_str()), ("one", "two"));
}

#[tokio::test]
async fn a_gate_is_a_step_and_knows_when_its_caller_left() {
    let target = Target::start().await;
    let gate = Gate::new();
    target.script("/", Script::new().then(status(500)).then(gate.play()));
    assert_eq!(get(&target, "/").await.status(), 500);

    target.script("/left", gate.play());
    let (_, held) = tokio::join!(give_up(&target, "/left"), gate.arrived());
    assert!(!held.release(ok()), "the caller had left");

    let request = b"GET / HTTP/1.1\r\n\r\n";
    let (answer, ()) = tokio::join!(exchange(&target, request), async {
        drop(gate.arrived().await);
    });
    assert_eq!(answer, "", "a held call that is dropped is closed");
    drop(gate);
    assert_eq!(exchange(&target, request).await, "", "so is one that finds no gate");
}

#[tokio::test]
async fn a_closed_port_refuses_and_a_dropped_target_is_gone() {
    let closed = ClosedPort::reserve();
    let error = callback::try_post(&closed.url("/"), &Value::Null).await.unwrap_err();
    assert!(error.is_connect(), "{error:?}");

    let target = Target::start().await;
    target.script("/", Play::Hang);
    let url = target.url("/");
    let address = target.address();
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    target.wait_calls("/", 1, PATIENCE).await;
    drop(target);
    assert_eq!(rest(&mut stream).await, "", "an open call ends with its target");
    assert!(callback::try_post(&url, &Value::Null).await.unwrap_err().is_connect());
}

#[tokio::test]
#[should_panic(expected = "2 calls of /; 1 accepted, 0 open, 0 broken; /: 1 calls")]
async fn waiting_in_vain_says_what_was_seen() {
    let target = Target::start().await;
    exchange(&target, b"GET / HTTP/1.1\r\nconnection: close\r\n\r\n").await;
    target.wait_open(0, PATIENCE).await;
    target.wait_calls("/", 2, MOMENT).await;
}
