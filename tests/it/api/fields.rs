//! Registering a job: every field goes in and comes out, what is left out has its default, and time
//! and uniqueness are as promised.

use serde_json::{Value, json};

use crate::support::api::{Api, job};
use crate::support::engine::START;

#[tokio::test]
async fn every_field_is_read_back_as_it_was_given() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let asked = json!({
        "name": "close-order ✓", "queue": "mail.high-1",
        "target": {"url": "https://shop.example/hooks?a=1#x", "method": "PUT",
                   "headers": {"X-Shop": "7", "Authorization": "Bearer abc"}},
        "payload": {"order": 42}, "content_type": "application/vnd.shop+json",
        "due_at": "2026-12-01T09:00:00.123456+01:00", "priority": 9, "timeout_ms": 1,
        "completion": "callback", "heartbeat_timeout_ms": 1000,
        "start_deadline": "2026-12-02T00:00:00Z",
        "retry": {"max_retries": 0, "base_ms": 1, "factor": 1.5, "cap_ms": 2, "jitter": 0.0,
                  "max_dispatch_retries": 1000},
        "unique_key": "order-42", "on_duplicate": "reject", "owner_service": "shop",
        "tags": {"region": "eu", "a b": "ä"},
    });
    let reply = acme.post("/v1/jobs", &asked).await;
    assert_eq!(reply.status, 201, "{}", reply.text);
    let id = reply.json["id"].as_str().unwrap();
    assert_eq!(reply.header("location"), Some(format!("/v1/jobs/{id}").as_str()));
    assert_eq!(acme.job(id).await, reply.json);
    let mut expected = asked;
    expected["due_at"] = json!("2026-12-01T08:00:00.123456Z");
    expected["start_deadline"] = json!("2026-12-02T00:00:00.000000Z");
    expected.as_object_mut().unwrap().remove("on_duplicate");
    for (field, value) in expected.as_object().unwrap() {
        assert_eq!(reply.json[field], *value, "{field}");
    }
}

#[tokio::test]
async fn what_is_left_out_has_its_default() {
    let api = Api::start().await;
    let made = api.as_team("acme").create(Value::Null).await;
    let now = "2026-11-30T02:00:00.000000Z";
    let expected = json!({
        "id": made["id"], "team": "acme", "name": null, "queue": "default",
        "target": {"url": "http://127.0.0.1:9/hook", "method": "POST", "headers": {}},
        "content_type": "application/json", "due_at": now, "priority": 5, "timeout_ms": 30_000,
        "completion": "response", "heartbeat_timeout_ms": null, "start_deadline": null,
        "retry": {"max_retries": 3, "base_ms": 30_000, "factor": 2.0, "cap_ms": 3_600_000,
                  "jitter": 0.2, "max_dispatch_retries": 10},
        "unique_key": null, "owner_service": null, "tags": {}, "state": "PENDING", "reason": null,
        "attempt": 0, "dispatch_failures": 0, "current_run_id": null, "next_attempt_at": now,
        "created_at": now, "updated_at": now, "finished_at": null, "rerun_of": null,
        "schedule_id": null, "fire_at": null, "last_error": null, "progress": null, "version": 1, "next_step": made["next_step"],
    });
    assert_eq!(made, expected);
    assert!(!made["next_step"].as_str().unwrap().is_empty());
}

#[tokio::test]
async fn null_means_left_out() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let nulls = json!({
        "name": null, "queue": null, "payload_base64": null, "content_type": null, "due_at": null,
        "delay_ms": null, "priority": null, "timeout_ms": null, "completion": null,
        "heartbeat_timeout_ms": null, "start_deadline": null, "retry": null, "unique_key": null,
        "on_duplicate": null, "owner_service": null, "tags": null,
    });
    let (with, without) = (acme.create(nulls).await, acme.create(Value::Null).await);
    for (field, value) in without.as_object().unwrap() {
        assert!(field == "id" || with[field] == *value, "{field}: {}", with[field]);
    }
}

