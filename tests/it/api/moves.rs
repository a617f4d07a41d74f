//! Cancel, run now and run again, in every state that a job can be in.

use std::time::Duration;

use axle::domain::verdict::Outcome;
use serde_json::{Value, json};

use crate::support::api::{Api, job};
use crate::support::engine::{FAILED, REFUSED};

/// The states that the API can show. WAITING comes with workflows.
const STATES: [&str; 6] = ["PENDING", "RETRY_WAIT", "RUNNING", "SUCCESS", "FAILED", "CANCELLED"];

/// A job in this state; if it waits, then for an hour.
async fn in_state(api: &Api, state: &str) -> String {
    let acme = api.as_team("acme");
    if state == "PENDING" {
        return acme.enqueue(json!({"delay_ms": 3_600_000})).await;
    }
    let id = acme.enqueue(json!({"retry": {"base_ms": 3_600_000, "jitter": 0}})).await;
    match state {
        "RUNNING" => drop(api.claim(&id).await),
        "RETRY_WAIT" => api.settle(api.claim(&id).await, FAILED).await,
        "SUCCESS" => api.settle(api.claim(&id).await, Outcome::Succeeded).await,
        "FAILED" => api.settle(api.claim(&id).await, REFUSED).await,
        "CANCELLED" => drop(acme.act(&format!("/v1/jobs/{id}/cancel")).await),
        other => panic!("{other}"),
    }
    assert_eq!(acme.job(&id).await["state"], state);
    id
}

#[tokio::test]
async fn each_move_goes_from_the_states_that_allow_it_and_from_no_other() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    for (act, allowed) in [
        // Cancelling twice is the same as once.
        ("cancel", &["PENDING", "RETRY_WAIT", "RUNNING", "CANCELLED"][..]),
        ("run-now", &["PENDING", "RETRY_WAIT"]),
        ("rerun", &["SUCCESS", "FAILED", "CANCELLED"]),
    ] {
        for state in STATES {
            let id = in_state(&api, state).await;
            let before = acme.job(&id).await;
            let reply = acme.act(&format!("/v1/jobs/{id}/{act}")).await;
            if allowed.contains(&state) {
                assert!(matches!(reply.status, 200 | 201), "{act} of {state}: {}", reply.text);
                continue;
            }
            let found = (reply.status, reply.code());
            assert_eq!(found, (409, "illegal-transition"), "{act} of {state}");
            assert!(reply.json["detail"].as_str().unwrap().contains(state), "{}", reply.text);
            assert_eq!(acme.job(&id).await, before, "{act} of {state} changed it");
        }
    }
}

#[tokio::test]
async fn a_cancelled_job_says_so_and_its_run_with_it() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let id = in_state(&api, "RUNNING").await;
    api.engine.pass(Duration::from_secs(1));
    let reply = acme.act(&format!("/v1/jobs/{id}/cancel")).await.json;
    assert_eq!((&reply["state"], &reply["reason"]), (&json!("CANCELLED"), &json!("by_user")));
    assert_eq!(reply["finished_at"], "2026-11-30T02:00:01.000000Z");
    assert_eq!((&reply["current_run_id"], &reply["next_attempt_at"]), (&Value::Null, &Value::Null));
    assert_eq!(acme.job(&id).await, reply);
    let runs = acme.get(&format!("/v1/jobs/{id}/runs")).await.json;
    assert_eq!(runs["data"][0]["state"], "CANCELLED");
    let again = acme.act(&format!("/v1/jobs/{id}/cancel")).await;
    assert_eq!((again.status, again.json), (200, reply));
}

#[tokio::test]
async fn run_now_makes_a_waiting_job_due() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    for state in ["PENDING", "RETRY_WAIT"] {
        let id = in_state(&api, state).await;
        let reply = acme.act(&format!("/v1/jobs/{id}/run-now")).await.json;
        assert_eq!(
            (&reply["state"], &reply["attempt"]),
            (&json!(state), &acme.job(&id).await["attempt"])
        );
        assert_eq!(reply["next_attempt_at"], "2026-11-30T02:00:00.000000Z");
        api.settle(api.claim(&id).await, Outcome::Succeeded).await;
    }
}

#[tokio::test]
async fn b089_each_rerun_is_a_new_linked_job_like_the_first() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let asked = json!({
        "name": "n", "queue": "q", "payload": {"a": 1}, "priority": 7, "timeout_ms": 5,
        "completion": "callback", "retry": {"max_retries": 0}, "owner_service": "o",
        "tags": {"t": "1"}, "start_deadline": "2026-12-01T00:00:00Z",
        "target": {"url": "http://h/x", "method": "PUT", "headers": {"X-A": "1"}},
    });
    let first = acme.create(asked).await;
    let id = first["id"].as_str().unwrap();
    api.settle(api.claim(id).await, FAILED).await;
    let finished = acme.job(id).await;
    assert_eq!(finished["state"], "FAILED");
    api.engine.pass(Duration::from_mins(1));
    let mut made = Vec::new();
    for _ in 0..2 {
        let reply = acme.act(&format!("/v1/jobs/{id}/rerun")).await;
        assert_eq!(reply.status, 201);
        let new = reply.json["id"].as_str().unwrap().to_owned();
        assert_eq!(reply.header("location"), Some(format!("/v1/jobs/{new}").as_str()));
        assert_eq!(
            (&reply.json["rerun_of"], &reply.json["state"]),
            (&json!(id), &json!("PENDING"))
        );
        assert_eq!(reply.json["due_at"], "2026-11-30T02:01:00.000000Z");
        assert_eq!(reply.json["start_deadline"], Value::Null);
        for field in [
            "name",
            "queue",
            "payload",
            "priority",
            "timeout_ms",
            "completion",
            "retry",
            "owner_service",
            "tags",
            "target",
            "content_type",
        ] {
            assert_eq!(reply.json[field], first[field], "{field}");
        }
        made.push(new);
    }
    assert_ne!(made[0], made[1]);
    assert_eq!(acme.job(id).await, finished, "the finished job stays as it is");
}

#[tokio::test]
async fn a_rerun_respects_the_unique_key() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let id = acme.enqueue(json!({"unique_key": "k"})).await;
    acme.act(&format!("/v1/jobs/{id}/cancel")).await;
    let other = acme.post("/v1/jobs", &job(json!({"unique_key": "k"}))).await;
    let reply = acme.act(&format!("/v1/jobs/{id}/rerun")).await;
    assert_eq!((reply.status, reply.code()), (409, "duplicate-key"));
    assert_eq!(reply.json["existing_id"], other.json["id"]);
}
