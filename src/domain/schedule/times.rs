//! The civil times of one rule after calendars: those that stay or arrive, and those that leave.
//!
//! Calendars act on local dates, before any zone: a shifted time is a time like any other when it
//! meets a clock change.

use chrono::{Days, NaiveDate, NaiveDateTime, NaiveTime};

use super::calendar::{Book, SHIFT_LIMIT, Shift};
use super::civil::next_midnight;
use super::cron::Cron;
use super::rule::Day;

/// A rule that names civil times.
#[derive(Clone, Copy, Debug)]
pub(super) enum Base<'a> {
    Cron(&'a Cron),
    Day(&'a Day),
}

/// Which of a rule's times are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Those that fire: on open days, with what was shifted there.
    Kept,
    /// Those named by the rule on days that are closed.
    Dropped,
}

/// The civil times of a rule under the schedule's calendars.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times<'a> {
    pub(super) base: Base<'a>,
    pub(super) book: &'a Book,
    pub(super) side: Side,
}

impl Times<'_> {
    /// The first time not before `from` and not after `until`.
    pub(super) fn at_or_after(
        &self,
        from: NaiveDateTime,
        until: NaiveDateTime,
    ) -> Option<NaiveDateTime> {
        match self.side {
            Side::Kept if self.book.is_blank() => self.named(from, until),
            Side::Kept if self.book.shift == Shift::Skip => self.open(from, until),
            Side::Kept => self.arriving(from, until),
            Side::Dropped => self.leaving(from, until),
        }
    }

    /// Whether clock changes must neither lose nor double its times.
    pub(super) fn is_fixed(&self) -> bool {
        match self.base {
            Base::Cron(cron) => cron.is_fixed(),
            Base::Day(_) => true,
        }
    }

    /// The nearest closed day whose slot at that time came to the open day `date`.
    pub(super) fn came_from(&self, date: NaiveDate, time: NaiveTime) -> Option<NaiveDate> {
        let named = |day: &NaiveDate| {
            let at = day.and_time(time);
            self.named(at, at).is_some()
        };
        self.book.sources(date).into_iter().find(named)
    }

    /// What the rule itself says, whatever the calendars.
    fn named(&self, from: NaiveDateTime, until: NaiveDateTime) -> Option<NaiveDateTime> {
        match self.base {
            Base::Cron(cron) => cron.at_or_after(from, until),
            Base::Day(day) => day.at_or_after(from, until, self.book),
        }
    }

    fn open(&self, from: NaiveDateTime, until: NaiveDateTime) -> Option<NaiveDateTime> {
        let mut from = from;
        loop {
            let found = self.named(from, until)?;
            if !self.book.is_stopped(found.date()) {
                return Some(found);
            }
            from = self.book.first_open(found.date())?.and_time(NaiveTime::MIN);
        }
    }

    fn leaving(&self, from: NaiveDateTime, until: NaiveDateTime) -> Option<NaiveDateTime> {
        let mut from = from;
        loop {
            let found = self.named(from, until)?;
            if self.book.is_stopped(found.date()) {
                return Some(found);
            }
            let after = found.date().succ_opt()?;
            from = self.book.first_stopped(after, until.date())?.and_time(NaiveTime::MIN);
        }
    }

    /// With shifts: each open day has its own times and those of the closed days that come to it.
    fn arriving(&self, from: NaiveDateTime, until: NaiveDateTime) -> Option<NaiveDateTime> {
        let beyond = until.checked_add_days(Days::new(SHIFT_LIMIT + 1))?;
        let mut from = from;
        while from <= until {
            let day = self.book.first_open(from.date())?;
            let floor = if day == from.date() { from.time() } else { NaiveTime::MIN };
            let sources = self.book.sources(day);
            let last = sources.last().copied().unwrap_or(day).max(day);
            let first = |source: NaiveDate| {
                let found = self.named(source.and_time(floor), next_midnight(source)?)?;
                (found.date() == source).then(|| found.time())
            };
            if let Some(time) = sources.into_iter().chain([day]).filter_map(first).min() {
                return Some(day.and_time(time)).filter(|found| *found <= until);
            }
            from = self.next_target(next_midnight(last)?, beyond)?;
        }
        None
    }

    /// The start of the open day to which the first time not before `from` goes.
    fn next_target(&self, from: NaiveDateTime, until: NaiveDateTime) -> Option<NaiveDateTime> {
        let mut from = from;
        loop {
            let found = self.named(from, until)?;
            match self.book.target(found.date()) {
                Some(target) => return Some(target.and_time(NaiveTime::MIN)),
                // Too many closed days in a row; that one is lost, and its row says so.
                None => from = next_midnight(found.date())?,
            }
        }
    }
}
