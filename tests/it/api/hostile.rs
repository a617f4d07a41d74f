//! What no well-meant client sends. It is refused, in the one shape for refusals, and never a 500.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::recipes::schedule;
use crate::support::api::{Api, job};

const JOBS: &str = "/v1/jobs";

#[tokio::test]
async fn b105_what_is_not_json_is_a_400() {
    let api = Api::start().await;
    let good = job(Value::Null).to_string();
    let cut = &good.as_bytes()[..good.len() - 1];
    let bom = [b"\xef\xbb\xbf", good.as_bytes()].concat();
    let wide: Vec<u8> = good.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let twice = format!("{good}{good}");
    let latin = b"{\"name\":\"\xe4\"}";
    let bodies: [&[u8]; 20] = [
        b"",
        b" ",
        b"\0",
        b"hello",
        b"{'target':1}",
        b"{\"target\":{\"url\":\"http://h\"},}",
        b"{\"name\":\"a\nb\"}",
        b"{\"name\":\"\\x\"}",
        b"{\"name\":\"\\u12\"}",
        b"NaN",
        b"{\"priority\":01}",
        b"{\"priority\":+1}",
        b"{\"priority\":.5}",
        b"//\n{}",
        latin,
        cut,
        &bom,
        &wide,
        twice.as_bytes(),
        &[good.as_bytes(), b"\0"].concat(),
    ];
    for body in bodies {
        let reply = api.as_team("acme").send(Method::POST, JOBS, body.to_vec()).await;
        let shown = String::from_utf8_lossy(body);
        assert_eq!((reply.status, reply.code()), (400, "invalid-json"), "{shown}: {}", reply.text);
    }
}

#[tokio::test]
async fn b141_what_is_not_said_to_be_plain_json_is_a_415() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    for (name, value) in [
        ("content-type", "text/plain"),
        ("content-type", "application/x-www-form-urlencoded"),
        ("content-type", "multipart/form-data; boundary=x"),
        ("content-type", "application/jsonx"),
        ("content-type", "text/json"),
        ("content-type", ""),
        ("content-type", ";"),
        ("content-type", "ä"),
        ("content-encoding", "gzip"),
        ("content-encoding", "br"),
        ("content-encoding", "identity, gzip"),
        ("content-encoding", ""),
    ] {
        let reply = acme.clone().header(name, value).post(JOBS, &job(Value::Null)).await;
        let found = (reply.status, reply.code());
        assert_eq!(found, (415, "unsupported-media-type"), "{name}: {value}");
    }
    for (name, value) in [
        ("content-type", "application/json"),
        ("content-type", "APPLICATION/JSON ; charset=\"utf-8\""),
        ("content-type", "application/cloudevents+json"),
        ("content-encoding", "identity"),
    ] {
        let reply = acme.clone().header(name, value).post(JOBS, &job(Value::Null)).await;
        assert_eq!(reply.status, 201, "{name}: {value}");
    }
}

