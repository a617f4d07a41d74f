//! How soon a job starts in another process: by a hint, and by looking when the hint is lost.

use std::time::Duration;

use tokio::time::Instant;

use super::job;
use crate::support::db::Db;
use crate::support::engine::{self, Engine};
use crate::support::process::{MARGIN, Server};
use crate::support::program::eventually;
use crate::support::target::{PATIENCE, Target};

/// How often a puller looks at every shard, hints or not.
const LOOK: Duration = Duration::from_secs(2);

/// Ends the sessions that listen; returns how many.
async fn end_listeners(db: &Db) -> i64 {
    let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
               WHERE datname = current_database() AND query ILIKE '%listen %' \
                 AND pid <> pg_backend_pid()";
    db.ask(end).await.get(0)
}

async fn wait_for_a_listener(db: &Db) {
    eventually("the puller listens", PATIENCE, async || {
        let count = "SELECT count(*) FROM pg_stat_activity \
                     WHERE datname = current_database() AND query ILIKE '%listen %' \
                       AND pid <> pg_backend_pid()";
        (db.ask(count).await.get::<_, i64>(0) == 1).then_some(())
    })
    .await;
}

/// How long it takes from a registration at the API to the call.
async fn latency(api: &Server, target: &Target) -> Duration {
    let calls = target.calls("/work").len();
    let begun = Instant::now();
    api.api().create(&job(&target.url("/work"))).await;
    let calls = target.wait_calls("/work", calls + 1, PATIENCE).await;
    calls.last().unwrap().at - begun
}

/// The median of five.
async fn median_latency(api: &Server, target: &Target) -> Duration {
    let mut taken = Vec::new();
    for _ in 0..5 {
        taken.push(latency(api, target).await);
    }
    taken.sort();
    println!("latencies: {taken:?}");
    taken[2]
}

#[tokio::test]
async fn b096_a_job_registered_at_one_process_starts_at_once_in_another() {
    const SOON: Duration = Duration::from_millis(250);
    let db = Db::new().await;
    let target = Target::start().await;
    let api = Server::start(&db.url, "api", &[]).await;
    let _puller = Server::start(&db.url, "puller", &[]).await;
    wait_for_a_listener(&db).await;
    let median = median_latency(&api, &target).await;
    assert!(median < SOON, "{median:?}");

    // The listening connection is lost: jobs start by looking, and hints come back by themselves.
    assert_eq!(end_listeners(&db).await, 1);
    let by_looking = latency(&api, &target).await;
    assert!(by_looking < LOOK + MARGIN, "{by_looking:?}");
    wait_for_a_listener(&db).await;
    let median = median_latency(&api, &target).await;
    assert!(median < SOON, "{median:?}");
}

#[tokio::test]
async fn b096_a_job_whose_hint_is_lost_starts_by_looking() {
    let db = Db::new().await;
    let target = Target::start().await;
    let _puller = Server::start(&db.url, "puller", &[]).await;
    // An engine that passes no hints on: its jobs are only there.
    let engine = Engine::on(Db::at(db.url.clone())).await;
    for n in 1..=2 {
        let begun = Instant::now();
        engine.enqueue(engine::job(&target.url("/work"))).await;
        let calls = target.wait_calls("/work", n, PATIENCE).await;
        let took = calls.last().unwrap().at - begun;
        assert!(took < LOOK + MARGIN, "{took:?}");
    }
}
