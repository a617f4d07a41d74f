//! What a schedule's `spec` says: a cron line, an interval, a list of instants, a day of the month,
//! or any of several.
//!
//! Every value here has been checked; how a rule meets a time zone is `timetable`'s business.

use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, NaiveTime, Timelike, Utc};

use super::calendar::Book;
use super::civil::{FIRST_YEAR, LAST_YEAR};
use super::cron::Cron;
use crate::domain::check::YEAR_MS;
use crate::domain::invalid::Invalid;

/// The shortest interval, in milliseconds; the finest that a cron line can say.
pub const SHORTEST_MS: u64 = 1_000;
/// Most instants of an `at` list.
pub const AT_LIMIT: usize = 1_000;
/// Most rules in `any_of`.
pub const ANY_OF_LIMIT: usize = 16;

/// When a schedule fires.
#[derive(Clone, Debug, PartialEq)]
pub enum Rule {
    /// By a cron line.
    Cron(Cron),
    /// At equal distances in real time.
    Every(Every),
    /// At these instants.
    At(At),
    /// On one day of each month.
    Day(Day),
    /// Whenever one of them says so; two at the same instant are one fire.
    AnyOf(AnyOf),
}

/// An interval in real time; clock changes do not touch it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Every {
    pub(super) ms: i64,
    pub(super) anchor: DateTime<Utc>,
}

impl Every {
    /// Fires at `anchor` plus or minus whole multiples of `every_ms`. Without an anchor it counts
    /// from the Unix epoch, so that 3,600,000 means every full hour UTC. An anchor only aligns;
    /// `start_at` says from when.
    pub fn new(every_ms: u64, anchor: Option<DateTime<Utc>>, at: &str) -> Result<Self, Invalid> {
        let mut faults = Invalid::default();
        let ms = i64::try_from(every_ms).ok();
        let ms = ms.filter(|_| (SHORTEST_MS..=YEAR_MS).contains(&every_ms));
        if ms.is_none() {
            let detail = format!("must be {SHORTEST_MS} to {YEAR_MS} milliseconds, got {every_ms}");
            faults.add(format!("{at}/every_ms"), "out-of-range", detail);
        }
        let anchor = anchor.unwrap_or(DateTime::UNIX_EPOCH);
        check_year(&mut faults, &format!("{at}/anchor"), anchor);
        faults.into_result(Self { ms: ms.unwrap_or(1), anchor })
    }

    /// The interval in milliseconds.
    pub fn every_ms(&self) -> u64 {
        u64::try_from(self.ms).unwrap_or(SHORTEST_MS)
    }

    /// What it is aligned to.
    pub fn anchor(&self) -> DateTime<Utc> {
        self.anchor
    }

    /// The first fire not before `from`, in milliseconds since the epoch.
    pub(super) fn at_or_after(&self, from: i64) -> i64 {
        let beyond = (from - self.anchor.timestamp_millis()).rem_euclid(self.ms);
        if beyond == 0 { from } else { from + self.ms - beyond }
    }

    /// How many fires lie in `(after, until]`, in milliseconds since the epoch.
    pub(super) fn count(&self, after: i64, until: i64) -> u64 {
        let index = |at: i64| (at - self.anchor.timestamp_millis()).div_euclid(self.ms);
        u64::try_from(index(until) - index(after)).unwrap_or(0)
    }
}

/// A list of instants, ascending, each once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At(Vec<DateTime<Utc>>);

impl At {
    /// Sorts the list; instants keep milliseconds. `at` points to the list.
    pub fn new(instants: Vec<DateTime<Utc>>, at: &str) -> Result<Self, Invalid> {
        let mut faults = Invalid::default();
        if instants.is_empty() || instants.len() > AT_LIMIT {
            let detail = format!("must name 1 to {AT_LIMIT} instants, got {}", instants.len());
            faults.add(at, "out-of-range", detail);
        }
        for (n, instant) in instants.iter().enumerate() {
            check_year(&mut faults, &format!("{at}/{n}"), *instant);
        }
        let whole = |at: &DateTime<Utc>| DateTime::from_timestamp_millis(at.timestamp_millis());
        let mut list: Vec<_> = instants.iter().filter_map(whole).collect();
        list.sort_unstable();
        list.dedup();
        faults.into_result(Self(list))
    }

    /// The instants, ascending.
    pub fn instants(&self) -> &[DateTime<Utc>] {
        &self.0
    }

    /// The first fire not before `from`, in milliseconds since the epoch.
    pub(super) fn at_or_after(&self, from: i64) -> Option<i64> {
        let next = self.0.partition_point(|at| at.timestamp_millis() < from);
        self.0.get(next).map(DateTime::timestamp_millis)
    }
}

