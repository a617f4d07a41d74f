//! Request smuggling: where a message ends must never be in doubt. Each ambiguous one is refused
//! and its connection closed, so that nothing behind it is taken for a request of its own.

use super::statuses;
use crate::support::api::Api;

const HIDDEN: &str = "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n";

/// The head of a POST by somebody known, so that its body is truly read, with these fields.
fn head(api: &Api, fields: &str) -> String {
    let token = api.as_team("acme").authorization();
    format!("POST /v1/jobs HTTP/1.1\r\nHost: h\r\nAuthorization: {token}\r\n{fields}\r\n")
}

#[tokio::test]
async fn a_message_with_two_lengths_or_an_odd_one_is_refused_with_all_behind_it() {
    let api = Api::start().await;
    for fields in [
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        "Content-Length: 5\nTransfer-Encoding: chunked\n",
        "Content-Length: 0\r\nTransfer-Encoding: identity\r\n",
        "Content-Length: 5\r\nContent-Length: 0\r\n",
        "Content-Length: 5\r\nContent-Length: 5\r\n",
        "Content-Length: 5, 5\r\n",
        "Content-Length: 5, 0\r\n",
        "Content-Length: +5\r\n",
        "Content-Length: -5\r\n",
        "Content-Length: 0x5\r\n",
        "Content-Length: 5 5\r\n",
        "Content-Length: 5.\r\n",
        "Content-Length: \r\n",
        "Content-Length: 99999999999999999999\r\n",
        "Content-Length : 5\r\n",
        "Content-Length\r\n",
        " Content-Length: 5\r\n",
        "Transfer-Encoding : chunked\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: chunked x\r\n",
        "Transfer-Encoding: chunked, chunked\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: identity, chunked\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: gzip\r\n",
        "Transfer-Encoding: identity\r\n",
        "Transfer-Encoding: \"chunked\"\r\n",
        "Transfer-Encoding: \x0bchunked\r\n",
        "Transfer-Encoding:\r\n chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n",
        "X: y\r\n Transfer-Encoding: chunked\r\n",
        "X: y\r\n\tContent-Length: 5\r\n",
        "X: y\rTransfer-Encoding: chunked\r\n",
        "X: y\0\r\nContent-Length: 5\r\n",
    ] {
        let request = format!("{}0\r\n\r\n{HIDDEN}", head(&api, fields));
        let answer = api.raw(request.as_bytes()).await;
        assert_eq!(statuses(&answer), [400], "{fields:?}: {answer}");
        assert!(!answer.contains("smuggled"), "{fields:?}: {answer}");
    }
    let old = head(&api, "Transfer-Encoding: chunked\r\n").replace("HTTP/1.1", "HTTP/1.0");
    let answer = api.raw(format!("{old}0\r\n\r\n{HIDDEN}").as_bytes()).await;
    assert_eq!(statuses(&answer), [400], "{answer}");
}

#[tokio::test]
async fn a_broken_chunk_ends_the_connection() {
    let api = Api::start().await;
    for body in [
        "-1\r\n",
        "0x2\r\n{}\r\n0\r\n\r\n",
        "+2\r\n{}\r\n0\r\n\r\n",
        "g\r\n{}\r\n",
        "10000000000000000\r\n{}",
        "ffffffffffffffff0\r\n{}",
        "2\n{}\n0\n\n",
        "2\r\n{}0\r\n\r\n",
        "1\r\n{}\r\n0\r\n\r\n",
        "2;a=\nb\r\n{}\r\n0\r\n\r\n",
        "2\r;a\r\n{}\r\n0\r\n\r\n",
        "\r\n2\r\n{}\r\n0\r\n\r\n",
        "0\n\r\n",
    ] {
        let request = format!("{}{body}{HIDDEN}", head(&api, "Transfer-Encoding: chunked\r\n"));
        let answer = api.raw(request.as_bytes()).await;
        // One that is broken within may be closed without a word.
        assert!(matches!(statuses(&answer)[..], [] | [400]), "{body:?}: {answer}");
        assert!(!answer.contains("smuggled"), "{body:?}: {answer}");
    }
}

#[tokio::test]
async fn a_message_that_is_only_unusual_is_read_to_its_end_and_no_further() {
    let api = Api::start().await;
    let next = "GET /v1/version HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    for (fields, body) in [
        ("Content-Length: 2\r\n", "{}"),
        ("CONTENT-LENGTH:2\r\n", "{}"),
        ("Content-Length: 002\r\n", "{}"),
        ("Transfer-Encoding: chunked\r\n", "2\r\n{}\r\n0\r\n\r\n"),
        ("transfer-ENCODING:\t CHUNKED \r\n", "2\r\n{}\r\n0\r\n\r\n"),
        ("Transfer-Encoding: chunked\r\n", "1;a=b\r\n{\r\n1;c=\"d\"\r\n}\r\n0;e\r\n\r\n"),
        ("Transfer-Encoding: chunked\r\n", "0002\r\n{}\r\n000\r\nX-Trailer: y\r\n\r\n"),
        ("Transfer_Encoding: chunked\r\nContent-Length: 2\r\n", "{}"),
        ("Expect: 100-continue\r\nContent-Length: 2\r\n", "{}"),
    ] {
        let request = format!("{}{body}{next}", head(&api, fields));
        let answer = api.raw(request.as_bytes()).await;
        let found: Vec<_> = statuses(&answer).into_iter().filter(|status| *status != 100).collect();
        // The first lacks its target; the second is a request of its own.
        assert_eq!(found, [422, 200], "{fields:?} {body:?}: {answer}");
    }
}

#[tokio::test]
async fn a_refused_body_is_never_the_next_request() {
    let api = Api::start().await;
    // Refused before its body is looked at, with the body on its way.
    let length = HIDDEN.len();
    let chunk = format!("{length:x}\r\n{HIDDEN}\r\n0\r\n\r\n");
    for (fields, body) in [
        (format!("Content-Length: {length}\r\n"), HIDDEN),
        (format!("Content-Length: {length}\r\nContent-Encoding: gzip\r\n"), HIDDEN),
        ("Transfer-Encoding: chunked\r\n".to_owned(), chunk.as_str()),
        ("Transfer-Encoding: chunked\r\nContent-Encoding: br\r\n".to_owned(), &chunk),
    ] {
        for (line, refused) in [
            ("POST /v1/jobs", 401),
            ("POST /v1/nothing", 404),
            ("GET /v1/version", 200),
            ("DELETE /v1/version", 405),
        ] {
            let request = format!("{line} HTTP/1.1\r\nHost: h\r\n{fields}\r\n{body}");
            let last = "GET /robots.txt HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
            let answer = api.raw(format!("{request}{last}").as_bytes()).await;
            let found = statuses(&answer);
            assert!(found == [refused] || found == [refused, 200], "{line} {fields:?}: {answer}");
            assert!(!answer.contains("smuggled"), "{line} {fields:?}: {answer}");
        }
    }
}

#[tokio::test]
async fn bare_line_feeds_end_lines_or_the_connection() {
    let api = Api::start().await;
    let answer = api.raw(b"GET /v1/version HTTP/1.1\nHost: h\nConnection: close\n\n").await;
    assert!(matches!(statuses(&answer)[..], [200 | 400]), "{answer}");
    let answer = api.raw(b"GET /v1/version HTTP/1.1\rHost: h\rConnection: close\r\r\n\n").await;
    assert_eq!(statuses(&answer), [400], "{answer}");
}
