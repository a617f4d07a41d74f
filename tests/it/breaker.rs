//! What a dead, an overloaded or a slow target takes from everybody else, and what its own jobs see.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axle::domain::id::JobId;
use axle::domain::job::{Job, NewJob};
use axle::domain::next_step::next_step;
use axle::domain::state::State;
use axle::engine::breaker::Ceiling;
use axle::engine::journal;
use axle::engine::puller::Puller;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;

use crate::support::engine::{Engine, SHARD, job};
use crate::support::target::{ClosedPort, PATIENCE, Script, Target, ok, status};

const SECOND: Duration = Duration::from_secs(1);

/// Jobs in one shard, of which the puller is told.
async fn enqueue(engine: &Engine, new: Vec<NewJob>) -> Vec<JobId> {
    let ids = engine.enqueue_together(new).await;
    engine.wake.due(SHARD, engine.clock.now());
    ids
}

/// One step, until all that it claimed is settled.
async fn pull(puller: &Arc<Puller>) {
    puller.step().await.unwrap();
    assert!(puller.drain(PATIENCE).await);
}

async fn all(engine: &Engine, ids: &[JobId]) -> Vec<Job> {
    let mut jobs = Vec::new();
    for id in ids {
        jobs.push(engine.get(*id).await);
    }
    jobs
}

/// How often a job's log tells that it was put off, and in how many lines.
async fn deferred(engine: &Engine, id: JobId) -> (usize, i32) {
    let question = format!(
        "SELECT count(*), coalesce(sum(count), 0)::int FROM events
          WHERE kind = 'deferred' AND job_id = '{}'",
        id.uuid()
    );
    let row = engine.db.ask(&question).await;
    (usize::try_from(row.get::<_, i64>(0)).unwrap(), row.get(1))
}

#[tokio::test]
async fn jobs_of_a_dead_target_wait_without_being_charged_and_one_probe_goes_at_a_time() {
    let engine = Engine::new().await;
    let target = Target::start().await;
    let dead = ClosedPort::reserve();
    let puller = engine.puller("p", 50);
    enqueue(&engine, vec![job(&dead.url("/")); 5]).await;
    pull(&puller).await;

    let waiting = enqueue(&engine, vec![job(&dead.url("/other-path")); 10]).await;
    let alive = enqueue(&engine, vec![job(&target.url("/work"))]).await[0];
    pull(&puller).await;
    assert_eq!(engine.get(alive).await.state(), State::Success, "others in its shard go on");
    for job in all(&engine, &waiting).await {
        let standing = &job.standing;
        assert_eq!((standing.attempt, standing.failures), (0, 0), "nothing is charged");
        assert_eq!(job.state(), State::Pending);
        let next = next_step(&job, engine.clock.now());
        assert!(next.starts_with("waits: its target is not reachable; next try at 2026"), "{next}");
    }
    pull(&puller).await;
    let fences: Vec<_> =
        all(&engine, &waiting).await.iter().map(|job| job.standing.fence).collect();
    assert_eq!(fences, [1; 10], "they are not claimed again before they are due");

    for round in 1..=3 {
        engine.pass(SECOND * 90);
        pull(&puller).await;
        let jobs = all(&engine, &waiting).await;
        let called: usize = jobs.iter().filter(|job| job.standing.failures > 0).count();
        assert!(called <= round, "at most one probe a round: {called} in {round}");
    }
    let (lines, times) = deferred(&engine, waiting[9]).await;
    assert!(lines == 1 && times >= 3, "{lines} lines, {times} times: one line counts");
    let log = journal::events(&engine.ctx, &engine.who, waiting[9]).await.unwrap();
    assert!(log.iter().any(|event| event.kind == "deferred" && event.run.is_none()), "{log:?}");
}