#[tokio::test]
async fn the_longest_and_the_shortest_values_are_taken() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let long = "ä".repeat(255);
    // One is as long as may be; together they come close to 8 KiB.
    let length = |n| if n == 10 { 4_096 } else { 79 };
    let headers: serde_json::Map<_, _> =
        (10..60).map(|n| (format!("X-{n}"), json!("v".repeat(length(n))))).collect();
    let tags: serde_json::Map<_, _> = (0..16).map(|n| (format!("{n:064}"), json!(long))).collect();
    let url = format!("http://h/{}", "p".repeat(2_048 - 9));
    let made = acme
        .create(json!({
            "name": long, "unique_key": long, "owner_service": long, "queue": "q".repeat(63),
            "target": {"url": url, "headers": headers}, "tags": tags,
            "timeout_ms": 31_536_000_000_u64, "heartbeat_timeout_ms": 31_536_000_000_u64,
            "delay_ms": 315_360_000_000_u64, "start_deadline": "2199-12-31T23:59:59.999999Z",
            "content_type": "x".repeat(255),
            "retry": {"max_retries": 1_000, "base_ms": 31_536_000_000_u64, "factor": 100,
                      "cap_ms": 31_536_000_000_u64, "jitter": 1},
        }))
        .await;
    assert_eq!((&made["name"], &made["unique_key"]), (&json!(long), &json!(long)));
    assert_eq!(made["tags"], Value::Object(tags));
    assert_eq!(made["target"], json!({"url": url, "method": "POST", "headers": headers}));
    let made = acme.create(json!({"target": {"url": "http://h", "method": "GET"}, "timeout_ms": 1,
        "retry": {"max_retries": 0, "base_ms": 0, "factor": 1, "cap_ms": 0, "jitter": 0,
                  "max_dispatch_retries": 0}}));
    assert_eq!(made.await["retry"]["cap_ms"], 0);
}

#[tokio::test]
async fn a_delay_counts_from_the_registration_and_the_past_is_now() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let due = async |more: Value| acme.create(more).await["due_at"].as_str().unwrap().to_owned();
    let now = "2026-11-30T02:00:00.000000Z";
    assert_eq!(due(json!({"delay_ms": 1_500})).await, "2026-11-30T02:00:01.500000Z");
    assert_eq!(due(json!({"delay_ms": 0})).await, now);
    assert_eq!(due(json!({"due_at": "1970-01-01T00:00:00Z"})).await, now);
    assert_eq!(due(json!({"due_at": "2026-11-30T03:00:00+01:00"})).await, now);
    // The example of the documentation has both.
    let both = json!({"due_at": "2026-12-01T08:00:00Z", "delay_ms": 0});
    assert_eq!(due(both).await, "2026-12-01T08:00:00.000000Z");
    let both = job(json!({"due_at": "2026-12-01T08:00:00Z", "delay_ms": 1}));
    let reply = acme.post("/v1/jobs", &both).await;
    assert_eq!(reply.faults(), [("#/delay_ms".to_owned(), "excluded".to_owned())]);
    assert_eq!(api.engine.clock.now(), START);
}

#[tokio::test]
async fn a_unique_key_is_had_by_one_unfinished_job() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let keyed = job(json!({"unique_key": "order-42", "delay_ms": 60_000, "name": "first"}));
    let first = acme.post("/v1/jobs", &keyed).await;
    assert_eq!((first.status, first.header("axle-deduplicated")), (201, None));
    let second = acme.post("/v1/jobs", &job(json!({"unique_key": "order-42"}))).await;
    assert_eq!((second.status, second.header("axle-deduplicated")), (200, Some("true")));
    assert_eq!(second.header("location"), first.header("location"));
    assert_eq!(second.json, first.json);
    let reject = job(json!({"unique_key": "order-42", "on_duplicate": "reject"}));
    let third = acme.post("/v1/jobs", &reject).await;
    assert_eq!((third.status, third.code()), (409, "duplicate-key"));
    assert_eq!(third.json["existing_id"], first.json["id"]);
    let id = first.json["id"].as_str().unwrap();
    assert_eq!(acme.act(&format!("/v1/jobs/{id}/cancel")).await.status, 200);
    let fourth = acme.post("/v1/jobs", &reject).await;
    assert_eq!(fourth.status, 201);
    assert_ne!(fourth.json["id"], first.json["id"]);
}
