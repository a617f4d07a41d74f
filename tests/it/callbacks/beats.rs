//! Heartbeats: two limits, silence and duration, and a beat moves only the first.

use std::sync::Arc;
use std::time::Duration;

use axle::domain::id::RunId;
use axle::domain::run::RunState;
use axle::domain::state::State;
use chrono::SecondsFormat;
use serde_json::{Value, json};

use super::succeeded;
use crate::support::callback;
use crate::support::engine::With;
use crate::support::rig::{PATH, Rig};
use crate::support::target::{Call, accepted};

/// An accepted run that may be silent for `silence` and take `limit`, in milliseconds.
async fn beating(silence: u64, limit: u64) -> (Rig, RunId, Arc<Call>) {
    let rig = Rig::new().await;
    rig.target.script(PATH, accepted());
    let new = rig.callback_job().with(|new| {
        new.spec.heartbeat_timeout_ms = Some(silence);
        new.spec.timeout_ms = limit;
    });
    let (run, call) = rig.accepted(new).await;
    (rig, run, call)
}

/// Lets so many milliseconds pass, then sweeps.
async fn pass(rig: &Rig, millis: u64) {
    rig.pass(Duration::from_millis(millis));
    rig.sweep().await;
}

async fn beat(call: &Call) -> (u16, Value) {
    callback::heartbeat(call.callback_url(), &json!({})).await
}

#[tokio::test]
async fn a_run_that_falls_silent_is_lost_and_its_job_is_tried_again() {
    let (rig, run, call) = beating(10_000, 3_600_000).await;
    for _ in 0..3 {
        pass(&rig, 9_999).await;
        assert_eq!(beat(&call).await.0, 200);
    }
    pass(&rig, 9_999).await;
    assert_eq!(rig.read(run).await.state, RunState::Running);
    pass(&rig, 1).await;
    let ended = rig.read(run).await;
    assert_eq!((ended.state, ended.error.unwrap().class), (RunState::Lost, "lost".into()));
    assert_eq!(rig.get(run.job).await.state(), State::RetryWait);
    assert_eq!(beat(&call).await.0, 409, "it is too late");
}

#[tokio::test]
async fn a_run_without_a_limit_of_silence_may_be_silent_to_its_deadline() {
    let rig = Rig::new().await;
    rig.target.script(PATH, accepted());
    let new = rig.callback_job().with(|new| new.spec.timeout_ms = 3_600_000);
    let (run, call) = rig.accepted(new).await;
    pass(&rig, 3_599_999).await;
    assert_eq!(rig.read(run).await.state, RunState::Running);
    let reply = callback::post(call.callback_url(), &call.callback(succeeded())).await;
    assert_eq!(reply.0, 200);
}

#[tokio::test]
async fn b059_beats_with_jitter_and_one_lost_keep_a_run_alive() {
    let (rig, run, call) = beating(2_000, 3_600_000).await;
    // Every half second, up to 0.3 s early or late; the one that would follow 800 is lost.
    for wait in [500, 200, 800, 800 + 200, 500, 800 + 800, 300, 700, 200, 800, 1_999] {
        pass(&rig, wait).await;
        assert_eq!(beat(&call).await.0, 200, "after {wait} ms");
    }
    assert_eq!(rig.read(run).await.state, RunState::Running);
}

#[tokio::test]
async fn b060_beats_never_move_the_deadline() {
    let (rig, run, call) = beating(2_000, 10_000).await;
    let deadline = rig.read(run).await.deadline_at.unwrap();
    let deadline = deadline.to_rfc3339_opts(SecondsFormat::Micros, true);
    for _ in 0..9 {
        pass(&rig, 1_000).await;
        assert_eq!(beat(&call).await, (200, json!({"deadline": deadline})));
    }
    // A report of progress is a sign of life too, and no more than that.
    let progress = call.callback(json!({"status": "progress", "progress": {"pct": 99}}));
    assert_eq!(callback::post(call.callback_url(), &progress).await.0, 200);
    pass(&rig, 999).await;
    assert_eq!(rig.read(run).await.state, RunState::Running);
    pass(&rig, 1).await;
    assert_eq!(rig.run_states(run.job).await, ["TIMEOUT"], "timed out, counted once");
    assert_eq!(rig.get(run.job).await.standing.attempt, 1);
}

#[tokio::test]
async fn b061_a_beat_or_a_report_before_the_202_is_taken() {
    let rig = Rig::new().await;
    let gate = rig.target.gate(PATH);
    let new = rig.callback_job().with(|new| new.spec.heartbeat_timeout_ms = Some(2_000));
    let run = rig.start(new).await;
    let held = gate.arrived().await;
    let call = Arc::clone(&held.call);
    assert_eq!(beat(&call).await, (200, json!({"deadline": null})));
    let progress = call.callback(json!({"status": "progress", "progress": {"message": "begun"}}));
    assert_eq!(callback::post(call.callback_url(), &progress).await.0, 200);
    held.release(accepted());
    let going_on = rig.wait_run(run, &[RunState::Running]).await;
    assert_eq!(going_on.progress.unwrap().message.as_deref(), Some("begun"));
    pass(&rig, 1_999).await;
    assert_eq!(beat(&call).await.0, 200);
    let reply = callback::post(call.callback_url(), &call.callback(succeeded())).await;
    assert_eq!(reply.0, 200);
    assert_eq!(rig.run_states(run.job).await, ["SUCCESS"]);
}

#[tokio::test]
async fn a_beat_may_carry_progress_and_may_have_no_body() {
    let (rig, run, call) = beating(2_000, 60_000).await;
    let body = json!({"progress": {"pct": 12.5, "message": "half of half"}});
    assert_eq!(callback::heartbeat(call.callback_url(), &body).await.0, 200);
    let url = call.callback_url().replace("/callback", "/heartbeat");
    let bare = callback::client().post(url).send().await.unwrap();
    assert_eq!(bare.status(), 200);
    let progress = rig.read(run).await.progress.unwrap();
    assert_eq!((progress.pct, progress.message.as_deref()), (Some(12.5), Some("half of half")));
}
