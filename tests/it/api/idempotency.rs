//! The Idempotency-Key over HTTP (conventions 2.3; bugs B108 to B112).

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::recipes::schedule;
use crate::support::api::{Api, Caller, Reply, Setup, job};

async fn register(caller: &Caller<'_>, key: &str, more: Value) -> Reply {
    caller.clone().header("idempotency-key", key).post("/v1/jobs", &job(more)).await
}

async fn count(api: &Api) -> i64 {
    api.engine.db.ask("SELECT count(*) FROM jobs").await.get(0)
}

fn is_replayed(reply: &Reply) -> bool {
    reply.header("idempotent-replayed") == Some("true")
}

#[tokio::test]
async fn b108_b110_a_thousand_equal_requests_make_one_job_and_get_one_answer() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let replies = join_all((0..1_000).map(|_| register(&acme, "k1", json!({"name": "n"})))).await;
    let mut statuses = BTreeMap::new();
    for reply in &replies {
        *statuses.entry(reply.status).or_insert(0) += 1;
    }
    assert_eq!(statuses, [(201, 1_000)].into());
    let first = &replies[0];
    for reply in &replies {
        assert_eq!(reply.text, first.text, "byte for byte");
        assert_eq!(reply.header("location"), first.header("location"));
        assert_eq!(reply.header("content-type"), first.header("content-type"));
    }
    let replayed = replies.iter().filter(|reply| is_replayed(reply)).count();
    assert_eq!((replayed, count(&api).await), (999, 1), "one of them did the work");
}

#[tokio::test]
async fn b109_the_same_key_with_another_body_is_a_422() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    assert_eq!(register(&acme, "k1", json!({"name": "a"})).await.status, 201);
    let other = register(&acme, "k1", json!({"name": "b"})).await;
    assert_eq!((other.status, other.code()), (422, "idempotency-key-reused"));
    // A body that would mean the same is another body: the bytes count.
    let spaced = format!(" {}", job(json!({"name": "a"})));
    let caller = acme.clone().header("idempotency-key", "k1");
    let spaced = caller.send(reqwest::Method::POST, "/v1/jobs", spaced).await;
    assert_eq!(spaced.code(), "idempotency-key-reused");
    assert_eq!(count(&api).await, 1);
}

#[tokio::test]
async fn b109_of_two_bodies_at_once_one_is_registered_and_the_other_a_422() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let names = (0..20).map(|n| json!({"name": format!("n{}", n % 2)}));
    let replies = join_all(names.map(|more| register(&acme, "k1", more))).await;
    let won = replies.iter().find(|reply| reply.status == 201).unwrap();
    for reply in &replies {
        let is_same = reply.text == won.text;
        assert!(is_same || reply.code() == "idempotency-key-reused", "{}", reply.text);
    }
    assert_eq!(replies.iter().filter(|reply| reply.status == 201).count(), 10);
    assert_eq!(count(&api).await, 1);
}

#[tokio::test]
async fn a_quoted_key_is_the_bare_one() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let first = register(&acme, "8e03978e-40d5", Value::Null).await;
    for same in ["\"8e03978e-40d5\"", " 8e03978e-40d5 "] {
        let reply = register(&acme, same, Value::Null).await;
        assert!(is_replayed(&reply) && reply.text == first.text, "{same}");
    }
    assert!(!is_replayed(&register(&acme, "8E03978E-40D5", Value::Null).await));
}

#[tokio::test]
async fn b111_what_is_no_key_is_a_400() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let long = "k".repeat(256);
    let huge = "k".repeat(10_000);
    for bad in ["", "\"\"", "\"open", "a b", "ä", "\"a\tb\"", &long, &huge] {
        let reply = register(&acme, bad, Value::Null).await;
        assert_eq!((reply.status, reply.code()), (400, "malformed-request"), "{bad}");
    }
    assert_eq!(register(&acme, &"k".repeat(255), Value::Null).await.status, 201);
    assert_eq!(count(&api).await, 1);
}

