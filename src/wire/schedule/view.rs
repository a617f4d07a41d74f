//! A schedule and its fire times as read back.

use std::collections::BTreeMap;

use chrono::{DateTime, FixedOffset, Utc};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::request::SpecRequest;
use super::words::{CATCH_UPS, GAPS, OVERLAPS, PASSES, SHIFTS, word};
use crate::domain::job::Completion;
use crate::domain::redact::Veil;
use crate::domain::schedule::doc::{CalendarDoc, ScheduleDoc};
use crate::domain::schedule::record::{Schedule, ScheduleState};
use crate::domain::schedule::timetable::Timetable;
use crate::domain::schedule::zone::TZDATA_VERSION;
use crate::wire::job::{RetryView, TargetView};
use crate::wire::{instant, payload};

/// Which fires are made up for after an outage.
#[derive(Debug, Serialize, ToSchema)]
pub struct CatchUpView {
    /// `none`, `last` or `all`.
    pub policy: &'static str,
    /// How far back.
    pub window_ms: u64,
    /// With `all`: how many at most.
    pub max: u32,
}

/// What each job of a schedule is.
#[derive(Debug, Serialize, ToSchema)]
pub struct ScheduleJobView {
    /// Its name; the schedule's if null.
    pub name: Option<String>,
    /// Where it waits.
    pub queue: String,
    /// What it calls.
    pub target: TargetView,
    /// The payload, byte for byte, if it came as JSON; `secret:` and a short hash stand in place of
    /// values that the team's settings redact. Not in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub payload: Option<Box<RawValue>>,
    /// The payload in base 64, if it came so. Not in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload_base64: Option<String>,
    /// What there is and is not shown to you, by the team's settings: `payload`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub withheld: Vec<&'static str>,
    /// The payload's media type.
    pub content_type: String,
    /// 0 (lowest) to 9.
    pub priority: i16,
    /// How long one run may take.
    pub timeout_ms: u64,
    /// `response` or `callback`.
    pub completion: &'static str,
    /// How long an accepted run may stay silent.
    pub heartbeat_timeout_ms: Option<u64>,
    /// If it has not started so long after its due time it fails.
    pub start_within_ms: Option<u64>,
    /// When it is tried again.
    pub retry: RetryView,
    /// Whom to call when it fails.
    pub owner_service: Option<String>,
    /// Tags.
    pub tags: BTreeMap<String, String>,
}

/// A schedule: its definition, and where it stands.
#[derive(Debug, Serialize, ToSchema)]
pub struct ScheduleView {
    /// `sch_` and 26 characters; opaque.
    #[schema(example = "sch_01KB9YQ6Z4F0R8M3T1C5W7X2V0")]
    pub id: String,
    /// Whose it is.
    pub team: String,
    /// Unique within the team.
    pub name: String,
    /// When it fires.
    pub spec: SpecRequest,
    /// The zone of its local times.
    pub time_zone: String,
    /// What each of its jobs is.
    pub job: ScheduleJobView,
    /// What happens to a fire while an earlier job is unfinished.
    pub overlap: &'static str,
    /// After an outage.
    pub catch_up: CatchUpView,
    /// A time that clocks skip: `fire` at the gap's end, or `skip`.
    pub on_gap: &'static str,
    /// A time that comes twice: `first`, `second` or `both`.
    pub on_overlap_hour: &'static str,
    /// Over how long its jobs are spread.
    pub jitter_ms: u64,
    /// Calendars on whose closed days it does not fire.
    pub exclude: Vec<String>,
    /// Where a fire on a closed day goes.
    pub shift: &'static str,
    /// No fire before.
    #[schema(format = DateTime)]
    pub start_at: Option<String>,
    /// No fire from then on.
    #[schema(format = DateTime)]
    pub end_at: Option<String>,
    /// It ends after so many jobs made by the timer.
    pub max_fires: Option<u32>,
    /// Whether it is paused.
    pub paused: bool,
    /// Whether a job that is given up pauses it.
    pub pause_on_failure: bool,
    /// `ACTIVE`, `PAUSED`, `ENDED` (no fire is left) or `ERROR` (it cannot be worked out).
    #[schema(example = "ACTIVE")]
    pub state: &'static str,
    /// Why it is paused, or what is wrong.
    pub reason: Option<String>,
    /// The times in plain English; null if they cannot be worked out.
    #[schema(example = "at 02:30 on Monday to Friday, Europe/Berlin")]
    pub description: Option<String>,
    /// The release of the zone table that they are computed with.
    #[schema(example = "2025b")]
    pub tzdata: &'static str,
    /// The next fire.
    #[schema(format = DateTime)]
    pub next_fire_at: Option<String>,
    /// The same as its zone shows it, with the offset from UTC.
    #[schema(example = "2026-12-01T02:30:00+01:00")]
    pub next_fire_local: Option<String>,
    /// The newest fire time for which the timer has made a job.
    #[schema(format = DateTime)]
    pub last_fire_at: Option<String>,
    /// Jobs that the timer has made.
    pub fires: i32,
    /// Every fire time up to here is told in `…/fires`, or lay before the schedule's birth or
    /// change.
    #[schema(format = DateTime)]
    pub accounted_until: String,
    /// Grows with every change.
    pub version: i32,
    /// When it was made.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// When it last changed.
    #[schema(format = DateTime)]
    pub updated_at: String,
}

