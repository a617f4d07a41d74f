//! A cron line: five fields by the grammar of Debian's `crontab(5)`, or six with seconds in front
//! when asked for.
//!
//! If neither day field begins with `*`, a day that matches either is taken; otherwise a day must
//! match both (so `*/2` is a star). A line whose minute or hour begins with `*` follows the wall
//! clock; any other has fixed times, which a clock change must neither lose nor double.

use chrono::{NaiveDate, NaiveDateTime};

use super::civil::{Branch, Clock};
use super::field::{self, Field, Kind, Set};
use crate::domain::invalid::Invalid;

/// The longest line, in bytes.
pub const LINE_LIMIT: usize = 256;

const NICKNAMES: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

/// A cron line that fires at least once in a calendar without holidays.
#[derive(Clone, Debug, PartialEq)]
pub struct Cron {
    text: String,
    seconds: bool,
    pub(super) fields: Box<Fields>,
    branches: Vec<Branch>,
}

/// The fields, read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fields {
    pub(super) second: Field,
    pub(super) minute: Field,
    pub(super) hour: Field,
    pub(super) day: Field,
    pub(super) month: Field,
    pub(super) weekday: Field,
}

impl Cron {
    /// Reads a line. With `seconds` it must have six fields, the first being the second. Faults
    /// point to `at`, one for each field that is wrong.
    pub fn parse(text: &str, seconds: bool, at: &str) -> Result<Self, Invalid> {
        let words =
            split(text, seconds).map_err(|(code, detail)| Invalid::one(at, code, detail))?;
        let fields = Fields::read(&words, at)?;
        let impossible = fields.impossible_day();
        if let Some(detail) = impossible {
            return Err(Invalid::one(at, "never-fires", detail));
        }
        let branches = fields.branches().map_err(|error| Invalid::one(at, "malformed", error))?;
        let text = text.trim_matches([' ', '\t']).to_owned();
        Ok(Self { text, seconds, fields: Box::new(fields), branches })
    }

    /// The line as it was given, without outer spaces.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it has a field for seconds.
    pub fn has_seconds(&self) -> bool {
        self.seconds
    }

    /// Whether it names fixed times: neither the minute nor the hour begins with `*`.
    pub fn is_fixed(&self) -> bool {
        !self.fields.minute.star && !self.fields.hour.star
    }

    /// The first civil time not before `from` and not after `until`.
    pub(super) fn at_or_after(
        &self,
        from: NaiveDateTime,
        until: NaiveDateTime,
    ) -> Option<NaiveDateTime> {
        self.branches.iter().filter_map(|branch| branch.at_or_after(from, until)).min()
    }

    /// Whether it fires on that date.
    pub(super) fn allows(&self, date: NaiveDate) -> bool {
        self.branches.iter().any(|branch| branch.allows(date))
    }

    /// Its times of a day.
    pub(super) fn clock(&self) -> Clock {
        self.fields.clock()
    }
}

impl Fields {
    fn read(words: &[&str], at: &str) -> Result<Self, Invalid> {
        let mut faults = Invalid::default();
        let mut words = words.iter().rev();
        let mut next = |kind: &Kind, absent: &str| {
            let text = words.next().copied().unwrap_or(absent);
            field::read(text, kind).unwrap_or_else(|detail| {
                faults.add(at, "malformed", detail);
                Field { set: Set::default(), extras: Vec::new(), star: false }
            })
        };
        // From the end, because seconds may be absent; they are then 0.
        let weekday = next(&field::WEEKDAY, "*");
        let month = next(&field::MONTH, "*");
        let day = next(&field::DAY, "*");
        let hour = next(&field::HOUR, "*");
        let minute = next(&field::MINUTE, "*");
        let second = next(&field::SECOND, "0");
        faults.0.reverse();
        faults.into_result(Self { second, minute, hour, day, month, weekday })
    }