#[tokio::test]
async fn b111_a_key_is_another_one_on_another_endpoint() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let id = acme.enqueue(json!({"delay_ms": 60_000})).await;
    let keyed = acme.clone().header("idempotency-key", "k1");
    let batch = json!({"jobs": [job(Value::Null)]});
    let replies = [
        keyed.post("/v1/jobs", &job(Value::Null)).await,
        keyed.post("/v1/jobs/batch", &batch).await,
        keyed.act(&format!("/v1/jobs/{id}/run-now")).await,
        keyed.act(&format!("/v1/jobs/{id}/cancel")).await,
        keyed.act(&format!("/v1/jobs/{id}/rerun")).await,
        keyed.post("/v1/queues/mail/pause", &json!({"reason": "x"})).await,
        keyed.act("/v1/queues/mail/resume").await,
        keyed.post("/v1/schedules", &schedule(json!({"name": "n"}))).await,
        keyed.post("/v1/schedules/n/pause", &json!({"reason": "x"})).await,
        keyed.act("/v1/schedules/n/resume").await,
        keyed.act("/v1/schedules/n/trigger").await,
        keyed.post("/v1/schedules/n/backfill", &past_day()).await,
    ];
    for reply in &replies {
        assert!(reply.status < 300 && !is_replayed(reply), "{}", reply.text);
    }
    // And each is answered again as it was.
    let again = [
        keyed.post("/v1/jobs", &job(Value::Null)).await,
        keyed.post("/v1/jobs/batch", &batch).await,
        keyed.act(&format!("/v1/jobs/{id}/run-now")).await,
        keyed.act(&format!("/v1/jobs/{id}/cancel")).await,
        keyed.act(&format!("/v1/jobs/{id}/rerun")).await,
        keyed.post("/v1/queues/mail/pause", &json!({"reason": "x"})).await,
        keyed.act("/v1/queues/mail/resume").await,
        keyed.post("/v1/schedules", &schedule(json!({"name": "n"}))).await,
        keyed.post("/v1/schedules/n/pause", &json!({"reason": "x"})).await,
        keyed.act("/v1/schedules/n/resume").await,
        keyed.act("/v1/schedules/n/trigger").await,
        keyed.post("/v1/schedules/n/backfill", &past_day()).await,
    ];
    for (first, second) in replies.iter().zip(&again) {
        assert!(is_replayed(second));
        assert_eq!((first.status, &first.text), (second.status, &second.text));
        assert_eq!(first.header("location"), second.header("location"));
    }
    assert_eq!(count(&api).await, 6, "two of them by the schedule");
}

/// The range of one fire time of a schedule that fires once a day.
fn past_day() -> Value {
    json!({"from": "2026-11-28T00:00:00Z", "to": "2026-11-29T00:00:00Z"})
}

#[tokio::test]
async fn a_key_of_one_jobs_action_does_not_act_on_another() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let [one, two] = [acme.enqueue(Value::Null).await, acme.enqueue(Value::Null).await];
    let keyed = acme.clone().header("idempotency-key", "k1");
    assert_eq!(keyed.act(&format!("/v1/jobs/{one}/cancel")).await.status, 200);
    let reply = keyed.act(&format!("/v1/jobs/{two}/cancel")).await;
    assert_eq!((reply.status, reply.code()), (422, "idempotency-key-reused"));
    assert_eq!(acme.job(&two).await["state"], "PENDING");
}

