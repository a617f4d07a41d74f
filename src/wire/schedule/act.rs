//! What people do with a schedule by hand: resume, trigger, backfill; and what became of its fire
//! times.

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::preview::SlotView;
use super::words::OVERLAPS;
use crate::domain::check::check_instant;
use crate::domain::invalid::Invalid;
use crate::domain::schedule::doc::Overlap;
use crate::domain::schedule::record::Fire;
use crate::wire::fields::Fields;
use crate::wire::instant;

/// How a paused schedule goes on.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct ResumeRequest {
    /// Whether the fires of the pause are made up for, as `catch_up` says; otherwise it goes on with
    /// the next one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(default = false)]
    pub catch_up: Option<bool>,
}

/// Reads whether the fires of the pause are made up for.
pub fn read_resume(raw: &RawValue) -> Result<bool, Invalid> {
    let mut fields = Fields::read(raw, "#")?;
    let catch_up = fields.get("catch_up", "true or false").unwrap_or(false);
    fields.finish().into_result(catch_up)
}

/// How a schedule is triggered.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct TriggerRequest {
    /// `allow`: beside whatever is unfinished. The schedule's own policy if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^(skip|queue_one|queue_all|cancel_running|allow)$", example = "allow")]
    pub overlap: Option<String>,
}

/// Reads the overlap policy of one trigger; none for the schedule's own.
pub fn read_trigger(raw: &RawValue) -> Result<Option<Overlap>, Invalid> {
    let mut fields = Fields::read(raw, "#")?;
    let overlap = fields.word("overlap", &OVERLAPS);
    fields.finish().into_result(overlap)
}

/// What a trigger did.
#[derive(Debug, Serialize, ToSchema)]
pub struct TriggerView {
    /// The instant at which it was asked: the job's fire time.
    #[schema(format = DateTime)]
    pub fire_at: String,
    /// `fired`, or `skipped_overlap` if an earlier job is unfinished and the policy has it so.
    #[schema(example = "fired")]
    pub outcome: String,
    /// The job that was made.
    pub job_id: Option<String>,
    /// Whether the job waits for an earlier one.
    pub waiting: bool,
}

impl TriggerView {
    /// A triggered fire, and whether its job waits.
    pub fn new(fire: &Fire, waiting: bool) -> Self {
        Self {
            fire_at: instant(fire.at),
            outcome: fire.outcome.clone(),
            job_id: fire.job.map(|id| id.to_string()),
            waiting,
        }
    }
}

/// For which past fire times jobs are to be made.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct BackfillRequest {
    /// The first instant of the range.
    #[schema(format = DateTime, example = "2026-11-01T00:00:00Z")]
    pub from: String,
    /// The end of the range, itself outside; not in the future.
    #[schema(format = DateTime, example = "2026-11-08T00:00:00Z")]
    pub to: String,
    /// Only say what would be made.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(default = false)]
    pub dry_run: Option<bool>,
    /// So many of the jobs become due in a second; all at once if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1000)]
    pub max_per_second: Option<u32>,
}

/// A backfill as read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backfill {
    /// The first instant of the range.
    pub from: DateTime<Utc>,
    /// The end of the range, itself outside.
    pub to: DateTime<Utc>,
    /// Whether only to say what would be made.
    pub dry_run: bool,
    /// How many jobs become due in a second.
    pub max_per_second: Option<u32>,
}

/// Reads a backfill.
pub fn read_backfill(raw: &RawValue) -> Result<Backfill, Invalid> {
    let mut fields = Fields::read(raw, "#")?;
    let bounds = ["from", "to"].map(|field| {
        let bound = fields.instant(field);
        match bound {
            Some(at) => {
                let mut faults = Invalid::default();
                check_instant(&mut faults, &fields.at(field), at);
                fields.add(faults);
            }
            None => fields.missing(field, "say which range of fire times is meant"),
        }
        bound.unwrap_or_default()
    });
    let [from, to] = bounds;
    let dry_run = fields.get("dry_run", "true or false").unwrap_or(false);
    let max_per_second = fields.get("max_per_second", "a whole number from 1 to 1000");
    if max_per_second.is_some_and(|most| !(1..=1_000).contains(&most)) {
        fields.fault("max_per_second", "out-of-range", "must be 1 to 1000");
    }
    let mut faults = fields.finish();
    if faults.0.is_empty() && from >= to {
        faults.add("#/to", "out-of-range", "must lie after from");
    }
    faults.into_result(Backfill { from, to, dry_run, max_per_second })
}

/// A fire time that was, or would be, made up for.
#[derive(Debug, Serialize, ToSchema)]
pub struct BackfilledView {
    /// The nominal fire time.
    #[schema(format = DateTime)]
    pub fire_at: String,
    /// Its job; null in a dry run.
    pub job_id: Option<String>,
}

/// What a backfill did, or would do.
#[derive(Debug, Serialize, ToSchema)]
pub struct BackfillView {
    /// Whether nothing was done.
    pub dry_run: bool,
    /// How many fire times there are.
    pub count: usize,
    /// Those that had no job, oldest first.
    pub fires: Vec<BackfilledView>,
}

impl BackfillView {
    /// The fires of a backfill.
    pub fn new(dry_run: bool, fires: &[Fire]) -> Self {
        let view = |fire: &Fire| BackfilledView {
            fire_at: instant(fire.at),
            job_id: fire.job.map(|id| id.to_string()),
        };
        Self { dry_run, count: fires.len(), fires: fires.iter().map(view).collect() }
    }
}

/// What became of a fire time.
#[derive(Debug, Serialize, ToSchema)]
pub struct FireView {
    /// The nominal fire time; of a trigger, the instant at which it was asked.
    #[schema(format = DateTime)]
    pub fire_at: String,
    /// `fired`, `skipped_overlap`, `skipped_gap`, `skipped_calendar`, `skipped_paused`, `missed`
    /// (older than the catch-up window) or `coalesced` (a later one stands for it).
    #[schema(example = "fired")]
    pub outcome: String,
    /// `timer`, `trigger` or `backfill`.
    #[schema(example = "timer")]
    pub origin: String,
    /// The last of several fire times that are told together.
    #[schema(format = DateTime)]
    pub until: Option<String>,
    /// How many they are.
    pub count: i32,
    /// Whether there may be more than `count`.
    pub at_least: bool,
    /// The job that was made.
    pub job_id: Option<String>,
    /// When this was written.
    #[schema(format = DateTime)]
    pub recorded_at: String,
}

impl From<&Fire> for FireView {
    fn from(fire: &Fire) -> Self {
        Self {
            fire_at: instant(fire.at),
            outcome: fire.outcome.clone(),
            origin: fire.origin.clone(),
            until: fire.until.map(instant),
            count: fire.count,
            at_least: fire.at_least,
            job_id: fire.job.map(|id| id.to_string()),
            recorded_at: instant(fire.recorded_at),
        }
    }
}

/// What became of a schedule's fire times, and what is to become of the next.
#[derive(Debug, Serialize, ToSchema)]
pub struct FiresView {
    /// Fire times that were met, newest first.
    pub data: Vec<FireView>,
    /// Fire times to come, by the rule as it is, oldest first; on the first page only.
    pub expected: Vec<SlotView>,
    /// What to pass as `cursor` for the next page; null on the last one.
    pub next_cursor: Option<String>,
    /// Every fire time up to here is in `data`, or lay before the schedule's birth or change.
    #[schema(format = DateTime)]
    pub accounted_until: String,
    /// When the schedule was made; nothing fires before.
    #[schema(format = DateTime)]
    pub created_at: String,
}
