//! Calls that fail before the target had the request: a budget of their own.

use std::net::TcpListener;
use std::time::Duration;

use axle::domain::job::{NewJob, Reason};
use axle::domain::run::RunState;
use axle::domain::state::State;
use axle::engine::clock;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::support::engine::{With, job};
use crate::support::process::free_address;
use crate::support::rig::{PATH, Rig};
use crate::support::target::ClosedPort;

/// Runs a job that reaches nobody to its end; returns the class of its errors and its waits.
async fn give_up(rig: &Rig, new: NewJob) -> (String, Vec<Duration>) {
    let retries = new.spec.retry.max_dispatch_retries;
    let mut run = rig.start(new).await;
    let mut waits = Vec::new();
    loop {
        let ended = rig.ended(run).await;
        assert_eq!((ended.state, ended.http_status), (RunState::Failed, None), "{ended:?}");
        let job = rig.get(run.job).await;
        if job.state().is_final() {
            assert_eq!(job.standing.reason, Some(Reason::TargetUnreachable));
            assert_eq!(job.standing.attempt, 0, "no attempt is charged");
            assert_eq!(job.standing.failures, i32::try_from(retries).unwrap() + 1);
            return (ended.error.unwrap().class, waits);
        }
        assert_eq!((job.state(), job.standing.attempt), (State::RetryWait, 0));
        waits.push(clock::until(rig.clock.now(), job.standing.next_attempt_at.unwrap()));
        run = rig.next_run(run.job).await;
    }
}

#[tokio::test]
async fn a_refused_connection_is_charged_to_its_own_budget_with_short_waits() {
    let rig = Rig::new().await;
    let port = ClosedPort::reserve();
    let new = job(&port.url("/")).with(|new| {
        new.spec.retry.max_retries = 0;
        new.spec.retry.max_dispatch_retries = 8;
    });
    let (class, waits) = give_up(&rig, new).await;
    assert_eq!(class, "connect");
    for (wait, nominal) in waits.iter().zip([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]) {
        let share = wait.as_secs_f64() / nominal;
        assert!((0.8..=1.2).contains(&share), "{wait:?} instead of {nominal} s ± 20 %");
        assert!(*wait <= Duration::from_mins(1), "the cap is a cap: {wait:?}");
    }
    assert_eq!(waits.len(), 8);
}

#[tokio::test]
async fn a_name_that_nobody_knows_is_not_an_attempt() {
    let rig = Rig::new().await;
    let new =
        job("http://nonexistent.invalid/").with(|new| new.spec.retry.max_dispatch_retries = 1);
    assert_eq!(give_up(&rig, new).await.0, "dns");
}

#[tokio::test]
async fn a_target_that_speaks_no_tls_is_not_an_attempt() {
    let rig = Rig::new().await;
    let url = rig.target.url(PATH).replace("http://", "https://");
    let new = job(&url).with(|new| new.spec.retry.max_dispatch_retries = 0);
    assert_eq!(give_up(&rig, new).await.0, "tls");
    assert!(rig.target.calls(PATH).is_empty());
}

#[tokio::test]
async fn once_the_target_is_back_its_first_call_is_the_first_attempt() {
    let rig = Rig::new().await;
    let address = free_address();
    let new = job(&format!("http://{address}/")).with(|new| new.spec.retry.max_retries = 0);
    let mut run = rig.start(new).await;
    for _ in 0..2 {
        assert_eq!(rig.ended(run).await.error.unwrap().class, "connect");
        run = rig.next_run(run.job).await;
    }
    assert_eq!(rig.ended(run).await.error.unwrap().class, "connect");

    let listener = TcpListener::bind(address).unwrap();
    listener.set_nonblocking(true).unwrap();
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    let answer = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"{}") {
            head.push(stream.read_u8().await.unwrap());
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        String::from_utf8(head).unwrap().to_ascii_lowercase()
    };
    let (head, run) = tokio::join!(answer, rig.next_run(run.job));
    assert_eq!(rig.ended(run).await.state, RunState::Success);
    assert!(head.contains("\r\naxle-attempt: 1\r\n"), "{head}");
    assert!(head.contains("\r\naxle-max-attempts: 1\r\n"), "{head}");
    assert!(head.contains("\r\naxle-fence: 4\r\n"), "{head}");
    let job = rig.get(run.job).await;
    assert_eq!((job.state(), job.standing.attempt, job.standing.failures), (State::Success, 1, 3));
}