    pub(super) fn clock(&self) -> Clock {
        Clock { seconds: self.second.set, minutes: self.minute.set, hours: self.hour.set }
    }

    /// Whether either day field suffices.
    pub(super) fn is_either(&self) -> bool {
        !self.day.star && !self.weekday.star
    }

    fn branches(&self) -> Result<Vec<Branch>, String> {
        let (clock, month) = (self.clock(), self.month.set);
        let day = (!self.day.is_full(&field::DAY)).then(|| self.day.clone());
        let weekday = (!self.weekday.is_full(&field::WEEKDAY)).then(|| self.weekday.clone());
        if self.is_either() {
            let of_month = Branch::new(clock, month, day, None)?;
            return Ok(vec![of_month, Branch::new(clock, month, None, weekday)?]);
        }
        Ok(vec![Branch::new(clock, month, day, weekday)?])
    }

    /// Days such as 30 February, when no weekday can stand in for them.
    fn impossible_day(&self) -> Option<String> {
        let first = self.day.set.iter().next()?;
        let longest = self.month.set.iter().map(longest_month).max()?;
        let possible = first <= longest || !self.day.extras.is_empty() || self.is_either();
        (!possible).then(|| {
            format!(
                "it never fires: day {first} does not come in the months it names, which have at \
                 most {longest} days; write L for the last day of a month"
            )
        })
    }
}

fn longest_month(month: u32) -> u32 {
    match month {
        2 => 29,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The words of a line: five, or six with seconds.
fn split(text: &str, seconds: bool) -> Result<Vec<&str>, (&'static str, String)> {
    let wrong = |detail: String| Err(("malformed", detail));
    if text.len() > LINE_LIMIT {
        return Err(("out-of-range", format!("must have at most {LINE_LIMIT} bytes")));
    }
    if let Some(odd) = text.chars().find(|c| *c != '\t' && !(' '..='~').contains(c)) {
        return wrong(format!(
            "{odd:?} cannot stand in a cron line; it is plain ASCII on one line"
        ));
    }
    let trimmed = text.trim_matches([' ', '\t']);
    let prefix = trimmed.split('=').next().unwrap_or_default();
    if trimmed.contains('=') && (prefix.ends_with("TZ") || prefix.is_empty()) {
        return wrong("the zone has a field of its own, time_zone; leave it out here".to_owned());
    }
    if trimmed.starts_with('@') {
        return nickname(trimmed).or_else(wrong);
    }
    let words: Vec<_> = trimmed.split([' ', '\t']).filter(|word| !word.is_empty()).collect();
    match (words.len(), seconds) {
        (5, false) | (6, true) => Ok(words),
        (6, false) => wrong(
            "six fields; five are taken: minute, hour, day, month, weekday. With seconds in front, \
             say seconds: true"
                .to_owned(),
        ),
        (5, true) => wrong(format!("seconds: true takes six fields; write 0 {trimmed}")),
        (7.., _) => wrong(format!(
            "{} fields; five are taken, and no year: use start_at, end_at or at",
            words.len()
        )),
        (count, _) => wrong(format!(
            "{count} of five fields; write minute, hour, day, month and weekday with spaces \
             between, such as 30 2 * * 1-5"
        )),
    }
}

fn nickname(text: &str) -> Result<Vec<&'static str>, String> {
    if let Some((_, line)) = NICKNAMES.iter().find(|(name, _)| *name == text) {
        return Ok(line.split(' ').collect());
    }
    if let Some((name, _)) = NICKNAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)) {
        return Err(format!("{text}: write {name}"));
    }
    if text.starts_with("@every") {
        return Err(format!("{text}: use every_ms instead, such as {{\"every_ms\": 300000}}"));
    }
    if text == "@reboot" {
        return Err("@reboot: a schedule knows times only; call the API when you start".to_owned());
    }
    let names = NICKNAMES.map(|(name, _)| name).join(", ");
    Err(format!("{text}: must be one of {names}"))
}
