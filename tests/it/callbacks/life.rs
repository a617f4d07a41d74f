//! The life of a run that ends by a callback.

use std::time::Duration;

use axle::domain::job::Reason;
use axle::domain::run::RunState;
use axle::domain::state::State;
use axle::engine::clock;
use serde_json::json;

use super::{failed, succeeded};
use crate::support::callback;
use crate::support::engine::With;
use crate::support::rig::{PATH, Rig};
use crate::support::target::{Play, Script, accepted, ok, status};

#[tokio::test]
async fn a_202_means_accepted_and_a_callback_ends_the_run() {
    let rig = Rig::new().await;
    rig.target.script(PATH, accepted());
    let (run, call) = rig.accepted(rig.callback_job()).await;
    let going_on = rig.read(run).await;
    assert_eq!(going_on.http_status, Some(202));
    assert!(going_on.accepted_at.is_some() && going_on.deadline_at.is_some());
    assert_eq!(rig.get(run.job).await.state(), State::Running);

    let progress = json!({"status": "progress", "progress": {"pct": 40, "message": "packing"}});
    let reply = callback::post(call.callback_url(), &call.callback(progress)).await;
    assert_eq!(reply, (200, json!({"applied": true})));
    let seen = rig.get(run.job).await.standing.progress.unwrap();
    assert_eq!((seen.pct, seen.message.as_deref()), (Some(40.0), Some("packing")));

    let body = json!({"status": "succeeded", "result": {"big": 12_345_678_901_234_567_890_u64}});
    let reply = callback::post(call.callback_url(), &call.callback(body)).await;
    assert_eq!(reply, (200, json!({"applied": true})));
    let ended = rig.read(run).await;
    assert_eq!((ended.state, ended.http_status), (RunState::Success, Some(202)));
    assert_eq!(ended.result.unwrap(), r#"{"big":12345678901234567890}"#);
    let job = rig.get(run.job).await;
    assert_eq!((job.state(), job.standing.attempt), (State::Success, 1));
    assert_eq!(rig.target.calls(PATH).len(), 1);
}

#[tokio::test]
async fn any_2xx_accepts_in_callback_mode_and_anything_else_fails() {
    let rig = Rig::new().await;
    for code in [200, 201, 204] {
        rig.target.script(PATH, status(code));
        rig.accepted(rig.callback_job()).await;
    }
    for play in [Play::from(status(500)), Play::from(status(302)), Play::Close, Play::Reset] {
        rig.target.script(PATH, play);
        let run = rig.run(rig.callback_job()).await;
        assert_eq!(run.state, RunState::Failed);
        assert_eq!(rig.get(run.id.job).await.state(), State::RetryWait);
    }
}

#[tokio::test]
async fn a_target_may_switch_to_callback_mode_by_itself() {
    let rig = Rig::new().await;
    rig.target.script(PATH, accepted().header("Axle-Completion", "callback"));
    let (run, call) = rig.accepted(rig.job()).await;
    let reply = callback::post(call.callback_url(), &call.callback(succeeded())).await;
    assert_eq!(reply.0, 200);
    assert_eq!(rig.read(run).await.state, RunState::Success);

    // Only a 202 asks for patience, and only with the header.
    for answer in [accepted(), ok().header("Axle-Completion", "callback")] {
        rig.target.script(PATH, answer);
        assert_eq!(rig.run(rig.job()).await.state, RunState::Success);
    }
}

#[tokio::test]
async fn a_failure_by_callback_is_tried_again_unless_it_says_no() {
    let rig = Rig::new().await;
    rig.target.script(PATH, accepted());
    let (run, call) = rig.accepted(rig.callback_job()).await;
    let reply = callback::post(call.callback_url(), &call.callback(failed())).await;
    assert_eq!(reply, (200, json!({"applied": true})));
    let ended = rig.read(run).await;
    let error = ended.error.unwrap();
    assert_eq!((error.class.as_str(), error.message.as_str()), ("card_declined", "no funds"));
    let job = rig.get(run.job).await;
    assert_eq!((ended.state, job.state()), (RunState::Failed, State::RetryWait));

    let (run, call) = rig.accepted(rig.callback_job()).await;
    let no = json!({"status": "failed", "error": {"retryable": false}, "result": [1]});
    assert_eq!(callback::post(call.callback_url(), &call.callback(no)).await.0, 200);
    let job = rig.get(run.job).await;
    assert_eq!((job.state(), job.standing.reason), (State::Failed, Some(Reason::NoRetry)));
    assert_eq!(rig.read(run).await.result.unwrap(), "[1]");
}

#[tokio::test]
async fn the_time_of_a_callback_run_begins_with_its_acceptance() {
    let rig = Rig::new().await;
    let gate = rig.target.gate(PATH);
    let new = rig.callback_job().with(|new| new.spec.timeout_ms = 60_000);
    let run = rig.start(new).await;
    let held = gate.arrived().await;
    rig.pass(Duration::from_secs(20));
    assert!(held.release(accepted()));
    let accepted = rig.wait_run(run, &[RunState::Running]).await;
    let limit = Duration::from_mins(1);
    assert_eq!(accepted.deadline_at, Some(clock::after(rig.clock.now(), limit)));

    rig.pass(Duration::from_micros(59_999_999));
    rig.sweep().await;
    assert_eq!(rig.read(run).await.state, RunState::Running);
    rig.pass(Duration::from_micros(1));
    rig.sweep().await;
    let ended = rig.read(run).await;
    assert_eq!((ended.state, ended.error.unwrap().class), (RunState::Timeout, "timeout".into()));
    assert_eq!(rig.get(run.job).await.state(), State::RetryWait);
}

#[tokio::test]
async fn b071_each_attempt_has_a_deadline_of_its_own() {
    let rig = Rig::new().await;
    rig.target.script(PATH, Script::new().then(accepted()));
    let new = rig.callback_job().with(|new| new.spec.timeout_ms = 4_000);
    let (first, _) = rig.accepted(new).await;
    rig.pass(Duration::from_secs(4));
    rig.sweep().await;
    assert_eq!(rig.read(first).await.state, RunState::Timeout);
    let second = rig.next_run(first.job).await;
    let second = rig.wait_run(second, &[RunState::Running]).await;
    let four_seconds_more = clock::after(rig.clock.now(), Duration::from_secs(4));
    assert_eq!(second.deadline_at, Some(four_seconds_more));
}

#[tokio::test]
async fn b086_a_cancelled_run_stays_cancelled_and_its_target_is_told() {
    let rig = Rig::new().await;
    rig.target.script(PATH, accepted());
    let (run, call) = rig.accepted(rig.callback_job()).await;
    rig.cancel(run.job).await;
    assert_eq!(rig.read(run).await.state, RunState::Cancelled);

    for body in [succeeded(), failed(), json!({"status": "progress"})] {
        let (status, problem) = callback::post(call.callback_url(), &call.callback(body)).await;
        assert_eq!((status, &problem["code"]), (409, &json!("stale-run")));
        assert_eq!(problem["cancel_requested"], true, "{problem}");
    }
    let (status, problem) = callback::heartbeat(call.callback_url(), &json!({})).await;
    assert_eq!((status, &problem["code"]), (409, &json!("stale-run")));
    assert_eq!(problem["cancel_requested"], true, "{problem}");

    rig.cancel(run.job).await;
    let job = rig.get(run.job).await;
    assert_eq!((job.state(), job.standing.reason), (State::Cancelled, Some(Reason::ByUser)));
    assert_eq!(rig.read(run).await.state, RunState::Cancelled);
}

#[tokio::test]
async fn b086_the_answer_to_a_cancelled_call_changes_nothing() {
    let rig = Rig::new().await;
    let gate = rig.target.gate(PATH);
    let run = rig.start(rig.job()).await;
    let held = gate.arrived().await;
    rig.cancel(run.job).await;
    held.release(ok());
    // A job that is called after it shows that the puller has settled what came before.
    rig.target.script(PATH, ok());
    rig.run(rig.job()).await;
    assert_eq!(rig.get(run.job).await.state(), State::Cancelled);
    assert_eq!(rig.run_states(run.job).await, ["CANCELLED"]);
}