#[tokio::test]
async fn a_target_that_comes_back_is_found_by_a_probe_and_its_jobs_run_once() {
    let engine = Engine::new().await;
    let target = Target::start().await;
    let overloaded = || status(503).header("retry-after", "30");
    let script = (0..5).fold(Script::new(), |script, _| script.then(overloaded()));
    target.script("/work", script.then(ok()));
    let puller = engine.puller("p", 50);
    enqueue(&engine, vec![job(&target.url("/work")); 5]).await;
    pull(&puller).await;
    assert_eq!(target.calls("/work").len(), 5);

    let waiting = enqueue(&engine, vec![job(&target.url("/work")); 20]).await;
    pull(&puller).await;
    engine.pass(SECOND * 29);
    pull(&puller).await;
    assert_eq!(target.calls("/work").len(), 5, "Retry-After is obeyed");
    engine.pass(SECOND * 10);
    puller.step().await.unwrap();
    assert!(puller.drain(PATIENCE).await);
    // The five have retries of their own; whoever came first was the probe.
    assert_eq!(target.calls("/work").len(), 6, "one call finds out");
    for _ in 0..10 {
        engine.pass(SECOND * 5);
        pull(&puller).await;
    }
    for job in all(&engine, &waiting).await {
        assert_eq!((job.state(), job.standing.attempt), (State::Success, 1), "{:?}", job.standing);
        assert_eq!(engine.run_states(job.id).await, ["SUCCESS"]);
    }
}

#[tokio::test]
async fn a_port_that_refused_and_then_answers_is_called_again() {
    let engine = Engine::new().await;
    let dead = ClosedPort::reserve();
    let url = dead.url("/");
    let puller = engine.puller("p", 50);
    let ids = enqueue(&engine, vec![job(&url); 8]).await;
    pull(&puller).await;
    let tasks = TaskTracker::new();
    let calls = Arc::new(AtomicU32::new(0));
    tasks.spawn(answer(dead.listen(), Arc::clone(&calls)));
    for _ in 0..20 {
        engine.pass(SECOND * 10);
        pull(&puller).await;
    }
    for job in all(&engine, &ids).await {
        assert_eq!(job.state(), State::Success, "{:?}", job.standing);
        assert_eq!(job.standing.failures, 1, "one refused call each, and no more");
    }
    assert_eq!(calls.load(Ordering::Relaxed), 8);
}

/// Answers 200 to every connection and closes it.
async fn answer(listener: TcpListener, calls: Arc<AtomicU32>) {
    const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    while let Ok((mut stream, _)) = listener.accept().await {
        calls.fetch_add(1, Ordering::Relaxed);
        let mut request = [0; 4_096];
        let read = stream.read(&mut request).await.unwrap();
        assert!(read > 0);
        stream.write_all(ANSWER).await.unwrap();
    }
}

#[tokio::test]
async fn a_target_that_hangs_keeps_to_its_share_and_leaves_the_rest_to_others() {
    let engine = Engine::new().await;
    let (slow, quick) = (Target::start().await, Target::start().await);
    let gate = slow.gate("/slow");
    let puller = engine.puller_with(engine.ctx.clone(), ("p", 8, Ceiling::new(None, 8)));
    let waiting = enqueue(&engine, vec![job(&slow.url("/slow")); 20]).await;
    puller.step().await.unwrap();
    let held = [gate.arrived().await, gate.arrived().await];
    let others = enqueue(&engine, vec![job(&quick.url("/quick")); 2]).await;
    puller.step().await.unwrap();
    for id in &others {
        engine.wait_state(*id, State::Success).await;
    }
    assert_eq!(slow.calls("/slow").len(), 2, "a quarter of eight");
    let states = all(&engine, &waiting).await;
    assert_eq!(states.iter().filter(|job| job.state() == State::Running).count(), 2);
    let put_off = states.iter().find(|job| job.state() == State::Pending).unwrap();
    let next = next_step(put_off, engine.clock.now());
    assert!(next.starts_with("waits: its target has as many calls as it may have"), "{next}");
    assert_eq!(deferred(&engine, put_off.id).await, (0, 0), "everyday work is no event");

    for call in held {
        call.release(ok());
    }
    slow.script("/slow", ok());
    assert!(puller.drain(PATIENCE).await);
    for _ in 0..20 {
        engine.pass(SECOND * 3);
        pull(&puller).await;
    }
    for job in all(&engine, &waiting).await {
        assert_eq!((job.state(), job.standing.attempt), (State::Success, 1), "{:?}", job.standing);
    }
    assert_eq!(slow.calls("/slow").len(), 20);
    assert_eq!(engine.db.ask("SELECT count(*) FROM live").await.get::<_, i64>(0), 0);
}
