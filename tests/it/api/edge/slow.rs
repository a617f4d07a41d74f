//! Bug B142: clients that take their time. Every connection that does not get on is ended, and
//! meanwhile others are answered. The bounds are short here, and the same code.

use std::time::Duration;

use axle::http::Bounds;
use futures_util::future::join_all;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, interval, timeout};

use super::statuses;
use crate::support::api::{Api, Setup};
use crate::support::target::PATIENCE;

/// The framework's timers go by a clock that ticks twice a second.
const BRIEF: Bounds = Bounds {
    connections: 4096,
    head: Duration::from_secs(1),
    body: Duration::from_millis(500),
    idle: Duration::from_secs(1),
};
/// Between two bytes: far less than any bound.
const PACE: Duration = Duration::from_millis(20);
const HEAD: &str = "GET /v1/version HTTP/1.1\r\nHost: h\r\n";

async fn api(bounds: Bounds) -> Api {
    let mut setup = Setup::default();
    setup.edge.bounds = bounds;
    Api::with(setup).await
}

/// Sends `begin` at once and then a byte at a time, for as long as the server listens. Returns what
/// it answered until it closed the connection, and how long that took.
async fn trickle(api: &Api, begin: &str) -> (String, Duration) {
    let mut stream = TcpStream::connect(api.address()).await.unwrap();
    stream.write_all(begin.as_bytes()).await.unwrap();
    let begun = Instant::now();
    let (mut read, mut write) = stream.into_split();
    let mut answer = Vec::new();
    let mut tick = interval(PACE);
    let send = async {
        loop {
            tick.tick().await;
            if write.write_all(b"1").await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    };
    let read = async {
        // An end by reset is an end.
        _ = read.read_to_end(&mut answer).await;
    };
    let ended = timeout(PATIENCE, async {
        tokio::select! { () = send => {}, () = read => {} }
    });
    ended.await.expect("the server ends it");
    (String::from_utf8(answer).unwrap(), begun.elapsed())
}

#[tokio::test]
async fn b142_a_head_that_does_not_end_is_ended() {
    let api = api(BRIEF).await;
    for begin in ["", "G", HEAD, "GET /v1/version?"] {
        let (answer, took) = trickle(&api, begin).await;
        assert!(matches!(statuses(&answer)[..], [] | [408]), "{begin:?}: {answer}");
        assert!(took < BRIEF.head * 8, "{begin:?}: {took:?}");
    }
}

#[tokio::test]
async fn b142_a_second_head_that_does_not_end_is_ended_too() {
    let api = api(BRIEF).await;
    let (answer, took) = trickle(&api, &format!("{HEAD}\r\n{HEAD}X: ")).await;
    assert_eq!(statuses(&answer), [200], "{answer}");
    assert!(took < (BRIEF.head + BRIEF.idle) * 8, "{took:?}");
}

#[tokio::test]
async fn b142_a_body_has_a_time_for_the_whole_of_it() {
    let api = api(BRIEF).await;
    let token = api.as_team("acme").authorization();
    for framing in ["Content-Length: 100000", "Transfer-Encoding: chunked"] {
        // As chunks, the ones that trickle are an endless number, so they follow a whole chunk.
        let body = if framing.starts_with('T') { "fff\r\n" } else { "" };
        let head = format!("POST /v1/jobs HTTP/1.1\r\nHost: h\r\nAuthorization: {token}\r\n");
        let (answer, took) = trickle(&api, &format!("{head}{framing}\r\n\r\n{body}")).await;
        assert_eq!(statuses(&answer), [400], "{answer}");
        assert!(answer.contains("took longer than 0.5 s"), "{answer}");
        assert!(took < (BRIEF.body + BRIEF.head + BRIEF.idle) * 8, "{took:?}");
    }
}

#[tokio::test]
async fn b142_what_nobody_reads_of_a_refused_body_ends() {
    let api = api(BRIEF).await;
    for (framing, body) in
        [("Content-Length: 100000", ""), ("Transfer-Encoding: chunked", "fff\r\n")]
    {
        let head = format!("POST /v1/jobs HTTP/1.1\r\nHost: h\r\n{framing}\r\n\r\n{body}");
        let (answer, _) = trickle(&api, &head).await;
        assert_eq!(statuses(&answer), [401], "{answer}");
    }
}

#[tokio::test]
async fn b142_an_answer_that_nobody_fetches_ends_its_connection() {
    let api = api(BRIEF).await;
    let mut stream = TcpStream::connect(api.address()).await.unwrap();
    // Far more than the buffers on the way can hold.
    let requests = "GET /openapi.json HTTP/1.1\r\nHost: h\r\n\r\n".repeat(400);
    stream.write_all(requests.as_bytes()).await.unwrap();
    let mut tick = interval(PACE);
    let refused = async {
        loop {
            tick.tick().await;
            if let Err(error) = stream.write_all(b"\r\n").await {
                return error;
            }
        }
    };
    timeout(PATIENCE, refused).await.expect("the server ends it");
}

#[tokio::test]
async fn b142_a_connection_in_use_is_not_ended() {
    let api = api(BRIEF).await;
    let mut stream = TcpStream::connect(api.address()).await.unwrap();
    let begun = Instant::now();
    let mut tick = interval(BRIEF.idle / 4);
    while begun.elapsed() < (BRIEF.idle + BRIEF.head) * 2 {
        tick.tick().await;
        stream.write_all(format!("{HEAD}\r\n").as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"}") {
            let read = timeout(PATIENCE, stream.read_buf(&mut answer)).await.unwrap().unwrap();
            assert!(read > 0, "it was ended after {:?}", begun.elapsed());
        }
        assert!(answer.starts_with(b"HTTP/1.1 200 "));
    }
}

#[tokio::test]
async fn b142_five_hundred_slow_clients_leave_room_for_others() {
    let bounds = Bounds { head: Duration::from_secs(3), idle: Duration::from_secs(30), ..BRIEF };
    let api = api(bounds).await;
    let slow = join_all((0..500).map(|_| trickle(&api, "GET /v1/version?")));
    let others = async {
        let mut slowest = Duration::ZERO;
        for _ in 0..20 {
            let asked = Instant::now();
            assert_eq!(api.as_nobody().get("/v1/version").await.status, 200);
            slowest = slowest.max(asked.elapsed());
        }
        slowest
    };
    let (slow, slowest) = tokio::join!(slow, others);
    assert!(slowest < bounds.head, "{slowest:?}");
    assert!(slow.iter().all(|(answer, _)| matches!(statuses(answer)[..], [] | [408])));
}

#[tokio::test]
async fn connections_beyond_the_limit_wait_for_their_turn() {
    // Two workers, one connection each.
    let api = api(Bounds { connections: 2, ..BRIEF }).await;
    let slow = join_all((0..6).map(|_| trickle(&api, "GET /v1/version?")));
    let nobody = api.as_nobody();
    let (slow, reply) = tokio::join!(slow, nobody.get("/v1/version"));
    assert_eq!((slow.len(), reply.status), (6, 200));
}
