//! What the guard refuses is not connected to, whatever was registered. The name server is the test's
//! own here, given to the guard as its look-up; all that follows it is real. `namespace.rs` has the
//! system's resolver.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axle::domain::egress::Egress;
use axle::domain::job::Reason;
use axle::domain::run::{Run, RunState};
use axle::domain::state::State;
use axle::engine::Guard;
use axle::engine::guard::Lookup;
use axle::engine::invoke::Invoker;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;

use crate::support::engine::{With, job};
use crate::support::rig::{PATH, Rig};
use crate::support::target::{ok, redirect};

/// Where a failed guard would knock: the whole of 127/8 is this machine, and only 127.0.0.1, where
/// targets listen, is allowed below.
const CANARY: &str = "127.66.66.66";

/// Closed but for the address of the targets, with these answers to look-ups, one after another; the
/// last one for ever.
fn guard(answers: Vec<io::Result<Vec<&str>>>) -> (Guard, Arc<AtomicUsize>) {
    let read = |answer: io::Result<Vec<&str>>| -> io::Result<Vec<IpAddr>> {
        Ok(answer?.into_iter().map(|ip| ip.parse().unwrap()).collect())
    };
    let answers: VecDeque<_> = answers.into_iter().map(read).collect();
    let (answers, asked) = (Arc::new(Mutex::new(answers)), Arc::new(AtomicUsize::new(0)));
    let counter = Arc::clone(&asked);
    let lookup: Lookup = Arc::new(move |_name| {
        counter.fetch_add(1, Ordering::Relaxed);
        let mut answers = answers.lock().unwrap();
        let again = match answers.front() {
            Some(Ok(ips)) => Ok(ips.clone()),
            Some(Err(error)) => Err(error.kind().into()),
            None => Ok(Vec::new()),
        };
        let answer = if answers.len() > 1 { answers.pop_front().unwrap() } else { again };
        Box::pin(async move { answer })
    });
    let egress = Egress { allow: vec!["127.0.0.1".parse().unwrap()], ..Egress::default() };
    (Guard::with_lookup(egress, lookup), asked)
}

