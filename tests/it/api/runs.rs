//! A job's runs, page by page, and its log.

use std::time::Duration;

use axle::domain::verdict::Outcome;
use axle::engine::run_token;
use serde_json::{Value, json};

use crate::support::api::Api;
use crate::support::engine::FAILED;

/// A job with so many failed runs that is running again.
async fn with_runs(api: &Api, count: usize) -> String {
    let retry = json!({"max_retries": 100, "base_ms": 0, "jitter": 0});
    let id = api.as_team("acme").enqueue(json!({"retry": retry})).await;
    for _ in 0..count {
        api.settle(api.claim(&id).await, FAILED).await;
    }
    api.claim(&id).await;
    id
}

#[tokio::test]
async fn runs_come_newest_first_page_by_page() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let id = with_runs(&api, 6).await;
    let start = format!("/v1/jobs/{id}/runs?limit=3");
    let (mut fences, mut path) = (Vec::new(), Some(start));
    while let Some(here) = path {
        let page = acme.get(&here).await;
        let runs = page.json["data"].as_array().unwrap().clone();
        assert!(runs.len() <= 3);
        fences.extend(runs.iter().map(|run| run["fence"].as_i64().unwrap()));
        path = page.header("link").map(|link| {
            let next = link.strip_prefix('<').unwrap().strip_suffix(">; rel=\"next\"").unwrap();
            assert!(next.contains("limit=3"), "{next}");
            next.to_owned()
        });
    }
    assert_eq!(fences, [7, 6, 5, 4, 3, 2, 1]);
    let all = acme.get(&format!("/v1/jobs/{id}/runs")).await.json;
    assert_eq!(all["data"][0]["state"], "DISPATCHING");
    assert_eq!(all["data"][0]["id"], acme.job(&id).await["current_run_id"]);
    assert_eq!(all["next_cursor"], Value::Null);
    for run in all["data"].as_array().unwrap() {
        let one = acme.get(&format!("/v1/runs/{}", run["id"].as_str().unwrap())).await;
        assert_eq!((one.status, &one.json), (200, run));
    }
}

#[tokio::test]
async fn a_page_of_runs_takes_no_foreign_cursor_and_no_unknown_parameter() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let (id, other) = (with_runs(&api, 2).await, with_runs(&api, 2).await);
    let page = acme.get(&format!("/v1/jobs/{other}/runs?limit=1")).await;
    let foreign = page.json["next_cursor"].as_str().unwrap().to_owned();
    let jobs = acme.get("/v1/jobs?limit=1").await.json["next_cursor"].as_str().unwrap().to_owned();
    for cursor in [foreign.as_str(), jobs.as_str(), "", "AAAA"] {
        let reply = acme.get(&format!("/v1/jobs/{id}/runs?cursor={cursor}")).await;
        assert_eq!((reply.status, reply.code()), (400, "invalid-cursor"), "{cursor}");
    }
    let reply = acme.get(&format!("/v1/jobs/{id}/runs?limit=0&state=FAILED")).await;
    let expected = [("#/query/limit", "out-of-range"), ("#/query/state", "unknown-parameter")];
    assert_eq!(reply.faults(), expected.map(|(at, code)| (at.to_owned(), code.to_owned())));
}

#[tokio::test]
async fn a_run_that_never_was_is_unknown() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let id = with_runs(&api, 1).await;
    let digits = id.strip_prefix("job_").unwrap();
    for fence in ["3", "2147483647"] {
        let reply = acme.get(&format!("/v1/runs/run_{digits}_{fence}")).await;
        assert_eq!((reply.status, reply.code()), (404, "run-unknown"), "{fence}");
    }
}

