//! By hand: pause, resume, trigger, backfill, and "why didn't it run?".

use std::time::Duration;

use axle::domain::principal::Role;
use axle::domain::schedule::doc::{CalendarDoc, CatchUp, Overlap};
use axle::domain::schedule::record::{Fire, ScheduleState};
use axle::domain::state::State;
use axle::engine::Error;
use axle::engine::backfill::{Range, backfill};
use axle::engine::calendars;
use axle::engine::once::Answer;
use axle::engine::schedules::Ident;
use axle::engine::trigger::trigger;
use axle::store::idempotency::Kept;

use crate::support::engine::{Engine, principal};
use crate::support::schedule::{at, brief, cron, every};

#[tokio::test]
async fn what_lay_in_a_pause_is_told_and_does_not_fire() {
    let engine = Engine::new().await;
    engine.schedule(every("s", 60_000)).await;
    engine.pass(Duration::from_secs(61));
    let paused = engine.pause_schedule("s", "the warehouse is closed").await;
    assert_eq!(paused.state, ScheduleState::Paused);
    assert_eq!(paused.reason.as_deref(), Some("the warehouse is closed"));
    assert_eq!(engine.briefs("s").await, ["02:01:00 fired"], "what was due before still fires");
    engine.fire_at("2026-11-30T02:05:30Z").await;
    let expected = engine.expected("s", "2026-11-30T02:07:00Z").await;
    assert!(expected.iter().all(|expected| expected.outcome == "skipped_paused"));
    assert_eq!(expected.len(), 5, "02:02 to 02:06: in the pause so far, and if it goes on");
    let resumed = engine.resume_schedule("s", false).await.unwrap();
    assert_eq!((resumed.state, resumed.reason), (ScheduleState::Active, None));
    assert_eq!(resumed.next_fire_at, Some(at("2026-11-30T02:06:00Z")));
    engine.fire().await;
    assert_eq!(engine.briefs("s").await, ["02:01:00 fired", "02:02:00 skipped_paused ×4"]);
}

#[tokio::test]
async fn closed_days_in_a_pause_are_told_as_closed() {
    let engine = Engine::new().await;
    let closed = CalendarDoc {
        name: "de".into(),
        dates: vec!["2026-12-01".parse().unwrap()],
        weekend: Vec::new(),
    };
    calendars::put(&engine, &engine.who, &closed).await.unwrap();
    let mut draft = cron("s", "0 9 * * *");
    draft.doc.exclude = vec!["de".into()];
    engine.schedule(draft).await;
    engine.pause_schedule("s", "a test").await;
    engine.move_to("2026-12-02T10:00:00Z");
    engine.resume_schedule("s", false).await.unwrap();
    let fires = engine.fires("s").await;
    let told: Vec<_> = fires.iter().map(|fire| (fire.at, fire.outcome.as_str())).collect();
    let expected = [
        (at("2026-11-30T09:00:00Z"), "skipped_paused"),
        (at("2026-12-01T09:00:00Z"), "skipped_calendar"),
    ];
    assert_eq!(told, expected);
    assert_eq!(fires[0].until, Some(at("2026-12-02T09:00:00Z")));
}

#[tokio::test]
async fn a_pause_is_made_up_for_when_asked() {
    let engine = Engine::new().await;
    let mut draft = every("s", 60_000);
    draft.doc.catch_up = CatchUp::All;
    draft.doc.catch_up_max = 3;
    draft.doc.overlap = Overlap::Allow;
    engine.schedule(draft).await;
    engine.pause_schedule("s", "a test").await;
    engine.move_to("2026-11-30T02:05:30Z");
    engine.resume_schedule("s", true).await.unwrap();
    engine.fire().await;
    let expected = ["02:01:00 fired", "02:02:00 fired", "02:03:00 fired", "02:04:00 missed ×2"];
    assert_eq!(engine.briefs("s").await, expected);
}

#[tokio::test]
async fn a_trigger_runs_now_in_any_state_and_needs_an_operator() {
    let engine = Engine::new().await;
    engine.schedule(cron("s", "0 5 * * *")).await;
    engine.pause_schedule("s", "a test").await;
    let triggered = engine.trigger("s", None).await.unwrap();
    let job = engine.get(triggered.fire.job.unwrap()).await;
    assert_eq!((job.state(), job.asked.due_at), (State::Pending, engine.clock.now()));
    assert_eq!(job.asked.fire_at, Some(triggered.fire.at));
    let writer = principal("acme", Role::Writer);
    let ask = (&Ident::Name("s".into()), None);
    let denied = trigger(&engine, &writer, None, ask, |_| Kept::default()).await;
    assert!(matches!(denied, Err(Error::Denied { .. })));
    let stranger = principal("other", Role::Admin);
    let missing = trigger(&engine, &stranger, None, ask, |_| Kept::default()).await;
    assert!(matches!(missing, Err(Error::Missing { .. })));
}

