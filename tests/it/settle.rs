//! How a run's outcome becomes its job's next state, and its row.

use std::collections::BTreeMap;
use std::time::Duration;

use axle::domain::id::{JobId, RunId};
use axle::domain::job::{Completion, Reason};
use axle::domain::state::State;
use axle::domain::verdict::Outcome;
use axle::engine::settle::{self, News, Settled};
use axle::engine::{Error, callbacks, clock, journal, run_token, sweep};
use axle::store::live::{self, Acceptance};

use crate::support::engine::{Engine, FAILED, LEASE, REFUSED, SHARD, With as _, ended, job};

const URL: &str = "http://127.0.0.1:1/";
const SECOND: Duration = Duration::from_secs(1);

/// Registers a job with the default policy and claims it.
async fn running(engine: &Engine) -> RunId {
    engine.enqueue_together(vec![job(URL)]).await;
    engine.claim_one().await
}

/// Waits for the back-off and claims the job again.
async fn next_run(engine: &Engine, job: JobId) -> RunId {
    let due = engine.get(job).await.standing.next_attempt_at.expect("it waits for a retry");
    engine.pass(clock::until(engine.clock.now(), due));
    engine.claim_one().await
}

async fn ending(engine: &Engine, job: JobId) -> (State, Option<Reason>) {
    let job = engine.get(job).await;
    (job.state(), job.standing.reason)
}

#[tokio::test]
async fn every_outcome_has_its_state_and_its_run() {
    use Outcome::{Lost, Succeeded, TimedOut, Unreached};
    let engine = Engine::new().await;
    let asked = Outcome::Failed { retryable: true, retry_after: Some(SECOND * 7) };
    let retry = |wait: u64| (State::RetryWait, None, Some(SECOND * u32::try_from(wait).unwrap()));
    let cases = [
        (Succeeded, "SUCCESS", (State::Success, None, None), 1),
        (FAILED, "FAILED", retry(30), 1),
        (asked, "FAILED", retry(7), 1),
        (REFUSED, "FAILED", (State::Failed, Some(Reason::NoRetry), None), 1),
        (TimedOut, "TIMEOUT", retry(30), 1),
        (Lost, "LOST", retry(30), 1),
        // Its wait is spread by a fifth, so it is not compared; its attempt is given back.
        (Unreached, "FAILED", (State::RetryWait, None, None), 0),
    ];
    for (outcome, run_state, (state, reason, wait), attempt) in cases {
        engine.pass(SECOND * 3_600);
        engine.db.execute("DELETE FROM live").await;
        let run = running(&engine).await;
        assert_eq!(engine.settle(run, outcome).await, Settled::Moved);
        let standing = engine.get(run.job).await.standing;
        assert_eq!((standing.state, standing.reason), (Some(state), reason), "{outcome:?}");
        assert_eq!(standing.attempt, attempt, "{outcome:?}");
        let now = engine.clock.now();
        let row = journal::run(&engine.ctx, &engine.who, run).await.unwrap();
        assert_eq!((row.state.as_str(), row.finished_at), (run_state, Some(now)), "{outcome:?}");
        assert_eq!(row.retry_at, standing.next_attempt_at, "{outcome:?}");
        if let Some(wait) = wait {
            assert_eq!(row.retry_at, Some(clock::after(now, wait)), "{outcome:?}");
        }
    }
}

#[tokio::test]
async fn b090_attempts_are_numbered_and_end_when_the_retries_are_used_up() {
    let engine = Engine::new().await;
    let mut run = running(&engine).await;
    let started = engine.clock.now();
    for _ in 0..3 {
        engine.settle(run, FAILED).await;
        run = next_run(&engine, run.job).await;
    }
    assert_eq!(clock::until(started, engine.clock.now()), SECOND * (30 + 60 + 120));
    engine.settle(run, FAILED).await;
    assert_eq!(ending(&engine, run.job).await, (State::Failed, Some(Reason::RetriesExhausted)));
    let (runs, _) = journal::runs(&engine.ctx, &engine.who, run.job, (None, 9)).await.unwrap();
    let numbers: Vec<_> = runs.iter().rev().map(|run| (run.attempt, run.id.fence)).collect();
    assert_eq!(numbers, [(1, 1), (2, 2), (3, 3), (4, 4)]);
}

