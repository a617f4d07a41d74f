//! Callbacks against everything that may happen at the same time: our reading of the answer, the
//! sweep, another run, a cancel. Whoever commits first wins, once, and the other is told.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axle::domain::id::RunId;
use axle::domain::run::RunState;
use axle::domain::state::State;
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{failed, succeeded};
use crate::support::callback;
use crate::support::db::Db;
use crate::support::engine::{Engine, With};
use crate::support::rig::{PATH, Rig, standing};
use crate::support::target::{Answer, Call, PATIENCE, Play, accepted, ok, status};

#[tokio::test]
async fn b072_a_callback_before_the_answer_wins_and_the_answer_changes_nothing() {
    let rig = Rig::new().await;
    let late_answers: [Play; 5] = [
        accepted().callback_first(succeeded()).into(),
        status(500).callback_first(succeeded()).into(),
        status(410).callback_first(succeeded()).into(),
        accepted().callback_first(failed()).into(),
        ok().callback_first(failed()).into(),
    ];
    for (n, play) in late_answers.into_iter().enumerate() {
        rig.target.script(PATH, play);
        let new = if n < 4 { rig.callback_job() } else { rig.job() };
        let run = rig.run(new).await;
        let wanted = if n < 3 { RunState::Success } else { RunState::Failed };
        let sent = rig.target.wait_callbacks(PATH, n + 1, PATIENCE).await;
        assert_eq!(sent[n].reply, Ok((200, json!({"applied": true}))), "case {n}");
        let before = standing(&rig.get(run.id.job).await);
        // A job that is called after it shows that the answer has been read and settled.
        rig.target.script("/next", ok());
        rig.run(rig.job().with(|new| new.spec.target.url = rig.target.url("/next"))).await;
        assert_eq!(rig.read(run.id).await.state, wanted, "case {n}");
        assert_eq!(standing(&rig.get(run.id.job).await), before, "case {n}");
        assert!(rig.log(run.id.job, "stale_callback").await.is_empty(), "case {n}");
    }
    assert_eq!(rig.target.calls(PATH).len(), 5);
}

#[tokio::test]
async fn b072_callback_and_answer_within_a_millisecond_make_one_success() {
    const ROUNDS: usize = 250;
    let rig = Rig::new().await;
    let gate = rig.target.gate(PATH);
    let mut runs = Vec::new();
    for round in 0..ROUNDS {
        let run = rig.start(rig.callback_job()).await;
        let held = gate.arrived().await;
        let call = Arc::clone(&held.call);
        let body = call.callback(succeeded());
        let post = callback::post(call.callback_url(), &body);
        let reply = if round % 2 == 0 {
            held.release(accepted());
            post.await
        } else {
            // Let go when the callback is on its way.
            let release = async { held.release(accepted()) };
            tokio::join!(post, release).0
        };
        assert_eq!(reply, (200, json!({"applied": true})), "round {round}");
        runs.push(run);
    }
    for run in runs {
        assert_eq!(rig.run_states(run.job).await, ["SUCCESS"]);
        assert_eq!(rig.get(run.job).await.state(), State::Success);
    }
    assert_eq!(rig.target.calls(PATH).len(), ROUNDS, "no run was sent twice");
}

#[tokio::test]
async fn b057_a_callback_and_the_sweep_at_the_deadline_agree() {
    const JOBS: usize = 60;
    let rig = Rig::new().await;
    rig.target.script(PATH, accepted());
    let jobs = (0..JOBS).map(|_| rig.enqueue(rig.callback_job()));
    let runs: Vec<_> =
        join_all(jobs).await.into_iter().map(|job| RunId { job: job.id, fence: 1 }).collect();
    rig.pull().await;
    for run in &runs {
        rig.wait_run(*run, &[RunState::Running]).await;
    }
    // Another process sweeps, with connections of its own.
    let sweeper = Engine::on(Db::at(rig.db.url.clone())).await;
    sweeper.sweep().await;
    rig.pass(Duration::from_secs(30));
    sweeper.pass(Duration::from_secs(30));
    let post = async |run: RunId| {
        let call = rig.call_of(run);
        (run, callback::post(call.callback_url(), &call.callback(succeeded())).await)
    };
    let first = post(runs[0]).await;
    let others = join_all(runs[1..].iter().map(|run| post(*run)));
    let sweeps = async {
        for _ in 0..5 {
            tokio::join!(sweeper.sweep(), sweeper.sweep(), sweeper.sweep());
        }
    };
    let (mut replies, ()) = tokio::join!(others, sweeps);
    replies.push(first);
    let mut seen = BTreeMap::new();
    for (run, (status, body)) in replies {
        let state = rig.read(run).await.state;
        let wanted = if status == 200 { RunState::Success } else { RunState::Timeout };
        assert_eq!(state, wanted, "{status} {body}");
        assert!(status == 200 || status == 409, "{status} {body}");
        assert_eq!(rig.run_states(run.job).await.len(), 1, "one end");
        *seen.entry(status).or_insert(0) += 1;
    }
    println!("replies: {seen:?}");
}

