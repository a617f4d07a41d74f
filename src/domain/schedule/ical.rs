//! All-day events of an iCalendar file (RFC 5545) as closed dates of a calendar.
//!
//! Taken: `VEVENT` with a date as `DTSTART`, an exclusive `DTEND` or a `DURATION` in days, `EXDATE`
//! dates, and `RRULE` with `FREQ=YEARLY`, `INTERVAL`, `COUNT` and `UNTIL`. Every event that is not
//! taken is named with the reason; nothing is taken in part.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use chrono::{Datelike, Days, NaiveDate};

use super::calendar::DATE_LIMIT;
use crate::domain::invalid::Invalid;

/// The largest file, in bytes.
pub const SIZE_LIMIT: usize = 1_048_576;
/// The longest event, in days.
const LONGEST_EVENT: u64 = 366;

/// What was found in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Import {
    /// The closed dates.
    pub dates: BTreeSet<NaiveDate>,
    /// How many events gave them.
    pub events: usize,
    /// What was not taken.
    pub left: Vec<Left>,
}

/// Something that was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// The line on which it begins, from 1.
    pub line: usize,
    /// Its summary, or the kind of component.
    pub what: String,
    /// Why not.
    pub why: String,
}

/// Reads a file; yearly events are expanded over `years`, and dates outside are dropped.
pub fn import(text: &str, years: RangeInclusive<i32>, at: &str) -> Result<Import, Invalid> {
    if text.len() > SIZE_LIMIT {
        let detail = format!("at most {SIZE_LIMIT} bytes, got {}", text.len());
        return Err(Invalid::one(at, "too-large", detail));
    }
    let mut import = Import::default();
    let mut open: Vec<String> = Vec::new();
    let mut event: Option<Event> = None;
    for (number, line) in unfold(text) {
        let Some(property) = Property::read(&line) else { continue };
        let value = property.value.to_ascii_uppercase();
        match property.name.as_str() {
            "BEGIN" if value.is_empty() => {
                let detail = format!("line {number}: BEGIN names nothing");
                return Err(Invalid::one(at, "malformed", detail));
            }
            "BEGIN" => {
                if open.len() == 1 && value == "VEVENT" {
                    event = Some(Event { line: number, ..Event::default() });
                } else if open.len() == 1 && value != "VTIMEZONE" {
                    let why = "only VEVENT is taken".to_owned();
                    import.left.push(Left { line: number, what: value.clone(), why });
                }
                open.push(value);
            }
            "END" => {
                if open.pop().as_deref() != Some(value.as_str()) {
                    let detail = format!("line {number}: END:{value} closes what is not open");
                    return Err(Invalid::one(at, "malformed", detail));
                }
                if open.len() == 1
                    && let Some(event) = event.take()
                {
                    import.take(event, &years);
                }
            }
            // What stands deeper, such as an alarm, says nothing about the day.
            _ if open.len() == 2 => {
                if let Some(event) = &mut event {
                    event.note(property);
                }
            }
            _ => {}
        }
        if import.dates.len() > DATE_LIMIT || import.left.len() > DATE_LIMIT {
            let detail = format!("more than {DATE_LIMIT} dates or events; ask for fewer years");
            return Err(Invalid::one(at, "too-many", detail));
        }
    }
    if import.events == 0 && import.left.is_empty() || !open.is_empty() {
        let detail = "must be an iCalendar file: BEGIN:VCALENDAR, events, END:VCALENDAR";
        return Err(Invalid::one(at, "malformed", detail));
    }
    Ok(import)
}

impl Import {
    fn take(&mut self, event: Event, years: &RangeInclusive<i32>) {
        let line = event.line;
        let summary = event.summary.clone().filter(|summary| !summary.is_empty());
        let what = summary.unwrap_or_else(|| "VEVENT".to_owned());
        match event.dates(years) {
            Ok(dates) if dates.is_empty() => {
                let why = format!("no day of it lies in {} to {}", years.start(), years.end());
                self.left.push(Left { line, what, why });
            }
            Ok(dates) => {
                self.events += 1;
                self.dates.extend(dates);
            }
            Err(why) => self.left.push(Left { line, what, why }),
        }
    }
}

/// A content line: `NAME;PARAM=VALUE:VALUE`.
struct Property {
    name: String,
    value: String,
}

impl Property {
    fn read(line: &str) -> Option<Self> {
        let mut quoted = false;
        // The value begins at the first colon outside of a quoted parameter.
        let colon = line.char_indices().find_map(|(at, c)| {
            quoted ^= c == '"';
            (c == ':' && !quoted).then_some(at)
        })?;
        let (head, value) = line.split_at_checked(colon)?;
        let name = head.split(';').next()?.trim().to_ascii_uppercase();
        Some(Self { name, value: value.trim_start_matches(':').trim().to_owned() })
    }
}

#[derive(Default)]
struct Event {
    line: usize,
    summary: Option<String>,
    start: Option<String>,
    end: Option<String>,
    duration: Option<String>,
    rule: Option<String>,
    except: Vec<String>,
    refused: Option<&'static str>,
}