#[tokio::test]
async fn the_two_budgets_are_spent_apart() {
    let engine = Engine::new().await;
    let mut run = running(&engine).await;
    for nth in 0..10 {
        engine.settle(run, Outcome::Unreached).await;
        let standing = engine.get(run.job).await.standing;
        assert_eq!((standing.attempt, standing.failures), (0, nth + 1));
        run = next_run(&engine, run.job).await;
    }
    engine.settle(run, FAILED).await;
    run = next_run(&engine, run.job).await;
    engine.settle(run, Outcome::Unreached).await;
    assert_eq!(ending(&engine, run.job).await, (State::Failed, Some(Reason::TargetUnreachable)));
    let standing = engine.get(run.job).await.standing;
    assert_eq!((standing.attempt, standing.failures), (1, 11));
}

#[tokio::test]
async fn b063_a_run_whose_puller_is_gone_is_lost_and_three_in_a_row_end_the_job() {
    let engine = Engine::new().await;
    let mut run = running(&engine).await;
    for lost in 1..=3 {
        engine.pass(LEASE.saturating_sub(SECOND));
        engine.sweep().await;
        assert_eq!(engine.get(run.job).await.state(), State::Running, "its lease still runs");
        engine.pass(SECOND);
        engine.sweep().await;
        if lost < 3 {
            assert_eq!(engine.get(run.job).await.state(), State::RetryWait);
            run = next_run(&engine, run.job).await;
        }
    }
    assert_eq!(ending(&engine, run.job).await, (State::Failed, Some(Reason::LeaseLost)));
    assert_eq!(engine.run_states(run.job).await, ["LOST"; 3]);
}

#[tokio::test]
async fn a_renewed_lease_keeps_a_run_alive_and_an_older_fence_renews_nothing() {
    let engine = Engine::new().await;
    let run = running(&engine).await;
    let renew = async |fence: i32| {
        let until = clock::after(engine.clock.now(), LEASE);
        let runs = [RunId { fence, ..run }];
        axle::store::live::renew(&engine.store, SHARD, &runs, until).await.unwrap();
    };
    for _ in 0..5 {
        engine.pass(LEASE / 2);
        renew(1).await;
        engine.sweep().await;
    }
    assert_eq!(engine.get(run.job).await.state(), State::Running);
    engine.pass(LEASE / 2);
    renew(2).await;
    engine.pass(LEASE / 2);
    engine.sweep().await;
    assert_eq!(engine.get(run.job).await.state(), State::RetryWait);
}

/// All that the database knows of a job.
async fn snapshot(engine: &Engine) -> String {
    let text = "SELECT concat((SELECT jsonb_agg(l) FROM live l), (SELECT jsonb_agg(d) FROM done d), \
                (SELECT jsonb_agg(r ORDER BY fence) FROM runs r)) AS everything";
    engine.db.ask(text).await.get("everything")
}

#[tokio::test]
async fn b067_news_of_an_older_run_changes_nothing() {
    let engine = Engine::new().await;
    let old = running(&engine).await;
    engine.pass(LEASE);
    engine.sweep().await;
    let new = next_run(&engine, old.job).await;
    assert_eq!(new.fence, old.fence + 1);
    let before = snapshot(&engine).await;
    let now = engine.clock.now();
    let accepted = acceptance(old, now, SECOND * 60, None);
    let mut news: Vec<_> = [Outcome::Succeeded, FAILED, REFUSED, Outcome::TimedOut, Outcome::Lost]
        .map(|outcome| ended(old, outcome))
        .into();
    news.extend([News::Accepted(accepted), News::HandedBack(old)]);
    for item in &news {
        let settled = settle::write(&engine.ctx, SHARD, std::slice::from_ref(item)).await.unwrap();
        assert_eq!(settled, [Settled::Stale], "{item:?}");
        assert_eq!(snapshot(&engine).await, before, "{item:?}");
    }
    // Beside news of the present run, in one batch.
    news.push(ended(new, Outcome::Succeeded));
    let settled = settle::write(&engine.ctx, SHARD, &news).await.unwrap();
    let moved = settled.iter().filter(|settled| **settled == Settled::Moved).count();
    assert_eq!((moved, settled.last()), (1, Some(&Settled::Moved)));
    assert_eq!(engine.run_states(old.job).await, ["LOST", "SUCCESS"]);
}

