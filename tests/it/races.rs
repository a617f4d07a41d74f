//! Several who want to move the same job at the same time. Whatever the order, the job ends in one
//! legal state, has one row per run, and everybody was told the truth.

use std::sync::Arc;
use std::time::Duration;

use axle::domain::id::{JobId, RunId};
use axle::domain::state::State;
use axle::domain::verdict::Outcome;
use axle::engine::callbacks::{Heard, Word};
use axle::engine::random;
use axle::engine::settle::{self, Settled};
use axle::engine::{Error, callbacks, clock, moves, run_token};
use axle::store::idempotency::Kept;
use axle::store::live;
use futures_util::future::join_all;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use crate::support::engine::{Engine, FAILED, LEASE, REFUSED, SHARD, ended, job};

const URL: &str = "http://127.0.0.1:1/";
/// How many jobs are raced for in each test.
const ROUNDS: usize = 100;
/// How many of them at once.
const AT_ONCE: usize = 10;

async fn cancel(engine: &Engine, id: JobId) -> Result<(), Error> {
    moves::cancel(&engine.ctx, &engine.who, None, id, |_| Kept::default()).await.map(drop)
}

async fn run_now(engine: &Engine, id: JobId) -> Result<(), Error> {
    moves::run_now(&engine.ctx, &engine.who, None, id, |_| Kept::default()).await.map(drop)
}

async fn call_back(engine: &Engine, run: RunId) -> Result<Heard, Error> {
    let token = run_token::token(&engine.limits.callback_key, run);
    callbacks::callback(&engine.ctx, run, &token, Word::Succeeded { result: None }).await
}

/// Claims `ROUNDS` new jobs.
async fn many_running(engine: &Engine) -> Vec<RunId> {
    engine.enqueue_together(vec![job(URL); ROUNDS]).await;
    let claimed = engine.claim(i64::try_from(ROUNDS).unwrap()).await;
    assert_eq!(claimed.len(), ROUNDS);
    claimed.into_iter().map(|claimed| claimed.run).collect()
}

/// Starts the three at once on three tasks, whose order the scheduler and the network decide.
async fn race<A, B, C>(
    a: impl Future<Output = A> + Send + 'static,
    b: impl Future<Output = B> + Send + 'static,
    c: impl Future<Output = C> + Send + 'static,
) -> (A, B, C)
where
    A: Send + 'static,
    B: Send + 'static,
    C: Send + 'static,
{
    let tasks = TaskTracker::new();
    let (a, b, c) = (tasks.spawn(a), tasks.spawn(b), tasks.spawn(c));
    (a.await.unwrap(), b.await.unwrap(), c.await.unwrap())
}

/// A future that owns what it borrows, so that it can run on a task of its own.
macro_rules! on_task {
    ($engine:ident, $do:expr) => {{
        let $engine = Arc::clone(&$engine);
        async move { $do.await }
    }};
}

/// Runs `round` for every run, a few at a time.
async fn rounds(runs: Vec<RunId>, round: impl AsyncFn(RunId)) {
    for some in runs.chunks(AT_ONCE) {
        join_all(some.iter().map(|run| round(*run))).await;
    }
}