async fn kinds(api: &Api, id: &str) -> Vec<String> {
    let log = api.as_team("acme").get(&format!("/v1/jobs/{id}/events")).await.json;
    let mut lines = log["data"].as_array().unwrap().clone();
    assert!(
        lines.is_sorted_by_key(|line| std::cmp::Reverse(line["at"].as_str().unwrap().to_owned()))
    );
    lines.reverse();
    lines.iter().map(|line| line["kind"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn the_log_tells_a_jobs_life_in_order_even_of_one_instant() {
    let api = Api::start().await;
    // The clock stands still: only the order of a job's life can tell.
    let id = api.as_team("acme").enqueue(json!({"retry": {"base_ms": 0, "jitter": 0}})).await;
    for outcome in [FAILED, Outcome::TimedOut, Outcome::Lost] {
        api.settle(api.claim(&id).await, outcome).await;
    }
    api.claim(&id).await;
    api.as_team("acme").act(&format!("/v1/jobs/{id}/cancel")).await;
    let expected = [
        "registered",
        "claimed",
        "failed",
        "retry_scheduled",
        "claimed",
        "timed_out",
        "retry_scheduled",
        "claimed",
        "lost",
        "retry_scheduled",
        "claimed",
        "run_cancelled",
        "cancelled",
    ];
    assert_eq!(kinds(&api, &id).await, expected);
}

#[tokio::test]
async fn what_a_target_repeats_stands_in_the_log_once_with_its_count() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let id = acme.enqueue(Value::Null).await;
    let run = api.claim(&id).await;
    api.settle(run, Outcome::Succeeded).await;
    let token = run_token::token(&api.engine.limits.callback_key, run);
    for _ in 0..3 {
        api.engine.pass(Duration::from_secs(1));
        let path = format!("/v1/runs/{run}/callback?token={token}");
        let reply = api.as_nobody().post(&path, &json!({"status": "failed"})).await;
        assert_eq!((reply.status, reply.code()), (409, "stale-run"));
        assert_eq!(reply.json["cancel_requested"], false);
    }
    assert_eq!(kinds(&api, &id).await, ["registered", "claimed", "succeeded", "stale_callback"]);
    let log = acme.get(&format!("/v1/jobs/{id}/events")).await.json;
    assert_eq!(
        (&log["data"][0]["count"], &log["data"][0]["run_id"]),
        (&json!(3), &json!(run.to_string()))
    );
}

#[tokio::test]
async fn a_callback_needs_the_token_of_its_run_and_says_who_it_is_about() {
    let api = Api::start().await;
    let nobody = api.as_nobody();
    let run = api.claim(&api.as_team("acme").enqueue(Value::Null).await).await;
    let other = api.claim(&api.as_team("acme").enqueue(Value::Null).await).await;
    let token = |run| run_token::token(&api.engine.limits.callback_key, run);
    let succeeded = json!({"status": "succeeded"});
    for act in ["callback", "heartbeat"] {
        let body = if act == "callback" { &succeeded } else { &json!({}) };
        for wrong in ["", "?token=", "?token=%00", &format!("?token={}", token(other))] {
            let reply = nobody.post(&format!("/v1/runs/{run}/{act}{wrong}"), body).await;
            assert_eq!((reply.status, reply.code()), (401, "bad-run-token"), "{act} {wrong}");
        }
    }
    let path = format!("/v1/runs/{run}/callback?token={}", token(run));
    for (body, at, code) in [
        (json!({}), "#/status", "required"),
        (json!({"status": "done"}), "#/status", "out-of-range"),
        (json!({"status": "succeeded", "run_id": other.to_string()}), "#/run_id", "mismatch"),
        (json!({"status": "succeeded", "fence": 2}), "#/fence", "mismatch"),
        (json!({"status": "succeeded", "oops": 2}), "#/oops", "unknown-field"),
        (json!({"status": "progress", "progress": {"pct": 101}}), "#/progress/pct", "out-of-range"),
        (json!({"status": "failed", "error": {"retryable": 1}}), "#/error/retryable", "wrong-type"),
    ] {
        let reply = nobody.post(&path, &body).await;
        let expected = vec![(at.to_owned(), code.to_owned())];
        assert_eq!((reply.status, reply.faults()), (422, expected), "{body}");
    }
    // An empty heartbeat has no body at all.
    let beat = nobody.act(&path.replace("callback", "heartbeat")).await;
    assert_eq!((beat.status, &beat.json), (200, &json!({"deadline": null})));
    let said = json!({"status": "succeeded", "run_id": run.to_string(), "fence": 1});
    assert_eq!(nobody.post(&path, &said).await.json, json!({"applied": true}));
    let again = nobody.post(&path, &succeeded).await;
    assert_eq!(again.json, json!({"applied": false, "duplicate": true}));
}
