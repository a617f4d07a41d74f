//! Being told to stop: finish what runs, hand back what was not sent, leave.

use std::os::unix::process::ExitStatusExt as _;
use std::time::Duration;

use axle::domain::state::State;
use rustix::process::Signal;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::job;
use crate::support::db::Db;
use crate::support::engine::Engine;
use crate::support::process::{MARGIN, Server, free_address};
use crate::support::program::eventually;
use crate::support::rig::{PATH, Rig};
use crate::support::target::{PATIENCE, Play, Target, ok};

#[tokio::test]
async fn b154_sigterm_lets_running_calls_finish_and_takes_no_new_ones() {
    let db = Db::new().await;
    let target = Target::start().await;
    let gate = target.gate("/work");
    let api = Server::start(&db.url, "api", &[]).await;
    let mut puller = Server::start(&db.url, "puller", &[]).await;
    let running = api.api().create(&job(&target.url("/work"))).await;
    let held = gate.arrived().await;
    puller.signal(Signal::TERM);
    puller.wait_ready(false).await;
    assert_eq!(puller.admin("/livez").await, Some((200, "ok\n".to_owned())));
    let waiting = api.api().create(&job(&target.url("/work"))).await;

    assert!(held.release(ok()), "the call was not cut off");
    let status = puller.ended(PATIENCE).await;
    assert_eq!(status.code(), Some(0), "{status}");
    assert_eq!(api.api().run_states(&running).await, ["SUCCESS"], "its result is stored");
    let waiting = api.api().get(&format!("/v1/jobs/{waiting}")).await;
    assert_eq!((&waiting["state"], &waiting["attempt"]), (&json!("PENDING"), &json!(0)));
    assert_eq!(target.calls("/work").len(), 1);
}

#[tokio::test]
async fn b154_restarts_under_load_lose_no_job_and_charge_no_attempt() {
    const JOBS: usize = 1_500;
    const RESTARTS: usize = 8;
    let db = Db::new().await;
    let target = Target::start().await;
    target.script("/work", ok().delay(Duration::from_millis(20)));
    let api = Server::start(&db.url, "api", &[("AXLE_LOG", "info")]).await;
    api.api().create_many(&job(&target.url("/work")), JOBS).await;
    let settings = [("AXLE_CONCURRENCY", "20"), ("AXLE_LOG", "info")];
    let mut puller = Server::start(&db.url, "puller", &settings).await;
    for restart in 1..=RESTARTS {
        target.wait_calls("/work", restart * JOBS / (RESTARTS + 2), PATIENCE).await;
        puller.signal(Signal::TERM);
        let status = puller.ended(PATIENCE).await;
        assert_eq!(status.code(), Some(0), "restart {restart}: {status}");
        let left = db.ask("SELECT count(*) FROM live WHERE state = 'RUNNING'").await;
        assert_eq!(left.get::<_, i64>(0), 0, "restart {restart}: runs are left behind");
        puller = puller.again().await;
    }
    eventually("every job is done", Duration::from_secs(40), async || {
        let live = db.ask("SELECT count(*) FROM live").await.get::<_, i64>(0);
        (live == 0).then_some(())
    })
    .await;
    let row = db
        .ask(
            "SELECT (SELECT count(*) FROM done WHERE state = 'SUCCESS' AND attempt = 1),
                    (SELECT count(*) FROM runs)",
        )
        .await;
    let jobs = i64::try_from(JOBS).unwrap();
    assert_eq!([0, 1].map(|n| row.get::<_, i64>(n)), [jobs, jobs]);
    assert_eq!(target.calls("/work").len(), JOBS, "each job was sent once");
}

