//! What is removed when, and what is not.

use axle::domain::job::Due;
use axle::domain::state::State;
use axle::domain::verdict::Outcome;
use axle::engine::{Limits, history};
use std::sync::Arc;
use std::time::Duration;

use super::{URL, WEEK, at, count, engine, finished, names, retention, rows, upkeep};
use crate::support::engine::{Engine, With as _, job};

#[tokio::test]
async fn a_week_is_dropped_when_all_of_it_has_been_kept_long_enough() {
    let engine = engine().await;
    finished(&engine, "acme", 3).await;
    // The last moment of the week; it ends two hours later.
    at(&engine, "2100-01-10T23:00:00Z");
    let id = engine.enqueue_together(vec![job(URL)]).await[0];
    at(&engine, "2100-01-11T01:00:00Z");
    let run = engine.claim_one().await;
    engine.settle(run, Outcome::Succeeded).await;
    at(&engine, "2100-02-10T00:30:00Z");
    upkeep(&engine).await;
    assert_eq!(count(&engine).await, 4, "the last one ended less than thirty days ago");
    assert_eq!(engine.get(id).await.state(), State::Success);
    at(&engine, "2100-02-10T02:00:00Z");
    upkeep(&engine).await;
    assert_eq!((count(&engine).await, rows(&engine, id).await), (0, (None, 0)));
    assert!(!names(&engine).await.contains(&WEEK.to_owned()));
    let left = "SELECT count(*) FROM pg_class WHERE relname LIKE '%_21000104%'";
    assert_eq!(engine.db.ask(left).await.get::<_, i64>(0), 0, "nothing of it is left");
}

#[tokio::test]
async fn a_week_that_is_found_late_is_dropped_and_not_removed_job_by_job() {
    let engine = engine().await;
    finished(&engine, "acme", 30).await;
    fail_removals(&engine).await;
    at(&engine, "2100-12-01T00:00:00Z");
    upkeep(&engine).await;
    assert_eq!(count(&engine).await, 0);
    assert!(!names(&engine).await.contains(&WEEK.to_owned()));
}

/// Has every removal of a single job fail, at its third statement.
async fn fail_removals(engine: &Engine) {
    let broken = format!(
        "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''broken''; END';
         CREATE TRIGGER fail BEFORE DELETE ON done_{WEEK} FOR EACH ROW EXECUTE FUNCTION fail()"
    );
    engine.db.execute(&broken).await;
}

#[tokio::test]
async fn each_team_has_its_own_retention_and_a_week_waits_for_the_longest() {
    let engine = engine().await;
    retention(&engine, "brief", 1).await;
    retention(&engine, "long", 60).await;
    let [brief, usual, long] = [
        finished(&engine, "brief", 2).await,
        finished(&engine, "acme", 2).await,
        finished(&engine, "long", 2).await,
    ];
    let left = async || {
        [
            rows(&engine, brief[0]).await.1,
            rows(&engine, usual[0]).await.1,
            rows(&engine, long[0]).await.1,
        ]
    };
    at(&engine, "2100-01-13T11:00:00Z");
    upkeep(&engine).await;
    assert_eq!(left().await, [3, 3, 3], "a day and the grace");
    at(&engine, "2100-01-13T13:00:00Z");
    upkeep(&engine).await;
    assert_eq!(left().await, [0, 3, 3]);
    at(&engine, "2100-02-12T13:00:00Z");
    upkeep(&engine).await;
    assert_eq!(left().await, [0, 0, 3]);
    assert!(names(&engine).await.contains(&WEEK.to_owned()));
    at(&engine, "2100-03-05T13:00:00Z");
    upkeep(&engine).await;
    assert_eq!(left().await, [0, 0, 0]);
    assert!(!names(&engine).await.contains(&WEEK.to_owned()), "dropped, not removed one by one");
}

