//! Quotas of teams over HTTP: who sets and sees them, what refuses and what it says, and that several
//! processes keep to them together.

use std::time::Duration;

use axle::domain::principal::Role;
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::recipes::schedule;
use crate::support::api::{Api, Reply, Setup, job};

const QUOTAS: &str = "/v1/teams/acme/quotas";

/// Sets limits of `acme`, as somebody of another team who may.
async fn limit(api: &Api, limits: Value) -> Reply {
    let admin = api.as_team("ops").installation_admin();
    let reply = admin.patch(QUOTAS, "*", &limits).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply
}

/// Another process on the same database, which knows the limits.
async fn another(api: &Api) -> Api {
    let other = Api::on(api.engine.db.url.clone(), Setup::default()).await;
    other.engine.roster.refresh(&other.engine.store).await.unwrap();
    other
}

async fn count(api: &Api, table: &str) -> i64 {
    api.engine.db.ask(&format!("SELECT count(*) FROM {table}")).await.get(0)
}

fn refused(reply: &Reply, policy: &str) {
    assert_eq!((reply.status, reply.code()), (409, "quota-exceeded"), "{}", reply.text);
    assert_eq!(reply.json["violated-policies"], json!([policy]));
    assert_eq!(reply.header("retry-after"), None);
}

