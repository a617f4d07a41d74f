//! The slots that a rule names and that do not fire: those of closed days, and those of a gap under
//! `on_gap: skip`. They are found without walking through the fires between them, so that after an
//! outage each can be told whatever the schedule's pace.

use chrono::{DateTime, Utc};

use super::count::{Count, walk_through};
use super::rule::Rule;
use super::slot::Fate;
use super::times::Side;
use super::timetable::{Event, Timetable, last_of};
use super::walk::OnGap;
use super::zone::next_change;

/// A slot that does not fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Skipped {
    /// Its nominal instant.
    pub(super) at: DateTime<Utc>,
    /// The word in the log of fires.
    pub(super) outcome: &'static str,
}

impl Timetable {
    /// The first slot in `(after, until]` that does not fire.
    pub(super) fn next_skipped(
        &self,
        after: DateTime<Utc>,
        until: DateTime<Utc>,
    ) -> Option<Skipped> {
        let from = after.timestamp_millis().saturating_add(1);
        let event = self.skipped_event(from, until.timestamp_millis())?;
        let at = DateTime::from_timestamp_millis(event.at)?;
        Some(Skipped { at, outcome: event.fate.skipped()? })
    }

    /// The last slot at or before an instant that does not fire.
    pub(super) fn last_skipped(&self, at: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let next = |from, until| Some(self.skipped_event(from, until)?.at);
        DateTime::from_timestamp_millis(last_of(at.timestamp_millis(), next)?)
    }

    /// How many slots in `(after, until]` do not fire; exact up to 10,000.
    pub(super) fn count_skipped(&self, after: DateTime<Utc>, until: DateTime<Utc>) -> Count {
        let from = after.timestamp_millis().saturating_add(1);
        let next = |from, until| Some(self.skipped_event(from, until)?.at);
        walk_through(from, until.timestamp_millis(), next)
    }

    /// The first of them in `[from, until]`, milliseconds.
    fn skipped_event(&self, from: i64, until: i64) -> Option<Event> {
        let (mut from, until) = self.clamp(from, until);
        loop {
            let at = self.candidate(from, until)?;
            let event = self.earliest(at, at, true)?;
            if event.fate != Fate::Fires {
                return Some(event);
            }
            // Another rule fires at the end of the same gap. That comes a few times a year at most.
            from = at + 1;
        }
    }

    /// The first instant at which one of the rules alone does not fire.
    fn candidate(&self, from: i64, until: i64) -> Option<i64> {
        let (mut first, mut until) = (None, until);
        for rule in self.rule.members() {
            let dropped = self.of_member(rule, Side::Dropped, from, until);
            for at in [dropped.map(|event| event.at), self.lost_in_gap(rule, from, until)] {
                if let Some(at) = at.filter(|at| *at <= until) {
                    (first, until) = (Some(at), at);
                }
            }
        }
        first
    }

    /// The end of the first gap that takes a slot of this rule away.
    fn lost_in_gap(&self, rule: &Rule, from: i64, until: i64) -> Option<i64> {
        let walk = self.walk(rule, Side::Kept).filter(|walk| walk.times.is_fixed())?;
        if self.on_gap == OnGap::Fire {
            return None;
        }
        let until = until.div_euclid(1_000);
        // One second back: the gap may end exactly at `from`.
        let mut second = from.div_euclid(1_000) + i64::from(from.rem_euclid(1_000) != 0) - 1;
        loop {
            second = next_change(self.zone, second, until)?;
            if walk.at_gap_end(second).is_some_and(|hit| !hit.fires) {
                return Some(second * 1_000);
            }
        }
    }
}
