//! A payload is bytes: what comes is kept, sent and shown unchanged (bug B105).

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::api::{Api, Caller, Reply, job};

/// The default of `AXLE_MAX_PAYLOAD`.
const LIMIT: usize = 256 * 1024;

async fn register(caller: &Caller<'_>, payload: &str) -> Reply {
    let body = format!(r#"{{"target":{{"url":"http://h"}},"payload":{payload}}}"#);
    caller.send(Method::POST, "/v1/jobs", body).await
}

/// The payload as it stands in the table, which is what is sent.
async fn stored(api: &Api, id: &str) -> Vec<u8> {
    let id = id.parse::<axle::domain::id::JobId>().unwrap().uuid();
    let question = format!("SELECT payload FROM jobs WHERE job_id = '{id}'::uuid");
    api.engine.db.ask(&question).await.get(0)
}

/// The job's id, read as text: a body may be too deep for a parser.
fn id_of(reply: &Reply) -> String {
    assert_eq!(reply.status, 201, "{}", reply.text.get(..500).unwrap_or(&reply.text));
    let start = reply.text.find("job_").unwrap();
    reply.text.get(start..start + 30).unwrap().to_owned()
}

async fn assert_kept(api: &Api, payload: &str) {
    let acme = api.as_team("acme");
    let reply = register(&acme, payload).await;
    let id = id_of(&reply);
    assert_eq!(stored(api, &id).await, payload.as_bytes());
    let shown = format!("\"payload\":{payload},");
    assert!(reply.text.contains(&shown), "not shown as it came");
    assert!(acme.get(&format!("/v1/jobs/{id}")).await.text.contains(&shown), "not read as it came");
}

#[tokio::test]
async fn b105_json_survives_byte_for_byte() {
    let api = Api::start().await;
    for payload in [
        "12345678901234567890123456789012345678901234567890",
        "-0",
        "1e400",
        "1.000000000000000000000000000000000001",
        r#"{"z":1,"a":2,"z":3}"#,
        r#""\u0000""#,
        r#"{"\u0000":"\u0000"}"#,
        r#""\ud800""#,
        r#"["\udc00\ud800", "\uD83D\uDE00"]"#,
        r#""\/\u002f/""#,
        "{ \"a\" :\n\t[ 1 ,\r\n2 ] }",
        "\"ä€😀\u{2028}\"",
        "null",
        "true",
        "\"\"",
        "{}",
    ] {
        assert_kept(&api, payload).await;
    }
}

#[tokio::test]
async fn b105_a_deep_nest_is_neither_a_500_nor_a_crash() {
    let api = Api::start().await;
    // Twice this is under the limit of 256 KiB.
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_kept(&api, &deep).await;
    let too_large = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    let reply = register(&api.as_team("acme"), &too_large).await;
    assert_eq!((reply.status, reply.code()), (413, "payload-too-large"));
    let unclosed = register(&api.as_team("acme"), &"[".repeat(200_000)).await;
    assert_eq!((unclosed.status, unclosed.code()), (400, "invalid-json"));
    let objects = format!("{}1{}", r#"{"a":"#.repeat(40_000), "}".repeat(40_000));
    assert_kept(&api, &objects).await;
    let deep = deep.get(75_000..125_000).unwrap();
    let outside = format!("{{\"name\":{deep},\"target\":{deep},\"tags\":{{\"a\":{deep}}}}}");
    let reply = api.as_team("acme").send(Method::POST, "/v1/jobs", outside).await;
    assert_eq!(reply.status, 422);
}

#[tokio::test]
async fn bytes_come_and_go_in_base_64() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    for (encoded, bytes) in [("", &b""[..]), ("AP/+", b"\x00\xff\xfe"), ("aGk=", b"hi")] {
        let made = acme
            .create(json!({"payload_base64": encoded, "content_type": "application/octet-stream"}))
            .await;
        let id = made["id"].as_str().unwrap();
        assert_eq!(stored(&api, id).await, bytes);
        let shown = acme.job(id).await;
        assert_eq!(shown["content_type"], "application/octet-stream");
        assert_eq!(shown["payload_base64"].as_str().unwrap_or_default(), encoded);
        assert_eq!(shown.get("payload"), None);
    }
}

#[tokio::test]
async fn a_job_without_a_payload_sends_none() {
    let api = Api::start().await;
    let made = api.as_team("acme").create(Value::Null).await;
    assert_eq!(made.get("payload"), None);
    assert_eq!(stored(&api, made["id"].as_str().unwrap()).await, b"");
}

#[tokio::test]
async fn the_limit_is_on_the_payload_and_exact() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let text = |len: usize| format!("\"{}\"", "x".repeat(len - 2));
    assert_eq!(register(&acme, &text(LIMIT)).await.status, 201);
    let over = register(&acme, &text(LIMIT + 1)).await;
    assert_eq!((over.status, over.code()), (413, "payload-too-large"));
    assert_eq!(over.faults(), [("#/payload".to_owned(), "too-large".to_owned())]);
    // In base 64 the bytes count, not the characters.
    let encoded = |bytes: usize| "AAAA".repeat(bytes / 3) + ["", "AA==", "AAA="][bytes % 3];
    let with = |bytes: usize| {
        job(json!({"payload_base64": encoded(bytes), "content_type": "application/octet-stream"}))
    };
    assert_eq!(acme.post("/v1/jobs", &with(LIMIT)).await.status, 201);
    let over = acme.post("/v1/jobs", &with(LIMIT + 1)).await;
    assert_eq!((over.status, over.code()), (413, "payload-too-large"));
    assert_eq!(over.faults(), [("#/payload_base64".to_owned(), "too-large".to_owned())]);
    // With another fault beside it, all of them are told as a 422.
    let mut both = with(LIMIT + 1);
    both["priority"] = json!(11);
    let both = acme.post("/v1/jobs", &both).await;
    assert_eq!((both.status, both.faults().len()), (422, 2));
}

#[tokio::test]
async fn lists_leave_payloads_out() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    acme.create(json!({"payload": {"a": "needle"}})).await;
    acme.create(json!({"payload_base64": "bmVlZGxl", "content_type": "a/b"})).await;
    let list = acme.get("/v1/jobs").await;
    assert_eq!(list.json["data"].as_array().unwrap().len(), 2);
    assert!(!list.text.contains("needle") && !list.text.contains("bmVlZGxl"), "{}", list.text);
}
