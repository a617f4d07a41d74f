//! Several at once on the same schedule: schedulers, people, edits. One job per slot whatever wins.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axle::domain::schedule::doc::Overlap;
use axle::domain::state::State;
use axle::engine::schedules::{self, Ident};
use futures_util::future::join_all;

use crate::support::engine::Engine;
use crate::support::schedule::{cron, every};

#[tokio::test]
async fn b036_many_schedulers_make_one_job_per_slot() {
    let engine = Arc::new(Engine::new().await);
    for n in 0..30 {
        engine.schedule(every(&format!("s{n}"), 60_000)).await;
    }
    let crowd: Vec<_> = (0..4).map(|_| engine.firing()).collect();
    for _ in 0..5 {
        engine.pass(Duration::from_mins(1));
        for result in join_all(crowd.iter().map(axle::engine::fire::Firing::step)).await {
            result.unwrap();
        }
        // Whatever one of them found locked is fired when it comes back.
        tokio::time::sleep(Duration::from_millis(1)).await;
        engine.fire().await;
    }
    for n in 0..30 {
        let fires = engine.fires(&format!("s{n}")).await;
        assert_eq!(fires.len(), 5, "no hole, nothing twice: {fires:?}");
        assert_eq!(fires.iter().filter(|fire| fire.outcome == "fired").count(), 1);
    }
    let jobs = engine.db.ask("SELECT count(*) FROM jobs").await;
    assert_eq!(jobs.get::<_, i64>(0), 30);
}

#[tokio::test]
async fn b035_and_b037_a_scheduler_whose_clock_is_ahead_or_behind_doubles_nothing() {
    let engine = Engine::new().await;
    let mut draft = every("s", 60_000);
    draft.doc.overlap = Overlap::Allow;
    engine.schedule(draft).await;
    // Ahead by five minutes, then right again, then behind.
    engine.pass(Duration::from_mins(5));
    engine.fire().await;
    let ahead = engine.fires("s").await;
    let behind = Engine::on(engine.db).await;
    behind.ctx.clock.advance(Duration::from_mins(1));
    behind.fire().await;
    assert_eq!(behind.fires("s").await.len(), ahead.len(), "its slots were handled before");
    behind.pass(Duration::from_mins(5));
    behind.fire().await;
    let fires = behind.fires("s").await;
    let told: i32 = fires.iter().map(|fire| fire.count).sum();
    assert_eq!(told, 6, "every slot once: {fires:?}");
}

#[tokio::test]
async fn two_people_and_the_timer_make_what_the_policy_says() {
    for (overlap, jobs) in [(Overlap::Skip, 1), (Overlap::QueueOne, 2), (Overlap::Allow, 3)] {
        let engine = Engine::new().await;
        let mut draft = every("s", 60_000);
        draft.doc.overlap = overlap;
        engine.schedule(draft).await;
        engine.pass(Duration::from_mins(1));
        let (first, second, ()) =
            tokio::join!(engine.trigger("s", None), engine.trigger("s", None), engine.fire());
        first.unwrap();
        second.unwrap();
        // Should the timer have found the row locked, it comes back.
        engine.fire().await;
        let fires = engine.fires("s").await;
        assert_eq!(fires.len(), 3, "{overlap:?}: {fires:?}");
        assert_eq!(engine.job_states("s").await.len(), jobs, "{overlap:?}");
    }
}

#[tokio::test]
async fn of_an_edit_a_pause_a_delete_and_a_fire_one_comes_wholly_first() {
    for round in 0..20 {
        let engine = Engine::new().await;
        engine.schedule(every("s", 60_000)).await;
        engine.pass(Duration::from_mins(1));
        let ident = Ident::Name("s".into());
        let act = async {
            match round % 3 {
                0 => _ = engine.put(cron("s", "0 5 * * *")).await,
                1 => _ = engine.pause_schedule("s", "a race").await,
                _ => schedules::delete(&engine, &engine.who, &ident, None).await.unwrap(),
            }
        };
        tokio::join!(act, engine.fire());
        engine.fire().await;
        let jobs = engine.db.ask("SELECT count(*) FROM jobs").await.get::<_, i64>(0);
        let rows = engine.db.ask("SELECT count(*) FROM fires").await.get::<_, i64>(0);
        assert_eq!(jobs, rows, "a fire and its job, or neither");
        if round % 3 < 2 {
            assert_eq!(jobs, 1, "the slot was due before the edit and is not lost");
            assert_eq!(engine.job_states("s").await, [State::Pending]);
        }
    }
    // Nothing waited in a ring.
}

#[tokio::test]
async fn turns_under_load_never_let_two_jobs_of_a_schedule_go() {
    let engine = Arc::new(Engine::new().await);
    let mut draft = every("s", 1_000);
    draft.doc.overlap = Overlap::QueueAll;
    engine.schedule(draft).await;
    let mut states = BTreeMap::new();
    for _ in 0..30 {
        engine.pass(Duration::from_secs(1));
        let ahead: Vec<_> = engine.fires("s").await.into_iter().filter_map(|f| f.job).collect();
        let stop_all = join_all(ahead.into_iter().rev().take(3).map(|job| engine.cancel(job)));
        tokio::join!(stop_all, engine.fire());
        let active = "SELECT count(*) FROM live WHERE state <> 'WAITING'";
        let active = engine.db.ask(active).await.get::<_, i64>(0);
        assert!(active <= 1, "{active} may run");
        *states.entry(active).or_insert(0) += 1;
    }
    engine.sweep().await;
    assert_eq!(engine.db.deadlocks().await, 0);
    assert!(states.contains_key(&1), "{states:?}");
}
