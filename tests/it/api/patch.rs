//! Changing a job that is not claimed: on a condition, and nothing but what was sent.

use axle::domain::verdict::Outcome;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::api::{Api, Caller};
use crate::support::engine::FAILED;

async fn waiting(caller: &Caller<'_>) -> (String, String) {
    let more =
        json!({"delay_ms": 60_000, "payload": {"a": 1}, "content_type": "application/x+json"});
    let reply = caller.create(more).await;
    let path = format!("/v1/jobs/{}", reply["id"].as_str().unwrap());
    let etag = caller.get(&path).await.header("etag").unwrap().to_owned();
    (path, etag)
}

#[tokio::test]
async fn a_change_needs_the_etag_last_read() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let (path, etag) = waiting(&acme).await;
    let bare = acme.send(Method::PATCH, &path, r#"{"priority":1}"#).await;
    assert_eq!((bare.status, bare.code()), (428, "precondition-required"));
    let changed = acme.patch(&path, &etag, &json!({"priority": 1})).await;
    assert_eq!((changed.status, &changed.json["priority"]), (200, &json!(1)));
    let fresh = changed.header("etag").unwrap().to_owned();
    assert_ne!(fresh, etag);
    assert_eq!(acme.get(&path).await.header("etag"), Some(fresh.as_str()));
    for stale in [&etag, "\"none\"", "", "W/\"1-0-PENDING\"", "1-0-PENDING"] {
        let reply = acme.patch(&path, stale, &json!({"priority": 2})).await;
        assert_eq!((reply.status, reply.code()), (412, "version-conflict"), "{stale}");
        assert_eq!(reply.json["current_etag"], fresh.as_str());
    }
    assert_eq!(acme.get(&path).await.json["priority"], 1);
    let listed = format!("{etag}, {fresh}");
    assert_eq!(acme.patch(&path, &listed, &json!({"priority": 3})).await.status, 200);
    assert_eq!(acme.patch(&path, "*", &json!({"priority": 4})).await.json["version"], 4);
}

#[tokio::test]
async fn both_media_types_of_a_patch_are_taken() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let (path, _) = waiting(&acme).await;
    for (media, status) in [
        ("application/merge-patch+json", 200),
        ("application/json; charset=utf-8", 200),
        ("application/x-www-form-urlencoded", 415),
    ] {
        let caller = acme.clone().header("content-type", media);
        assert_eq!(
            caller.patch(&path, "*", &json!({"priority": 1})).await.status,
            status,
            "{media}"
        );
    }
}

#[tokio::test]
async fn what_is_not_sent_stays() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let (path, _) = waiting(&acme).await;
    let before = acme.get(&path).await.json;
    for (body, changed) in [
        (json!({}), &[][..]),
        (json!({"priority": 9}), &["priority"]),
        (json!({"due_at": "2026-12-01T00:00:00Z"}), &["due_at", "next_attempt_at"]),
        (json!({"retry": {"max_retries": 9}}), &["retry"]),
        (json!({"payload": [1]}), &["payload"]),
        (json!({"content_type": "application/json"}), &["content_type"]),
    ] {
        let (path, _) = waiting(&acme).await;
        let after = acme.patch(&path, "*", &body).await;
        assert_eq!(after.status, 200, "{body}: {}", after.text);
        assert_eq!(acme.get(&path).await.json, after.json);
        for (field, value) in before.as_object().unwrap() {
            let is_other = after.json[field] != *value;
            // These tell that something was changed, or are another job's by nature.
            let may = ["id", "version", "updated_at", "next_step"].contains(&field.as_str());
            assert!(is_other == changed.contains(&field.as_str()) || may, "{body}: {field}");
        }
        if body["retry"].is_object() {
            assert_eq!(after.json["retry"]["max_retries"], 9);
            assert_eq!(after.json["retry"]["base_ms"], 30_000);
        }
    }
}

