//! What callers are told of what is not kept any more.

use axle::domain::id::{JobId, RunId};
use axle::domain::verdict::Outcome;
use axle::engine::history;
use chrono::TimeDelta;
use serde_json::{Value, json};
use std::time::Duration;

use crate::support::api::Api;
use crate::support::engine::{SHARD, START};

/// Every request about one job.
const ABOUT: [&str; 7] = ["", "/runs", "/events", "/cancel", "/run-now", "/rerun", "/change"];

/// The answers to every request about one job, and to one about its first run.
async fn ask(api: &Api, team: &str, id: JobId) -> Vec<(u16, String)> {
    let caller = api.as_team(team);
    let mut answers = Vec::new();
    for about in ABOUT {
        let path = format!("/v1/jobs/{id}{about}");
        let reply = match about {
            "" | "/runs" | "/events" => caller.get(&path).await,
            "/change" => {
                caller.patch(&format!("/v1/jobs/{id}"), "*", &json!({"priority": 1})).await
            }
            _ => caller.act(&path).await,
        };
        answers.push((reply.status, reply.code().to_owned()));
    }
    let run = RunId { job: id, fence: 1 };
    let reply = caller.get(&format!("/v1/runs/{run}")).await;
    answers.push((reply.status, reply.code().to_owned()));
    answers
}

#[tokio::test]
async fn what_is_not_kept_any_more_is_410_and_what_never_was_404() {
    let api = Api::start().await;
    let id = |days: i64| JobId::new(START - TimeDelta::days(days), SHARD, 7);
    let all = |status: u16, code: &str, run: &str| {
        let mut all = vec![(status, code.to_owned()); ABOUT.len()];
        all.push((status, run.to_owned()));
        all
    };
    for team in ["acme", "other"] {
        assert_eq!(ask(&api, team, id(31)).await, all(410, "expired", "expired"), "{team}");
        assert_eq!(ask(&api, team, id(29)).await, all(404, "not-found", "run-unknown"), "{team}");
    }
    // The team's own retention counts.
    let owner = api.as_team("acme").role(axle::domain::principal::Role::Owner);
    let shorter = json!({"settings": {"retention_ms": 86_400_000}});
    assert_eq!(owner.patch("/v1/teams/acme", "*", &shorter).await.status, 200);
    assert_eq!(ask(&api, "acme", id(2)).await, all(410, "expired", "expired"));
    assert_eq!(ask(&api, "other", id(2)).await, all(404, "not-found", "run-unknown"));
}

#[tokio::test]
async fn a_job_is_there_until_it_is_removed_however_old_it_is() {
    let api = Api::start().await;
    // Beyond every week that the migration may have made.
    api.engine.pass(Duration::from_hours(80 * 366 * 24));
    let upkeep = async || {
        while history::step(&api.engine).await.unwrap() < Duration::from_mins(1) {}
    };
    upkeep().await;
    let acme = api.as_team("acme");
    let (far, soon) = (json!({"delay_ms": 90 * 86_400_000_u64}), Value::Null);
    let (far, ended) = (acme.enqueue(far).await, acme.enqueue(soon).await);
    api.settle(api.claim(&ended).await, Outcome::Succeeded).await;
    let status = async |id: &str| {
        let reply = api.as_team("acme").get(&format!("/v1/jobs/{id}")).await;
        (reply.status, api.as_team("other").get(&format!("/v1/jobs/{id}")).await.status)
    };
    api.engine.pass(Duration::from_hours(29 * 24));
    assert_eq!((status(&far).await, status(&ended).await), ((200, 404), (200, 404)));
    api.engine.pass(Duration::from_hours(24));
    // Of another team's job nobody learns whether it is there.
    assert_eq!((status(&far).await, status(&ended).await), ((200, 410), (200, 410)));
    api.engine.pass(Duration::from_hours(16 * 24));
    upkeep().await;
    assert_eq!((status(&far).await, status(&ended).await), ((200, 410), (410, 410)));
    let list = acme.get("/v1/jobs").await;
    assert_eq!(list.json["data"].as_array().unwrap().len(), 1, "{}", list.text);
}