#[tokio::test]
async fn b154_a_claim_that_was_not_sent_is_handed_back_without_a_charge() {
    let rig = Rig::new().await;
    let job = rig.enqueue(rig.job()).await;
    // The claim is done, and its run has not been looked at: this test has one thread.
    rig.pull().await;
    rig.stop.cancel();
    eventually("the job waits again", PATIENCE, async || {
        (rig.get(job.id).await.state() == State::Pending).then_some(())
    })
    .await;
    let back = rig.get(job.id).await;
    assert_eq!((back.standing.attempt, back.standing.fence), (0, 1));
    assert_eq!(back.standing.next_attempt_at, job.standing.next_attempt_at);
    let told = rig.log(job.id, "handed_back").await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(rig.target.calls(PATH).is_empty());

    let other = Engine::on(Db::at(rig.db.url.clone())).await;
    other.puller("other", 1).step().await.unwrap();
    rig.wait_state(job.id, State::Success).await;
    let call = &rig.target.calls(PATH)[0];
    assert_eq!((call.header("axle-attempt"), call.fence()), (Some("1"), 2));
    assert_eq!(rig.run_states(job.id).await, ["SUCCESS"]);
}

#[tokio::test]
async fn a_second_signal_ends_the_process_at_once() {
    let db = Db::new().await;
    let target = Target::start().await;
    target.script("/work", Play::Hang);
    for (second, code) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        let mut server = Server::start(&db.url, "all", &[]).await;
        let calls = target.calls("/work").len();
        server.api().create(&job(&target.url("/work"))).await;
        target.wait_calls("/work", calls + 1, PATIENCE).await;
        server.signal(Signal::TERM);
        server.err.with("a second signal stops at once").await;
        let told = Instant::now();
        server.signal(second);
        let status = server.ended(PATIENCE).await;
        assert_eq!((status.code(), status.signal()), (Some(code), None));
        assert!(told.elapsed() < Duration::from_secs(1), "{:?}", told.elapsed());
        // The next server has nothing to do with this one's run.
        db.execute("DELETE FROM live").await;
    }
}

#[tokio::test]
async fn b154_calls_that_do_not_end_within_the_grace_are_left_to_their_lease() {
    const GRACE: Duration = Duration::from_secs(1);
    let db = Db::new().await;
    let target = Target::start().await;
    let gate = target.gate("/work");
    let mut server = Server::start(&db.url, "all", &[("AXLE_SHUTDOWN_GRACE", "1s")]).await;
    let id = server.api().create(&job(&target.url("/work"))).await;
    let _held = gate.arrived().await;
    let told = Instant::now();
    server.signal(Signal::TERM);
    let status = server.ended(PATIENCE).await;
    let took = told.elapsed();
    assert_eq!(status.code(), Some(0), "{status}");
    assert!(took >= GRACE && took < GRACE + Duration::from_secs(1), "ended after {took:?}");

    let server = server.again().await;
    gate.arrived().await.release(ok());
    server.api().wait_state(&id, "SUCCESS").await;
    assert_eq!(server.api().run_states(&id).await, ["LOST", "SUCCESS"]);
}

#[tokio::test]
async fn a_process_that_still_waits_for_its_database_can_be_stopped() {
    let nowhere = format!("postgres://axle@{}/axle", free_address());
    let mut server = Server::launch(&nowhere, "all", &[]);
    server.err.with("waiting for the database").await;
    server.wait_ready(false).await;
    assert_eq!(server.admin("/startupz").await, Some((503, "starting\n".to_owned())));
    assert_eq!(server.admin("/livez").await, Some((200, "ok\n".to_owned())));
    let told = Instant::now();
    server.signal(Signal::TERM);
    let status = server.ended(PATIENCE).await;
    assert_eq!(status.code(), Some(0), "{status}");
    assert!(told.elapsed() < MARGIN, "ended after {:?}", told.elapsed());
}

#[tokio::test]
async fn an_idle_connection_of_a_load_balancer_does_not_hold_up_the_end() {
    let db = Db::new().await;
    let mut server = Server::start(&db.url, "api", &[("AXLE_SHUTDOWN_GRACE", "5s")]).await;
    let mut kept = TcpStream::connect(server.address()).await.unwrap();
    kept.write_all(b"GET /v1/version HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    assert!(kept.read(&mut [0; 1024]).await.unwrap() > 0, "it answers and keeps the connection");
    let told = Instant::now();
    server.signal(Signal::TERM);
    let status = server.ended(PATIENCE).await;
    assert_eq!(status.code(), Some(0), "{status}");
    let took = told.elapsed();
    assert!(took < MARGIN, "ended after {took:?}");
}
