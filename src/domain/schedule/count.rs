//! How many fires lie between two instants, without walking through them where that can be helped:
//! after a year's outage a minute schedule has missed half a million.

use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, Utc};

use super::calendar::Shift;
use super::civil::{FIRST_YEAR, LAST_YEAR};
use super::rule::Rule;
use super::times::Side;
use super::timetable::Timetable;
use super::walk::{OnOverlapHour, Walk};
use super::zone::{Fold, civil, next_change, offset};

/// Fires that are walked through one by one, where a rule cannot be reckoned.
const WALKED_LIMIT: u64 = 10_000;

/// A number of fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// How many, or how many at least.
    pub fires: u64,
    /// Whether `fires` is the whole number.
    pub exact: bool,
}

impl Timetable {
    /// How many fires lie after `after`, up to and with `until`. Exact for a single rule without
    /// shifted days, and for everything up to 10,000 fires.
    pub fn count(&self, after: DateTime<Utc>, until: DateTime<Utc>) -> Count {
        let from = after.timestamp_millis().saturating_add(1);
        let (from, until) = self.clamp(from, until.timestamp_millis());
        if let [rule] = self.rule.members()
            && self.book.shift == Shift::Skip
            && let Some(fires) = self.reckon(rule, from, until)
        {
            return Count { fires, exact: true };
        }
        walk_through(from, until, |from, until| self.next_fire(from, until))
    }

    fn reckon(&self, rule: &Rule, from: i64, until: i64) -> Option<u64> {
        if until < from {
            return Some(0);
        }
        match rule {
            Rule::Every(every) if self.book.is_blank() => Some(every.count(from - 1, until)),
            Rule::Cron(_) => {
                let walk = self.walk(rule, Side::Kept)?;
                let second = from.div_euclid(1_000) + i64::from(from.rem_euclid(1_000) != 0);
                self.reckon_civil(&walk, second, until.div_euclid(1_000))
            }
            Rule::Every(_) | Rule::At(_) | Rule::Day(_) | Rule::AnyOf(_) => None,
        }
    }

    /// Stretch by stretch, as the walk goes: `from` and `until` are both inside.
    fn reckon_civil(&self, walk: &Walk<'_>, from: i64, until: i64) -> Option<u64> {
        let (mut from, mut fires) = (from, 0);
        while from <= until {
            let change = next_change(self.zone, from, until);
            let end = change.unwrap_or(until + 1);
            let here = offset(self.zone, from);
            let low = walk.not_before(from).min(end);
            let high = self.not_after(walk, low, end);
            fires += self.between(walk, civil(low, here)?, civil(high.max(low), here)?)?;
            let moved = walk.at_gap_end(from).filter(|hit| hit.fires);
            let here = civil(from, here)?;
            // A gap's slot and a real one at its end are the same slot.
            if moved.is_some() && walk.times.at_or_after(here, here).is_none() {
                fires += 1;
            }
            from = end;
        }
        Some(fires)
    }

    /// Where the slots of a stretch end: before the first pass, if only the second counts.
    fn not_after(&self, walk: &Walk<'_>, low: i64, end: i64) -> i64 {
        if !walk.times.is_fixed() || self.on_overlap_hour != OnOverlapHour::Second {
            return end;
        }
        match Fold::first_pass(self.zone, end - 1) {
            Some(fold) => end.min((fold.at + fold.second - fold.first).max(low)),
            None => end,
        }
    }

    /// The civil times in `[low, high)`, day by day.
    fn between(&self, walk: &Walk<'_>, low: NaiveDateTime, high: NaiveDateTime) -> Option<u64> {
        let super::times::Base::Cron(cron) = walk.times.base else { return None };
        let clock = cron.clock();
        // West of Greenwich the first instants of 1970 are local times of 1969, which no rule names.
        let looked_at = |date: NaiveDate| (FIRST_YEAR..=LAST_YEAR).contains(&date.year());
        let fires_on = |date| looked_at(date) && cron.allows(date) && !self.book.is_stopped(date);
        let mut count = 0;
        let mut date = low.date();
        while date <= high.date() {
            if fires_on(date) {
                let end =
                    if date == high.date() { clock.before(high.time()) } else { clock.per_day() };
                let start = if date == low.date() { clock.before(low.time()) } else { 0 };
                count += end - start;
            }
            date = date.succ_opt()?;
        }
        Some(count)
    }
}

/// One by one, up to a limit; `next` finds the first of a stretch.
pub(super) fn walk_through(from: i64, until: i64, next: impl Fn(i64, i64) -> Option<i64>) -> Count {
    let (mut from, mut fires) = (from, 0);
    while let Some(at) = next(from, until) {
        if fires == WALKED_LIMIT {
            return Count { fires, exact: false };
        }
        fires += 1;
        from = at + 1;
    }
    Count { fires, exact: true }
}
