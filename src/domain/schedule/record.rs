//! A schedule as read back.

use bytes::Bytes;
use chrono::{DateTime, Utc};

use super::doc::{CalendarDoc, ScheduleDoc};
use crate::domain::id::{JobId, ScheduleId};
use crate::domain::principal::Team;

/// Where a schedule stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduleState {
    /// It fires.
    Active,
    /// Somebody, or a failed job, has paused it.
    Paused,
    /// It has no fire left.
    Ended,
    /// It cannot be worked out any more; its reason says why. Others go on.
    Error,
}

impl ScheduleState {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::Active, Self::Paused, Self::Ended, Self::Error];

    /// The word used in SQL and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "ACTIVE",
            Self::Paused => "PAUSED",
            Self::Ended => "ENDED",
            Self::Error => "ERROR",
        }
    }

    /// The state of that word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }
}

/// A schedule: what it says, and where it stands.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Its identity; carries its shard.
    pub id: ScheduleId,
    /// Whose it is.
    pub team: Team,
    /// Unique within the team.
    pub name: String,
    /// What it says.
    pub doc: ScheduleDoc,
    /// What its jobs send.
    pub payload: Bytes,
    /// Where it stands.
    pub state: ScheduleState,
    /// Why it is paused, or what is wrong.
    pub reason: Option<String>,
    /// Every slot up to here, this instant included, has its row, or lay before the schedule's
    /// birth or change.
    pub accounted_until: DateTime<Utc>,
    /// The next slot, one that is skipped included; none unless it is active.
    pub next_slot_at: Option<DateTime<Utc>>,
    /// The next slot that is to make a job; none unless it is active.
    pub next_fire_at: Option<DateTime<Utc>>,
    /// Jobs that the timer has made.
    pub fires: i32,
    /// The newest slot for which the timer has made a job.
    pub last_fire_at: Option<DateTime<Utc>>,
    /// Grows with every change.
    pub version: i32,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
}

/// The origin of a fire that the time made.
pub const TIMER: &str = "timer";
/// The origin of a fire that somebody asked for.
pub const TRIGGER: &str = "trigger";
/// The origin of a fire that somebody made up for.
pub const BACKFILL: &str = "backfill";
/// The outcome of a fire that made a job.
pub const FIRED: &str = "fired";
/// The outcome of a fire that met an unfinished job.
pub const SKIPPED_OVERLAP: &str = "skipped_overlap";
/// The outcome of fires that lay in a pause.
pub const SKIPPED_PAUSED: &str = "skipped_paused";

impl Schedule {
    /// Whether it has made as many jobs as it may.
    pub fn is_spent(&self) -> bool {
        let made = u32::try_from(self.fires).unwrap_or(0);
        self.doc.max_fires.is_some_and(|max| made >= max)
    }

    /// Changes whenever an owner changes it, or its state does.
    pub fn etag(&self) -> String {
        format!("\"{}-{}\"", self.version, self.state.as_str())
    }
}

/// What became of a fire time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fire {
    /// Nominal; of a manual trigger, the instant it was asked.
    pub at: DateTime<Utc>,
    /// `fired`, `skipped_overlap`, `skipped_gap`, `skipped_calendar`, `skipped_paused`, `missed`,
    /// `coalesced`.
    pub outcome: String,
    /// `timer`, `trigger` or `backfill`.
    pub origin: String,
    /// The last of several told in one row.
    pub until: Option<DateTime<Utc>>,
    /// How many they are.
    pub count: i32,
    /// Whether there may be more than `count`.
    pub at_least: bool,
    /// The job that was made.
    pub job: Option<JobId>,
    /// When this was written.
    pub recorded_at: DateTime<Utc>,
}

/// A calendar as read back.
#[derive(Clone, Debug)]
pub struct CalendarRecord {
    /// What it says.
    pub doc: CalendarDoc,
    /// Grows with every change.
    pub version: i32,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
}
