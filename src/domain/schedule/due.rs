//! What is to be done about a schedule whose time has come: which of its slots make a job, and what
//! the others are told as. Pure, and bounded: 400 days of missed slots cost no more than one day's
//! (bug B039). Stretches of time are open below and closed above, as every question to a timetable.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use super::doc::{CatchUp, ScheduleDoc};
use super::slot::{Fate, Slot};
use super::timetable::Timetable;

/// A slot that is handled within so much of its time was not missed (bugs B040, B042).
pub const ON_TIME: Duration = Duration::from_secs(10);
/// Slots looked at one by one in one step; what lies beyond is told in one row.
const SLOTS_LIMIT: usize = 2_000;
/// Instants are kept to the microsecond.
const INSTANT: TimeDelta = TimeDelta::microseconds(1);

/// A slot, or a run of slots, that makes no job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passed {
    /// The nominal time of the first.
    pub at: DateTime<Utc>,
    /// The nominal time of the last, if there are several.
    pub until: Option<DateTime<Utc>>,
    /// How many.
    pub count: i32,
    /// Whether there may be more than `count`: several rules, or shifted days, over a long time.
    pub at_least: bool,
    /// `missed`, `coalesced`, `skipped_gap`, `skipped_calendar` or `skipped_paused`.
    pub outcome: &'static str,
}

/// What is to be done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Due {
    /// Slots that make a job, oldest first.
    pub fire: Vec<DateTime<Utc>>,
    /// Slots that make none.
    pub passed: Vec<Passed>,
}

/// Decides about every slot in `(after, now]`.
pub fn due(
    doc: &ScheduleDoc,
    timetable: &Timetable,
    after: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Due {
    let mut due = Due::default();
    if now <= after {
        return due;
    }
    let late_until = (now - from_std(ON_TIME) - INSTANT).max(after);
    let missed_until = (now - window(doc) - INSTANT).clamp(after, late_until);
    due.skip(&timetable.slots(after, missed_until, SLOTS_LIMIT));
    due.passed.extend(told_as("missed", timetable, after, missed_until));
    let late = timetable.slots(missed_until, late_until, SLOTS_LIMIT);
    let punctual = timetable.slots(late_until, now, SLOTS_LIMIT);
    due.skip(&late);
    due.skip(&punctual);
    let punctual: Vec<_> = fires(&punctual).collect();
    match doc.catch_up {
        CatchUp::None => {}
        CatchUp::Last => {
            // A slot that is on time stands for those before it.
            let last = timetable.last(late_until).map(|slot| slot.at);
            let last = last.filter(|at| *at > missed_until && punctual.is_empty());
            let until = last.map_or(late_until, |at| at - INSTANT);
            due.passed.extend(told_as("coalesced", timetable, missed_until, until));
            due.fire.extend(last);
        }
        CatchUp::All => {
            let max = usize::try_from(doc.catch_up_max).unwrap_or(usize::MAX);
            due.fire.extend(fires(&late).take(max));
            let from = due.fire.last().copied().unwrap_or(missed_until);
            due.passed.extend(told_as("missed", timetable, from, late_until));
        }
    }
    due.fire.extend(punctual);
    due
}

/// The fires in `(after, until]` as one row, whatever they were; none if there are none.
pub fn told_as(
    outcome: &'static str,
    timetable: &Timetable,
    after: DateTime<Utc>,
    until: DateTime<Utc>,
) -> Option<Passed> {
    let first = timetable.next(after).filter(|slot| slot.at <= until)?;
    let count = timetable.count(after, until);
    let last = timetable.last(until).map(|slot| slot.at).filter(|at| *at > first.at);
    Some(Passed {
        at: first.at,
        until: last,
        count: i32::try_from(count.fires).unwrap_or(i32::MAX).max(1),
        at_least: !count.exact,
        outcome,
    })
}

impl Due {
    /// A row for each slot that does not fire by the rule.
    fn skip(&mut self, slots: &[Slot]) {
        self.passed.extend(slots.iter().filter_map(|slot| {
            let outcome = slot.fate.skipped()?;
            Some(Passed { at: slot.at, until: None, count: 1, at_least: false, outcome })
        }));
    }
}

fn fires(slots: &[Slot]) -> impl Iterator<Item = DateTime<Utc>> {
    slots.iter().filter(|slot| slot.fate == Fate::Fires).map(|slot| slot.at)
}

/// How far back is made up for.
fn window(doc: &ScheduleDoc) -> TimeDelta {
    from_std(match doc.catch_up {
        CatchUp::None => Duration::ZERO,
        CatchUp::Last | CatchUp::All => Duration::from_millis(doc.catch_up_window_ms),
    })
}

fn from_std(duration: Duration) -> TimeDelta {
    TimeDelta::from_std(duration).unwrap_or(TimeDelta::MAX)
}
