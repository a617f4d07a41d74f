//! Changing a schedule: what was due before goes by the old rule, what comes after by the new one.

use std::time::Duration;

use axle::domain::schedule::doc::{Overlap, RuleDoc};
use axle::domain::schedule::record::ScheduleState;
use axle::engine::schedules::{self, Ident, Put};
use axle::engine::{Error, calendars};

use crate::support::engine::Engine;
use crate::support::schedule::{at, cron, draft, every};

#[tokio::test]
async fn b045_an_edit_works_the_next_fire_out_again() {
    let engine = Engine::new().await;
    engine.schedule(cron("s", "30 2 * * *")).await;
    let mut draft = cron("s", "0 6 * * *");
    draft.doc.time_zone = "Europe/Berlin".into();
    let (changed, put) = engine.put(draft).await;
    assert_eq!(put, Put::Changed);
    assert_eq!((changed.next_fire_at, changed.version), (Some(at("2026-11-30T05:00:00Z")), 2));
    engine.fire_at("2026-11-30T02:30:00Z").await;
    assert!(engine.fires("s").await.is_empty(), "the old rule is gone");
    engine.fire_at("2026-11-30T05:00:00Z").await;
    assert_eq!(engine.briefs("s").await, ["05:00:00 fired"]);
}

#[tokio::test]
async fn b051_the_same_definition_again_changes_nothing() {
    let engine = Engine::new().await;
    let mut draft = every("s", 3_600_000);
    draft.doc.rule =
        RuleDoc::Every { every_ms: 3_600_000, anchor: Some(at("2026-01-01T00:20:00Z")) };
    let (made, put) = engine.put(draft.clone()).await;
    assert_eq!(put, Put::Created);
    for _ in 0..3 {
        engine.pass(Duration::from_mins(4));
        let (same, put) = engine.put(draft.clone()).await;
        assert_eq!((put, same.version, same.id), (Put::Same, 1, made.id));
        assert_eq!(same.next_fire_at, Some(at("2026-11-30T02:20:00Z")));
    }
    let count = engine.db.ask("SELECT count(*) FROM schedules").await;
    assert_eq!(count.get::<_, i64>(0), 1);
}

#[tokio::test]
async fn b052_many_deploys_at_once_make_one_schedule() {
    let engine = Engine::new().await;
    let deploys = (0..8).map(|n| {
        let mut draft = cron("s", "0 5 * * *");
        draft.doc.job.priority = n;
        schedules::put(&engine, &engine.who, None, draft)
    });
    let puts = futures_util::future::join_all(deploys).await;
    let created = |put: &Result<(_, Put), Error>| matches!(put, Ok((_, Put::Created)));
    assert_eq!(puts.iter().filter(|put| created(put)).count(), 1);
    assert!(puts.iter().all(Result::is_ok), "{puts:?}");
    let row = engine.db.ask("SELECT count(*), max(version) FROM schedules").await;
    assert_eq!((row.get::<_, i64>(0), row.get::<_, i32>(1)), (1, 8));
}

#[tokio::test]
async fn what_was_due_before_an_edit_fires_by_the_old_rule() {
    let engine = Engine::new().await;
    engine.schedule(every("s", 60_000)).await;
    engine.pass(Duration::from_secs(65));
    let mut draft = cron("s", "0 5 * * *");
    draft.doc.overlap = Overlap::Allow;
    engine.put(draft).await;
    assert_eq!(engine.briefs("s").await, ["02:01:00 fired"]);
    engine.fire().await;
    assert_eq!(engine.briefs("s").await.len(), 1);
}

#[tokio::test]
async fn a_change_of_the_job_leaves_the_times_alone() {
    let engine = Engine::new().await;
    engine.schedule(every("s", 60_000)).await;
    engine.pass(Duration::from_secs(30));
    let mut draft = every("s", 60_000);
    draft.doc.job.priority = 9;
    let (changed, _) = engine.put(draft).await;
    assert_eq!(changed.next_fire_at, Some(at("2026-11-30T02:01:00Z")));
    engine.pass(Duration::from_secs(30));
    engine.fire().await;
    let job = engine.fires("s").await[0].job.unwrap();
    assert_eq!(engine.get(job).await.asked.priority, 9);
}