#[tokio::test]
async fn a_payload_is_replaced_whole_and_may_change_its_kind() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let (path, _) = waiting(&acme).await;
    let bytes = json!({"payload_base64": "AP8=", "content_type": "application/octet-stream"});
    let reply = acme.patch(&path, "*", &bytes).await.json;
    assert_eq!((&reply["payload_base64"], reply.get("payload")), (&json!("AP8="), None));
    assert_eq!(reply["content_type"], "application/octet-stream");
    let caller = acme.clone().header("if-match", "*");
    let reply = caller.send(Method::PATCH, &path, r#"{"payload": {"b" :1e400,"b":2} }"#).await;
    assert!(reply.text.contains(r#""payload":{"b" :1e400,"b":2},"#), "{}", reply.text);
    // A JSON payload in the place of bytes is JSON, whatever the bytes were.
    assert!(reply.text.contains(r#""content_type":"application/json""#), "{}", reply.text);
}

#[tokio::test]
async fn what_cannot_be_accepted_is_refused_with_every_fault() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let (path, etag) = waiting(&acme).await;
    let cases: [(Value, &[(&str, &str)]); 9] = [
        (
            json!({"priority": 10, "name": "x"}),
            &[("#/name", "unknown-field"), ("#/priority", "out-of-range")],
        ),
        (json!({"due_at": "2200-01-01T00:00:00Z"}), &[("#/due_at", "out-of-range")]),
        (json!({"due_at": "soon"}), &[("#/due_at", "wrong-type")]),
        (
            json!({"retry": {"factor": 0, "cap": 1}}),
            &[("#/retry/cap", "unknown-field"), ("#/retry/factor", "out-of-range")],
        ),
        (json!({"content_type": "a\r\nX: 1"}), &[("#/content_type", "out-of-range")]),
        (json!({"payload": 1, "content_type": "ä"}), &[("#/content_type", "out-of-range")]),
        (json!({"payload_base64": "AA=="}), &[("#/content_type", "required")]),
        (
            json!({"payload": 1, "payload_base64": "AA==", "content_type": "a/b"}),
            &[("#/payload_base64", "excluded")],
        ),
        (json!({"unique_key": "k"}), &[("#/unique_key", "unknown-field")]),
    ];
    for (body, expected) in cases {
        let reply = acme.patch(&path, &etag, &body).await;
        let expected: Vec<_> =
            expected.iter().map(|(at, code)| ((*at).to_owned(), (*code).to_owned())).collect();
        assert_eq!((reply.status, reply.faults()), (422, expected), "{body}");
    }
    let large = json!({"payload": "x".repeat(256 * 1024)});
    assert_eq!(acme.patch(&path, &etag, &large).await.status, 413);
    // Nothing of it was done.
    assert_eq!(acme.get(&path).await.header("etag"), Some(etag.as_str()));
}

#[tokio::test]
async fn a_claimed_or_finished_job_is_not_changed() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let id = acme.enqueue(json!({"retry": {"base_ms": 1_000, "jitter": 0}})).await;
    let path = format!("/v1/jobs/{id}");
    let etag = acme.get(&path).await.header("etag").unwrap().to_owned();
    let run = api.claim(&id).await;
    let stale = acme.patch(&path, &etag, &json!({"priority": 1})).await;
    assert_eq!(stale.status, 412, "the claim has changed the ETag");
    let running = acme.patch(&path, "*", &json!({"priority": 1})).await;
    assert_eq!((running.status, running.code()), (409, "illegal-transition"));
    api.settle(run, FAILED).await;
    let waiting = acme.patch(&path, "*", &json!({"due_at": "2026-11-30T02:00:00Z"})).await;
    assert_eq!((waiting.status, &waiting.json["state"]), (200, &json!("RETRY_WAIT")));
    api.settle(api.claim(&id).await, Outcome::Succeeded).await;
    let finished = acme.patch(&path, "*", &json!({"priority": 1})).await;
    assert_eq!((finished.status, finished.code()), (409, "illegal-transition"));
}

#[tokio::test]
async fn a_past_due_time_means_at_once_and_jumps_no_queue() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let (path, _) = waiting(&acme).await;
    let reply = acme.patch(&path, "*", &json!({"due_at": "1970-01-01T00:00:00Z"})).await;
    assert_eq!(reply.json["due_at"], "2026-11-30T02:00:00.000000Z");
    assert_eq!(reply.json["next_attempt_at"], "2026-11-30T02:00:00.000000Z");
}

#[tokio::test]
async fn of_two_changes_on_one_etag_one_is_made() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let (path, etag) = waiting(&acme).await;
    let change =
        async |priority: i16| acme.patch(&path, &etag, &json!({"priority": priority})).await;
    let replies = futures_util::future::join_all((0..8).map(&change)).await;
    let mut statuses: Vec<_> = replies.iter().map(|reply| reply.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 412, 412, 412, 412, 412, 412, 412]);
    assert_eq!(acme.get(&path).await.json["version"], 2);
}