#[tokio::test]
async fn what_was_refused_leaves_the_key_free() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let id = acme.enqueue(json!({"unique_key": "u"})).await;
    let reject = json!({"unique_key": "u", "on_duplicate": "reject"});
    assert_eq!(register(&acme, "k1", json!({"priority": 10})).await.status, 422);
    assert_eq!(register(&acme, "k1", reject.clone()).await.status, 409);
    let viewer = acme.clone().role(axle::domain::principal::Role::Viewer);
    assert_eq!(register(&viewer, "k1", Value::Null).await.status, 403);
    let keyed = acme.clone().header("idempotency-key", "k1");
    assert_eq!(keyed.act(&format!("/v1/jobs/{id}/rerun")).await.status, 409);
    acme.act(&format!("/v1/jobs/{id}/cancel")).await;
    let made = register(&acme, "k1", reject).await;
    assert_eq!((made.status, is_replayed(&made)), (201, false), "{}", made.text);
    assert_eq!(
        keyed.act(&format!("/v1/jobs/{id}/rerun")).await.status,
        409,
        "the key `u` is taken"
    );
}

#[tokio::test]
async fn an_answer_with_an_older_job_is_repeated_as_such() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    acme.enqueue(json!({"unique_key": "u"})).await;
    let first = register(&acme, "k1", json!({"unique_key": "u"})).await;
    let second = register(&acme, "k1", json!({"unique_key": "u"})).await;
    assert!(is_replayed(&second) && !is_replayed(&first));
    for reply in [&first, &second] {
        assert_eq!((reply.status, reply.header("axle-deduplicated")), (200, Some("true")));
    }
    assert_eq!(second.text, first.text);
}

#[tokio::test]
async fn b112_the_answer_stays_what_it_was_for_a_day() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let first = register(&acme, "k1", Value::Null).await;
    let id = first.json["id"].as_str().unwrap();
    acme.act(&format!("/v1/jobs/{id}/cancel")).await;
    api.engine.pass(Duration::from_secs(24 * 3_600 - 1));
    let later = register(&acme, "k1", Value::Null).await;
    assert!(is_replayed(&later) && later.text == first.text, "{}", later.text);
    api.engine.pass(Duration::from_secs(2));
    let anew = register(&acme, "k1", json!({"name": "other"})).await;
    assert_eq!((anew.status, is_replayed(&anew)), (201, false));
}

#[tokio::test]
async fn a_server_may_demand_a_key_of_whoever_creates_or_acts() {
    let api = Api::with(Setup { require_key: true, ..Setup::default() }).await;
    let acme = api.as_team("acme");
    let made = register(&acme, "k1", json!({"delay_ms": 60_000})).await;
    assert_eq!(made.status, 201);
    let id = made.json["id"].as_str().unwrap();
    for reply in [
        acme.post("/v1/jobs", &job(Value::Null)).await,
        acme.post("/v1/jobs/batch", &json!({"jobs": [job(Value::Null)]})).await,
        acme.act(&format!("/v1/jobs/{id}/cancel")).await,
        acme.act(&format!("/v1/jobs/{id}/run-now")).await,
        acme.act(&format!("/v1/jobs/{id}/rerun")).await,
        acme.post("/v1/queues/mail/pause", &json!({"reason": "x"})).await,
        acme.act("/v1/queues/mail/resume").await,
        acme.post("/v1/schedules", &schedule(json!({"name": "n"}))).await,
        acme.act("/v1/schedules/n/trigger").await,
        acme.act("/v1/schedules/n/resume").await,
        acme.post("/v1/schedules/n/pause", &json!({"reason": "x"})).await,
        acme.post("/v1/schedules/n/backfill", &past_day()).await,
    ] {
        assert_eq!(
            (reply.status, reply.code()),
            (400, "idempotency-key-missing"),
            "{}",
            reply.text
        );
    }
    assert_eq!(acme.get("/v1/jobs").await.status, 200);
    assert_eq!(acme.put("/v1/queues/mail", &json!({})).await.status, 200);
    assert_eq!(acme.put("/v1/schedules/n", &schedule(Value::Null)).await.status, 201);
    assert_eq!(acme.patch(&format!("/v1/jobs/{id}"), "*", &json!({})).await.status, 200);
}
