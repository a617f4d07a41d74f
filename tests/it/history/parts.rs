//! Which parts there are, and what lies in which.

use std::time::Duration;

use axle::domain::week::Week;
use axle::engine::history;
use futures_util::future::join_all;

use super::{NOON, WEEK, at, count, engine, finished, names, rows, upkeep};
use crate::support::engine::Engine;

#[tokio::test]
async fn this_week_and_two_more_have_parts_and_all_of_a_job_lies_in_its_own() {
    let engine = engine().await;
    assert_eq!(names(&engine).await, [WEEK, "21000111", "21000118", "rest"]);
    let monday = Week::of(NOON.parse().unwrap()).begins();
    assert_eq!(monday.format("%Y%m%d").to_string(), WEEK, "both sides count weeks alike");
    at(&engine, "2100-01-10T23:59:59.999Z");
    let sunday = finished(&engine, "acme", 1).await[0];
    at(&engine, "2100-01-11T00:00:00Z");
    let monday = finished(&engine, "acme", 1).await[0];
    for (id, week) in [(sunday, WEEK), (monday, "21000111")] {
        assert_eq!(rows(&engine, id).await, (Some(format!("jobs_{week}")), 3));
        let text = format!(
            "SELECT (SELECT count(*) FROM done_{week}), (SELECT count(*) FROM runs_{week})"
        );
        let row = engine.db.ask(&text).await;
        assert_eq!([row.get::<_, i64>(0), row.get(1)], [1, 1], "{week}");
    }
    let wait = upkeep(&engine).await;
    assert_eq!(names(&engine).await, [WEEK, "21000111", "21000118", "21000125", "rest"]);
    assert_eq!(wait, Duration::from_hours(1), "an idle system is asked one thing an hour");
}

#[tokio::test]
async fn the_first_migration_makes_parts_for_now() {
    let engine = Engine::new().await;
    let text =
        "SELECT count(*) FILTER (WHERE ends_at > now()), max(ends_at) > now() + interval '14 days',
                       count(*) FILTER (WHERE part = 'first') FROM history_parts";
    let row = engine.db.ask(text).await;
    assert_eq!((row.get::<_, i64>(0), row.get(1), row.get::<_, i64>(2)), (3, true, 1));
    let settled = "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relname ~ '^(jobs|done|runs|events)_'
                   AND reloptions @> '{autovacuum_freeze_min_age=0}'";
    assert_eq!(engine.db.ask(settled).await.get::<_, i64>(0), 16, "every part has the settings");
}

#[tokio::test]
async fn a_job_of_a_week_without_a_part_is_caught_by_the_net_and_removed_from_it() {
    let engine = Engine::new().await;
    at(&engine, NOON);
    let id = finished(&engine, "acme", 1).await[0];
    assert_eq!(rows(&engine, id).await.0.as_deref(), Some("jobs_rest"));
    // The week cannot be made any more; those after it can.
    upkeep(&engine).await;
    assert_eq!(names(&engine).await, ["21000111", "21000118", "rest"]);
    assert_eq!(rows(&engine, id).await, (Some("jobs_rest".to_owned()), 3));
    let beside = finished(&engine, "acme", 1).await[0];
    assert_eq!(rows(&engine, beside).await.0.as_deref(), Some("jobs_rest"));
    // Thirty days, the grace, and the weekly look at the net.
    at(&engine, "2100-02-11T11:00:00Z");
    upkeep(&engine).await;
    assert_eq!(count(&engine).await, 2);
    at(&engine, "2100-02-19T13:00:00Z");
    upkeep(&engine).await;
    assert_eq!((count(&engine).await, rows(&engine, id).await), (0, (None, 0)));
}

#[tokio::test]
async fn processes_that_look_after_the_history_at_once_do_it_once() {
    let engine = Engine::new().await;
    at(&engine, NOON);
    let contexts: Vec<_> = (0..4)
        .map(|_| axle::engine::Ctx { store: engine.db.another_store(), ..engine.ctx.clone() })
        .collect();
    for step in join_all(contexts.iter().map(history::step)).await {
        step.unwrap();
    }
    upkeep(&engine).await;
    assert_eq!(names(&engine).await, [WEEK, "21000111", "21000118", "rest"]);
    finished(&engine, "acme", 1_500).await;
    super::retention(&engine, "acme", 1).await;
    at(&engine, "2100-01-20T00:00:00Z");
    let steps = async |ctx| {
        for _ in 0..8 {
            history::step(ctx).await.unwrap();
        }
    };
    join_all(contexts.iter().map(steps)).await;
    upkeep(&engine).await;
    assert_eq!(count(&engine).await, 0);
    assert!(!names(&engine).await.contains(&WEEK.to_owned()));
    assert_eq!(engine.db.deadlocks().await, 0);
}