#[tokio::test]
async fn a_batch_of_two_hundred_settles_each_run_by_its_own_outcome() {
    let engine = Engine::new().await;
    engine.enqueue_together(vec![job(URL); settle::BATCH]).await;
    let claimed = engine.claim(i64::try_from(settle::BATCH).unwrap()).await;
    let now = engine.clock.now();
    let news: Vec<_> = claimed
        .iter()
        .rev() // not in id order
        .enumerate()
        .map(|(nth, claimed)| match nth % 5 {
            0 => ended(claimed.run, Outcome::Succeeded),
            1 => ended(claimed.run, FAILED),
            2 => ended(claimed.run, REFUSED),
            3 => News::HandedBack(claimed.run),
            _ => News::Accepted(acceptance(claimed.run, now, SECOND * 60, None)),
        })
        .collect();
    let settled = settle::write(&engine.ctx, SHARD, &news).await.unwrap();
    assert_eq!(settled, vec![Settled::Moved; settle::BATCH]);
    let mut states = BTreeMap::new();
    for item in &news {
        let standing = engine.get(item.run().job).await.standing;
        let key = (standing.state.unwrap().as_str(), standing.accepted_at.is_some());
        *states.entry(key).or_insert(0) += 1;
    }
    let each = settle::BATCH / 5;
    let expected = [
        ("SUCCESS", false),
        ("RETRY_WAIT", false),
        ("FAILED", false),
        ("PENDING", false),
        ("RUNNING", true),
    ];
    assert_eq!(states, expected.map(|key| (key, each)).into());
    let runs: i64 = engine.db.ask("SELECT count(*) AS runs FROM runs").await.get("runs");
    assert_eq!(runs, i64::try_from(each * 3).unwrap(), "what ended has its row");
    let again = settle::write(&engine.ctx, SHARD, &news[..3]).await.unwrap();
    assert_eq!(again, [Settled::Stale; 3], "news that comes twice is stale");
}

fn acceptance(
    run: RunId,
    now: chrono::DateTime<chrono::Utc>,
    timeout: Duration,
    silence: Option<Duration>,
) -> Acceptance {
    let deadline_at = clock::after(now, timeout);
    let lease_until = silence.map_or(deadline_at, |silence| clock::after(now, silence));
    Acceptance { run, sent_at: now, http_status: 202, deadline_at, lease_until }
}

/// A run that its target has accepted: it may take a minute, and be silent for ten seconds of it.
async fn accepted(engine: &Engine) -> RunId {
    let new = job(URL).with(|job| {
        job.spec.completion = Completion::Callback;
        job.spec.heartbeat_timeout_ms = Some(10_000);
    });
    engine.enqueue_together(vec![new]).await;
    let run = engine.claim_one().await;
    let acceptance = acceptance(run, engine.clock.now(), SECOND * 60, Some(SECOND * 10));
    let news = [News::Accepted(acceptance)];
    assert_eq!(settle::write(&engine.ctx, SHARD, &news).await.unwrap(), [Settled::Moved]);
    run
}

async fn beat(engine: &Engine, run: RunId) -> Result<(), Error> {
    let token = run_token::token(&engine.limits.callback_key, run);
    callbacks::heartbeat(&engine.ctx, run, &token, None).await.map(drop)
}

