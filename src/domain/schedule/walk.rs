//! Civil times become instants: the one place where a rule meets the clock changes of a zone.
//!
//! Real time is walked stretch by stretch, each with one offset, so nothing can come out of order
//! or twice. Times that follow the wall clock fire whenever a clock on the wall would show them.
//! Fixed times that fall into a gap stand at its end, and those of a repeated hour are taken from
//! the pass that the schedule asks for.

use chrono::{NaiveDateTime, TimeDelta};
use chrono_tz::Tz;

use super::times::Times;
use super::zone::{Fold, LONGEST_SHIFT, civil, next_change, offset};

/// What happens to a fixed time that does not exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnGap {
    /// It fires once, at the first instant after the gap.
    #[default]
    Fire,
    /// It is skipped, with a row that says so.
    Skip,
}

/// When a fixed time that comes twice fires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnOverlapHour {
    /// Before the clocks go back.
    #[default]
    First,
    /// After.
    Second,
    /// Both times.
    Both,
}

/// The civil times of a rule, in a zone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Walk<'a> {
    pub(super) times: Times<'a>,
    pub(super) zone: Tz,
    pub(super) on_gap: OnGap,
    pub(super) on_overlap_hour: OnOverlapHour,
}

/// A slot's instant, in seconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hit {
    pub(super) at: i64,
    /// False for a time in a gap that is skipped.
    pub(super) fires: bool,
    /// The earliest time of the gap that ends here, if the rule names one in it.
    pub(super) missing: Option<NaiveDateTime>,
}

enum Step {
    Found(Hit),
    /// Nothing before this clock change.
    Change(i64),
    Nothing,
}

impl Walk<'_> {
    /// The first slot not before `start` and not after `until`.
    pub(super) fn at_or_after(&self, start: i64, until: i64) -> Option<Hit> {
        let mut from = start;
        while from <= until {
            if let Some(hit) = self.at_gap_end(from) {
                return Some(hit);
            }
            match self.in_stretch(from, until) {
                Step::Found(hit) => return Some(hit),
                Step::Change(at) => from = at,
                Step::Nothing => return None,
            }
        }
        None
    }

    /// The slot of fixed times inside a gap that ends exactly at `from`.
    pub(super) fn at_gap_end(&self, from: i64) -> Option<Hit> {
        let (before, after) = (offset(self.zone, from - 1), offset(self.zone, from));
        if before >= after || !self.times.is_fixed() {
            return None;
        }
        let (start, end) = (civil(from, before)?, civil(from, after)?);
        let last = end.checked_sub_signed(TimeDelta::seconds(1))?;
        let missing = Some(self.times.at_or_after(start, last)?);
        let fires = self.on_gap == OnGap::Fire || self.times.at_or_after(end, end).is_some();
        Some(Hit { at: from, fires, missing })
    }

    /// The first slot from `from` to the next clock change.
    fn in_stretch(&self, from: i64, until: i64) -> Step {
        let offset = offset(self.zone, from);
        let low = self.not_before(from);
        let pad = until.saturating_add(LONGEST_SHIFT);
        let found = civil(low, offset)
            .zip(civil(pad, offset))
            .and_then(|(low, high)| self.times.at_or_after(low, high))
            .map(|found| found.and_utc().timestamp() - offset);
        // With nothing ahead, only a repeat of what lies just behind is left.
        let horizon = found.unwrap_or(from.saturating_add(LONGEST_SHIFT)).min(until);
        if let Some(change) = next_change(self.zone, from, horizon) {
            return Step::Change(change);
        }
        match found {
            Some(at) if at <= until => match self.later_pass(at) {
                Some(fold) => Step::Change(fold.at),
                None => Step::Found(Hit { at, fires: true, missing: None }),
            },
            _ => Step::Nothing,
        }
    }

    /// Where slots can begin: after the second pass of a repeated hour, if only the first counts.
    pub(super) fn not_before(&self, from: i64) -> i64 {
        if !self.times.is_fixed() || self.on_overlap_hour != OnOverlapHour::First {
            return from;
        }
        Fold::second_pass(self.zone, from).map_or(from, |fold| fold.at + fold.first - fold.second)
    }

    /// The fold whose second pass shows the same time as `at`, if that one counts.
    fn later_pass(&self, at: i64) -> Option<Fold> {
        let second = self.times.is_fixed() && self.on_overlap_hour == OnOverlapHour::Second;
        second.then(|| Fold::first_pass(self.zone, at)).flatten()
    }
}