async fn assert_one_place(engine: &Engine) {
    let text = "SELECT count(*) AS wrong FROM jobs j \
                WHERE (SELECT count(*) FROM live l WHERE l.job_id = j.job_id) \
                    + (SELECT count(*) FROM done d WHERE d.job_id = j.job_id) <> 1";
    let wrong: i64 = engine.db.ask(text).await.get("wrong");
    assert_eq!(wrong, 0, "every job is in `live` or in `done`");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn b086_cancel_against_success_and_run_now() {
    let engine = Arc::new(Engine::new().await);
    let runs = many_running(&engine).await;
    rounds(runs, async |run| {
        let (settled, cancelled, now) = race(
            on_task!(engine, engine.settle(run, Outcome::Succeeded)),
            on_task!(engine, cancel(&engine, run.job)),
            on_task!(engine, run_now(&engine, run.job)),
        )
        .await;
        let state = engine.get(run.job).await.state();
        let states = engine.run_states(run.job).await;
        match settled {
            Settled::Moved => {
                assert_eq!((state, &states[..]), (State::Success, &["SUCCESS"][..]));
                let refused =
                    matches!(cancelled, Err(Error::Refused { state: State::Success, .. }));
                assert!(refused, "{cancelled:?}");
            }
            Settled::Stale => {
                assert_eq!((state, &states[..]), (State::Cancelled, &["CANCELLED"][..]));
                cancelled.expect("it won");
            }
        }
        // The job was never waiting.
        assert!(matches!(now, Err(Error::Refused { .. })), "{now:?}");
        // What was decided stays decided, and is told again.
        assert_eq!(engine.settle(run, FAILED).await, Settled::Stale);
        assert_eq!(cancel(&engine, run.job).await.is_ok(), state == State::Cancelled);
    })
    .await;
    assert_one_place(&engine).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn b086_cancel_against_a_retry_and_run_now() {
    let engine = Arc::new(Engine::new().await);
    let runs = many_running(&engine).await;
    rounds(runs, async |run| {
        let (settled, cancelled, now) = race(
            on_task!(engine, engine.settle(run, FAILED)),
            on_task!(engine, cancel(&engine, run.job)),
            on_task!(engine, run_now(&engine, run.job)),
        )
        .await;
        cancelled.expect("before and after the retry it can be cancelled");
        assert_eq!(engine.get(run.job).await.state(), State::Cancelled);
        let expected = if settled == Settled::Moved { "FAILED" } else { "CANCELLED" };
        assert_eq!(engine.run_states(run.job).await, [expected]);
        match now {
            Ok(()) => assert_eq!(settled, Settled::Moved, "it was waiting for its retry"),
            Err(Error::Refused { state, .. }) => {
                assert!(matches!(state, State::Running | State::Cancelled), "{state:?}");
            }
            Err(other) => panic!("{other}"),
        }
    })
    .await;
    assert_one_place(&engine).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn b086_cancel_against_a_claim_and_run_now() {
    let engine = Arc::new(Engine::new().await);
    for _ in 0..ROUNDS {
        let id = engine.enqueue_together(vec![job(URL)]).await[0];
        let (claimed, cancelled, now) = race(
            on_task!(engine, engine.claim(1)),
            on_task!(engine, cancel(&engine, id)),
            on_task!(engine, run_now(&engine, id)),
        )
        .await;
        cancelled.expect("waiting or running, it can be cancelled");
        assert_eq!(engine.get(id).await.state(), State::Cancelled);
        let claimed = claimed.iter().find(|claimed| claimed.run.job == id);
        let expected: &[_] = if claimed.is_some() { &["CANCELLED"] } else { &[] };
        assert_eq!(engine.run_states(id).await, expected);
        assert!(matches!(now, Ok(()) | Err(Error::Refused { .. })), "{now:?}");
        if let Some(claimed) = claimed {
            assert_eq!(engine.settle(claimed.run, Outcome::Succeeded).await, Settled::Stale);
        }
    }
    assert_one_place(&engine).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn b057_a_callback_at_the_deadline_against_two_sweepers() {
    let engine = Arc::new(Engine::new().await);
    let runs = many_running(&engine).await;
    engine.pass(LEASE);
    let heard = {
        let tasks = TaskTracker::new();
        let sweeps: Vec<_> =
            (0..2).map(|_| tasks.spawn(on_task!(engine, engine.sweep()))).collect();
        let calls: Vec<_> = runs
            .iter()
            .map(|&run| tasks.spawn(on_task!(engine, call_back(&engine, run))))
            .collect();
        for sweep in sweeps {
            sweep.await.unwrap();
        }
        join_all(calls).await
    };
    for (run, heard) in runs.iter().zip(heard) {
        let standing = engine.get(run.job).await.standing;
        let states = engine.run_states(run.job).await;
        match heard.unwrap() {
            Ok(heard) => {
                assert_eq!((heard, standing.state), (Heard::Applied, Some(State::Success)));
                assert_eq!(states, ["SUCCESS"]);
            }
            Err(Error::StaleRun { cancel_requested: false }) => {
                assert_eq!(standing.state, Some(State::RetryWait));
                assert_eq!((&states[..], standing.attempt), (&["LOST"][..], 1));
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert_one_place(&engine).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn b058_sweepers_at_the_same_time_end_an_overdue_run_once() {
    let engine = Arc::new(Engine::new().await);
    let runs = many_running(&engine).await;
    engine.pass(LEASE);
    race(
        on_task!(engine, engine.sweep()),
        on_task!(engine, engine.sweep()),
        on_task!(engine, engine.sweep()),
    )
    .await;
    for run in runs {
        let standing = engine.get(run.job).await.standing;
        assert_eq!((standing.state, standing.attempt), (Some(State::RetryWait), 1));
        assert_eq!(engine.run_states(run.job).await, ["LOST"]);
    }
}

#[tokio::test]
async fn b056_a_sweep_leaves_alone_what_is_being_settled() {
    let engine = Engine::new().await;
    engine.enqueue_together(vec![job(URL)]).await;
    let run = engine.claim_one().await;
    engine.pass(LEASE);
    let session = engine.store.session().await.unwrap();
    session.begin();
    let locked = live::lock(&session, SHARD, &[run.job.uuid()]).await.unwrap();
    engine.sweep().await;
    let news = [ended(run, Outcome::Succeeded)];
    settle::write_locked(&engine.ctx, &session, (SHARD, locked), &news).await.unwrap();
    engine.sweep().await;
    session.commit().await.unwrap();
    engine.sweep().await;
    assert_eq!(engine.get(run.job).await.state(), State::Success);
    assert_eq!(engine.run_states(run.job).await, ["SUCCESS"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn b056_a_settle_that_waited_for_the_sweep_finds_itself_stale() {
    let engine = Arc::new(Engine::new().await);
    engine.enqueue_together(vec![job(URL)]).await;
    let run = engine.claim_one().await;
    engine.pass(LEASE);
    // The sweeper has read and locked the run, and not yet written.
    let session = engine.store.session().await.unwrap();
    session.begin();
    let now = engine.clock.now();
    let silent = live::overdue(&session, SHARD, now, 10).await.unwrap();
    assert_eq!(silent.len(), 1);
    let late = TaskTracker::new().spawn(on_task!(engine, engine.settle(run, Outcome::Succeeded)));
    engine.db.wait_for_lock_waiters(1).await;
    let news = [ended(run, Outcome::Lost)];
    settle::write_locked(&engine.ctx, &session, (SHARD, silent), &news).await.unwrap();
    session.commit().await.unwrap();
    assert_eq!(late.await.unwrap(), Settled::Stale);
    assert_eq!(engine.run_states(run.job).await, ["LOST"]);
    assert_eq!(engine.get(run.job).await.state(), State::RetryWait);
}

/// One thing that somebody does to the two hundred jobs of the storm.
async fn disturb(engine: &Engine, ids: &[JobId]) {
    let any = ids[pick(ids.len())];
    match pick(7) {
        0 => _ = engine.claim(50).await,
        1 | 2 => {
            let mut news: Vec<_> = engine
                .claim(60)
                .await
                .into_iter()
                .enumerate()
                .map(|(nth, claimed)| match nth % 4 {
                    0 => ended(claimed.run, Outcome::Succeeded),
                    1 => ended(claimed.run, REFUSED),
                    2 => settle::News::HandedBack(claimed.run),
                    _ => ended(claimed.run, FAILED),
                })
                .collect();
            news.reverse();
            settle::write(&engine.ctx, SHARD, &news).await.unwrap();
        }
        3 => calm(cancel(engine, any).await),
        4 => calm(run_now(engine, any).await),
        5 => {
            engine.pass(LEASE / 3);
            engine.sweep().await;
        }
        _ => {
            let runs: Vec<_> = ids.iter().rev().map(|&job| RunId { job, fence: 1 }).collect();
            let until = clock::after(engine.clock.now(), LEASE);
            live::renew(&engine.store, SHARD, &runs, until).await.unwrap();
        }
    }
}

/// Only the job's state may be in the way, never another transaction.
fn calm(reply: Result<(), Error>) {
    assert!(matches!(reply, Ok(()) | Err(Error::Refused { .. })), "{reply:?}");
}

fn pick(count: usize) -> usize {
    let bits = usize::try_from(random::bits() >> 32).unwrap();
    bits % count
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn b094_no_deadlock_in_a_storm_of_claims_settles_cancels_and_sweeps() {
    let engine = Arc::new(Engine::new().await);
    let end = Instant::now() + Duration::from_secs(2);
    while Instant::now() < end {
        let ids = Arc::new(engine.enqueue_together(vec![job(URL); 200]).await);
        let tasks = TaskTracker::new();
        let storm = (0..8).map(|_| {
            let (engine, ids) = (Arc::clone(&engine), Arc::clone(&ids));
            tasks.spawn(async move {
                for _ in 0..10 {
                    disturb(&engine, &ids).await;
                }
            })
        });
        for calm in join_all(storm.collect::<Vec<_>>()).await {
            calm.unwrap();
        }
    }
    assert_one_place(&engine).await;
    assert_eq!(engine.db.deadlocks().await, 0);
}
