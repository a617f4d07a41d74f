//! What cannot be accepted: each fault with its pointer and its rule, and all of them at once.

use serde_json::{Value, json};

use crate::support::api::{Api, Reply, job};

/// Further fields of an else good job, and the faults that they must bring.
type Case = (Value, &'static [(&'static str, &'static str)]);

async fn assert_faults(api: &Api, cases: Vec<Case>) {
    for (more, expected) in cases {
        let reply = api.as_team("acme").post("/v1/jobs", &job(more.clone())).await;
        assert_refused(&reply, expected, &more.to_string());
    }
    let jobs = api.as_team("acme").get("/v1/jobs").await.json;
    assert_eq!(jobs["data"], json!([]), "something was registered all the same");
}

fn assert_refused(reply: &Reply, expected: &[(&str, &str)], what: &str) {
    assert_eq!((reply.status, reply.code()), (422, "validation-failed"), "{what}: {}", reply.text);
    let mut expected: Vec<_> =
        expected.iter().map(|(at, code)| ((*at).to_owned(), (*code).to_owned())).collect();
    expected.sort();
    assert_eq!(reply.faults(), expected, "{what}: {}", reply.text);
}

#[tokio::test]
async fn texts_and_names() {
    let long = "x".repeat(256);
    let mut cases: Vec<Case> = vec![
        (json!({"name": ""}), &[("#/name", "out-of-range")]),
        (json!({"name": long}), &[("#/name", "out-of-range")]),
        (json!({"name": 5}), &[("#/name", "wrong-type")]),
        (json!({"name": "a\nb"}), &[("#/name", "malformed")]),
        (json!({"name": "a\u{0}b"}), &[("#/name", "malformed")]),
        (json!({"unique_key": ""}), &[("#/unique_key", "out-of-range")]),
        (json!({"unique_key": long}), &[("#/unique_key", "out-of-range")]),
        (json!({"unique_key": "\u{7f}"}), &[("#/unique_key", "malformed")]),
        (json!({"unique_key": ["a"]}), &[("#/unique_key", "wrong-type")]),
        (json!({"owner_service": "\t"}), &[("#/owner_service", "malformed")]),
        (json!({"on_duplicate": "replace"}), &[("#/on_duplicate", "out-of-range")]),
        (json!({"on_duplicate": true}), &[("#/on_duplicate", "wrong-type")]),
        (json!({"completion": "Response"}), &[("#/completion", "out-of-range")]),
        (json!({"content_type": ""}), &[("#/content_type", "out-of-range")]),
        (json!({"content_type": "a\r\nX: 1"}), &[("#/content_type", "out-of-range")]),
        (json!({"content_type": "ä"}), &[("#/content_type", "out-of-range")]),
        (json!({"content_type": "x".repeat(256)}), &[("#/content_type", "out-of-range")]),
    ];
    for queue in ["", "A", "-a", ".a", "a b", "ä", "a/b", &"q".repeat(64)] {
        cases.push((json!({"queue": queue}), &[("#/queue", "out-of-range")]));
    }
    assert_faults(&Api::start().await, cases).await;
}

#[tokio::test]
async fn numbers_and_times() {
    let year_and_more = 31_536_000_001_u64;
    let mut cases: Vec<Case> = vec![
        (json!({"priority": 10}), &[("#/priority", "out-of-range")]),
        (json!({"priority": -1}), &[("#/priority", "out-of-range")]),
        (json!({"priority": 70_000}), &[("#/priority", "wrong-type")]),
        (json!({"priority": 5.5}), &[("#/priority", "wrong-type")]),
        (json!({"priority": "5"}), &[("#/priority", "wrong-type")]),
        (json!({"timeout_ms": 0}), &[("#/timeout_ms", "out-of-range")]),
        (json!({"timeout_ms": -1}), &[("#/timeout_ms", "wrong-type")]),
        (json!({"timeout_ms": 1.5}), &[("#/timeout_ms", "wrong-type")]),
        (json!({"timeout_ms": "30s"}), &[("#/timeout_ms", "wrong-type")]),
        (json!({"timeout_ms": year_and_more}), &[("#/timeout_ms", "out-of-range")]),
        (json!({"timeout_ms": u64::MAX}), &[("#/timeout_ms", "out-of-range")]),
        (json!({"heartbeat_timeout_ms": 999}), &[("#/heartbeat_timeout_ms", "out-of-range")]),
        (json!({"delay_ms": -1}), &[("#/delay_ms", "wrong-type")]),
        (json!({"delay_ms": u64::MAX}), &[("#/delay_ms", "out-of-range")]),
        (json!({"due_at": 1_796_004_000}), &[("#/due_at", "wrong-type")]),
        (json!({"due_at": "1969-12-31T23:59:59Z"}), &[("#/due_at", "out-of-range")]),
        (json!({"due_at": "2200-01-01T00:00:00Z"}), &[("#/due_at", "out-of-range")]),
        (json!({"due_at": "9999-12-31T23:59:59Z"}), &[("#/due_at", "out-of-range")]),
        (
            json!({"start_deadline": "2200-01-01T00:00:00Z"}),
            &[("#/start_deadline", "out-of-range")],
        ),
        (json!({"retry": {"max_retries": 1_001}}), &[("#/retry/max_retries", "out-of-range")]),
        (json!({"retry": {"max_retries": -1}}), &[("#/retry/max_retries", "wrong-type")]),
        (json!({"retry": {"base_ms": year_and_more}}), &[("#/retry/base_ms", "out-of-range")]),
        (json!({"retry": {"cap_ms": u64::MAX}}), &[("#/retry/cap_ms", "out-of-range")]),
        (json!({"retry": {"factor": 0.99}}), &[("#/retry/factor", "out-of-range")]),
        (json!({"retry": {"factor": 101}}), &[("#/retry/factor", "out-of-range")]),
        (json!({"retry": {"factor": "2"}}), &[("#/retry/factor", "wrong-type")]),
        (json!({"retry": {"jitter": 1.01}}), &[("#/retry/jitter", "out-of-range")]),
        (json!({"retry": {"jitter": -0.1}}), &[("#/retry/jitter", "out-of-range")]),
        (json!({"retry": []}), &[("#/retry", "wrong-type")]),
    ];
    for when in ["", "tomorrow", "2026-12-01", "2026-12-01T08:00:00", "2026-13-01T08:00:00Z"] {
        cases.push((json!({"due_at": when}), &[("#/due_at", "wrong-type")]));
    }
    // B105: PostgreSQL's own calendar ends in 294276.
    cases.push((json!({"due_at": "+294277-01-02T00:00:00Z"}), &[("#/due_at", "wrong-type")]));
    assert_faults(&Api::start().await, cases).await;
}

#[tokio::test]
async fn b123_targets() {
    const URL: &str = "#/target/url";
    let mut cases: Vec<Case> = vec![
        (json!({"target": null}), &[("#/target", "required")]),
        (json!({"target": "http://h"}), &[("#/target", "wrong-type")]),
        (json!({"target": {}}), &[(URL, "required")]),
        (json!({"target": {"url": null}}), &[(URL, "required")]),
        (json!({"target": {"url": 5}}), &[(URL, "wrong-type")]),
        (json!({"target": {"url": "http://u@h"}}), &[(URL, "out-of-range")]),
        (json!({"target": {"url": "http://:p@h"}}), &[(URL, "out-of-range")]),
        (
            json!({"target": {"url": format!("http://h/{}", "p".repeat(2_040))}}),
            &[(URL, "out-of-range")],
        ),
        (
            json!({"target": {"url": "http://h", "method": "post"}}),
            &[("#/target/method", "out-of-range")],
        ),
        (
            json!({"target": {"url": "http://h", "method": "CONNECT"}}),
            &[("#/target/method", "out-of-range")],
        ),
        (
            json!({"target": {"url": "http://h", "path": "/"}}),
            &[("#/target/path", "unknown-field")],
        ),
    ];
    for url in ["ftp://h", "file:///etc/passwd", "javascript:alert(1)", "data:,x"] {
        cases.push((json!({"target": {"url": url}}), &[(URL, "out-of-range")]));
    }
    for url in [
        "",
        "h",
        "/path",
        "//h/path",
        "http://",
        "http://h:99999",
        "http://[::1",
        " http://h",
        "http://h/a b",
        "http://h/\n",
        "ht\ttp://h",
        "http://h/\u{0}",
        "http://h\u{a0}x/",
    ] {
        cases.push((json!({"target": {"url": url}}), &[(URL, "malformed")]));
    }
    assert_faults(&Api::start().await, cases).await;
}

#[tokio::test]
async fn b126_b127_headers_that_would_split_or_reframe_the_request() {
    let with =
        |name: &str, value: Value| json!({"target": {"url": "http://h", "headers": {name: value}}});
    let mut cases: Vec<Case> = vec![
        (with("X-A", json!("a\r\nX-Injected: 1")), &[("#/target/headers/X-A", "malformed")]),
        (with("X-A", json!("a\nb")), &[("#/target/headers/X-A", "malformed")]),
        (with("X-A", json!("ä")), &[("#/target/headers/X-A", "malformed")]),
        (with("X-A", json!(" a")), &[("#/target/headers/X-A", "malformed")]),
        (with("X-A", json!("v".repeat(4_097))), &[("#/target/headers/X-A", "malformed")]),
        (with("X-A", json!(1)), &[("#/target/headers/X-A", "wrong-type")]),
        (with("X-A", json!(null)), &[("#/target/headers/X-A", "wrong-type")]),
        (with("", json!("a")), &[("#/target/headers/", "malformed")]),
        (with("X A", json!("a")), &[("#/target/headers/X A", "malformed")]),
        (with("X/~", json!("a")), &[("#/target/headers/X~1~0", "malformed")]),
        (with("X-A:", json!("a")), &[("#/target/headers/X-A:", "malformed")]),
        (
            json!({"target": {"url": "http://h", "headers": []}}),
            &[("#/target/headers", "wrong-type")],
        ),
    ];
    cases.extend([
        (with("Host", json!("h")), &[("#/target/headers/Host", "reserved")][..]),
        (with("hOsT", json!("h")), &[("#/target/headers/hOsT", "reserved")]),
        (with("Content-Length", json!("1")), &[("#/target/headers/Content-Length", "reserved")]),
        (
            with("Transfer-Encoding", json!("x")),
            &[("#/target/headers/Transfer-Encoding", "reserved")],
        ),
        (with("Connection", json!("close")), &[("#/target/headers/Connection", "reserved")]),
        (with("Content-Type", json!("a/b")), &[("#/target/headers/Content-Type", "reserved")]),
        (with("webhook-id", json!("1")), &[("#/target/headers/webhook-id", "reserved")]),
        (with("AXLE-Fence", json!("1")), &[("#/target/headers/AXLE-Fence", "reserved")]),
    ]);
    let many: serde_json::Map<_, _> = (0..65).map(|n| (format!("X-{n}"), json!("v"))).collect();
    let many = json!({"target": {"url": "http://h", "headers": many}});
    cases.push((many, &[("#/target/headers", "too-many")]));
    assert_faults(&Api::start().await, cases).await;
}

#[tokio::test]
async fn tags_and_payloads() {
    let many: serde_json::Map<_, _> = (0..17).map(|n| (format!("t{n}"), json!("v"))).collect();
    let cases: Vec<Case> = vec![
        (json!({"tags": ["a"]}), &[("#/tags", "wrong-type")]),
        (json!({"tags": {"a": 1}}), &[("#/tags/a", "wrong-type")]),
        (json!({"tags": {"a": ""}}), &[("#/tags/a", "out-of-range")]),
        (json!({"tags": {"": "a"}}), &[("#/tags/", "out-of-range")]),
        (json!({"tags": {"a/b": "\u{0}"}}), &[("#/tags/a~1b", "malformed")]),
        (json!({"tags": many}), &[("#/tags", "too-many")]),
        (
            json!({"payload": 1, "payload_base64": "AA==", "content_type": "a/b"}),
            &[("#/payload_base64", "excluded")],
        ),
        (json!({"payload_base64": "AA=="}), &[("#/content_type", "required")]),
        (json!({"payload_base64": "AA==", "content_type": 1}), &[("#/content_type", "wrong-type")]),
        (
            json!({"payload_base64": "A", "content_type": "a/b"}),
            &[("#/payload_base64", "malformed")],
        ),
        (
            json!({"payload_base64": "_-8=", "content_type": "a/b"}),
            &[("#/payload_base64", "malformed")],
        ),
        (
            json!({"payload_base64": 1, "content_type": "a/b"}),
            &[("#/payload_base64", "wrong-type")],
        ),
    ];
    assert_faults(&Api::start().await, cases).await;
}

#[tokio::test]
async fn unknown_fields_are_named_with_the_nearest_one_and_hide_nothing() {
    let api = Api::start().await;
    let body = job(json!({"p": 1, "prioritty": 3, "priority": 11, "payload_base64": "!",
        "content_type": "a/b", "target": {"url": "ftp://h", "u": 1, "uri": 2}}));
    let reply = api.as_team("acme").post("/v1/jobs", &body).await;
    let expected = [
        ("#/p", "unknown-field"),
        ("#/prioritty", "unknown-field"),
        ("#/priority", "out-of-range"),
        ("#/payload_base64", "malformed"),
        ("#/target/u", "unknown-field"),
        ("#/target/uri", "unknown-field"),
        ("#/target/url", "out-of-range"),
    ];
    assert_refused(&reply, &expected, "unknown fields");
    assert!(reply.text.contains(r#"did you mean \"priority\"?"#), "{}", reply.text);
}

#[tokio::test]
async fn a_field_given_twice_is_a_fault_wherever_it_stands() {
    let api = Api::start().await;
    let body = r#"{"name":"a","target":{"url":"http://h","url":"http://i","headers":
        {"X":"1","X":"2"}},"retry":{"base_ms":1,"base_ms":1},"tags":{"a":"1","a":"1"},"name":"b"}"#;
    let reply = api.as_team("acme").send(reqwest::Method::POST, "/v1/jobs", body).await;
    let twice = ["#/name", "#/target/url", "#/target/headers/X", "#/retry/base_ms", "#/tags/a"];
    assert_refused(&reply, &twice.map(|at| (at, "duplicate-field")), body);
}

#[tokio::test]
async fn what_is_no_object_is_no_job() {
    let api = Api::start().await;
    for body in ["[]", "1", "null", "\"job\"", "true"] {
        let reply = api.as_team("acme").send(reqwest::Method::POST, "/v1/jobs", body).await;
        assert_refused(&reply, &[("#", "wrong-type")], body);
    }
}

#[tokio::test]
async fn b105_a_lone_surrogate_in_a_text_is_a_422_that_names_it() {
    let api = Api::start().await;
    for (field, at) in [
        (r#""name":"\ud800""#, "#/name"),
        (r#""unique_key":"\udc00\ud800""#, "#/unique_key"),
        (r#""tags":{"a":"\ud800"}"#, "#/tags/a"),
        (r#""tags":{"\ud800":"a"}"#, "#/tags"),
    ] {
        let body = format!(r#"{{"target":{{"url":"http://h"}},{field}}}"#);
        let reply = api.as_team("acme").send(reqwest::Method::POST, "/v1/jobs", body.clone()).await;
        assert_refused(&reply, &[(at, "wrong-type")], &body);
    }
}