impl Event {
    fn note(&mut self, property: Property) {
        let Property { name, value } = property;
        match name.as_str() {
            "SUMMARY" => self.summary = Some(value.chars().take(100).collect()),
            "DTSTART" => self.start = Some(value),
            "DTEND" => self.end = Some(value),
            "DURATION" => self.duration = Some(value),
            "RRULE" if self.rule.is_some() => self.refused = Some("it has several RRULEs"),
            "RRULE" => self.rule = Some(value),
            "EXDATE" => self.except.extend(value.split(',').map(str::to_owned)),
            "RDATE" => self.refused = Some("RDATE is not taken"),
            "RECURRENCE-ID" => self.refused = Some("it changes one day of a repeated event"),
            "STATUS" if value.eq_ignore_ascii_case("CANCELLED") => {
                self.refused = Some("it is cancelled");
            }
            _ => {}
        }
    }

    fn dates(&self, years: &RangeInclusive<i32>) -> Result<BTreeSet<NaiveDate>, String> {
        if let Some(why) = self.refused {
            return Err(why.to_owned());
        }
        let start = self.start.as_deref().ok_or("it has no DTSTART")?;
        let start = date(start).ok_or("it is not an all-day event: DTSTART has a time")?;
        let length = self.length(start)?;
        let mut except = BTreeSet::new();
        for text in &self.except {
            except.insert(date(text).ok_or("its EXDATE is not a date")?);
        }
        let starts = match &self.rule {
            None => vec![start],
            Some(rule) => Yearly::read(rule, start)?.starts(start, *years.end()),
        };
        let days = |start: NaiveDate| {
            (0..length).filter_map(move |day| start.checked_add_days(Days::new(day)))
        };
        let kept = starts.into_iter().filter(|start| !except.contains(start));
        Ok(kept.flat_map(days).filter(|date| years.contains(&date.year())).collect())
    }

    fn length(&self, start: NaiveDate) -> Result<u64, String> {
        let days = match (&self.end, &self.duration) {
            (Some(end), _) => {
                let end = date(end).ok_or("its DTEND is not a date")?;
                u64::try_from((end - start).num_days()).unwrap_or(0)
            }
            (None, Some(text)) => {
                let days = text.strip_prefix('P').and_then(|text| {
                    let weeks = text.strip_suffix('W').and_then(|n| n.parse::<u64>().ok());
                    let weeks = weeks.and_then(|weeks| weeks.checked_mul(7));
                    weeks.or_else(|| text.strip_suffix('D')?.parse().ok())
                });
                days.ok_or("its DURATION is not a number of days or weeks")?
            }
            (None, None) => 1,
        };
        match days {
            1..=LONGEST_EVENT => Ok(days),
            _ => Err(format!("it must last 1 to {LONGEST_EVENT} days")),
        }
    }
}

/// `RRULE:FREQ=YEARLY`, on the day of `DTSTART`.
struct Yearly {
    interval: i32,
    count: Option<usize>,
    until: Option<NaiveDate>,
}

impl Yearly {
    fn read(text: &str, start: NaiveDate) -> Result<Self, String> {
        let mut yearly = Self { interval: 1, count: None, until: None };
        let mut is_yearly = false;
        for part in text.split(';').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let same = |own: u32| value.parse() == Ok(own);
            let fine = match name.to_ascii_uppercase().as_str() {
                "FREQ" => {
                    is_yearly = value.eq_ignore_ascii_case("YEARLY");
                    is_yearly
                }
                "INTERVAL" => {
                    yearly.interval = value.parse().unwrap_or(0);
                    yearly.interval > 0
                }
                "COUNT" => {
                    yearly.count = value.parse().ok();
                    yearly.count.is_some()
                }
                "UNTIL" => {
                    // Either a date or, against the rule for all-day events, an instant.
                    yearly.until = value.get(..8).and_then(date);
                    yearly.until.is_some()
                }
                "BYMONTH" => same(start.month()),
                "BYMONTHDAY" => same(start.day()),
                "WKST" => true,
                _ => false,
            };
            if !fine {
                return Err(format!("its RRULE has {part}; only plain FREQ=YEARLY is taken"));
            }
        }
        if is_yearly { Ok(yearly) } else { Err("its RRULE has no FREQ=YEARLY".to_owned()) }
    }

    /// 29 February comes in leap years only, as RFC 5545 has it.
    fn starts(&self, start: NaiveDate, last_year: i32) -> Vec<NaiveDate> {
        let step = usize::try_from(self.interval).unwrap_or(usize::MAX);
        let years = (start.year()..=last_year).step_by(step);
        years
            .filter_map(|year| start.with_year(year))
            .take_while(|date| self.until.is_none_or(|until| *date <= until))
            .take(self.count.unwrap_or(usize::MAX))
            .collect()
    }
}

fn date(text: &str) -> Option<NaiveDate> {
    let digits = text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit());
    let date = NaiveDate::parse_from_str(text, "%Y%m%d").ok().filter(|_| digits)?;
    Some(date).filter(|date| (1600..=2400).contains(&date.year()))
}

/// Logical lines with the number of the physical line on which each begins; a line that opens with
/// a space or tab continues the one before (RFC 5545 section 3.1).
fn unfold(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    for (at, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        match (line.strip_prefix([' ', '\t']), lines.last_mut()) {
            (Some(rest), Some((_, last))) => last.push_str(rest),
            _ => lines.push((at + 1, line.to_owned())),
        }
    }
    lines
}