/// A job whose first run timed out and whose second one was accepted.
async fn two_runs(rig: &Rig) -> (RunId, [Arc<Call>; 2]) {
    rig.target.script(PATH, accepted());
    let (first, call_1) = rig.accepted(rig.callback_job()).await;
    rig.pass(Duration::from_secs(30));
    rig.sweep().await;
    assert_eq!(rig.read(first).await.state, RunState::Timeout);
    let second = rig.next_run(first.job).await;
    rig.wait_run(second, &[RunState::Running]).await;
    (second, [call_1, rig.call_of(second)])
}

#[tokio::test]
async fn every_order_of_two_callbacks_of_two_runs_follows_the_newer_run() {
    let rig = Rig::new().await;
    for old in [succeeded(), failed()] {
        for new in [succeeded(), failed()] {
            for old_first in [true, false] {
                let order = format!("old {old}, new {new}, old first: {old_first}");
                two_callbacks(&rig, (&old, &new), old_first, &order).await;
            }
        }
    }
}

async fn two_callbacks(rig: &Rig, (old, new): (&Value, &Value), old_first: bool, order: &str) {
    let (second, [call_1, call_2]) = two_runs(rig).await;
    if !old_first {
        post_new(&call_2, new, order).await;
    }
    let before = standing(&rig.get(second.job).await);
    let (status, problem) =
        callback::post(call_1.callback_url(), &call_1.callback(old.clone())).await;
    assert_eq!((status, &problem["code"]), (409, &json!("stale-run")), "{order}");
    assert_eq!(standing(&rig.get(second.job).await), before, "{order}");
    if old_first {
        post_new(&call_2, new, order).await;
    }
    let (run, state) = if *new == succeeded() {
        ("SUCCESS", State::Success)
    } else {
        ("FAILED", State::RetryWait)
    };
    assert_eq!(rig.run_states(second.job).await, ["TIMEOUT", run], "{order}");
    let job = rig.get(second.job).await;
    assert_eq!((job.state(), job.standing.attempt), (state, 2), "{order}");
    let recorded = rig.log(second.job, "stale_callback").await;
    assert_eq!(recorded.len(), 1, "{order}: {recorded:?}");
    assert_eq!(recorded[0].run.map(|run| run.fence), Some(1), "{order}");
}

async fn post_new(call: &Call, body: &Value, order: &str) {
    let reply = callback::post(call.callback_url(), &call.callback(body.clone())).await;
    assert_eq!(reply, (200, json!({"applied": true})), "{order}");
}

#[tokio::test]
async fn a_callback_of_run_1_cannot_speak_for_run_2() {
    let rig = Rig::new().await;
    let (second, [call_1, call_2]) = two_runs(&rig).await;
    // Run 1's token with run 2's name in the body, or in the path.
    let body = call_2.callback(succeeded());
    assert_eq!(callback::post(call_1.callback_url(), &body).await.0, 422);
    let url = call_1.callback_url().replace(call_1.run_id(), call_2.run_id());
    assert_eq!(callback::post(&url, &body).await.0, 401);
    let (status, problem) = callback::heartbeat(call_1.callback_url(), &json!({})).await;
    assert_eq!((status, &problem["cancel_requested"]), (409, &json!(false)));
    assert_eq!(rig.read(second).await.state, RunState::Running);
    assert!(rig.read(second).await.heartbeat_at.is_none());
}

#[tokio::test]
async fn two_contradictory_callbacks_at_once_have_one_winner() {
    let rig = Rig::new().await;
    rig.target.script(PATH, accepted());
    for _ in 0..20 {
        let (run, call) = rig.accepted(rig.callback_job()).await;
        let [yes, no] = [succeeded(), failed()].map(|body| call.callback(body));
        let url = call.callback_url();
        let (yes, no) = tokio::join!(callback::post(url, &yes), callback::post(url, &no));
        let state = rig.read(run).await.state;
        let statuses = (yes.0, no.0);
        let wanted = if state == RunState::Success { (200, 409) } else { (409, 200) };
        assert_eq!(statuses, wanted, "{state:?}: {yes:?} {no:?}");
        assert_eq!(rig.run_states(run.job).await.len(), 1);
    }
}

#[tokio::test]
async fn b086_a_cancel_and_a_callback_at_once_agree() {
    let rig = Rig::new().await;
    rig.target.script(PATH, accepted());
    for _ in 0..20 {
        let (run, call) = rig.accepted(rig.callback_job()).await;
        let path = format!("/v1/jobs/{}/cancel", run.job);
        let body = call.callback(succeeded());
        let cancel = rig.ask(reqwest::Method::POST, &path);
        let (cancel, reply) = tokio::join!(cancel, callback::post(call.callback_url(), &body));
        let job = rig.get(run.job).await;
        let wanted = if job.state() == State::Cancelled { (200, 409) } else { (409, 200) };
        assert!(job.state().is_final(), "{:?}", job.state());
        assert_eq!((cancel.0, reply.0), wanted, "{cancel:?} {reply:?}");
        assert_eq!(rig.run_states(run.job).await, [job.state().as_str()]);
    }
}

/// An answer may be delayed at will: the callback's own time is what counts.
#[tokio::test]
async fn a_callback_may_come_any_time_after_the_answer() {
    let rig = Rig::new().await;
    for after in [0, 1, 20] {
        let answer: Answer = accepted().callback_after(Duration::from_millis(after), succeeded());
        rig.target.script(PATH, answer);
        assert_eq!(rig.run(rig.callback_job()).await.state, RunState::Success, "{after} ms");
    }
}
