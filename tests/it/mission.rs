//! The six scenarios that the mission asks for by name (A.17), each on real PostgreSQL.

use std::time::Duration;

use axle::domain::job::{Due, Reason};
use axle::domain::run::RunState;
use axle::domain::state::State;
use reqwest::Method;
use serde_json::json;

use crate::support::callback;
use crate::support::engine::With;
use crate::support::rig::{PATH, Rig, standing};
use crate::support::target::{Play, accepted, ok, status};

#[tokio::test]
async fn an_illegal_transition_fails() {
    let rig = Rig::new().await;
    let run = rig.run(rig.job()).await;
    let job = rig.wait_state(run.id.job, State::Success).await;
    for action in ["cancel", "run-now"] {
        let (code, problem) = rig.ask(Method::POST, &format!("/v1/jobs/{}/{action}", job.id)).await;
        assert_eq!((code, &problem["code"]), (409, &json!("illegal-transition")), "{action}");
    }
    let after = rig.get(job.id).await;
    assert_eq!(standing(&after), standing(&job), "nothing has changed");
    rig.pull().await;
    assert_eq!(rig.target.calls(PATH).len(), 1, "and nothing was called");
}

#[tokio::test]
async fn a_legal_transition_is_stored() {
    let rig = Rig::new().await;
    let gate = rig.target.gate(PATH);
    let job = rig.enqueue(rig.job()).await;
    let stored = async || {
        let row = rig.db.ask("SELECT state, attempt, fence FROM standing").await;
        (row.get::<_, String>(0), row.get::<_, i32>(1), row.get::<_, i32>(2))
    };
    assert_eq!(stored().await, ("PENDING".into(), 0, 0));
    rig.pull().await;
    let held = gate.arrived().await;
    assert_eq!(stored().await, ("RUNNING".into(), 1, 1), "stored before the call is made");
    held.release(ok());
    rig.wait_state(job.id, State::Success).await;
    assert_eq!(stored().await, ("SUCCESS".into(), 1, 1));
}

#[tokio::test]
async fn a_timeout_goes_to_retry_wait() {
    let rig = Rig::new().await;
    rig.target.script(PATH, Play::Hang);
    let run = rig.run(rig.job().with(|new| new.spec.timeout_ms = 200)).await;
    assert_eq!(run.state, RunState::Timeout);
    let job = rig.get(run.id.job).await;
    assert_eq!((job.state(), job.standing.attempt), (State::RetryWait, 1));
    assert!(job.standing.next_attempt_at.is_some());
}

#[tokio::test]
async fn retries_exhausted_go_to_failed_with_exactly_one_final_record() {
    let rig = Rig::new().await;
    rig.target.script(PATH, status(500));
    let mut run = rig.start(rig.job()).await;
    for _ in 0..3 {
        rig.ended(run).await;
        run = rig.next_run(run.job).await;
    }
    rig.ended(run).await;
    let job = rig.wait_state(run.job, State::Failed).await;
    assert_eq!(job.standing.reason, Some(Reason::RetriesExhausted));
    assert_eq!(rig.run_states(run.job).await, ["FAILED"; 4]);
    rig.pass(Duration::from_hours(2));
    for _ in 0..3 {
        rig.sweep().await;
        rig.pull().await;
    }
    let counts = "SELECT (SELECT count(*) FROM done), (SELECT count(*) FROM live), \
                  (SELECT count(*) FROM runs)";
    let row = rig.db.ask(counts).await;
    assert_eq!([0, 1, 2].map(|n| row.get::<_, i64>(n)), [1, 0, 4]);
    assert_eq!(rig.target.calls(PATH).len(), 4);
}

#[tokio::test]
async fn concurrent_run_now_gives_one_running() {
    let rig = Rig::new().await;
    let gate = rig.target.gate(PATH);
    let an_hour = 3_600_000;
    let job = rig.enqueue(rig.job().with(|new| new.due = Due::In(an_hour))).await;
    rig.pull().await;
    let path = format!("/v1/jobs/{}/run-now", job.id);
    let clicks = futures_util::future::join_all((0..20).map(|_| rig.ask(Method::POST, &path)));
    let pulls = async {
        for _ in 0..20 {
            tokio::join!(rig.pull(), rig.pull());
        }
    };
    let (replies, ()) = tokio::join!(clicks, pulls);
    // Those that came after the claim are told that the job runs.
    assert!(replies.iter().all(|(code, _)| [200, 409].contains(code)), "{replies:?}");
    assert!(replies.iter().any(|(code, _)| *code == 200));
    rig.pull().await;
    let held = gate.arrived().await;
    assert_eq!(rig.get(job.id).await.state(), State::Running);
    let running = "SELECT count(*) FROM live WHERE state = 'RUNNING'";
    assert_eq!(rig.db.ask(running).await.get::<_, i64>(0), 1);
    held.release(ok());
    rig.wait_state(job.id, State::Success).await;
    rig.pull().await;
    assert_eq!(rig.target.calls(PATH).len(), 1);
    assert_eq!(rig.run_states(job.id).await, ["SUCCESS"]);
}

#[tokio::test]
async fn a_stale_callback_changes_nothing() {
    let rig = Rig::new().await;
    rig.target.script(PATH, accepted());
    let (first, call_1) = rig.accepted(rig.callback_job()).await;
    rig.pass(Duration::from_secs(30));
    rig.sweep().await;
    let second = rig.next_run(first.job).await;
    rig.wait_run(second, &[RunState::Running]).await;
    let call_2 = rig.call_of(second);
    let done = json!({"status": "succeeded", "result": "of run 2"});
    assert_eq!(callback::post(call_2.callback_url(), &done).await.0, 200);
    let job = rig.get(first.job).await;
    assert_eq!(job.state(), State::Success);
    for body in [json!({"status": "failed"}), json!({"status": "succeeded", "result": "of run 1"})]
    {
        let (code, problem) = callback::post(call_1.callback_url(), &body).await;
        assert_eq!((code, &problem["code"]), (409, &json!("stale-run")));
    }
    assert_eq!(standing(&rig.get(first.job).await), standing(&job));
    assert_eq!(rig.run_states(first.job).await, ["TIMEOUT", "SUCCESS"]);
    assert_eq!(rig.log(first.job, "stale_callback").await[0].count, 2);
}
