//! What a schedule would do: the question and the answer of the preview.

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::read::{blank, check, read_times};
use super::request::SpecRequest;
use super::view::offset_time;
use crate::domain::check::check_instant;
use crate::domain::invalid::Invalid;
use crate::domain::schedule::changes::ClockChange;
use crate::domain::schedule::doc::ScheduleDoc;
use crate::domain::schedule::preview::{COUNT_LIMIT, Preview, Warning};
use crate::domain::schedule::slot::{Note, Slot};
use crate::wire::fields::Fields;
use crate::wire::instant;

/// The default of `count`.
const COUNT: usize = 10;

/// What is to be previewed: the fields of a schedule that decide its times.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PreviewRequest {
    /// When it fires.
    pub spec: SpecRequest,
    /// An IANA name; if absent the team's `default_time_zone`, and without one the server's
    /// `AXLE_DEFAULT_TIME_ZONE`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "Europe/Berlin")]
    pub time_zone: Option<String>,
    /// Fires after this instant; now if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub from: Option<String>,
    /// How many fires.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(default = 10, minimum = 1, maximum = 100)]
    pub count: Option<u32>,
    /// A time that clocks skip: `fire` at the gap's end, or `skip` it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(default = "fire", pattern = "^(fire|skip)$")]
    pub on_gap: Option<String>,
    /// A time that comes twice: fires at the `first`, the `second` or `both`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(default = "first", pattern = "^(first|second|both)$")]
    pub on_overlap_hour: Option<String>,
    /// Calendars on whose closed days it does not fire.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exclude: Option<Vec<String>>,
    /// Where a fire on a closed day goes: `skip`, `next_business_day` or `previous_business_day`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(default = "skip", pattern = "^(skip|next_business_day|previous_business_day)$")]
    pub shift: Option<String>,
    /// No fire before.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub start_at: Option<String>,
    /// No fire from then on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub end_at: Option<String>,
}

/// A question for a preview.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The times; the rest of the document means nothing.
    pub doc: ScheduleDoc,
    /// After which instant.
    pub from: Option<DateTime<Utc>>,
    /// How many fires.
    pub count: usize,
}

/// Reads what is to be previewed; `time_zone` is the zone if none is named.
pub fn read_preview(raw: &RawValue, time_zone: &str) -> Result<Asked, Invalid> {
    let mut fields = Fields::read(raw, "#")?;
    let mut doc = blank(time_zone);
    let has_rule = read_times(&mut fields, &mut doc);
    let from = fields.instant("from");
    let count = fields.get("count", "a whole number from 1 to 100").unwrap_or(COUNT);
    let mut more = check(&doc, has_rule);
    if let Some(from) = from {
        check_instant(&mut more, "#/from", from);
    }
    if !(1..=COUNT_LIMIT).contains(&count) {
        more.add("#/count", "out-of-range", format!("must be 1 to {COUNT_LIMIT}, got {count}"));
    }
    fields.finish_with(more).into_result(Asked { doc, from, count })
}

/// Something in a word for machines and a sentence for people.
#[derive(Debug, Serialize, ToSchema)]
pub struct RemarkView {
    /// The word.
    #[schema(example = "moved_from_gap")]
    pub code: String,
    /// The sentence.
    pub text: String,
}

/// A fire time to come.
#[derive(Debug, Serialize, ToSchema)]
pub struct SlotView {
    /// The nominal fire time.
    #[schema(format = DateTime)]
    pub at: String,
    /// The same as the schedule's zone shows it, with the offset from UTC.
    #[schema(example = "2026-03-29T03:00:00+02:00")]
    pub local: String,
    /// `expected`, or why it will not fire: `skipped_gap`, `skipped_calendar`, `skipped_paused`.
    #[schema(example = "expected")]
    pub outcome: String,
    /// What is special about it: `moved_from_gap`, `skipped_gap`, `repeated_hour`, `offset_change`,
    /// `holiday`, `shifted`.
    pub notes: Vec<RemarkView>,
}

impl SlotView {
    /// A slot, and what is expected to become of it.
    pub fn new(slot: &Slot, outcome: &str) -> Self {
        let remark =
            |note: &Note| RemarkView { code: note.code().to_owned(), text: note.text(slot.local) };
        Self {
            at: instant(slot.at),
            local: offset_time(slot.local),
            outcome: outcome.to_owned(),
            notes: slot.notes.iter().map(remark).collect(),
        }
    }
}

/// A clock change of a schedule's zone.
#[derive(Debug, Serialize, ToSchema)]
pub struct ClockChangeView {
    /// The first instant with the new offset.
    #[schema(format = DateTime)]
    pub at: String,
    /// The offset from UTC before, in seconds, east positive.
    pub from_offset_s: i32,
    /// The offset from then on.
    pub to_offset_s: i32,
    /// The change, and what it does to the schedule.
    pub text: String,
}

/// What a schedule would do.
#[derive(Debug, Serialize, ToSchema)]
pub struct PreviewView {
    /// The times in plain English.
    #[schema(example = "at 02:30 on Monday to Friday, Europe/Berlin")]
    pub description: String,
    /// The release of the zone table that this was computed with.
    #[schema(example = "2025b")]
    pub tzdata: &'static str,
    /// The next fires, and what is skipped between them, oldest first.
    pub fires: Vec<SlotView>,
    /// The next clock change within 400 days.
    pub next_clock_change: Option<ClockChangeView>,
    /// What the author may not have meant.
    pub warnings: Vec<RemarkView>,
}

impl From<&Preview> for PreviewView {
    fn from(preview: &Preview) -> Self {
        let slot = |slot: &Slot| SlotView::new(slot, slot.fate.skipped().unwrap_or("expected"));
        let change = |change: &ClockChange| ClockChangeView {
            at: instant(change.at),
            from_offset_s: change.from,
            to_offset_s: change.to,
            text: change.text.clone(),
        };
        let warning = |warning: &Warning| RemarkView {
            code: warning.code.to_owned(),
            text: warning.text.clone(),
        };
        Self {
            description: preview.description.clone(),
            tzdata: preview.tzdata,
            fires: preview.slots.iter().map(slot).collect(),
            next_clock_change: preview.clock_change.as_ref().map(change),
            warnings: preview.warnings.iter().map(warning).collect(),
        }
    }
}
