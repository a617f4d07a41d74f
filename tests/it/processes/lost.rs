//! Processes that die or fall asleep in the middle of a call.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;
use tokio::time::Instant;

use super::{callback_job, job};
use crate::support::callback;
use crate::support::db::Db;
use crate::support::process::{LEASE, MARGIN, Server};
use crate::support::program::eventually;
use crate::support::target::{PATIENCE, Target, accepted, ok};

/// A lease, a sweep, and the job's own wait before a retry.
const BOUND: Duration = LEASE.saturating_add(Duration::from_millis(100 + 100));

#[tokio::test]
async fn b064_b079_a_killed_puller_s_run_is_lost_and_its_job_retried_within_the_lease() {
    let db = Db::new().await;
    let target = Target::start().await;
    let gate = target.gate("/work");
    let api = Server::start(&db.url, "api", &[]).await;
    let mut killed = Server::start(&db.url, "puller", &[]).await;
    let mut unique = job(&target.url("/work"));
    unique["unique_key"] = json!("order-42");
    let id = api.api().create(&unique).await;
    let first = gate.arrived().await;
    let _other = Server::start(&db.url, "puller", &[]).await;
    let dead_since = Instant::now();
    killed.kill().await;

    let second = gate.arrived().await;
    let took = dead_since.elapsed();
    println!("retried after {took:?}");
    assert!(took < BOUND + MARGIN, "{took:?}");
    assert_eq!((second.call.job_id(), second.call.fence()), (id.as_str(), 2));
    assert_ne!(second.call.run_id(), first.call.run_id());
    assert!(!first.release(ok()), "its caller is gone");
    second.release(ok());
    api.api().wait_state(&id, "SUCCESS").await;
    assert_eq!(api.api().run_states(&id).await, ["LOST", "SUCCESS"]);
    assert_eq!(target.calls("/work").len(), 2);

    let runs = api.api().get(&format!("/v1/jobs/{id}/runs")).await;
    assert_ne!(runs["data"][0]["puller"], runs["data"][1]["puller"], "names are not used again");
    let log = api.api().get(&format!("/v1/jobs/{id}/events")).await;
    let kinds: Vec<_> = log["data"].as_array().unwrap().iter().map(|e| e["kind"].clone()).collect();
    assert!(kinds.contains(&json!("lost")), "{kinds:?}");
    // The key is free again: no crash leaves it behind.
    let again = api.api().create(&unique).await;
    gate.arrived().await.release(ok());
    api.api().wait_state(&again, "SUCCESS").await;
}

#[tokio::test]
async fn b067_a_puller_that_slept_past_its_lease_changes_nothing() {
    let db = Db::new().await;
    let target = Target::start().await;
    let gate = target.gate("/work");
    let api = Server::start(&db.url, "api", &[]).await;
    let asleep = Server::start(&db.url, "puller", &[]).await;
    let id = api.api().create(&job(&target.url("/work"))).await;
    let first = gate.arrived().await;
    asleep.signal(Signal::STOP);
    let awake = Server::start(&db.url, "puller", &[]).await;
    let second = gate.arrived().await;
    assert_eq!(second.call.fence(), 2);

    // The answer to run 1 arrives while its puller sleeps; then it wakes and has news to tell.
    assert!(first.release(ok()));
    asleep.signal(Signal::CONT);
    eventually("the late result is refused", PATIENCE, async || {
        (asleep.metric("axle_fence_rejections_total").await >= 1.0).then_some(())
    })
    .await;
    let running = api.api().get(&format!("/v1/jobs/{id}")).await;
    assert_eq!(running["state"], "RUNNING", "{running}");
    assert_eq!(running["current_run_id"], second.call.run_id());
    second.release(ok().body("of run 2"));
    api.api().wait_state(&id, "SUCCESS").await;
    assert_eq!(api.api().run_states(&id).await, ["LOST", "SUCCESS"]);
    let run = api.api().get(&format!("/v1/runs/{}", target.calls("/work")[1].run_id())).await;
    assert_eq!(run["response"]["body"], "of run 2", "{run}");
    assert!(awake.metric("axle_fence_rejections_total").await < 1.0);

    // And it goes on as a puller like any other.
    drop(awake);
    let next = api.api().create(&job(&target.url("/work"))).await;
    gate.arrived().await.release(ok());
    api.api().wait_state(&next, "SUCCESS").await;
}

#[tokio::test]
async fn b069_accepted_runs_outlive_every_process() {
    const RUNS: usize = 20;
    let db = Db::new().await;
    let target = Target::start().await;
    target.script("/work", accepted());
    let mut server = Server::start(&db.url, "all", &[]).await;
    for _ in 0..RUNS {
        server.api().create(&callback_job(&target.url("/work"))).await;
    }
    target.wait_calls("/work", RUNS, PATIENCE).await;
    eventually("every run is accepted", PATIENCE, async || {
        let count = "SELECT count(*) FROM live WHERE accepted_at IS NOT NULL";
        (db.ask(count).await.get::<_, i64>(0) == 20).then_some(())
    })
    .await;
    server.kill().await;
    let server = server.again().await;
    // What would be swept or sent again by mistake gets the time to be.
    tokio::time::sleep(Duration::from_millis(500)).await;
    for call in target.calls("/work") {
        let body = call.callback(json!({"status": "succeeded"}));
        let reply = callback::post(call.callback_url(), &body).await;
        assert_eq!(reply, (200, json!({"applied": true})));
        server.api().wait_state(call.job_id(), "SUCCESS").await;
    }
    assert_eq!(target.calls("/work").len(), RUNS, "nothing was sent again");
}
