//! What the target saw: calls, hang-ups, replies to its callbacks, and counts of connections.

use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::wire::Request;
use crate::support::callback::Reply;

/// One request, read whole.
#[derive(Debug)]
pub struct Call {
    /// `POST` and the like, as sent.
    pub method: String,
    /// The path without the query, as sent (not decoded).
    pub path: String,
    /// What stood behind the `?`, if there was one.
    pub query: Option<String>,
    /// Names in lower case; the values of a repeated name are joined with `, `; bytes that are not
    /// UTF-8 are replaced. For the exact bytes see `head`.
    pub headers: BTreeMap<String, String>,
    /// The request line and headers, byte for byte, with the empty line.
    pub head: Bytes,
    /// The body, with a chunked coding taken off.
    pub body: Bytes,
    /// When its last byte was read, by the monotonic clock (not a test's paused one).
    pub at: Instant,
    /// Its place among all calls of this target, from 0.
    pub seq: usize,
    /// The connection it came over, in order of acceptance from 1.
    pub connection: usize,
}

impl Call {
    /// A header by its lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// `Axle-Job-Id`.
    pub fn job_id(&self) -> &str {
        self.needed("axle-job-id")
    }

    /// `Axle-Run-Id`.
    pub fn run_id(&self) -> &str {
        self.needed("axle-run-id")
    }

    /// `Axle-Fence`.
    pub fn fence(&self) -> u64 {
        self.needed("axle-fence").parse().expect("a fence is a decimal number")
    }

    /// `Axle-Callback-Url`, which a call in callback mode carries.
    pub fn callback_url(&self) -> &str {
        self.needed("axle-callback-url")
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("the body is JSON")
    }

    /// A callback of this run: `body` with `run_id` and `fence` added where it lacks them.
    pub fn callback(&self, mut body: Value) -> Value {
        if let Some(fields) = body.as_object_mut() {
            fields.entry("run_id").or_insert_with(|| json!(self.run_id()));
            fields.entry("fence").or_insert_with(|| json!(self.fence()));
        }
        body
    }

    fn needed(&self, name: &str) -> &str {
        match self.header(name) {
            Some(value) => value,
            None => panic!("a call of {} has no {name}; it has {:?}", self.path, self.headers),
        }
    }
}

/// A caller that closed its connection before the play was over.
#[derive(Clone, Copy, Debug)]
pub struct HangUp {
    /// The call, by its [`Call::seq`].
    pub seq: usize,
    /// When the target noticed.
    pub at: Instant,
    /// Bytes of the answer that the caller's side had taken (read, or in the sockets' buffers).
    pub sent: u64,
}

/// A scripted callback and what came of it.
#[derive(Clone, Debug)]
pub struct CallbackSent {
    /// The call, by its [`Call::seq`].
    pub seq: usize,
    /// What was posted.
    pub body: Value,
    /// Status and JSON, or why there is none.
    pub reply: Result<Reply, String>,
    /// When the reply was there.
    pub at: Instant,
}

/// All that a target saw.
#[derive(Default)]
pub(super) struct Record {
    paths: HashMap<String, PathRecord>,
    calls: usize,
    pub(super) accepted: usize,
    pub(super) open: usize,
    pub(super) broken: usize,
}

/// What happened on one path.
#[derive(Default)]
pub(super) struct PathRecord {
    pub(super) calls: Vec<Arc<Call>>,
    pub(super) hang_ups: Vec<HangUp>,
    pub(super) callbacks: Vec<CallbackSent>,
}

impl Record {
    pub(super) fn path(&self, path: &str) -> Option<&PathRecord> {
        self.paths.get(path)
    }

    /// A connection was accepted; returns its number.
    pub(super) fn connect(&mut self) -> usize {
        self.accepted += 1;
        self.open += 1;
        self.accepted
    }

    pub(super) fn call(&mut self, request: Request, connection: usize) -> Arc<Call> {
        let Request { method, path, query, headers, head, body } = request;
        let (at, seq) = (Instant::now(), self.calls);
        let call = Call { method, path, query, headers, head, body, at, seq, connection };
        let call = Arc::new(call);
        self.calls += 1;
        self.of(&call).calls.push(Arc::clone(&call));
        call
    }

    pub(super) fn hang_up(&mut self, call: &Call, sent: u64) {
        let hang_up = HangUp { seq: call.seq, at: Instant::now(), sent };
        self.of(call).hang_ups.push(hang_up);
    }

    pub(super) fn callback(&mut self, call: &Call, body: Value, reply: Result<Reply, String>) {
        let sent = CallbackSent { seq: call.seq, body, reply, at: Instant::now() };
        self.of(call).callbacks.push(sent);
    }

    fn of(&mut self, call: &Call) -> &mut PathRecord {
        self.paths.entry(call.path.clone()).or_default()
    }
}

/// Counts only: this is what a test prints that waited in vain.
impl Debug for Record {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} accepted, {} open, {} broken", self.accepted, self.open, self.broken)?;
        for (path, seen) in &self.paths {
            let (calls, hang_ups) = (seen.calls.len(), seen.hang_ups.len());
            let callbacks = seen.callbacks.len();
            write!(f, "; {path}: {calls} calls, {hang_ups} hang-ups, {callbacks} callbacks")?;
        }
        Ok(())
    }
}
