//! Targets that do not answer, or not as HTTP would have it. None of them may cost more than one
//! timeout, more than a bounded memory, or another job's run.

use std::time::Duration;

use axle::domain::run::{Run, RunState};
use axle::domain::state::State;
use tokio::time::Instant;

use crate::support::engine::With;
use crate::support::rig::{PATH, Rig};
use crate::support::target::{
    PATIENCE, Play, continue_flood, drip, drip_body, drip_head, endless_headers, gzip_bomb,
    huge_body, ok, raw, status,
};

/// The timeout of the jobs below.
const TIMEOUT: Duration = Duration::from_millis(600);
/// How far from it a run may end.
const SLACK: Duration = Duration::from_millis(500);
const PACE: Duration = Duration::from_millis(20);

/// Runs one job against a target that plays `play`, and says how long the run took. The puller must
/// be as good as before after it.
async fn run(rig: &Rig, play: impl Into<Play>) -> (Run, Duration) {
    let play: Play = play.into();
    rig.target.script(PATH, play);
    let new = rig.job().with(|new| new.spec.timeout_ms = TIMEOUT.as_millis().try_into().unwrap());
    let begun = Instant::now();
    let run = rig.run(new).await;
    let took = begun.elapsed();
    rig.target.script(PATH, ok());
    assert_eq!(rig.run(rig.job()).await.state, RunState::Success, "the next job");
    (run, took)
}

fn class(run: &Run) -> &str {
    run.error.as_ref().map_or("none", |error| error.class.as_str())
}

/// Such a target costs one timeout, and its connection is closed then.
async fn times_out(play: impl Into<Play>) {
    let rig = Rig::new().await;
    let (run, took) = run(&rig, play).await;
    assert_eq!((run.state, class(&run)), (RunState::Timeout, "timeout"), "{run:?}");
    assert!(took >= TIMEOUT && took < TIMEOUT + SLACK, "ended after {took:?}");
    let hang_up = rig.target.wait_hang_ups(PATH, 1, PATIENCE).await[0];
    let call = &rig.target.calls(PATH)[0];
    let patience = hang_up.at - call.at;
    assert!(patience < TIMEOUT + SLACK, "hung up after {patience:?}");
    assert_eq!(rig.get(run.id.job).await.state(), State::RetryWait);
}

#[tokio::test]
async fn b070_a_target_that_hangs_is_left_at_the_timeout() {
    times_out(Play::Hang).await;
}

#[tokio::test]
async fn b140_headers_that_drip_do_not_stretch_the_timeout() {
    times_out(drip_head(PACE)).await;
}

#[tokio::test]
async fn b140_a_body_that_drips_does_not_stretch_the_timeout() {
    times_out(drip_body(PACE)).await;
}

// On the runtime of a server, where another thread reads the flood: the HTTP library does not let
// go of its thread between two looks, so only the end of the run is as exact as elsewhere.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b140_a_flood_of_100_continue_does_not_stretch_the_timeout() {
    let rig = Rig::new().await;
    let (run, took) = run(&rig, continue_flood(u64::MAX)).await;
    assert_eq!((run.state, class(&run)), (RunState::Timeout, "timeout"), "{run:?}");
    assert!(took >= TIMEOUT && took < TIMEOUT + SLACK, "ended after {took:?}");
    rig.target.wait_hang_ups(PATH, 1, PATIENCE).await;
}

#[tokio::test]
async fn b140_ten_thousand_100_continue_and_then_an_answer_are_an_answer() {
    let rig = Rig::new().await;
    let (run, _) = run(&rig, continue_flood(10_000)).await;
    assert_eq!(run.state, RunState::Success, "{run:?}");
}

#[tokio::test]
async fn a_connection_that_breaks_is_an_attempt_that_failed() {
    let rig = Rig::new().await;
    for (play, expected) in [(Play::Reset, "reset"), (Play::Close, "protocol")] {
        let (run, took) = run(&rig, play).await;
        assert_eq!((run.state, class(&run)), (RunState::Failed, expected), "{run:?}");
        assert!(took < TIMEOUT + SLACK, "{took:?}");
        let job = rig.get(run.id.job).await;
        // The target had the request: it is charged to the business budget.
        assert_eq!((job.state(), job.standing.attempt), (State::RetryWait, 1));
        assert_eq!(job.standing.failures, 0);
    }
}

#[tokio::test]
async fn b091_of_ten_gigabytes_64_kib_are_kept_and_the_rest_is_not_read() {
    const MOST_SENT: u64 = 32 << 20; // what fits into both ends' socket buffers, with room
    let rig = Rig::new().await;
    let (run, _) = run(&rig, huge_body(10 << 30)).await;
    assert_eq!(run.state, RunState::Success, "{run:?}");
    let response = run.response.unwrap();
    assert_eq!((response.body.len(), response.truncated), (64 * 1024, true));
    let hang_up = rig.target.wait_hang_ups(PATH, 1, PATIENCE).await[0];
    assert!(hang_up.sent < MOST_SENT, "{} bytes were taken", hang_up.sent);
}