/// A listener at the port of the target and an address that may not be called; counts who comes.
async fn canary(rig: &Rig) -> Arc<AtomicUsize> {
    let address: SocketAddr =
        (CANARY.parse::<IpAddr>().unwrap(), rig.target.address().port()).into();
    let listener = TcpListener::bind(address).await.unwrap();
    let met = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&met);
    // It ends with the runtime of the test.
    TaskTracker::new().spawn(async move {
        while listener.accept().await.is_ok() {
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    met
}

fn named(rig: &Rig) -> String {
    format!("http://shop.example:{}{PATH}", rig.target.address().port())
}

/// The run failed for good, before the network.
async fn is_forbidden(rig: &Rig, run: &Run, word: &str) {
    let error = run.error.as_ref().unwrap();
    assert_eq!(
        (run.state, error.class.as_str()),
        (RunState::Failed, "target_forbidden"),
        "{run:?}"
    );
    assert!(error.message.contains(word), "{}", error.message);
    assert_eq!((run.http_status, run.sent_at), (None, None));
    let job = rig.get(run.id.job).await;
    assert_eq!((job.state(), job.standing.reason), (State::Failed, Some(Reason::TargetForbidden)));
    assert_eq!((job.standing.attempt, job.standing.failures), (0, 1), "no attempt is charged");
}

#[tokio::test]
async fn b113_b117_a_literal_is_refused_at_the_call_too() {
    let (guard, asked) = guard(vec![]);
    let rig = Rig::guarded(&guard).await;
    let met = canary(&rig).await;
    let port = rig.target.address().port();
    for host in [
        CANARY,
        "[::ffff:127.66.66.66]",
        "2135049794",
        "0x7f.0x42.0x42.0x42",
        "0",
        "[::1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f42:4242]",
        "[2002:7f42:4242::]",
        "localhost",
        "169.254.169.254",
    ] {
        let run = rig.run(job(&format!("http://{host}:{port}{PATH}"))).await;
        is_forbidden(&rig, &run, "is not called from here").await;
    }
    assert_eq!(rig.run(rig.job()).await.state, RunState::Success, "the allowed one");
    assert_eq!((met.load(Ordering::SeqCst), asked.load(Ordering::SeqCst)), (0, 0));
}

#[tokio::test]
async fn b118_of_several_addresses_only_those_are_dialled_that_are_allowed() {
    for answer in [vec!["::1", CANARY, "127.0.0.1"], vec!["127.0.0.1", "::1", CANARY]] {
        let rig = Rig::guarded(&guard(vec![Ok(answer)]).0).await;
        let met = canary(&rig).await;
        assert_eq!(rig.run(job(&named(&rig))).await.state, RunState::Success);
        assert_eq!((rig.target.calls(PATH).len(), met.load(Ordering::SeqCst)), (1, 0));
        let host = format!("shop.example:{}", rig.target.address().port());
        assert_eq!(rig.target.calls(PATH)[0].header("host"), Some(host.as_str()));
    }
    let rig = Rig::guarded(&guard(vec![Ok(vec!["::1", CANARY, "fd00::1"])]).0).await;
    let met = canary(&rig).await;
    let run = rig.run(job(&named(&rig))).await;
    is_forbidden(&rig, &run, "shop.example is not called from here: ").await;
    let told = run.error.unwrap().message;
    assert!(!told.contains(CANARY) && !told.contains("fd00"), "addresses are not told: {told}");
    assert_eq!(met.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn b119_an_answer_that_changes_is_judged_each_time() {
    let (guard, asked) = guard(vec![Ok(vec!["127.0.0.1"]), Ok(vec![CANARY])]);
    let rig = Rig::guarded(&guard).await;
    let met = canary(&rig).await;
    rig.target.script(PATH, ok().header("connection", "close"));
    assert_eq!(rig.run(job(&named(&rig))).await.state, RunState::Success);
    assert_eq!(
        asked.load(Ordering::SeqCst),
        1,
        "one look-up: the judged address is the one dialled"
    );
    let run = rig.run(job(&named(&rig))).await;
    is_forbidden(&rig, &run, "loopback").await;
    assert_eq!((rig.target.calls(PATH).len(), met.load(Ordering::SeqCst)), (1, 0));
}

#[tokio::test]
async fn b121_b124_a_redirect_is_not_followed() {
    let rig = Rig::guarded(&guard(vec![]).0).await;
    let met = canary(&rig).await;
    for status in [301, 302, 307, 308] {
        let inside = format!("http://{CANARY}:{}/", rig.target.address().port());
        rig.target.script(PATH, redirect(status, &inside));
        let run = rig
            .run(rig.job().with(|new| {
                new.spec.target.headers.push(("authorization".into(), "Bearer secret".into()));
            }))
            .await;
        assert_eq!((run.state, run.http_status), (RunState::Failed, Some(i32::from(status))));
        assert_eq!(run.response.unwrap().headers["location"], inside, "shown with the run");
    }
    assert_eq!(met.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn b125_without_an_answer_nothing_is_dialled_and_the_call_is_repeated() {
    for answer in
        [Err(io::ErrorKind::TimedOut.into()), Err(io::ErrorKind::Other.into()), Ok(vec![])]
    {
        let rig = Rig::guarded(&guard(vec![answer, Ok(vec!["127.0.0.1"])]).0).await;
        let met = canary(&rig).await;
        let run = rig.start(job(&named(&rig))).await;
        let ended = rig.ended(run).await;
        assert_eq!((ended.state, ended.error.unwrap().class.as_str()), (RunState::Failed, "dns"));
        assert_eq!(rig.target.calls(PATH).len(), 0);
        let next = rig.next_run(run.job).await;
        assert_eq!(rig.ended(next).await.state, RunState::Success, "the names are back");
        assert_eq!(met.load(Ordering::SeqCst), 0);
    }
}

#[tokio::test]
async fn b125_a_look_up_that_hangs_is_given_up() {
    let lookup: Lookup = Arc::new(|_name| Box::pin(std::future::pending()));
    let rig = Rig::guarded(&Guard::with_lookup(Egress::default(), lookup)).await;
    let run = rig.run(job("http://shop.example/")).await;
    let error = run.error.unwrap();
    assert_eq!((run.state, error.class.as_str()), (RunState::Failed, "dns"));
    assert!(error.message.contains("no answer for the name within 8s"), "{}", error.message);
    assert_eq!(rig.get(run.id.job).await.state(), State::RetryWait);
}

#[tokio::test]
async fn b126_b127_a_stored_header_that_may_not_be_sent_ends_the_job() {
    let rig = Rig::new().await;
    for (name, value) in [("hOsT", "evil.example"), ("x-a", "a\r\nx-b: 1"), ("axle-fence", "9")] {
        // The engine takes what the API has checked; here nobody has.
        let new = rig.job().with(|new| new.spec.target.headers.push((name.into(), value.into())));
        let run = rig.run(new).await;
        assert_eq!((run.state, run.error.unwrap().class.as_str()), (RunState::Failed, "request"));
        let job = rig.get(run.id.job).await;
        assert_eq!((job.state(), job.standing.reason), (State::Failed, Some(Reason::NoRetry)));
    }
    assert_eq!(rig.target.calls(PATH).len(), 0);
}

#[tokio::test]
async fn a_proxy_gets_every_call_and_literals_are_still_judged() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = format!("http://{}", listener.local_addr().unwrap());
    let rig = Rig::guarded(&Guard::new(Egress::default(), Some(proxy))).await;
    let run = rig.run(job("http://10.0.0.1/x")).await;
    is_forbidden(&rig, &run, "private network").await;
    let answer = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"{}") {
            head.push(stream.read_u8().await.unwrap());
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        String::from_utf8(head).unwrap()
    };
    let (head, run) = tokio::join!(answer, rig.run(job("http://no-such-name.invalid/x")));
    assert_eq!(run.state, RunState::Success, "{run:?}");
    assert!(head.starts_with("POST http://no-such-name.invalid/x HTTP/1.1\r\n"), "{head}");
}

#[tokio::test]
async fn a_proxy_is_told_who_asks_and_may_refuse_to_lead_on() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = format!("http://axle:s%40fe@{}", listener.local_addr().unwrap());
    let rig = Rig::guarded(&Guard::new(Egress::default(), Some(proxy))).await;
    for (url, first_line) in [
        ("http://target.invalid/x", "POST http://target.invalid/x HTTP/1.1\r\n"),
        ("https://target.invalid/x", "CONNECT target.invalid:443 HTTP/1.1\r\n"),
    ] {
        let answer = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            let refusal = b"HTTP/1.1 407 Who?\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            stream.write_all(refusal).await.unwrap();
            String::from_utf8(head).unwrap()
        };
        let (head, run) = tokio::join!(answer, rig.run(job(url)));
        assert!(head.starts_with(first_line), "{head}");
        let told = "proxy-authorization: Basic YXhsZTpzQGZl\r\n";
        assert!(head.to_ascii_lowercase().contains(&told.to_ascii_lowercase()), "{head}");
        let is_plain = url.starts_with("http:");
        let error = run.error.unwrap();
        let expected = if is_plain { ("http_status", Some(407)) } else { ("connect", None) };
        assert_eq!((error.class.as_str(), run.http_status), expected, "{error:?}");
        assert!(!error.message.contains("s@fe") && !error.message.contains("target.invalid"));
    }
}

#[tokio::test]
async fn a_proxy_that_is_no_url_is_told_at_the_start() {
    for url in ["http://", "socks5://127.0.0.1:1080", "not a URL"] {
        let guard = Guard::new(Egress::default(), Some(url.to_owned()));
        let error = Invoker::new("http://axle.example", &guard).unwrap_err();
        assert!(error.to_string().contains("the proxy's URL cannot be used"), "{url}: {error}");
    }
}
