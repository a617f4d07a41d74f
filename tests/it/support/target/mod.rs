//! The target of the tests: an HTTP/1.1 server on a loopback port that plays a script, records
//! what it got, and misbehaves byte by byte when told to. It lives on a thread and runtime of its
//! own, so that a busy test does not distort it. It must not judge: tests read the record.
//!
//! ```ignore
//! let target = Target::start().await;
//! target.script("/orders", Script::new().then(status(503)).then(ok()));
//! let calls = target.wait_calls("/orders", 2, PATIENCE).await;
//!
//! let gate = target.gate("/slow"); // orders events without a sleep
//! let held = gate.arrived().await;
//! held.release(ok());
//! ```
//!
//! A path without a script answers 200 with an empty body.

mod bomb;
mod closed_port;
mod gate;
mod perform;
mod play;
mod record;
mod serve;
mod wire;

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

pub use bomb::gzip_bomb;
pub use closed_port::ClosedPort;
pub use gate::{Gate, Held};
pub use play::{
    Answer, Play, Script, accepted, continue_flood, drip, drip_body, drip_head, endless_headers,
    huge_body, json, ok, raw, redirect, status,
};
pub use record::{Call, CallbackSent, HangUp};

use record::{PathRecord, Record};
use serve::Stage;

/// How long a test waits for something that should come at once, even on a loaded machine.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A running target; dropping it closes every connection and stops its thread.
pub struct Target {
    address: SocketAddr,
    stage: Arc<Stage>,
    stop: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

impl Target {
    /// Starts a target on a free loopback port; it listens when this returns.
    pub async fn start() -> Self {
        let stage = Arc::<Stage>::default();
        let stop = CancellationToken::new();
        let (tell, told) = oneshot::channel();
        let thread = thread::Builder::new().name("target".into()).spawn({
            let (stage, stop) = (Arc::clone(&stage), stop.clone());
            move || run(&stage, &stop, tell)
        });
        let thread = Some(thread.expect("a thread starts"));
        let address = told.await.expect("the target listens");
        Self { address, stage, stop, thread }
    }

    /// The URL of a path of this target: `http://127.0.0.1:<port><path>`.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Where it listens, for a test that opens its own socket.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets what the path plays from the next call on: a [`Script`], or one [`Play`] or [`Answer`]
    /// for all calls. Calls under way keep what they began.
    pub fn script(&self, path: &str, script: impl Into<Script>) {
        self.stage.set_script(path, script.into());
    }

    /// Holds every call of the path until the test releases it.
    pub fn gate(&self, path: &str) -> Gate {
        let gate = Gate::new();
        self.script(path, gate.play());
        gate
    }

    /// The calls of the path so far, in the order in which they were read whole.
    pub fn calls(&self, path: &str) -> Vec<Arc<Call>> {
        self.of_path(path, |path| path.calls.clone())
    }

    /// The callers that hung up on a call of the path before its play was over.
    pub fn hang_ups(&self, path: &str) -> Vec<HangUp> {
        self.of_path(path, |path| path.hang_ups.clone())
    }

    /// The scripted callbacks of the path that were answered or failed.
    pub fn callbacks(&self, path: &str) -> Vec<CallbackSent> {
        self.of_path(path, |path| path.callbacks.clone())
    }

    /// Waits until the path had at least `n` calls, and returns them all; panics after `within`.
    pub async fn wait_calls(&self, path: &str, n: usize, within: Duration) -> Vec<Arc<Call>> {
        let what = format!("{n} calls of {path}");
        self.wait(&what, within, |record| record.path(path).is_some_and(|p| p.calls.len() >= n))
            .await;
        self.calls(path)
    }

    /// Waits until at least `n` callers hung up on the path; panics after `within`.
    pub async fn wait_hang_ups(&self, path: &str, n: usize, within: Duration) -> Vec<HangUp> {
        let what = format!("{n} hang-ups on {path}");
        self.wait(&what, within, |record| record.path(path).is_some_and(|p| p.hang_ups.len() >= n))
            .await;
        self.hang_ups(path)
    }

    /// Waits until at least `n` scripted callbacks of the path ended; panics after `within`.
    pub async fn wait_callbacks(
        &self,
        path: &str,
        n: usize,
        within: Duration,
    ) -> Vec<CallbackSent> {
        let what = format!("{n} callbacks of {path}");
        self.wait(&what, within, |record| {
            record.path(path).is_some_and(|p| p.callbacks.len() >= n)
        })
        .await;
        self.callbacks(path)
    }

    /// Waits until at least `n` requests could not be read whole; panics after `within`.
    pub async fn wait_broken(&self, n: usize, within: Duration) {
        self.wait(&format!("{n} broken requests"), within, |record| record.broken >= n).await;
    }

    /// Waits until exactly `n` connections are open; panics after `within`. Waiting for 0 tells
    /// something only after a call was seen: before the first connection, 0 are open too.
    pub async fn wait_open(&self, n: usize, within: Duration) {
        self.wait(&format!("{n} open connections"), within, |record| record.open == n).await;
    }

    /// The connections that are open now.
    pub fn open(&self) -> usize {
        self.stage.record.borrow().open
    }

    /// The connections accepted so far.
    pub fn accepted(&self) -> usize {
        self.stage.record.borrow().accepted
    }

    /// Requests that could not be read whole: malformed, over the target's limits, or cut off.
    pub fn broken(&self) -> usize {
        self.stage.record.borrow().broken
    }

    fn of_path<T>(&self, path: &str, read: impl FnOnce(&PathRecord) -> Vec<T>) -> Vec<T> {
        self.stage.record.borrow().path(path).map(read).unwrap_or_default()
    }

    async fn wait(&self, what: &str, within: Duration, reached: impl FnMut(&Record) -> bool) {
        let mut record = self.stage.record.subscribe();
        // The guard that `wait_for` returns would lock the record: it is dropped at once.
        let reached = async { record.wait_for(reached).await.map(drop) };
        let Ok(seen) = timeout(within, reached).await else {
            panic!("not within {within:?}: {what}; {:?}", *self.stage.record.borrow());
        };
        seen.expect("the record lives as long as the target");
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        self.stop.cancel();
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(
            thread::panicking() || !matches!(ended, Some(Err(_))),
            "the target's thread panicked"
        );
    }
}

/// The life of the target's thread. When it ends, the runtime drops what is still being played.
fn run(stage: &Arc<Stage>, stop: &CancellationToken, tell: oneshot::Sender<SocketAddr>) {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime starts");
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a loopback port is free");
        tell.send(listener.local_addr().expect("it is bound")).expect("the starter waits");
        serve::accept(listener, stage, stop).await;
    });
}
