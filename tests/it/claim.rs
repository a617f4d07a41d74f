//! What a claim takes, in which order, and what it leaves alone.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use axle::domain::job::{Due, Reason};
use axle::domain::state::State;
use axle::engine::{clock, queues, settle};
use axle::store::idempotency::Kept;
use axle::store::live;
use tokio_util::task::TaskTracker;

use crate::support::engine::{Engine, FAILED, LEASE, SHARD, With as _, job};
use crate::support::target::{Target, ok};

const URL: &str = "http://127.0.0.1:1/";
const SECOND: Duration = Duration::from_secs(1);

/// Under these settings the planner has only the nested loop left, which runs a sub-select anew for
/// every row of the other side.
const HOSTILE: &str = "SET enable_hashjoin = off; SET enable_mergejoin = off; \
    SET enable_hashagg = off; SET enable_material = off; SET enable_sort = off; \
    SET enable_memoize = off; SET plan_cache_mode = force_generic_plan";

#[tokio::test]
async fn b093_a_claim_takes_no_more_than_it_asked_for_whatever_the_plan() {
    let engine = Engine::new().await;
    let new = (0..10).map(|nth| job(URL).with(|job| job.priority = nth % 3));
    engine.enqueue_together(new.collect()).await;

    // The settings are hostile indeed: the naive form takes more than its limit.
    let naive = engine.db.connect().await;
    naive.batch_execute(&format!("{HOSTILE}; BEGIN")).await.unwrap();
    let statement = "UPDATE live SET priority = 6 WHERE job_id IN \
         (SELECT job_id FROM live WHERE state = 'PENDING' LIMIT 2 FOR UPDATE SKIP LOCKED)";
    assert!(naive.execute(statement, &[]).await.unwrap() > 2);
    naive.batch_execute("ROLLBACK").await.unwrap();

    let session = engine.store.session().await.unwrap();
    session.batch(HOSTILE).await.unwrap();
    for (limit, expected) in [(1, 1), (2, 2), (4, 4), (9, 3), (9, 0)] {
        assert_eq!(engine.claim_with(&session, limit).await.len(), expected);
    }
}

#[tokio::test]
async fn higher_priorities_come_first_and_within_one_the_earlier_due() {
    let engine = Engine::new().await;
    let wanted = [(2, 0), (9, 30), (5, 20), (9, 10), (0, 0), (5, 10)];
    let new = wanted.map(|(priority, due)| {
        job(URL).with(|job| (job.priority, job.due) = (priority, Due::In(due)))
    });
    let ids = engine.enqueue_together(new.into()).await;
    engine.pass(SECOND);
    let mut taken = Vec::new();
    for limit in [1, 2, 9] {
        taken.extend(engine.claim(limit).await.iter().map(|claimed| claimed.run.job));
    }
    assert_eq!(taken, [3, 1, 5, 2, 0, 4].map(|nth: usize| ids[nth]));
}

#[tokio::test]
async fn a_claim_brings_all_that_a_run_needs() {
    let engine = Engine::new().await;
    let bytes: Vec<u8> = (0..=255).collect();
    let new = job("http://127.0.0.1:1/x?a=1").with(|job| job.payload = bytes.clone().into());
    engine.enqueue_together(vec![new.clone()]).await;
    let claimed = engine.claim(1).await.pop().unwrap();
    assert_eq!((claimed.payload, claimed.spec), (bytes, new.spec));
    assert_eq!((claimed.run.fence, claimed.spent.attempt, &*claimed.queue), (1, 1, "default"));
}

#[tokio::test]
async fn b074_a_job_of_the_future_is_claimed_at_its_instant_and_not_before() {
    let engine = Engine::new().await;
    let delay = LEASE * 3;
    let due = Due::In(u64::try_from(delay.as_millis()).unwrap());
    engine.enqueue_together(vec![job(URL).with(|job| job.due = due)]).await;
    engine.pass(delay.saturating_sub(Duration::from_micros(1)));
    assert!(engine.claim(1).await.is_empty());
    engine.sweep().await;
    engine.pass(Duration::from_micros(1));
    assert_eq!(engine.claim_one().await.fence, 1);
}