#[tokio::test]
async fn an_unfinished_job_outlives_its_week_and_ends_in_it() {
    let engine = engine().await;
    let far = job(URL).with(|new| new.due = Due::In(60 * 86_400_000));
    let far = engine.enqueue_together(vec![far]).await[0];
    let others = finished(&engine, "acme", 5).await;
    at(&engine, "2100-02-11T13:00:00Z");
    upkeep(&engine).await;
    assert_eq!((count(&engine).await, rows(&engine, others[4]).await), (1, (None, 0)));
    assert_eq!(engine.get(far).await.state(), State::Pending);
    at(&engine, "2100-03-05T13:00:00Z");
    upkeep(&engine).await;
    let run = engine.claim_one().await;
    assert_eq!(run.job, far);
    upkeep(&engine).await;
    engine.settle(run, Outcome::Succeeded).await;
    assert_eq!(engine.get(far).await.state(), State::Success);
    assert_eq!(engine.run_states(far).await, ["SUCCESS"]);
    assert_eq!(rows(&engine, far).await, (Some(format!("jobs_{WEEK}")), 3));
    at(&engine, "2100-04-04T12:00:00Z");
    upkeep(&engine).await;
    assert_eq!(rows(&engine, far).await.1, 3, "thirty days from its end");
    at(&engine, "2100-04-12T12:00:00Z");
    upkeep(&engine).await;
    assert_eq!(rows(&engine, far).await, (None, 0));
    assert!(!names(&engine).await.contains(&WEEK.to_owned()));
}

#[tokio::test]
async fn what_is_kept_for_ever_stays() {
    let mut engine = engine().await;
    engine.ctx.limits = Arc::new(Limits { retention: None, ..(*engine.ctx.limits).clone() });
    let id = finished(&engine, "acme", 1).await[0];
    retention(&engine, "brief", 1).await;
    let brief = finished(&engine, "brief", 1).await[0];
    at(&engine, "2140-01-01T00:00:00Z");
    upkeep(&engine).await;
    assert_eq!((rows(&engine, id).await.1, rows(&engine, brief).await.1), (3, 0));
    assert!(names(&engine).await.contains(&WEEK.to_owned()));
}

#[tokio::test]
async fn a_longer_retention_counts_up_to_the_last_moment_and_a_shorter_one_within_a_week() {
    let engine = engine().await;
    let id = finished(&engine, "acme", 1).await[0];
    at(&engine, "2100-02-09T23:00:00Z");
    upkeep(&engine).await;
    retention(&engine, "acme", 90).await;
    at(&engine, "2100-02-20T00:00:00Z");
    upkeep(&engine).await;
    assert_eq!(rows(&engine, id).await.1, 3);
    engine.db.execute("UPDATE teams SET settings = '{\"retention_ms\": 864000000}'").await;
    at(&engine, "2100-02-27T01:00:00Z");
    upkeep(&engine).await;
    assert_eq!(rows(&engine, id).await.1, 0);
}

#[tokio::test]
async fn removal_goes_page_by_page_and_on_where_it_was_broken_off() {
    let engine = engine().await;
    retention(&engine, "brief", 1).await;
    let ids = finished(&engine, "brief", 1_200).await;
    // Something keeps the week.
    engine.enqueue_together(vec![job(URL).with(|new| new.due = Due::In(60 * 86_400_000))]).await;
    at(&engine, "2100-01-20T00:00:00Z");
    // As if the server had died in the middle.
    fail_removals(&engine).await;
    let failed = async { while history::step(&engine.ctx).await.is_ok() {} };
    tokio::time::timeout(Duration::from_mins(1), failed).await.unwrap();
    assert_eq!(count(&engine).await, 1_201);
    for id in [ids[0], ids[999], ids[1_199]] {
        assert_eq!(rows(&engine, id).await.1, 3, "nothing of it is gone");
    }
    engine.db.execute(&format!("DROP TRIGGER fail ON done_{WEEK}")).await;
    let removed = async || 1_201 - count(&engine).await;
    while removed().await == 0 {
        history::step(&engine.ctx).await.unwrap();
    }
    assert_eq!(removed().await, 1_000, "a page at a time");
    // Another process goes on.
    let other = axle::engine::Ctx { store: engine.db.another_store(), ..engine.ctx.clone() };
    upkeep(&other).await;
    assert_eq!(removed().await, 1_200);
    let left = "SELECT (SELECT count(*) FROM done) + (SELECT count(*) FROM runs)";
    assert_eq!(engine.db.ask(left).await.get::<_, i64>(0), 0);
}