#[tokio::test]
async fn a_trigger_at_the_instant_of_a_slot_leaves_the_slot_to_the_timer() {
    let engine = Engine::new().await;
    let mut draft = every("s", 60_000);
    draft.doc.overlap = Overlap::Allow;
    engine.schedule(draft).await;
    engine.move_to("2026-11-30T02:01:00Z");
    for _ in 0..3 {
        engine.trigger("s", None).await.unwrap();
    }
    engine.fire().await;
    let fires = engine.fires("s").await;
    assert_eq!(fires.len(), 4);
    assert_eq!(fires.iter().filter(|fire| fire.origin == "timer").count(), 1);
    assert_eq!(engine.job_states("s").await.len(), 4);
}

async fn fill(engine: &Engine, range: Range) -> Result<Vec<Fire>, Error> {
    let ask = (&Ident::Name("s".into()), &range);
    match backfill(engine, &engine.who, None, ask, |_| Kept::default()).await? {
        Answer::Fresh(fires, _) => Ok(fires),
        other @ Answer::Replayed(_) => panic!("no key was given: {other:?}"),
    }
}

fn range(from: &str, to: &str) -> Range {
    let (from, to) = (format!("2026-11-30T{from}Z"), format!("2026-11-30T{to}Z"));
    Range { from: at(&from), to: at(&to), dry_run: false, max_per_second: None }
}

#[tokio::test]
async fn a_backfill_makes_jobs_for_slots_that_have_none_one_after_another() {
    let engine = Engine::new().await;
    let mut draft = cron("s", "*/10 * * * *");
    draft.doc.catch_up = CatchUp::None;
    engine.schedule(draft).await;
    engine.fire_at("2026-11-30T02:10:00Z").await;
    engine.cancel(engine.fires("s").await[0].job.unwrap()).await;
    engine.fire_at("2026-11-30T03:35:00Z").await;
    assert_eq!(engine.briefs("s").await, ["02:10:00 fired", "02:20:00 missed ×8"]);
    let mut dry = range("02:00:00", "02:40:00");
    dry.dry_run = true;
    let planned = fill(&engine, dry).await.unwrap();
    let planned: Vec<_> = planned.iter().map(brief).collect();
    // From before its birth too: somebody asked for it.
    let expected =
        ["02:00:00 fired backfill", "02:20:00 fired backfill", "02:30:00 fired backfill"];
    assert_eq!(planned, expected);
    assert_eq!(engine.briefs("s").await.len(), 2, "a dry run does nothing");
    let made = fill(&engine, range("02:30:00", "03:00:00")).await.unwrap();
    assert_eq!(made.len(), 3);
    let expected = [
        "02:10:00 fired",
        "02:20:00 missed",
        "02:30:00 fired backfill",
        "02:40:00 fired backfill",
        "02:50:00 fired backfill",
        "03:00:00 missed ×4",
    ];
    assert_eq!(engine.briefs("s").await, expected);
    let states = [State::Cancelled, State::Pending, State::Waiting, State::Waiting];
    assert_eq!(engine.job_states("s").await, states);
    assert!(fill(&engine, range("02:30:00", "03:00:00")).await.unwrap().is_empty(), "once");
    let again = fill(&engine, range("02:20:00", "03:35:00")).await.unwrap();
    assert_eq!(again.len(), 5, "the rest");
    assert!(engine.briefs("s").await.iter().all(|brief| brief.contains("fired")));
}

#[tokio::test]
async fn a_slot_that_a_backfill_was_faster_with_cancels_no_job() {
    let engine = Engine::new().await;
    let mut draft = every("s", 60_000);
    draft.doc.overlap = Overlap::CancelRunning;
    engine.schedule(draft).await;
    engine.move_to("2026-11-30T02:01:30Z");
    assert_eq!(fill(&engine, range("02:00:30", "02:01:30")).await.unwrap().len(), 1);
    engine.fire().await;
    assert_eq!(engine.briefs("s").await, ["02:01:00 fired backfill"]);
    assert_eq!(engine.job_states("s").await, [State::Pending]);
}

#[tokio::test]
async fn a_backfill_is_bounded_and_spread() {
    let engine = Engine::new().await;
    let mut draft = every("s", 1_000);
    draft.doc.overlap = Overlap::Allow;
    engine.schedule(draft).await;
    engine.pass(Duration::from_hours(1));
    let error = fill(&engine, range("02:00:00", "03:00:00")).await.unwrap_err();
    assert!(
        matches!(&error, Error::Invalid(invalid) if invalid.0[0].code == "too-many"),
        "{error}"
    );
    let future = fill(&engine, range("02:00:00", "04:00:00")).await.unwrap_err();
    assert!(matches!(&future, Error::Invalid(i) if i.0[0].pointer == "#/to"), "{future}");
    let reversed = fill(&engine, range("02:10:00", "02:00:00")).await.unwrap_err();
    assert!(matches!(reversed, Error::Invalid(_)));
    let mut spread = range("02:00:00", "02:00:10");
    spread.max_per_second = Some(2);
    let fires = fill(&engine, spread).await.unwrap();
    assert_eq!(fires.len(), 10);
    let last = engine.get(fires[9].job.unwrap()).await;
    assert_eq!(last.asked.due_at - engine.clock.now(), chrono::TimeDelta::milliseconds(4_500));
}
