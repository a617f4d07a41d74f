//! Overlap policies: what a fire does while an earlier job is unfinished, and whose turn is next.

use std::time::Duration;

use axle::domain::id::JobId;
use axle::domain::job::Reason;
use axle::domain::schedule::doc::{Draft, Overlap};
use axle::domain::schedule::record::ScheduleState;
use axle::domain::state::State;
use axle::domain::verdict::Outcome;
use axle::engine::settle::{self, News, Report};
use axle::store::live::{self, Claimed};

use crate::support::engine::{Engine, LEASE};
use crate::support::schedule::every;

fn minutely(overlap: Overlap) -> Draft {
    let mut draft = every("s", 60_000);
    draft.doc.overlap = overlap;
    draft
}

async fn minutes(engine: &Engine, count: usize) {
    for _ in 0..count {
        engine.pass(Duration::from_mins(1));
        engine.fire().await;
    }
}

/// The jobs of the schedule, oldest first.
async fn jobs(engine: &Engine) -> Vec<JobId> {
    engine.fires("s").await.into_iter().filter_map(|fire| fire.job).collect()
}

/// Claims what may run of the schedule.
async fn claim(engine: &Engine) -> Vec<Claimed> {
    let shard = engine.schedule_named("s").await.id.shard();
    let session = engine.store.session().await.unwrap();
    let now = engine.clock.now();
    live::claim(&session, shard, ("test", 10), (now, now + LEASE), None).await.unwrap().0
}

/// Claims the schedule's one runnable job and settles it.
async fn run_one(engine: &Engine, outcome: Outcome) -> JobId {
    let shard = engine.schedule_named("s").await.id.shard();
    let claimed = claim(engine).await;
    assert_eq!(claimed.len(), 1, "exactly one may run");
    let (run, policy) = (claimed[0].run, claimed[0].spec.retry.clone());
    let report = Box::new(Report::bare(outcome, None));
    settle::write(engine, shard, &[News::Ended { run, policy, report }]).await.unwrap();
    run.job
}

#[tokio::test]
async fn skip_makes_no_job_while_one_is_unfinished() {
    let engine = Engine::new().await;
    engine.schedule(minutely(Overlap::Skip)).await;
    minutes(&engine, 3).await;
    let expected = ["02:01:00 fired", "02:02:00 skipped_overlap", "02:03:00 skipped_overlap"];
    assert_eq!(engine.briefs("s").await, expected);
    run_one(&engine, Outcome::Succeeded).await;
    minutes(&engine, 1).await;
    assert_eq!(engine.briefs("s").await.last().unwrap(), "02:04:00 fired");
}

#[tokio::test]
async fn queue_one_lets_one_wait_and_passes_the_turn_on() {
    let engine = Engine::new().await;
    engine.schedule(minutely(Overlap::QueueOne)).await;
    minutes(&engine, 3).await;
    let expected = ["02:01:00 fired", "02:02:00 fired", "02:03:00 skipped_overlap"];
    assert_eq!(engine.briefs("s").await, expected);
    assert_eq!(engine.job_states("s").await, [State::Pending, State::Waiting]);
    let first = run_one(&engine, Outcome::Succeeded).await;
    assert_eq!(first, jobs(&engine).await[0]);
    assert_eq!(engine.job_states("s").await, [State::Success, State::Pending]);
    assert_eq!(run_one(&engine, Outcome::Succeeded).await, jobs(&engine).await[1]);
}

#[tokio::test]
async fn queue_all_runs_one_after_another_oldest_first_however_they_end() {
    let engine = Engine::new().await;
    engine.schedule(minutely(Overlap::QueueAll)).await;
    minutes(&engine, 4).await;
    let jobs = jobs(&engine).await;
    assert_eq!(jobs.len(), 4);
    let failed = Outcome::Failed { retryable: false, retry_after: None };
    assert_eq!(run_one(&engine, failed).await, jobs[0]);
    // One that waits is cancelled; the one whose turn it is goes when an owner stops the one ahead.
    engine.cancel(jobs[2]).await;
    engine.cancel(jobs[1]).await;
    assert_eq!(run_one(&engine, Outcome::Succeeded).await, jobs[3]);
    let states = [State::Failed, State::Cancelled, State::Cancelled, State::Success];
    assert_eq!(engine.job_states("s").await, states);
}