#[tokio::test]
async fn b060_silence_and_the_whole_time_are_two_limits() {
    let engine = Engine::new().await;
    let silent = accepted(&engine).await;
    engine.pass(SECOND * 9);
    engine.sweep().await;
    assert_eq!(engine.get(silent.job).await.state(), State::Running);
    engine.pass(SECOND);
    engine.sweep().await;
    assert_eq!(engine.run_states(silent.job).await, ["LOST"]);
    assert!(matches!(beat(&engine, silent).await, Err(Error::StaleRun { .. })), "too late");

    engine.db.execute("DELETE FROM live").await;
    let talking = accepted(&engine).await;
    for _ in 0..59 {
        engine.pass(SECOND);
        engine.sweep().await;
        beat(&engine, talking).await.unwrap();
    }
    engine.pass(SECOND);
    engine.sweep().await;
    engine.sweep().await;
    assert_eq!(engine.run_states(talking.job).await, ["TIMEOUT"], "counted once");
    assert_eq!(engine.get(talking.job).await.standing.attempt, 1);
}

#[tokio::test]
async fn b071_each_run_has_its_own_deadlines() {
    let engine = Engine::new().await;
    let first = accepted(&engine).await;
    engine.pass(SECOND * 60);
    engine.sweep().await;
    let second = next_run(&engine, first.job).await;
    let standing = engine.get(first.job).await.standing;
    assert_eq!((standing.accepted_at, standing.deadline_at), (None, None));
    let now = engine.clock.now();
    let news = [News::Accepted(acceptance(second, now, SECOND * 60, None))];
    settle::write(&engine.ctx, SHARD, &news).await.unwrap();
    engine.pass(SECOND * 59);
    engine.sweep().await;
    assert_eq!(engine.get(first.job).await.state(), State::Running);
    engine.pass(SECOND);
    engine.sweep().await;
    assert_eq!(engine.run_states(first.job).await, ["TIMEOUT"; 2]);
}

#[tokio::test]
async fn b061_a_heartbeat_before_the_answer_was_read_is_welcome() {
    let engine = Engine::new().await;
    let run = running(&engine).await;
    engine.pass(LEASE.saturating_sub(SECOND));
    beat(&engine, run).await.unwrap();
    engine.pass(LEASE.saturating_sub(SECOND));
    engine.sweep().await;
    assert_eq!(engine.get(run.job).await.state(), State::Running);
}

#[tokio::test]
async fn b077_a_shard_that_cannot_be_swept_keeps_no_other_waiting() {
    let engine = Engine::new().await;
    let mut jobs = Vec::new();
    for key in 0..12 {
        let new = job(URL).with(|job| job.unique_key = Some(format!("key-{key}")));
        jobs.push(engine.enqueue(new).await.id);
    }
    let session = engine.store.session().await.unwrap();
    let now = engine.clock.now();
    jobs.sort_by_key(|id| id.shard());
    for id in &jobs {
        let times = (now, clock::after(now, LEASE));
        live::claim(&session, id.shard(), ("test", 12), times, None).await.unwrap();
    }
    // Whichever way the sweep goes through the shards, a broken one comes before the others.
    let (first, last) = (jobs[0].shard(), jobs[11].shard());
    let (broken, sound): (Vec<_>, Vec<_>) =
        jobs.into_iter().partition(|id| [first, last].contains(&id.shard()));
    assert!(!sound.is_empty(), "the keys fall into more than two shards");
    let spec = "UPDATE jobs SET spec = '{}' WHERE shard IN";
    engine.db.execute(&format!("{spec} ({}, {})", first.0, last.0)).await;
    engine.pass(LEASE + SECOND);

    assert!(sweep::step(&engine.ctx, SECOND).await.is_err());
    for id in sound {
        assert_eq!(engine.get(id).await.state(), State::RetryWait);
    }
    let ids: Vec<_> = broken.iter().map(|id| format!("'{}'", id.uuid())).collect();
    let running = "SELECT count(*) AS rows FROM live WHERE state = 'RUNNING' AND job_id IN";
    let left: i64 = engine.db.ask(&format!("{running} ({})", ids.join(","))).await.get("rows");
    assert_eq!(usize::try_from(left).unwrap(), broken.len());
}