#[tokio::test]
async fn admins_of_the_installation_set_quotas_and_the_team_sees_them() {
    let api = Api::start().await;
    let owner = api.as_team("acme").role(Role::Owner);
    let reply = owner.patch(QUOTAS, "*", &json!({"schedules": 5})).await;
    assert_eq!((reply.status, reply.code()), (403, "forbidden"));
    let none = owner.get(QUOTAS).await.json;
    let bare = json!({"limit": null, "own": false, "used": 0});
    assert_eq!((&none["schedules"], &none["unfinished_jobs"]), (&bare, &bare));
    assert_eq!(none["writes_per_second"]["used"], Value::Null);

    let set = limit(&api, json!({"schedules": 5, "writes_per_second": 100})).await;
    owner.enqueue(json!({"payload": "12345"})).await;
    api.engine.pass(Duration::from_secs(1));
    let seen = api.as_team("acme").role(Role::Viewer).get(QUOTAS).await;
    assert_eq!(seen.json["schedules"], json!({"limit": 5, "own": true, "used": 0}));
    assert_eq!(seen.json["unfinished_jobs"]["used"], 1);
    assert_eq!(seen.json["payload_bytes"]["used"], 7, "as it is sent, quotes and all");
    assert_eq!(seen.header("etag"), set.header("etag"));
    let team = owner.get("/v1/teams/acme").await;
    assert_eq!(team.json["quotas"]["schedules"], 5);
    assert_eq!(team.json["quotas"]["unfinished_jobs"], Value::Null);

    // The team's own changes leave them, and make the ETag stale.
    let renamed = owner.patch("/v1/teams/acme", "*", &json!({"name": "The shop"})).await;
    assert_eq!(renamed.json["quotas"]["schedules"], 5);
    let admin = api.as_team("ops").installation_admin();
    let reply = admin.patch(QUOTAS, set.header("etag").unwrap(), &json!({})).await;
    assert_eq!((reply.status, reply.code()), (412, "version-conflict"));
    let back = limit(&api, json!({"schedules": null})).await;
    assert_eq!(back.json["schedules"], json!({"limit": null, "own": false, "used": 0}));
    assert_eq!(back.json["writes_per_second"]["limit"], 100);

    let bad = json!({"schedules": 0, "payload_bytes": "1", "jobs": 5});
    let faults = admin.patch(QUOTAS, "*", &bad).await.faults();
    let fault = |at: &str, code: &str| (at.to_owned(), code.to_owned());
    let expected = [
        fault("#/jobs", "unknown-field"),
        fault("#/payload_bytes", "wrong-type"),
        fault("#/schedules", "out-of-range"),
    ];
    assert_eq!(faults, expected);
    let log = api.as_team("acme").get("/v1/audit?verb=set-quotas").await.json;
    assert_eq!(log["data"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_rate_refuses_with_exact_headers_before_anything_is_done() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    assert_eq!(acme.post("/v1/jobs", &job(Value::Null)).await.header("ratelimit"), None);
    limit(&api, json!({"writes_per_second": 5})).await;
    let headers = |reply: &Reply| {
        [reply.header("ratelimit-policy"), reply.header("ratelimit")]
            .map(|value| value.map(str::to_owned).unwrap_or_default())
    };
    let policy = r#""team-write";q=5;w=1"#.to_owned();
    for left in [4, 3, 2, 1] {
        let reply = acme.post("/v1/jobs", &job(Value::Null)).await;
        let rest = format!(r#""team-write";r={left};t=1"#);
        assert_eq!((reply.status, headers(&reply)), (201, [policy.clone(), rest]));
        assert_eq!(acme.get("/v1/jobs").await.header("ratelimit"), None, "no write");
        let question = json!({"spec": {"cron": "0 0 * * *"}});
        assert_eq!(acme.post("/v1/schedules/preview", &question).await.status, 200);
    }
    // A request counts whatever becomes of it.
    assert_eq!(acme.post("/v1/jobs", &json!({})).await.status, 422);
    let before = count(&api, "jobs").await;
    let keyed = acme.clone().header("idempotency-key", "k");
    let reply = keyed.post("/v1/jobs", &job(Value::Null)).await;
    assert_eq!((reply.status, reply.code()), (429, "quota-exceeded"), "{}", reply.text);
    assert_eq!(headers(&reply), [policy, r#""team-write";r=0;t=1"#.to_owned()]);
    assert_eq!((reply.header("retry-after"), &reply.json["retryable"]), (Some("1"), &json!(true)));
    assert_eq!(reply.json["violated-policies"], json!(["team-write"]));
    assert_eq!((count(&api, "jobs").await, count(&api, "idempotency").await), (before, 0));
    assert_eq!(api.as_team("rival").post("/v1/jobs", &job(Value::Null)).await.status, 201);

    api.engine.pass(Duration::from_millis(200));
    assert_eq!(keyed.post("/v1/jobs", &job(Value::Null)).await.status, 201, "the key is free");
    assert_eq!(keyed.post("/v1/jobs", &job(Value::Null)).await.status, 429);
}

#[tokio::test]
async fn a_batch_of_any_size_is_taken_and_then_paid_for() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    limit(&api, json!({"writes_per_second": 10})).await;
    let batch = json!({"jobs": vec![job(Value::Null); 50]});
    let reply = acme.post("/v1/jobs/batch", &batch).await;
    assert_eq!((reply.status, reply.header("ratelimit")), (200, Some(r#""team-write";r=0;t=5"#)));
    api.engine.pass(Duration::from_millis(4_099));
    let reply = acme.post("/v1/jobs", &job(Value::Null)).await;
    assert_eq!((reply.status, reply.header("retry-after")), (429, Some("1")));
    api.engine.pass(Duration::from_millis(1));
    assert_eq!(acme.post("/v1/jobs", &job(Value::Null)).await.status, 201);

    // A new rate forgets the debt, here at once and elsewhere within a second; and whoever may set it
    // can do so from within the team.
    let other = another(&api).await;
    other.engine.pass(Duration::from_millis(4_100));
    for process in [&api, &other] {
        assert_eq!(process.as_team("acme").act("/v1/queues/mail/resume").await.status, 429);
    }
    let raised = json!({"writes_per_second": 1_000});
    let admin = api.as_team("acme").installation_admin();
    assert_eq!(admin.patch(QUOTAS, "*", &raised).await.status, 200);
    assert_eq!(acme.post("/v1/jobs", &job(Value::Null)).await.status, 201);
    other.engine.pass(Duration::from_secs(1));
    let reply = other.as_team("acme").post("/v1/jobs", &job(Value::Null)).await;
    assert_eq!(reply.status, 201, "{}", reply.text);
}

#[tokio::test]
async fn processes_share_one_rate() {
    const RATE: usize = 50;
    let api = Api::start().await;
    limit(&api, json!({"writes_per_second": RATE})).await;
    let other = another(&api).await;
    let body = job(Value::Null);
    for seconds in [0, 1, 10] {
        for process in [&api, &other] {
            process.engine.pass(Duration::from_secs(seconds));
        }
        let callers = [api.as_team("acme"), other.as_team("acme")];
        let all = callers.iter().flat_map(|caller| (0..80).map(|_| caller.post("/v1/jobs", &body)));
        let replies = join_all(all).await;
        let made = replies.iter().filter(|reply| reply.status == 201).count();
        assert!(replies.iter().all(|reply| matches!(reply.status, 201 | 429)));
        // The last block of a second may be owed in part.
        assert!((RATE - 5..RATE + 5).contains(&made), "{made} after {seconds} s");
    }
}

#[tokio::test]
async fn unfinished_jobs_are_bounded_and_what_adds_none_is_not_refused() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let done = acme.enqueue(Value::Null).await;
    assert_eq!(acme.act(&format!("/v1/jobs/{done}/cancel")).await.status, 200);
    limit(&api, json!({"unfinished_jobs": 3})).await;
    let keyed = acme.clone().header("idempotency-key", "k");
    let first = keyed.post("/v1/jobs", &job(json!({"unique_key": "order-1"}))).await;
    acme.enqueue(Value::Null).await;
    let batch = |n| json!({"jobs": vec![job(Value::Null); n]});
    let reply = acme.post("/v1/jobs/batch", &batch(2)).await;
    refused(&reply, "team-unfinished-jobs");
    assert!(reply.json["detail"].as_str().unwrap().contains("2 of 3"), "{}", reply.text);
    assert_eq!(acme.post("/v1/jobs/batch", &batch(1)).await.status, 200);

    refused(&acme.post("/v1/jobs", &job(Value::Null)).await, "team-unfinished-jobs");
    let other = acme.clone().header("idempotency-key", "other");
    refused(&other.post("/v1/jobs", &job(Value::Null)).await, "team-unfinished-jobs");
    refused(&acme.act(&format!("/v1/jobs/{done}/rerun")).await, "team-unfinished-jobs");
    let nightly = acme.post("/v1/schedules", &schedule(json!({"name": "nightly"}))).await;
    assert_eq!(nightly.status, 201, "it is not a job");
    refused(&acme.act("/v1/schedules/nightly/trigger").await, "team-unfinished-jobs");
    let range = json!({"from": "2026-11-28T00:00:00Z", "to": "2026-11-30T00:00:00Z"});
    refused(&acme.post("/v1/schedules/nightly/backfill", &range).await, "team-unfinished-jobs");
    assert_eq!(count(&api, "live").await, 3);

    let again = keyed.post("/v1/jobs", &job(json!({"unique_key": "order-1"}))).await;
    assert_eq!((again.status, &again.text), (201, &first.text), "the answer that there was");
    let same = acme.post("/v1/jobs", &job(json!({"unique_key": "order-1"}))).await;
    assert_eq!((same.status, &same.json["id"]), (200, &first.json["id"]));
    let id = first.json["id"].as_str().unwrap();
    assert_eq!(acme.act(&format!("/v1/jobs/{id}/cancel")).await.status, 200);
    refused(&other.post("/v1/jobs", &job(Value::Null)).await, "team-unfinished-jobs");
    api.engine.pass(Duration::from_secs(1));
    assert_eq!(other.post("/v1/jobs", &job(Value::Null)).await.status, 201, "counted anew");
    assert_eq!(count(&api, "live").await, 3);
}

#[tokio::test]
async fn requests_at_the_same_time_fill_a_quota_and_no_more() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    limit(&api, json!({"unfinished_jobs": 7})).await;
    let body = job(Value::Null);
    let replies = join_all((0..30).map(|_| acme.post("/v1/jobs", &body))).await;
    let made = replies.iter().filter(|reply| reply.status == 201).count();
    assert!(replies.iter().all(|reply| matches!(reply.status, 201 | 409)));
    assert_eq!((made, count(&api, "live").await, count(&api, "jobs").await), (7, 7, 7));
}

#[tokio::test]
async fn payloads_are_bounded_together_and_as_they_grow() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    limit(&api, json!({"payload_bytes": 100})).await;
    let of = |bytes: usize| json!({"payload": "x".repeat(bytes - 2)});
    let id = acme.enqueue(of(40)).await;
    acme.enqueue(of(60)).await;
    refused(&acme.post("/v1/jobs", &job(of(2))).await, "team-payload-bytes");
    let path = format!("/v1/jobs/{id}");
    refused(&acme.patch(&path, "*", &of(41)).await, "team-payload-bytes");
    assert_eq!(acme.patch(&path, "*", &json!({"priority": 1})).await.status, 200);
    assert_eq!(acme.patch(&path, "*", &of(30)).await.status, 200);
    api.engine.pass(Duration::from_secs(1));
    assert_eq!(acme.patch(&path, "*", &of(40)).await.status, 200);
    assert_eq!(acme.get(QUOTAS).await.json["payload_bytes"]["used"], 100);
}

#[tokio::test]
async fn schedules_are_bounded_exactly_whoever_adds_them() {
    let api = Api::start().await;
    limit(&api, json!({"schedules": 3})).await;
    let other = another(&api).await;
    let callers = [api.as_team("acme"), other.as_team("acme")];
    let named = |n: usize| schedule(json!({"name": format!("s{n}")}));
    let make = async |n: usize| {
        let caller = &callers[n % 2];
        match n % 3 {
            0 => caller.put(&format!("/v1/schedules/s{n}"), &schedule(Value::Null)).await,
            _ => caller.post("/v1/schedules", &named(n)).await,
        }
    };
    let replies = join_all((0..12).map(make)).await;
    let (made, over): (Vec<_>, Vec<_>) = replies.iter().partition(|reply| reply.status == 201);
    assert_eq!((made.len(), count(&api, "schedules").await), (3, 3));
    for reply in over {
        refused(reply, "team-schedules");
        assert!(reply.json["detail"].as_str().unwrap().contains("3 of 3"), "{}", reply.text);
    }
    let name = made[0].json["name"].as_str().unwrap();
    let path = format!("/v1/schedules/{name}");
    let changed = callers[0].put(&path, &schedule(json!({"jitter_ms": 5}))).await;
    assert_eq!(changed.status, 200, "what is there may be changed");
    assert_eq!(callers[0].send(reqwest::Method::DELETE, &path, "").await.status, 204);
    assert_eq!(make(100).await.status, 201);
}

#[tokio::test]
async fn a_team_without_quotas_leaves_no_trace() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    limit(&api, json!({"writes_per_second": null})).await;
    acme.enqueue(Value::Null).await;
    acme.post("/v1/schedules", &schedule(json!({"name": "nightly"}))).await;
    for table in ["quota_rates", "quota_gates"] {
        assert_eq!(count(&api, table).await, 0, "{table}");
    }
}