#[tokio::test]
async fn a_turn_that_nobody_passed_on_is_found_by_the_sweep() {
    let engine = Engine::new().await;
    engine.schedule(minutely(Overlap::QueueAll)).await;
    minutes(&engine, 2).await;
    let first = jobs(&engine).await[0];
    // As if the process had died between its commit and passing the turn on.
    engine.db.execute(&format!("DELETE FROM live WHERE job_id = '{}'", first.uuid())).await;
    engine.sweep().await;
    let claimed = claim(&engine).await;
    assert_eq!(claimed.len(), 1);
    assert_ne!(claimed[0].run.job, first);
}

#[tokio::test]
async fn cancel_running_replaces_what_is_unfinished() {
    let engine = Engine::new().await;
    engine.schedule(minutely(Overlap::CancelRunning)).await;
    minutes(&engine, 3).await;
    let states = [State::Cancelled, State::Cancelled, State::Pending];
    assert_eq!(engine.job_states("s").await, states);
    let first = engine.get(jobs(&engine).await[0]).await;
    assert_eq!(first.standing.reason, Some(Reason::Superseded));
    let expected = ["02:01:00 fired", "02:02:00 fired", "02:03:00 fired"];
    assert_eq!(engine.briefs("s").await, expected);
}

#[tokio::test]
async fn allow_makes_every_job() {
    let engine = Engine::new().await;
    engine.schedule(minutely(Overlap::Allow)).await;
    minutes(&engine, 3).await;
    assert_eq!(engine.job_states("s").await, [State::Pending; 3]);
}

#[tokio::test]
async fn a_trigger_obeys_overlap_unless_it_says_otherwise() {
    let engine = Engine::new().await;
    engine.schedule(minutely(Overlap::Skip)).await;
    let first = engine.trigger("s", None).await.unwrap();
    assert_eq!(first.fire.outcome, "fired");
    let second = engine.trigger("s", None).await.unwrap();
    assert_eq!((second.fire.outcome.as_str(), second.fire.job), ("skipped_overlap", None));
    let third = engine.trigger("s", Some(Overlap::Allow)).await.unwrap();
    assert_eq!(third.fire.outcome, "fired");
    minutes(&engine, 1).await;
    let briefs = engine.briefs("s").await;
    let expected = [
        "02:00:00 fired trigger",
        "02:00:00 skipped_overlap trigger",
        "02:00:00 fired trigger",
        "02:01:00 skipped_overlap",
    ];
    assert_eq!(briefs, expected);
    assert_eq!(engine.schedule_named("s").await.fires, 0, "a trigger is not counted");
}

#[tokio::test]
async fn pause_on_failure_pauses_with_the_reason() {
    let engine = Engine::new().await;
    let mut draft = minutely(Overlap::Skip);
    draft.doc.pause_on_failure = true;
    engine.schedule(draft).await;
    minutes(&engine, 1).await;
    run_one(&engine, Outcome::Succeeded).await;
    assert_eq!(engine.schedule_named("s").await.state, ScheduleState::Active);
    minutes(&engine, 1).await;
    let job = run_one(&engine, Outcome::Failed { retryable: false, retry_after: None }).await;
    let paused = engine.schedule_named("s").await;
    assert_eq!(paused.state, ScheduleState::Paused);
    assert!(paused.reason.unwrap().contains(&job.to_string()));
    minutes(&engine, 2).await;
    assert_eq!(jobs(&engine).await.len(), 2, "it fires no more");
    engine.resume_schedule("s", false).await.unwrap();
    let briefs = engine.briefs("s").await;
    assert_eq!(briefs.last().unwrap(), "02:03:00 skipped_paused ×2");
}

#[tokio::test]
async fn a_job_that_starts_too_late_frees_the_turn() {
    let engine = Engine::new().await;
    let mut draft = minutely(Overlap::QueueAll);
    draft.doc.job.start_within_ms = Some(90_000);
    engine.schedule(draft).await;
    minutes(&engine, 2).await;
    engine.pass(Duration::from_secs(31));
    engine.sweep().await;
    assert_eq!(engine.job_states("s").await, [State::Failed, State::Pending]);
}