/// The fields of a [`ScheduleView`] that are no part of the definition.
pub(super) const STANDING: [&str; 14] = [
    "id",
    "team",
    "state",
    "reason",
    "description",
    "tzdata",
    "next_fire_at",
    "next_fire_local",
    "last_fire_at",
    "fires",
    "accounted_until",
    "version",
    "created_at",
    "updated_at",
];

impl ScheduleView {
    /// The schedule as seen through `veil`.
    pub fn new(schedule: &Schedule, veil: &Veil) -> Self {
        let doc = &schedule.doc;
        let times = timetable(doc);
        let local = |at: DateTime<Utc>| {
            times.as_ref().map(|times| offset_time(at.with_timezone(&times.zone()).fixed_offset()))
        };
        Self {
            id: schedule.id.to_string(),
            team: schedule.team.as_str().to_owned(),
            name: schedule.name.clone(),
            spec: SpecRequest::from(&doc.rule),
            time_zone: doc.time_zone.clone(),
            job: job_view(schedule, veil),
            overlap: word(&OVERLAPS, &doc.overlap),
            catch_up: CatchUpView {
                policy: word(&CATCH_UPS, &doc.catch_up),
                window_ms: doc.catch_up_window_ms,
                max: doc.catch_up_max,
            },
            on_gap: word(&GAPS, &doc.skip_gap),
            on_overlap_hour: word(&PASSES, &doc.passes),
            jitter_ms: doc.jitter_ms,
            exclude: doc.exclude.clone(),
            shift: word(&SHIFTS, &doc.shift),
            start_at: doc.start_at.map(instant),
            end_at: doc.end_at.map(instant),
            max_fires: doc.max_fires,
            paused: schedule.state == ScheduleState::Paused,
            pause_on_failure: doc.pause_on_failure,
            state: schedule.state.as_str(),
            reason: schedule.reason.clone(),
            description: times.as_ref().map(Timetable::describe),
            tzdata: TZDATA_VERSION,
            next_fire_at: schedule.next_fire_at.map(instant),
            next_fire_local: schedule.next_fire_at.and_then(local),
            last_fire_at: schedule.last_fire_at.map(instant),
            fires: schedule.fires,
            accounted_until: instant(schedule.accounted_until),
            version: schedule.version,
            created_at: instant(schedule.created_at),
            updated_at: instant(schedule.updated_at),
        }
    }

    /// The same without the payload, for lists.
    #[must_use]
    pub fn brief(mut self) -> Self {
        (self.job.payload, self.job.payload_base64) = (None, None);
        self.job.withheld.clear();
        self
    }
}

/// The times, if they can be worked out. Their description names calendars and needs no dates.
fn timetable(doc: &ScheduleDoc) -> Option<Timetable> {
    let named = |name: &String| CalendarDoc { name: name.clone(), ..CalendarDoc::default() };
    let calendars: Vec<_> = doc.exclude.iter().map(named).collect();
    doc.timetable(&calendars).ok()
}

fn job_view(schedule: &Schedule, veil: &Veil) -> ScheduleJobView {
    let (job, spec) = (&schedule.doc.job, &schedule.doc.job.spec);
    let mut withheld = Vec::new();
    // Bytes that are no JSON are shown even if there are none: it is what says that they are none.
    let shown = Some(&schedule.payload).filter(|payload| !(spec.json && payload.is_empty()));
    let (json, base64) =
        shown.map(|bytes| payload((spec.json, bytes), veil, &mut withheld)).unwrap_or_default();
    ScheduleJobView {
        name: job.name.clone(),
        queue: job.queue.clone(),
        target: TargetView::from(&spec.target),
        payload: json,
        payload_base64: base64,
        withheld,
        content_type: spec.content_type.clone(),
        priority: job.priority,
        timeout_ms: spec.timeout_ms,
        completion: match spec.completion {
            Completion::Response => "response",
            Completion::Callback => "callback",
        },
        heartbeat_timeout_ms: spec.heartbeat_timeout_ms,
        start_within_ms: job.start_within_ms,
        retry: RetryView::from(&spec.retry),
        owner_service: job.owner_service.clone(),
        tags: job.tags.clone(),
    }
}

/// A local time with its offset, to the second: RFC 3339.
pub(super) fn offset_time(at: DateTime<FixedOffset>) -> String {
    at.to_rfc3339_opts(chrono::SecondsFormat::AutoSi, false)
}
