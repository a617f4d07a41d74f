//! A run: one attempt of a job. While it goes on its job's `live` row is its record; when it has
//! ended it is one immutable row of `runs`.

use std::collections::BTreeMap;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::id::RunId;

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunState {
    /// Claimed; the call is being made.
    Dispatching,
    /// Accepted; a callback will come.
    Running,
    /// Ended well.
    Success,
    /// The target failed, or could not be reached.
    Failed,
    /// The target did not answer, or call back, in time.
    Timeout,
    /// Nobody was heard of: its puller died, or its target fell silent.
    Lost,
    /// Its job was cancelled meanwhile.
    Cancelled,
}

impl RunState {
    const ALL: [Self; 7] = [
        Self::Dispatching,
        Self::Running,
        Self::Success,
        Self::Failed,
        Self::Timeout,
        Self::Lost,
        Self::Cancelled,
    ];

    /// The word used in SQL and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Dispatching => "DISPATCHING",
            Self::Running => "RUNNING",
            Self::Success => "SUCCESS",
            Self::Failed => "FAILED",
            Self::Timeout => "TIMEOUT",
            Self::Lost => "LOST",
            Self::Cancelled => "CANCELLED",
        }
    }

    /// The state of that word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }
}

/// Why a run did not succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunError {
    /// The kind, for machines and statistics: `http_status`, `timeout`, `connect`, `dns`, `tls`,
    /// `target_forbidden`, `reset`, `lost`, `reported` …
    pub class: String,
    /// One sentence for people, at most [`MESSAGE_LIMIT`] bytes.
    pub message: String,
}

/// Longer messages of errors are cut, never refused (bug B073).
pub const MESSAGE_LIMIT: usize = 2_000;

impl RunError {
    /// An error whose message is cut to the limit at a character's edge and holds no U+0000, which
    /// PostgreSQL's text cannot (bug B105).
    pub fn new(class: impl Into<String>, message: impl Into<String>) -> Self {
        Self { class: clean(class.into(), 64), message: clean(message.into(), MESSAGE_LIMIT) }
    }
}

fn clean(mut text: String, limit: usize) -> String {
    if text.contains('\0') {
        text = text.replace('\0', "\u{fffd}");
    }
    text.truncate(text.floor_char_boundary(limit));
    text
}

/// What a target answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// By name; a bounded number of bounded headers.
    pub headers: BTreeMap<String, String>,
    /// The first 64 KiB of the body.
    pub body: Bytes,
    /// Whether the body was longer.
    pub truncated: bool,
}

/// What a target reports while it works.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// How much is done, 0 to 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pct: Option<f64>,
    /// What it is doing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// A run as read back, going on or ended.
#[derive(Clone, Debug)]
pub struct Run {
    /// (job, fence).
    pub id: RunId,
    /// The number of the attempt, from 1; a call that could not reach the target is not charged, so
    /// the run after it has the same number.
    pub attempt: i32,
    /// Where it stands.
    pub state: RunState,
    /// The process that claimed it.
    pub puller: Option<String>,
    /// When it was claimed.
    pub claimed_at: Option<DateTime<Utc>>,
    /// When the request was handed to the network.
    pub sent_at: Option<DateTime<Utc>>,
    /// When the target accepted it.
    pub accepted_at: Option<DateTime<Utc>>,
    /// When the target was last heard of.
    pub heartbeat_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
    /// When it times out, or would have.
    pub deadline_at: Option<DateTime<Utc>>,
    /// The status that the target answered.
    pub http_status: Option<i32>,
    /// Why it did not succeed.
    pub error: Option<RunError>,
    /// What the target answered.
    pub response: Option<Response>,
    /// What the callback brought.
    pub result: Option<Bytes>,
    /// What the target last reported.
    pub progress: Option<Progress>,
    /// When the next attempt was due, if one followed.
    pub retry_at: Option<DateTime<Utc>>,
}

/// What a job shows of its newest ended run.
#[derive(Clone, Debug)]
pub struct LastRun {
    /// How it ended.
    pub state: RunState,
    /// The status that the target answered.
    pub http_status: Option<i32>,
    /// Why it did not succeed.
    pub error: Option<RunError>,
    /// What the callback brought.
    pub result: Option<Bytes>,
}

/// One line of a job's log. Most are read off the other rows; only the uncommon ones are stored.
#[derive(Clone, Debug, PartialEq)]
pub struct LogEvent {
    /// What happened: `registered`, `claimed`, `sent`, `accepted`, `stale_callback` …
    pub kind: String,
    /// When it (last) happened.
    pub at: DateTime<Utc>,
    /// The run it belongs to, if any.
    pub run: Option<RunId>,
    /// How often it happened; above 1 only for what a target may repeat without bound.
    pub count: i32,
    /// One sentence for people.
    pub detail: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b073_long_messages_are_cut_at_a_characters_edge() {
        let error = RunError::new("reported", "ä".repeat(5_000));
        assert_eq!(error.message.len(), MESSAGE_LIMIT);
        assert_eq!(RunError::new("x", "a\0b").message, "a\u{fffd}b");
    }

    #[test]
    fn words_are_read_back() {
        for state in RunState::ALL {
            assert_eq!(RunState::parse(state.as_str()), Some(state));
        }
    }
}
