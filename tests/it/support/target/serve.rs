//! Accepts connections and leads the conversation on each: read a request, record it, have its
//! step performed, go on or close. One task per connection, all on the target's own thread.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::perform::{head_of, pause, play};
use super::play::{Afterwards, Play, Script, status};
use super::record::{Call, Record};
use super::wire::{Broken, Wire};
use crate::support::callback::try_post;

/// What the test's side and the target's thread share.
#[derive(Default)]
pub(super) struct Stage {
    scripts: Mutex<HashMap<String, Script>>,
    pub(super) record: watch::Sender<Record>,
    tasks: TaskTracker,
}

impl Stage {
    pub(super) fn set_script(&self, path: &str, script: Script) {
        self.scripts.lock().expect("no holder panics").insert(path.to_owned(), script);
    }

    pub(super) fn next_play(&self, path: &str) -> Play {
        let mut scripts = self.scripts.lock().expect("no holder panics");
        scripts.get_mut(path).map_or_else(|| status(200).into(), Script::next)
    }

    pub(super) fn note<T>(&self, change: impl FnOnce(&mut Record) -> T) -> T {
        let mut result = None;
        self.record.send_modify(|record| result = Some(change(record)));
        result.expect("send_modify calls its closure")
    }

    /// Posts a callback in a task of its own: once begun it is finished and recorded, even when
    /// the caller hangs up meanwhile.
    pub(super) fn call_back(
        self: &Arc<Self>,
        call: &Arc<Call>,
        after: Duration,
        body: &Value,
    ) -> JoinHandle<()> {
        let (stage, call, body) = (Arc::clone(self), Arc::clone(call), body.clone());
        self.tasks.spawn(async move {
            pause(after).await;
            let body = call.callback(body);
            let reply = try_post(call.callback_url(), &body).await;
            let reply = reply.map_err(|error| format!("{error:?}"));
            stage.note(|record| record.callback(&call, body, reply));
        })
    }
}

/// Accepts until `stop`.
pub(super) async fn accept(listener: TcpListener, stage: &Arc<Stage>, stop: &CancellationToken) {
    while let Some(accepted) = stop.run_until_cancelled(listener.accept()).await {
        let (stream, _) = accepted.expect("the process has file descriptors left");
        stage.tasks.spawn(converse(stream, Arc::clone(stage)));
    }
}

/// One open connection in the record, for as long as this value lives.
struct Open(Arc<Stage>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.note(|record| record.open -= 1);
    }
}

/// The life of a connection.
async fn converse(stream: TcpStream, stage: Arc<Stage>) {
    let connection = stage.note(Record::connect);
    let _open = Open(Arc::clone(&stage));
    // Declared after `_open`, so that a socket is closed before it is counted as closed.
    let mut wire = Wire::new(stream);
    // Drips must leave byte by byte.
    wire.stream.set_nodelay(true).expect("a socket takes options");
    let mut patience = None;
    while begins_within(patience, &mut wire).await {
        let request = match wire.request().await {
            Ok(request) => request,
            Err(broken) => {
                stage.note(|record| record.broken += 1);
                return reject(&mut wire, broken).await;
            }
        };
        let call = stage.note(|record| record.call(request, connection));
        match play(&mut wire, &stage, &call).await {
            Afterwards::Keep => patience = None,
            Afterwards::KeepFor(idle) => patience = Some(idle),
            Afterwards::Stale => return await_next_byte(&wire).await,
            Afterwards::Close => return,
            Afterwards::Reset => {
                return wire.stream.set_zero_linger().expect("a socket takes options");
            }
        }
    }
}

/// False when the peer closed between two requests, or was idle for longer than the limit.
async fn begins_within(limit: Option<Duration>, wire: &mut Wire) -> bool {
    match limit {
        Some(limit) => timeout(limit, wire.begins()).await.unwrap_or(false),
        None => wire.begins().await,
    }
}

/// Tells the peer what was wrong, if it still listens.
async fn reject(wire: &mut Wire, broken: Broken) {
    let code = match broken {
        Broken::CutOff => return,
        Broken::Malformed => 400,
        Broken::TooLarge => 413,
    };
    let answer = status(code).close();
    drop(wire.stream.write_all(&head_of(&answer)).await);
}

/// Returns when the next request begins to arrive. It is left unread: the close that follows makes
/// the kernel answer it with a reset, as a server does that had given up the connection.
async fn await_next_byte(wire: &Wire) {
    if wire.inbox.is_empty() {
        drop(wire.stream.peek(&mut [0]).await);
    }
}
