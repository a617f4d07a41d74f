//! A calendar of closed days on the wire, with the import of iCalendar files.
//!
//! A file's events that cannot be taken are no faults: they are listed in the answer as `not_taken`,
//! so that one odd event does not keep the other holidays out. A file of which nothing can be taken
//! is a fault.

use chrono::{NaiveDate, Weekday};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::fields::Fields;
use super::instant;
use crate::domain::invalid::Invalid;
use crate::domain::schedule::calendar::DATE_LIMIT;
use crate::domain::schedule::doc::CalendarDoc;
use crate::domain::schedule::ical::{Left, import};
use crate::domain::schedule::record::CalendarRecord;

/// The years over which yearly events are expanded.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct YearsRequest {
    /// The first; last year if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1970, maximum = 2199)]
    pub from: Option<i32>,
    /// The last; ten years from now if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1970, maximum = 2199)]
    pub to: Option<i32>,
}

/// Which days a calendar closes. `dates` and those of `ics` are taken together.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CalendarRequest {
    /// Single dates, at most 5,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dates: Option<Vec<String>>,
    /// Days of every week: `mon`, `tue`, `wed`, `thu`, `fri`, `sat`, `sun`; at most six.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weekend: Option<Vec<String>>,
    /// An iCalendar file (RFC 5545) of at most 1 MiB, whose all-day events, yearly ones included,
    /// are closed dates.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(
        example = "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART;VALUE=DATE:20261225\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    )]
    pub ics: Option<String>,
    /// For `ics`: dates outside of these years are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub years: Option<YearsRequest>,
}

const WEEKDAYS: [(&str, Weekday); 7] = [
    ("mon", Weekday::Mon),
    ("tue", Weekday::Tue),
    ("wed", Weekday::Wed),
    ("thu", Weekday::Thu),
    ("fri", Weekday::Fri),
    ("sat", Weekday::Sat),
    ("sun", Weekday::Sun),
];

/// Reads a calendar of that name, and what of its file was not taken. `year` is the present one.
pub fn read_calendar(
    raw: &RawValue,
    name: &str,
    year: i32,
) -> Result<(CalendarDoc, Vec<Left>), Invalid> {
    let mut fields = Fields::read(raw, "#")?;
    let expected = "a date such as \"2026-12-25\"";
    let mut dates: Vec<NaiveDate> = fields.list("dates", expected, DATE_LIMIT).unwrap_or_default();
    let weekend = read_weekend(&mut fields);
    let (more, left) = read_ics(&mut fields, year);
    dates.extend(more);
    dates.sort_unstable();
    dates.dedup();
    let doc = CalendarDoc { name: name.to_owned(), dates, weekend };
    fields.finish_with(doc.calendar().check("#")).into_result((doc, left))
}

/// The weekdays named, each once, in the week's order.
fn read_weekend(fields: &mut Fields<'_>) -> Vec<String> {
    let given: Vec<String> =
        fields.list("weekend", "a weekday such as \"sat\"", 7).unwrap_or_default();
    for (n, day) in given.iter().enumerate() {
        if WEEKDAYS.iter().all(|(word, _)| word != day) {
            let detail = format!("must be of mon, tue, wed, thu, fri, sat, sun, got {day:?}");
            fields.add(Invalid::one(format!("#/weekend/{n}"), "out-of-range", detail));
        }
    }
    let named = |(word, _): &(&str, Weekday)| given.iter().any(|day| day == word);
    WEEKDAYS.iter().filter(|day| named(day)).map(|(word, _)| (*word).to_owned()).collect()
}

fn read_ics(fields: &mut Fields<'_>, year: i32) -> (Vec<NaiveDate>, Vec<Left>) {
    let ics = fields.text("ics");
    let (mut from, mut to) = (year.saturating_sub(1), year.saturating_add(10));
    if ics.is_none() {
        fields.refuse("years", "excluded", "goes with ics");
    } else if let Some(mut years) = fields.object("years") {
        from = years.get("from", "a year").unwrap_or(from);
        to = years.get("to", "a year").unwrap_or(to.max(from));
        for (field, year) in [("from", from), ("to", to)] {
            if !(1970..2200).contains(&year) {
                years.fault(field, "out-of-range", format!("must be 1970 to 2199, got {year}"));
            }
        }
        if from > to {
            years.fault("to", "out-of-range", format!("must not lie before {from}"));
        }
        let faults = years.finish();
        let is_wrong = !faults.0.is_empty();
        fields.add(faults);
        if is_wrong {
            return (Vec::new(), Vec::new());
        }
    }
    let Some(ics) = ics else { return (Vec::new(), Vec::new()) };
    match import(&ics, from..=to, "#/ics") {
        Ok(found) => {
            if found.events == 0 {
                let first = found.left.first();
                let why = first.map(|left| format!("line {}: {}", left.line, left.why));
                let detail = format!("no event can be taken; {}", why.unwrap_or_default());
                fields.fault("ics", "malformed", detail);
            }
            (found.dates.into_iter().collect(), found.left)
        }
        Err(invalid) => {
            fields.add(invalid);
            (Vec::new(), Vec::new())
        }
    }
}

/// An event of a file that was not taken.
#[derive(Debug, Serialize, ToSchema)]
pub struct NotTakenView {
    /// The line of the file on which it begins, from 1.
    pub line: usize,
    /// Its summary, or its kind.
    pub what: String,
    /// Why not.
    pub why: String,
}

/// A calendar of closed days.
#[derive(Debug, Serialize, ToSchema)]
pub struct CalendarView {
    /// Unique within the team.
    #[schema(example = "de-holidays")]
    pub name: String,
    /// Closed dates, ascending.
    pub dates: Vec<String>,
    /// Closed weekdays.
    pub weekend: Vec<String>,
    /// Grows with every change.
    pub version: i32,
    /// When it last changed.
    #[schema(format = DateTime)]
    pub updated_at: String,
    /// In the answer to an import: events that were not taken.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_taken: Vec<NotTakenView>,
}

impl CalendarView {
    /// A calendar, with what of its file was not taken.
    pub fn new(record: &CalendarRecord, left: Vec<Left>) -> Self {
        let view = |left: Left| NotTakenView { line: left.line, what: left.what, why: left.why };
        Self {
            name: record.doc.name.clone(),
            dates: record.doc.dates.iter().map(NaiveDate::to_string).collect(),
            weekend: record.doc.weekend.clone(),
            version: record.version,
            updated_at: instant(record.updated_at),
            not_taken: left.into_iter().map(view).collect(),
        }
    }
}

/// A calendar in a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct CalendarBrief {
    /// Its name.
    pub name: String,
    /// How many dates it closes.
    pub date_count: usize,
    /// Closed weekdays.
    pub weekend: Vec<String>,
    /// The last date that it closes: from then on it says nothing.
    #[schema(example = "2036-12-26")]
    pub last_date: Option<String>,
    /// Grows with every change.
    pub version: i32,
    /// When it last changed.
    #[schema(format = DateTime)]
    pub updated_at: String,
}

impl From<&CalendarRecord> for CalendarBrief {
    fn from(record: &CalendarRecord) -> Self {
        Self {
            name: record.doc.name.clone(),
            date_count: record.doc.dates.len(),
            weekend: record.doc.weekend.clone(),
            last_date: record.doc.dates.iter().max().map(NaiveDate::to_string),
            version: record.version,
            updated_at: instant(record.updated_at),
        }
    }
}

/// A team's calendars, by name; at most 1,000.
#[derive(Debug, Serialize, ToSchema)]
pub struct CalendarList {
    /// The calendars.
    pub data: Vec<CalendarBrief>,
}