#[tokio::test]
async fn a_job_that_did_not_start_in_time_never_does() {
    let engine = Engine::new().await;
    let deadline = Some(clock::after(engine.clock.now(), SECOND));
    let new = job(URL).with(|job| job.start_deadline = deadline);
    let ids = engine.enqueue_together(vec![new; 2]).await;
    let run = engine.claim(1).await[0].run;
    let (started, late) = (run.job, ids.into_iter().find(|id| *id != run.job).unwrap());
    engine.pass(SECOND);
    assert!(engine.claim(9).await.is_empty(), "at its deadline it is too late");
    engine.sweep().await;
    let late = engine.get(late).await;
    assert_eq!((late.state(), late.standing.reason), (State::Failed, Some(Reason::Expired)));
    assert_eq!(engine.get(started).await.state(), State::Running);
}

async fn pause(engine: &Engine, name: &str, reason: Option<&str>) {
    let act = queues::pause(&engine.ctx, &engine.who, None, (name, reason), |_| Kept::default());
    act.await.unwrap();
}

async fn held(engine: &Engine) -> i64 {
    engine.db.ask("SELECT count(*) AS held FROM live WHERE held").await.get("held")
}

#[tokio::test]
async fn a_paused_queue_waits_and_goes_on_when_it_is_resumed() {
    let engine = Engine::new().await;
    let mail = job(URL).with(|job| job.queue = "mail".to_owned());
    let later = mail.clone().with(|job| job.due = Due::In(60_000));
    engine.enqueue_together(vec![mail.clone(), job(URL), mail, later]).await;
    pause(&engine, "mail", Some("the relay is down")).await;
    assert_eq!(engine.claim(1).await[0].queue, "default", "it does not stand in another's way");
    assert!(engine.claim(9).await.is_empty(), "before a sweep has set them aside");
    engine.sweep().await;
    assert_eq!(held(&engine).await, 2, "what is due is set aside, what is not yet stays");
    assert!(engine.claim(9).await.is_empty());

    pause(&engine, "mail", None).await;
    assert_eq!(held(&engine).await, 0);
    assert_eq!(engine.claim(9).await.len(), 2);
    engine.pass(SECOND * 60);
    assert_eq!(engine.claim(9).await.len(), 1);
}