/// Which day of a month.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Its last day.
    LastOfMonth,
    /// Its last business day, by the schedule's calendars.
    LastBusinessDay,
    /// Its n-th business day, from 1.
    NthBusinessDay(u32),
}

/// One day of each month, at a time of day. Its time is fixed, as that of `30 2 * * *` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Day {
    /// The day.
    pub which: Which,
    /// The local time, in whole seconds.
    pub time: NaiveTime,
}

impl Day {
    /// Checks `n`; `time` is cut to whole seconds.
    pub fn new(which: Which, time: NaiveTime, at: &str) -> Result<Self, Invalid> {
        if let Which::NthBusinessDay(n) = which
            && !(1..=31).contains(&n)
        {
            let detail =
                format!("must be 1 to 31, got {n}; for the last one say last_business_day");
            return Err(Invalid::one(format!("{at}/n"), "out-of-range", detail));
        }
        Ok(Self { which, time: time.with_nanosecond(0).unwrap_or(time) })
    }

    /// Reads `time` as `HH:MM` or `HH:MM:SS`.
    pub fn read_time(text: &str, at: &str) -> Result<NaiveTime, Invalid> {
        let short = NaiveTime::parse_from_str(text, "%H:%M");
        let read = short.or_else(|_| NaiveTime::parse_from_str(text, "%H:%M:%S")).ok();
        // chrono also reads 2:00 and a leap second; neither is meant here.
        let read = read.filter(|time| matches!(text.len(), 5 | 8) && time.nanosecond() == 0);
        let detail = || format!("must be a time such as 02:00 or 17:30:15, got {text:?}");
        read.ok_or_else(|| Invalid::one(format!("{at}/time"), "malformed", detail()))
    }

    pub(super) fn at_or_after(
        &self,
        from: NaiveDateTime,
        until: NaiveDateTime,
        book: &Book,
    ) -> Option<NaiveDateTime> {
        let (mut year, mut month) = (from.year(), from.month()).max((FIRST_YEAR, 1));
        while year <= until.year().min(LAST_YEAR) {
            let found = self.date(year, month, book).map(|date| date.and_time(self.time));
            if let Some(found) = found.filter(|found| *found >= from) {
                return Some(found).filter(|found| *found <= until);
            }
            (year, month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
        }
        None
    }

    fn date(&self, year: i32, month: u32, book: &Book) -> Option<NaiveDate> {
        let days = |day: &u32| NaiveDate::from_ymd_opt(year, month, *day);
        let mut days = (1..=31_u32).filter_map(|day| days(&day));
        let is_business = |date: &NaiveDate| book.is_business(*date);
        match self.which {
            Which::LastOfMonth => days.next_back(),
            Which::LastBusinessDay => days.rfind(is_business),
            Which::NthBusinessDay(n) => {
                let skip = usize::try_from(n).ok()?.checked_sub(1)?;
                days.by_ref().filter(is_business).nth(skip)
            }
        }
    }
}

/// Several rules; none of them is an `any_of` itself.
#[derive(Clone, Debug, PartialEq)]
pub struct AnyOf(Vec<Rule>);

impl AnyOf {
    /// Rules inside a rule inside `any_of` are taken out to this level.
    pub fn new(rules: Vec<Rule>, at: &str) -> Result<Self, Invalid> {
        let flat: Vec<_> = rules
            .into_iter()
            .flat_map(|rule| match rule {
                Rule::AnyOf(AnyOf(inner)) => inner,
                Rule::Cron(_) | Rule::Every(_) | Rule::At(_) | Rule::Day(_) => vec![rule],
            })
            .collect();
        if flat.is_empty() || flat.len() > ANY_OF_LIMIT {
            let detail = format!("must hold 1 to {ANY_OF_LIMIT} rules, got {}", flat.len());
            return Err(Invalid::one(format!("{at}/any_of"), "out-of-range", detail));
        }
        Ok(Self(flat))
    }

    /// The rules.
    pub fn rules(&self) -> &[Rule] {
        &self.0
    }
}

impl Rule {
    /// The simple rules it is made of.
    pub fn members(&self) -> &[Rule] {
        match self {
            Self::AnyOf(AnyOf(rules)) => rules,
            Self::Cron(_) | Self::Every(_) | Self::At(_) | Self::Day(_) => {
                std::slice::from_ref(self)
            }
        }
    }
}

fn check_year(faults: &mut Invalid, at: &str, instant: DateTime<Utc>) {
    if !(FIRST_YEAR..=LAST_YEAR).contains(&instant.year()) {
        let detail = format!("must lie in the years {FIRST_YEAR} to {LAST_YEAR}");
        faults.add(at, "out-of-range", detail);
    }
}
