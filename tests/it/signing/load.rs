//! Rotation under load: not one call fails to verify, whichever of the two secrets a target knows.

use std::time::Duration;

use serde_json::json;
use standardwebhooks::Webhook;
use tokio::time::{Instant, sleep_until};

use crate::support::db::Db;
use crate::support::process::Server;
use crate::support::target::{Call, PATIENCE, Target};

/// Calls a second, and for how long.
const RATE: usize = 200;
const SECONDS: usize = 8;

fn verifies(call: &Call, secret: &str) -> bool {
    let mut headers = reqwest::header::HeaderMap::new();
    for name in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
        let value = call.header(name).unwrap_or_default();
        headers.insert(name, value.parse().unwrap());
    }
    Webhook::new(secret).unwrap().verify(&call.body, &headers).is_ok()
}

#[tokio::test]
async fn b132_rotation_under_load_fails_not_one_verification() {
    let db = Db::new().await;
    let target = Target::start().await;
    let key = [("AXLE_SECRET_KEY", "a secret key of the tests with 32 bytes")];
    let server = Server::start(&db.url, "api,scheduler", &key).await;
    // The secret changes in one process; the calls are made by two others.
    let _pullers = [
        Server::start(&db.url, "puller", &key).await,
        Server::start(&db.url, "puller", &key).await,
    ];
    let api = server.api();
    let (_, made) = api.post("/v1/signing/secrets", &json!({})).await;
    let old = made["secret"].as_str().unwrap().to_owned();
    let instant = |value: &serde_json::Value| {
        chrono::DateTime::parse_from_rfc3339(value.as_str().unwrap()).unwrap().to_utc()
    };
    // Jobs that are due in a steady stream from the moment on at which the secret signs.
    let begin = instant(&made["signs_from"]) + Duration::from_secs(1);
    let step = Duration::from_secs(1) / u32::try_from(RATE).unwrap();
    let item = |n: usize| {
        let due = begin + step * u32::try_from(n).unwrap();
        json!({"target": {"url": target.url("/work")}, "payload": {"n": n}, "due_at": due.to_rfc3339()})
    };
    let jobs: Vec<_> = (0..RATE * SECONDS).map(item).collect();
    for batch in jobs.chunks(800) {
        let (status, reply) = api.post("/v1/jobs/batch", &json!({"jobs": batch})).await;
        assert_eq!(status, 200, "{reply}");
    }
    target.wait_calls("/work", 1, PATIENCE).await;
    let begun = Instant::now();
    sleep_until(begun + Duration::from_secs(2)).await;
    let rotated = Instant::now();
    let (status, made) =
        api.post("/v1/signing/secrets/rotate", &json!({"overlap_ms": 4_000})).await;
    assert_eq!(status, 201, "{made}");
    let new = made["secret"].as_str().unwrap().to_owned();
    let signs_from = instant(&made["signs_from"]);
    let calls = target.wait_calls("/work", RATE * SECONDS, PATIENCE * 2).await;

    // A call is told by its stamp, in whole seconds: up to one second before.
    let (mut by_old, mut by_new) = (0, 0);
    for call in &calls {
        let sent: i64 = call.header("webhook-timestamp").unwrap().parse().unwrap();
        if sent > signs_from.timestamp() {
            assert!(verifies(call, &new), "sent at {sent}, {signs_from}: {:?}", call.headers);
            by_new += 1;
        }
        if call.at < rotated + Duration::from_secs(3) {
            assert!(verifies(call, &old), "{:?} after: {:?}", call.at - rotated, call.headers);
            by_old += 1;
        }
        assert!(verifies(call, &old) || verifies(call, &new), "{:?}", call.headers);
    }
    let last = calls.last().unwrap();
    assert!(!verifies(last, &old) && verifies(last, &new), "the old one signs no more");
    println!("{} calls, {by_old} taken by the old secret, {by_new} by the new", calls.len());
    assert!(by_old > RATE && by_new > RATE, "{by_old} {by_new}");
}