#[tokio::test]
async fn a_queue_of_the_same_name_in_another_team_is_not_paused() {
    let engine = Engine::new().await;
    engine.enqueue_together(vec![job(URL)]).await;
    let who = crate::support::engine::principal("other", axle::domain::principal::Role::Admin);
    let act = queues::pause(&engine.ctx, &who, None, ("default", Some("x")), |_| Kept::default());
    act.await.unwrap();
    engine.sweep().await;
    assert_eq!(engine.claim(9).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn claims_at_the_same_time_never_take_the_same_job() {
    const JOBS: usize = 1_000;
    let engine = Arc::new(Engine::new().await);
    engine.enqueue_together(vec![job(URL); JOBS]).await;
    let tasks = TaskTracker::new();
    let sessions: Vec<_> = (0..8)
        .map(|_| {
            let engine = Arc::clone(&engine);
            tasks.spawn(async move {
                let session = engine.store.session().await.unwrap();
                let mut runs = Vec::new();
                loop {
                    let claimed = engine.claim_with(&session, 7).await;
                    if claimed.is_empty() {
                        return runs;
                    }
                    runs.extend(claimed.into_iter().map(|claimed| claimed.run));
                }
            })
        })
        .collect();
    let mut runs = Vec::new();
    for session in sessions {
        runs.extend(session.await.unwrap());
    }
    let jobs: BTreeSet<_> = runs.iter().map(|run| run.job).collect();
    assert_eq!((runs.len(), jobs.len()), (JOBS, JOBS), "each once, none left");
    assert!(runs.iter().all(|run| run.fence == 1));
}

#[tokio::test]
async fn what_is_handed_back_charges_no_attempt_and_keeps_its_fence() {
    let engine = Engine::new().await;
    let id = engine.enqueue_together(vec![job(URL)]).await[0];
    for fence in 1..=3 {
        let run = engine.claim_one().await;
        assert_eq!(run.fence, fence, "the fence grows with every claim");
        let news = [settle::News::HandedBack(run)];
        settle::write(&engine.ctx, SHARD, &news).await.unwrap();
        let standing = engine.get(id).await.standing;
        assert_eq!((standing.state, standing.attempt), (Some(State::Pending), 0));
        assert_eq!(standing.fence, fence);
    }
    assert!(engine.run_states(id).await.is_empty(), "what was never sent is no run");

    let run = engine.claim_one().await;
    engine.settle(run, FAILED).await;
    engine.pass(SECOND * 30);
    let run = engine.claim_one().await;
    settle::write(&engine.ctx, SHARD, &[settle::News::HandedBack(run)]).await.unwrap();
    let standing = engine.get(id).await.standing;
    assert_eq!((standing.state, standing.attempt), (Some(State::RetryWait), 1));
}

#[tokio::test]
async fn a_claim_says_when_the_next_job_is_due() {
    let engine = Engine::new().await;
    let later = job(URL).with(|job| (job.priority, job.due) = (1, Due::In(5_000)));
    let latest = job(URL).with(|job| job.due = Due::In(9_000));
    engine.enqueue_together(vec![latest, later, job(URL)]).await;
    let session = engine.store.session().await.unwrap();
    let now = engine.clock.now();
    let times = (now, clock::after(now, LEASE));
    let (claimed, next) = live::claim(&session, SHARD, ("test", 9), times, None).await.unwrap();
    assert_eq!((claimed.len(), next), (1, Some(clock::after(now, SECOND * 5))));
}

#[tokio::test]
async fn a_puller_calls_no_more_than_it_may_and_comes_back_at_the_next_due_time() {
    let engine = Engine::new().await;
    let target = Target::start().await;
    let gate = target.gate("/work");
    let puller = engine.puller("p", 2);
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(engine.enqueue(job(&target.url("/work"))).await.id);
    }
    puller.step().await.unwrap();
    let first = [gate.arrived().await, gate.arrived().await];
    assert_eq!(target.calls("/work").len(), 2);
    for held in first {
        held.release(ok());
    }
    puller.step().await.unwrap();
    gate.arrived().await.release(ok());
    for id in ids {
        engine.wait_state(id, State::Success).await;
    }

    let new = job(&target.url("/later")).with(|job| job.due = Due::In(700));
    let later = engine.enqueue(new).await.id;
    assert!(puller.step().await.unwrap() <= Duration::from_millis(700));
    assert!(target.calls("/later").is_empty());
    engine.pass(Duration::from_millis(700));
    puller.step().await.unwrap();
    engine.wait_state(later, State::Success).await;
    assert_eq!(engine.run_states(later).await, ["SUCCESS"]);
}

#[tokio::test]
async fn a_stopping_puller_gives_back_what_it_has_not_sent() {
    let engine = Engine::new().await;
    let target = Target::start().await;
    let puller = engine.puller("p", 2);
    let id = engine.enqueue(job(&target.url("/work"))).await.id;
    puller.step().await.unwrap();
    // On this runtime of one thread no call has been made before we wait for something.
    engine.stop.cancel();
    puller.drain(Duration::from_secs(10)).await;
    let job = engine.wait_state(id, State::Pending).await;
    assert_eq!((job.standing.attempt, job.standing.fence), (0, 1));
    assert!(target.calls("/work").is_empty());
}

#[tokio::test]
async fn the_jobs_of_a_suspended_team_are_not_claimed() {
    let engine = Engine::new().await;
    engine.enqueue_together(vec![job("http://127.0.0.1:1/"); 3]).await;
    let suspend = "INSERT INTO teams (team, name, settings, created_at, updated_at, suspended_at)
                   VALUES ('acme', 'Acme', '{}', now(), now(), now())";
    engine.db.execute(suspend).await;
    assert_eq!(engine.claim(10).await.len(), 0);
    engine.db.execute("UPDATE teams SET suspended_at = NULL").await;
    assert_eq!(engine.claim(10).await.len(), 3);
}