#[tokio::test]
async fn b091_a_body_of_exactly_the_limit_is_whole_and_one_byte_more_is_not() {
    let rig = Rig::new().await;
    for (length, truncated) in [(64 * 1024, false), (64 * 1024 + 1, true)] {
        let (run, _) = run(&rig, status(500).body(vec![b'x'; length])).await;
        let response = run.response.unwrap();
        assert_eq!((response.body.len(), response.truncated), (64 * 1024, truncated));
        assert_eq!(run.http_status, Some(500));
    }
}

#[tokio::test]
async fn endless_headers_are_given_up_early() {
    const MOST_SENT: u64 = 32 << 20;
    let rig = Rig::new().await;
    let (run, _) = run(&rig, endless_headers()).await;
    assert_eq!((run.state, class(&run)), (RunState::Failed, "protocol"), "{run:?}");
    let hang_up = rig.target.wait_hang_ups(PATH, 1, PATIENCE).await[0];
    assert!(hang_up.sent < MOST_SENT, "{} bytes were taken", hang_up.sent);
}

#[tokio::test]
async fn a_head_of_32_kib_is_read_and_one_of_128_is_not() {
    let rig = Rig::new().await;
    for (kib, state, expected) in
        [(32, RunState::Success, "none"), (128, RunState::Failed, "protocol")]
    {
        let line = format!("x-filler: {}\r\n", "f".repeat(4_096));
        let lines = line.repeat(kib / 4);
        let head = format!("HTTP/1.1 200 OK\r\n{lines}content-length: 0\r\n\r\n");
        let (run, took) = run(&rig, raw(head)).await;
        assert_eq!((run.state, class(&run)), (state, expected), "{kib}: {run:?}");
        assert!(took < TIMEOUT, "{took:?}");
    }
}

#[tokio::test]
async fn b139_a_compressed_answer_is_kept_as_it_came() {
    let rig = Rig::new().await;
    let (run, _) = run(&rig, gzip_bomb()).await;
    assert_eq!(run.state, RunState::Success, "{run:?}");
    let response = run.response.unwrap();
    assert_eq!((response.body.len(), response.truncated), (64 * 1024, true));
    assert_eq!(response.body[..2], [0x1f, 0x8b], "not inflated");
    assert_eq!(response.headers["content-encoding"], "gzip");
}

#[tokio::test]
async fn b144_answers_that_are_not_http_are_failures_that_are_recorded() {
    let rig = Rig::new().await;
    let long_reason = format!("HTTP/1.1 200 {}\r\ncontent-length: 0\r\n\r\n", "r".repeat(64 << 10));
    let cut_off: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nfour";
    let cases: [(&[u8], &str); 7] = [
        (b"\x00\xff\xfe\x80garbage\r\n\r\n", "no status line"),
        (b"HTTP/1.1 20 OK\r\n\r\n", "a status of two digits"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: nine\r\n\r\n", "a length that is none"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n", "a chunk that is none"),
        (b"HTTP/1.1 200 OK\r\nbad name : x\r\n\r\n", "a blank in a name"),
        (b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n", "101"),
        (cut_off, "a body that is cut off"),
    ];
    for (answer, what) in cases {
        let (run, _) = run(&rig, raw(answer.to_vec())).await;
        assert_eq!(run.state, RunState::Failed, "{what}: {run:?}");
        assert_eq!(rig.get(run.id.job).await.state(), State::RetryWait, "{what}");
    }
    let (run, _) = run(&rig, raw(long_reason)).await;
    assert!(matches!(run.state, RunState::Success | RunState::Failed), "recorded: {run:?}");
}

#[tokio::test]
async fn b144_bytes_that_are_no_text_are_stored() {
    let rig = Rig::new().await;
    let body: &[u8] = b"\xff\xfe\x00a\x00";
    let play = status(500).header("X-Latin", b"caf\xe9").body(body);
    let (run, _) = run(&rig, play).await;
    let response = run.response.unwrap();
    assert_eq!(response.body, body);
    assert_eq!(response.headers["x-latin"], "caf\u{fffd}");
    let job = rig.get(run.id.job).await;
    assert_eq!((job.state(), run.http_status), (State::RetryWait, Some(500)));
}

#[tokio::test]
async fn b091_headers_are_kept_within_bounds() {
    let rig = Rig::new().await;
    let mut play = status(200).header("x-long", "é".repeat(10_000));
    for n in 0..80 {
        play = play.header(&format!("x-{n}"), "v");
    }
    let (run, _) = run(&rig, play).await;
    assert_eq!(run.state, RunState::Success, "{run:?}");
    let headers = run.response.unwrap().headers;
    assert!(headers.len() <= 64, "{} headers", headers.len());
    assert!(headers.values().all(|value| value.len() <= 1_024));
}

#[tokio::test]
async fn an_answer_that_drips_in_time_is_an_answer() {
    let rig = Rig::new().await;
    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
    let (run, _) = run(&rig, drip(answer, Duration::from_millis(2))).await;
    assert_eq!(run.state, RunState::Success, "{run:?}");
    assert_eq!(run.response.unwrap().body, "ok");
}
