//! What well-formed answers mean.

use std::time::Duration;

use axle::domain::job::Reason;
use axle::domain::run::RunState;
use axle::domain::state::State;
use axle::engine::clock;

use crate::support::engine::With;
use crate::support::rig::{PATH, Rig};
use crate::support::target::{Answer, PATIENCE, ok, redirect, status};

#[tokio::test]
async fn any_2xx_answer_is_success_and_is_kept() {
    let rig = Rig::new().await;
    for code in [200, 201, 202, 204, 206, 226, 299] {
        let answer = status(code).header("X-Answer", "yes");
        rig.target.script(PATH, if code == 204 { answer } else { answer.body("done") });
        let run = rig.run(rig.job()).await;
        assert_eq!((run.state, run.http_status), (RunState::Success, Some(code.into())));
        assert_eq!((run.error, run.attempt), (None, 1));
        let response = run.response.unwrap();
        assert_eq!(response.headers["x-answer"], "yes");
        assert_eq!(response.body, if code == 204 { "" } else { "done" });
        assert!(!response.truncated);
        assert!(run.sent_at.is_some() && run.accepted_at.is_none());
        let job = rig.get(run.id.job).await;
        assert_eq!((job.state(), job.standing.reason), (State::Success, None));
    }
}

#[tokio::test]
async fn b143_a_redirect_is_a_failure_and_is_not_followed() {
    let rig = Rig::new().await;
    for code in [301, 302, 303, 307, 308] {
        rig.target.script(PATH, redirect(code, &rig.target.url("/elsewhere")));
        let run = rig.run(rig.job()).await;
        assert_eq!((run.state, run.http_status), (RunState::Failed, Some(code.into())));
        assert_eq!(run.error.unwrap().class, "http_status");
        assert_eq!(rig.get(run.id.job).await.state(), State::RetryWait);
    }
    assert_eq!(rig.target.calls(PATH).len(), 5);
    assert!(rig.target.calls("/elsewhere").is_empty());
}

#[tokio::test]
async fn a_target_can_say_that_no_retry_helps() {
    let rig = Rig::new().await;
    let refusals = [
        status(410),
        status(500).header("Axle-No-Retry", "true"),
        status(400).header("axle-no-retry", "TRUE"),
        status(422).header("webhook-delivery", "abort-message"),
    ];
    let count = refusals.len();
    for refusal in refusals {
        rig.target.script(PATH, refusal);
        let run = rig.run(rig.job()).await;
        assert_eq!(run.state, RunState::Failed);
        let job = rig.get(run.id.job).await;
        assert_eq!((job.state(), job.standing.reason), (State::Failed, Some(Reason::NoRetry)));
        assert_eq!(job.standing.next_attempt_at, None);
    }
    rig.pass(Duration::from_hours(24));
    rig.pull().await;
    assert_eq!(rig.target.calls(PATH).len(), count);
}

#[tokio::test]
async fn other_statuses_are_tried_again() {
    let rig = Rig::new().await;
    for code in [400, 401, 403, 404, 408, 409, 425, 429, 500, 502, 503, 504, 599] {
        rig.target.script(PATH, status(code).header("Axle-No-Retry", "false"));
        let run = rig.run(rig.job()).await;
        let job = rig.get(run.id.job).await;
        assert_eq!(job.state(), State::RetryWait, "{code}");
        assert_eq!(run.error.unwrap().message, format!("the target answered {code}"));
    }
}

#[tokio::test]
async fn retry_after_is_heard_within_the_cap() {
    let rig = Rig::new().await;
    let cases = [
        (status(503).header("Retry-After", "7"), 7),
        (status(429).header("Retry-After", "0"), 0),
        (status(503).header("Retry-After", "Mon, 30 Nov 2026 02:01:30 GMT"), 90),
        (status(429).header("Retry-After", "Mon, 30 Nov 2026 01:00:00 GMT"), 0),
        (status(503).header("Retry-After", "86400"), 3_600),
        (status(503).header("Retry-After", "99999999999999999999999999"), 3_600),
        (status(503).header("Retry-After", "Sat, 30 Nov 2126 02:00:00 GMT"), 3_600),
        (status(503).header("Retry-After", "soon"), 30),
        (status(503).header("Retry-After", "-5"), 30),
        (status(503).header("Retry-After", ""), 30),
        (status(503), 30),
    ];
    for (answer, seconds) in cases {
        let said = format!("{answer:?}");
        assert_eq!(retry_wait(&rig, answer).await, Duration::from_secs(seconds), "{said}");
    }
}

/// How long a job waits after this answer to its first call.
async fn retry_wait(rig: &Rig, answer: Answer) -> Duration {
    // Five such answers in a row would have the target left alone.
    rig.target.script(PATH, ok());
    rig.run(rig.job()).await;
    rig.target.script(PATH, answer);
    let run = rig.run(rig.job()).await;
    let job = rig.get(run.id.job).await;
    let due_at = job.standing.next_attempt_at.unwrap();
    assert_eq!(run.retry_at, Some(due_at));
    clock::until(rig.clock.now(), due_at)
}

#[tokio::test]
async fn a_slow_answer_within_the_timeout_is_an_answer() {
    let rig = Rig::new().await;
    rig.target.script(PATH, ok().delay(Duration::from_millis(300)));
    let new = rig.job().with(|new| new.spec.timeout_ms = 10_000);
    assert_eq!(rig.run(new).await.state, RunState::Success);
    assert!(rig.target.hang_ups(PATH).is_empty());
}

#[tokio::test]
async fn b138_a_stale_connection_costs_an_attempt_and_never_a_hidden_second_call() {
    let rig = Rig::new().await;
    rig.target.script(PATH, ok().stale_keep_alive());
    assert_eq!(rig.run(rig.job()).await.state, RunState::Success);
    // The connection looks kept and dies under the next request, which the target may have read.
    let second = rig.run(rig.job()).await;
    assert_eq!(second.state, RunState::Failed, "{second:?}");
    assert_eq!(rig.target.calls(PATH).len(), 1, "the second call was not read");
    rig.target.script(PATH, ok());
    let third = rig.next_run(second.id.job).await;
    assert_eq!(rig.ended(third).await.state, RunState::Success);
    let calls = rig.target.calls(PATH);
    assert_eq!((calls.len(), calls[1].run_id()), (2, third.to_string().as_str()));
}

#[tokio::test]
async fn b138_a_target_that_closes_idle_connections_gets_each_run_once() {
    let rig = Rig::new().await;
    rig.target.script(PATH, ok().close_idle(Duration::from_millis(1)));
    for n in 0..30 {
        let run = rig.run(rig.job()).await;
        let calls = rig.target.wait_calls(PATH, 1, PATIENCE).await;
        let of_this = calls.iter().filter(|call| call.run_id() == run.id.to_string()).count();
        assert!(of_this <= 1, "run {n} was sent {of_this} times");
        // The close may cross the request on its way; then the run has failed, and only that.
        assert_eq!(run.state == RunState::Success, of_this == 1, "{run:?}");
    }
}