#[tokio::test]
async fn a_huge_body_is_a_413_before_it_is_read() {
    let api = Api::start().await;
    let body = format!(r#"{{"name":"{}"}}"#, "x".repeat(1024 * 1024));
    let reply = api.as_team("acme").send(Method::POST, JOBS, body).await;
    assert_eq!((reply.status, reply.code()), (413, "payload-too-large"));
    // One that only says that it will be huge is refused at its word.
    let token = api.as_team("acme").authorization();
    let head = format!(
        "POST /v1/jobs HTTP/1.1\r\nHost: h\r\nAuthorization: {token}\r\n\
         Content-Length: 99999999999\r\nConnection: close\r\n\r\n{{"
    );
    let answer = api.raw(head.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}

#[tokio::test]
async fn a_chunked_body_is_bounded_too() {
    let api = Api::start().await;
    let token = api.as_team("acme").authorization();
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    let request = format!(
        "POST /v1/jobs HTTP/1.1\r\nHost: h\r\nAuthorization: {token}\r\nConnection: close\r\n\
         Transfer-Encoding: chunked\r\n\r\n{}0\r\n\r\n",
        chunk.repeat(10)
    );
    let answer = api.raw(request.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}

#[tokio::test]
async fn bytes_that_are_no_request_are_refused_and_the_server_lives() {
    let api = Api::start().await;
    let requests: [&[u8]; 9] = [
        b"\0\0\0\0\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /a b HTTP/1.1\r\nHost: h\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: h\r\nX: a\0b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: h\r\n: no name\r\n\r\n",
        b"POST /v1/jobs HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/jobs HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
        b"POST /v1/jobs HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
        b"POST /v1/jobs HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ];
    for request in requests {
        let shown = String::from_utf8_lossy(request);
        let answer =
            api.raw(&[request, b"GET /x HTTP/1.1\r\nConnection: close\r\n\r\n"].concat()).await;
        let status: Option<u16> = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
        assert!(status.is_none_or(|status| (400..500).contains(&status)), "{shown}: {answer}");
    }
    assert_eq!(api.as_nobody().get("/v1/version").await.status, 200);
}

#[tokio::test]
async fn odd_queries_and_paths_are_refused_or_ignored() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    for (path, status) in [
        ("/v1/jobs?%", 422),
        ("/v1/jobs?%zz=1", 422),
        ("/v1/jobs?=", 422),
        ("/v1/jobs?&&", 200),
        ("/v1/jobs?name=%ff%fe", 200),
        ("/v1/jobs?name=%ED%A0%80", 200),
        ("/v1/jobs?name", 200),
        ("/v1/jobs?state=", 422),
        ("/v1/jobs?tag=%00:a", 422),
        ("/v1/jobs?tag=a:%00", 422),
        ("/v1/jobs/%", 404),
        ("/v1/jobs/%zz", 404),
        ("/v1/jobs/job_%00", 404),
        ("/v1/jobs/job_01KB9YQ6Z4F0R8M3T1C5W7X2V0%0a", 404),
        ("/v1/jobs/job_01KB9YQ6Z4F0R8M3T1C5W7X2V0", 410),
        ("/v1/runs/run_7ZZZZZZZZZZZZZZZZZZZZZZZZZ_2147483647", 404),
    ] {
        let reply = acme.get(path).await;
        assert_eq!(reply.status, status, "{path}: {}", reply.text);
    }
    let long = format!("/v1/jobs?name={}", "x".repeat(20_000));
    assert!(matches!(acme.get(&long).await.status, 200 | 422));
}

/// Values that are wrong somewhere, and some that are right.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        prop::sample::select(vec![
            "",
            "\0",
            "http://127.0.0.1:9/",
            "https://h/ä",
            "2026-12-01T08:00:00Z",
            "callback",
            "reject",
            "AA==",
            "GET",
            "application/json",
            "+262142-01-01T00:00:00Z",
            "2199-12-31T23:59:59.999999999Z",
            "* * * * *",
            "0 0 31 2 *",
            "last_of_month",
            "02:00",
            "Europe/Berlin",
            "next_business_day",
            "both",
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(field(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// The names of a job's and a schedule's fields at every depth, and others.
fn field() -> impl Strategy<Value = String> {
    const FIELDS: [&str; 52] = [
        "name",
        "queue",
        "target",
        "url",
        "method",
        "headers",
        "payload",
        "payload_base64",
        "content_type",
        "due_at",
        "delay_ms",
        "priority",
        "timeout_ms",
        "completion",
        "heartbeat_timeout_ms",
        "start_deadline",
        "retry",
        "max_retries",
        "base_ms",
        "factor",
        "cap_ms",
        "jitter",
        "max_dispatch_retries",
        "unique_key",
        "on_duplicate",
        "owner_service",
        "tags",
        "id",
        "spec",
        "cron",
        "seconds",
        "every_ms",
        "anchor",
        "at",
        "day",
        "n",
        "time",
        "any_of",
        "time_zone",
        "overlap",
        "catch_up",
        "window_ms",
        "max",
        "on_gap",
        "on_overlap_hour",
        "jitter_ms",
        "exclude",
        "shift",
        "start_at",
        "end_at",
        "max_fires",
        "paused",
    ];
    prop_oneof![
        9 => prop::sample::select(&FIELDS[..]).prop_map(str::to_owned),
        1 => any::<String>(),
    ]
}

/// A good job with some of its fields, on two levels, replaced or added.
fn mutated_job() -> impl Strategy<Value = Value> {
    let change = (field(), any_json(), any::<bool>());
    prop::collection::vec(change, 1..4).prop_map(|changes| {
        let mut body = job(json!({
            "name": "n", "payload": {"a": 1}, "retry": {"base_ms": 1}, "tags": {"a": "b"},
            "due_at": "2026-12-01T08:00:00Z",
        }));
        for (field, value, inside) in changes {
            let place = if inside { &mut body["target"] } else { &mut body };
            if let Value::Object(place) = place {
                place.insert(field, value);
            }
        }
        body
    })
}

#[test]
fn b105_no_job_that_can_be_thought_up_is_a_500() {
    let runtime = Runtime::new().unwrap();
    let api = runtime.block_on(Api::start());
    let mut runner =
        TestRunner::new(Config { cases: 400, failure_persistence: None, ..Config::default() });
    let judged = runner.run(&mutated_job(), |body| {
        // The client has compared the answer with the document, and what was taken can be read.
        runtime.block_on(async {
            let reply = api.as_team("acme").post(JOBS, &body).await;
            prop_assert!(matches!(reply.status, 200 | 201 | 409 | 422), "{}", reply.text);
            if reply.status == 201 {
                let path = format!("{JOBS}/{}", reply.json["id"].as_str().unwrap());
                let read = api.as_team("acme").get(&path).await;
                prop_assert_eq!((read.status, read.text), (200, reply.text));
                let changed = api.as_team("acme").patch(&path, "*", &body).await;
                prop_assert!(matches!(changed.status, 200 | 422), "{}", changed.text);
            }
            Ok(())
        })
    });
    judged.unwrap();
}

/// A good schedule with some of its fields, on two levels, replaced or added.
fn mutated_schedule() -> impl Strategy<Value = Value> {
    let place = prop::sample::select(vec!["", "", "spec", "job", "catch_up"]);
    prop::collection::vec((field(), any_json(), place), 1..4).prop_map(|changes| {
        let mut body = schedule(json!({"catch_up": {"policy": "all"}}));
        for (field, value, place) in changes {
            let place = if place.is_empty() { &mut body } else { &mut body[place] };
            if let Value::Object(place) = place {
                place.insert(field, value);
            }
        }
        body
    })
}

#[test]
fn b105_no_schedule_that_can_be_thought_up_is_a_500() {
    let runtime = Runtime::new().unwrap();
    let api = runtime.block_on(Api::start());
    let mut runner =
        TestRunner::new(Config { cases: 400, failure_persistence: None, ..Config::default() });
    let judged = runner.run(&mutated_schedule(), |body| {
        runtime.block_on(async {
            let acme = api.as_team("acme");
            let put = acme.put("/v1/schedules/n", &body).await;
            prop_assert!(matches!(put.status, 200 | 201 | 422), "{}", put.text);
            let preview = acme.post("/v1/schedules/preview", &body).await;
            prop_assert!(matches!(preview.status, 200 | 422), "{}", preview.text);
            let changed = acme.patch("/v1/schedules/n", "*", &body).await;
            prop_assert!(matches!(changed.status, 200 | 404 | 422), "{}", changed.text);
            if changed.status == 200 {
                let read = acme.get("/v1/schedules/n").await;
                prop_assert_eq!((read.status, read.text), (200, changed.text));
                let fires = acme.get("/v1/schedules/n/fires").await;
                prop_assert_eq!(fires.status, 200, "{}", fires.text);
            }
            Ok(())
        })
    });
    judged.unwrap();
}

#[test]
fn b105_no_bytes_are_a_500_wherever_a_body_is_taken() {
    let runtime = Runtime::new().unwrap();
    let api = runtime.block_on(Api::start());
    let mut runner =
        TestRunner::new(Config { cases: 150, failure_persistence: None, ..Config::default() });
    let bodies = prop_oneof![
        any_json().prop_map(|value| value.to_string().into_bytes()),
        prop::collection::vec(any::<u8>(), 0..60),
        prop::collection::vec(any_json(), 0..4)
            .prop_map(|jobs| json!({"jobs": jobs}).to_string().into_bytes()),
    ];
    let judged = runner.run(&bodies, |body| {
        runtime.block_on(async {
            let acme = api.as_team("acme");
            for path in [
                JOBS,
                "/v1/jobs/batch",
                "/v1/queues/mail/pause",
                "/v1/schedules",
                "/v1/schedules/preview",
                "/v1/schedules/none/backfill",
            ] {
                let reply = acme.send(Method::POST, path, body.clone()).await;
                prop_assert!(
                    matches!(reply.status, 200 | 201 | 400 | 404 | 409 | 413 | 422),
                    "{}",
                    reply.text
                );
            }
            for path in ["/v1/queues/mail", "/v1/schedules/n", "/v1/calendars/n"] {
                let reply = acme.send(Method::PUT, path, body.clone()).await;
                prop_assert!(matches!(reply.status, 200 | 400 | 422), "{}", reply.text);
            }
            Ok(())
        })
    });
    judged.unwrap();
}