#[tokio::test]
async fn an_edit_needs_the_version_that_it_was_read_at() {
    let engine = Engine::new().await;
    let made = engine.schedule(cron("s", "0 5 * * *")).await;
    let ident = Ident::Id(made.id);
    let etag = made.etag();
    let change = async |expected: &str, line: &'static str| {
        schedules::change(&engine, &engine.who, &ident, Some(expected), |_| Ok(cron("s", line)))
            .await
    };
    let changed = change(&etag, "0 6 * * *").await.unwrap();
    let error = change(&etag, "0 7 * * *").await.unwrap_err();
    assert!(matches!(error, Error::ConditionFailed { ref current } if *current == changed.etag()));
    schedules::delete(&engine, &engine.who, &ident, Some(&etag)).await.unwrap_err();
    schedules::delete(&engine, &engine.who, &ident, None).await.unwrap();
    let gone = schedules::get(&engine, &engine.who, &ident).await;
    assert!(matches!(gone, Err(Error::Missing { .. })));
    engine.fire_at("2026-11-30T06:00:00Z").await;
    assert_eq!(engine.db.ask("SELECT count(*) FROM jobs").await.get::<_, i64>(0), 0);
}

#[tokio::test]
async fn an_ended_schedule_lives_again_with_times_to_come() {
    let engine = Engine::new().await;
    engine.schedule(draft("s", RuleDoc::At(vec![at("2026-11-30T02:01:00Z")]))).await;
    engine.fire_at("2026-11-30T02:01:00Z").await;
    assert_eq!(engine.schedule_named("s").await.state, ScheduleState::Ended);
    let next =
        draft("s", RuleDoc::At(vec![at("2026-11-30T02:01:00Z"), at("2026-11-30T03:00:00Z")]));
    let (again, _) = engine.put(next).await;
    assert_eq!(again.state, ScheduleState::Active);
    assert_eq!(again.next_fire_at, Some(at("2026-11-30T03:00:00Z")));
}

#[tokio::test]
async fn what_can_never_fire_or_names_no_calendar_is_refused() {
    let engine = Engine::new().await;
    let refused = async |draft| {
        let error = schedules::put(&engine, &engine.who, None, draft).await.unwrap_err();
        let Error::Invalid(invalid) = error else { panic!("{error:?}") };
        invalid.0.into_iter().map(|fault| (fault.pointer, fault.code)).collect::<Vec<_>>()
    };
    let past = draft("s", RuleDoc::At(vec![at("2026-11-30T01:00:00Z")]));
    assert_eq!(refused(past).await, [("#/spec".to_owned(), "never-fires")]);
    let mut closed = cron("s", "0 5 * * *");
    closed.doc.exclude = vec!["nowhere".into()];
    assert_eq!(refused(closed).await, [("#/exclude/0".to_owned(), "unknown-calendar")]);
    assert!(matches!(
        calendars::get(&engine, &engine.who, "nowhere").await,
        Err(Error::Missing { .. })
    ));
}

#[tokio::test]
async fn put_pauses_and_resumes_only_if_it_says_so() {
    let engine = Engine::new().await;
    let mut draft = cron("s", "0 5 * * *");
    draft.paused = Some(true);
    let (paused, _) = engine.put(draft.clone()).await;
    assert_eq!(paused.state, ScheduleState::Paused);
    assert_eq!(paused.reason.as_deref(), Some("paused by its definition"));
    draft.paused = None;
    draft.doc.job.priority = 1;
    let (still, _) = engine.put(draft.clone()).await;
    assert_eq!(still.state, ScheduleState::Paused);
    draft.paused = Some(false);
    assert_eq!(engine.put(draft.clone()).await.0.state, ScheduleState::Active);
    assert_eq!(engine.put(draft).await.1, Put::Same);
}
