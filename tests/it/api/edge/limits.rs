//! How much may be sent before and with a request.

use super::{ask, raw_or_reset, statuses};
use crate::support::api::{Api, Setup};
use crate::support::db::Db;
use crate::support::process::Server;

#[tokio::test]
async fn a_long_address_is_refused_by_us_and_a_longer_one_by_the_framework() {
    let api = Api::start().await;
    let (taken, _) = ask(&api, &format!("GET /v1/version?{}", "x".repeat(32_000))).await;
    assert_eq!(taken, [200]);
    let (refused, answer) = ask(&api, &format!("GET /v1/version?{}", "x".repeat(33_000))).await;
    assert_eq!(refused, [400]);
    assert!(answer.contains("malformed-request") && answer.contains("32768"), "{answer}");
    let (refused, answer) = ask(&api, &format!("GET /v1/version?{}", "x".repeat(70_000))).await;
    assert_eq!(refused, [400], "{answer}");
    let longest = format!("GET /{} HTTP/1.1\r\nHost: h\r\n\r\n", "x".repeat(200_000));
    let answer = raw_or_reset(&api, longest.as_bytes()).await;
    assert!(matches!(statuses(&answer)[..], [] | [431]), "{answer}");
}

#[tokio::test]
async fn headers_are_bounded_in_number_and_size() {
    let api = Api::start().await;
    let send = async |fields: String| {
        let head = "GET /v1/version HTTP/1.1\r\nHost: h\r\nConnection: close\r\n";
        raw_or_reset(&api, format!("{head}{fields}\r\n").as_bytes()).await
    };
    assert_eq!(statuses(&send("A: b\r\n".repeat(90)).await), [200]);
    assert_eq!(statuses(&send("A: b\r\n".repeat(100)).await), [431]);
    assert_eq!(statuses(&send(format!("A: {}\r\n", "b".repeat(60_000))).await), [200]);
    let answer = send(format!("A: {}\r\n", "b".repeat(70_000))).await;
    assert_eq!(statuses(&answer), [400]);
    assert!(answer.contains("malformed-request") && answer.contains("65536"), "{answer}");
    let answer = send(format!("A: {}\r\n", "b".repeat(200_000))).await;
    assert!(matches!(statuses(&answer)[..], [] | [431]), "{answer}");
}

/// The framework (actix-http 3.20) panics over a name of 64 KiB. That must cost the sender's own
/// connection and nothing else: no worker, no place among the connections.
#[tokio::test]
async fn a_name_that_the_framework_cannot_hold_ends_its_connection_only() {
    let mut setup = Setup::default();
    setup.edge.bounds.connections = 2;
    let api = Api::with(setup).await;
    let name = "a".repeat(70_000);
    for _ in 0..8 {
        let head = format!("GET /v1/version HTTP/1.1\r\nHost: h\r\n{name}: b\r\n\r\n");
        let answer = raw_or_reset(&api, head.as_bytes()).await;
        assert!(matches!(statuses(&answer)[..], [] | [400]), "{answer}");
    }
    assert_eq!(api.as_nobody().get("/v1/version").await.status, 200);
}

#[tokio::test]
async fn b141_a_compressed_body_costs_nothing_before_authentication() {
    let api = Api::start().await;
    // Said to be 200 MB; nobody waits for it.
    for framing in ["Content-Length: 200000000", "Transfer-Encoding: chunked"] {
        let head =
            format!("POST /v1/jobs HTTP/1.1\r\nHost: h\r\nContent-Encoding: gzip\r\n{framing}\r\n");
        let answer = api.raw(format!("{head}Connection: close\r\n\r\n0\r\n\r\n").as_bytes()).await;
        assert_eq!(statuses(&answer), [401], "{framing}: {answer}");
        let token = api.as_team("acme").authorization();
        let head = format!("{head}Authorization: {token}\r\nConnection: close\r\n\r\n0\r\n\r\n");
        let answer = api.raw(head.as_bytes()).await;
        assert_eq!(statuses(&answer), [415], "{framing}: {answer}");
    }
}

#[tokio::test]
async fn a_process_may_open_the_files_that_its_connections_need_or_says_that_it_may_not() {
    const CONNECTIONS: &str = "15000";
    const WANTED: u64 = 2 * 15_000 + 1_024;
    let db = Db::new().await;
    let server = Server::start(&db.url, "api", &[("AXLE_MAX_CONNECTIONS", CONNECTIONS)]).await;
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", server.pid())).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let mut numbers = line.split_whitespace().skip(3).map(|word| word.parse().unwrap_or(u64::MAX));
    let (soft, hard) = (numbers.next().unwrap(), numbers.next().unwrap());
    assert!(soft >= WANTED.min(hard), "{line}");
    let warned = server.err.so_far().contains("max_connections is more than");
    assert_eq!(warned, soft < WANTED, "{line}");
}
