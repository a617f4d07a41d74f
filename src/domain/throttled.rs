//! A target that calls are held back from, as one puller sees it: what the breaker and the ceiling
//! say, in words that can be stored and shown.

use chrono::{DateTime, Utc};

use super::breaker::Stand;
use super::run::RunError;

/// Where a breaker stands, without its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Calls go through; a target that is held back all the same is at its ceiling.
    Closed,
    /// One call is on its way to see whether the target is back.
    HalfOpen,
    /// No calls are made.
    Open,
}

impl Phase {
    /// The word used in SQL, on the wire and as a label.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::HalfOpen => "half_open",
            Self::Open => "open",
        }
    }

    /// The phase of that word.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Closed, Self::HalfOpen, Self::Open].into_iter().find(|one| one.as_str() == word)
    }
}

impl From<Stand> for Phase {
    fn from(stand: Stand) -> Self {
        match stand {
            Stand::Closed => Self::Closed,
            Stand::Open(_) => Self::Open,
            Stand::Probing(_) => Self::HalfOpen,
        }
    }
}

/// A target of a team, held back by one puller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Throttled {
    /// Host and port, as `api.example.com:443`.
    pub target: String,
    /// Where its breaker stands.
    pub phase: Phase,
    /// When it was last left in peace.
    pub since: DateTime<Utc>,
    /// What the last call that failed said of it; none while it is only at its ceiling.
    pub error: Option<RunError>,
    /// The status of that call, if there was an answer.
    pub http_status: Option<i32>,
    /// When the next call tries; none while one is on its way, or none need try.
    pub probe_at: Option<DateTime<Utc>>,
    /// Calls under way.
    pub in_flight: i32,
    /// How many there may be, unless it answers quickly.
    pub ceiling: i32,
}
