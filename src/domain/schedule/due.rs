//! What is to be done about a schedule whose time has come: which of its slots make a job, and what
//! the others are told as. Pure, and bounded: 400 days of missed slots cost no more than one day's
//! (bug B039). Stretches of time are open below and closed above, as every question to a timetable.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use super::doc::{CatchUp, ScheduleDoc};
use super::timetable::Timetable;

/// A slot that is handled within so much of its time was not missed (bugs B040, B042).
pub const ON_TIME: Duration = Duration::from_secs(10);
/// Rows and fires of one step that are told one by one; what lies beyond is told in one row.
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
    let late_until = before(now, from_std(ON_TIME)).max(after);
    let missed_until = before(now, window(doc)).clamp(after, late_until);
    for (from, until) in [(after, missed_until), (missed_until, late_until), (late_until, now)] {
        due.skip(timetable, from, until);
    }
    due.passed.extend(told_as("missed", timetable, after, missed_until));
    let punctual = fires(timetable, late_until, now, SLOTS_LIMIT);
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
            let max = usize::try_from(doc.catch_up_max).unwrap_or(usize::MAX).min(SLOTS_LIMIT);
            due.fire.extend(fires(timetable, missed_until, late_until, max));
            let from = due.fire.last().copied().unwrap_or(missed_until);
            due.passed.extend(told_as("missed", timetable, from, late_until));
        }
    }
    // Only lists of instants can be so dense; none of them is lost without a row either.
    if let Some(last) = punctual.get(SLOTS_LIMIT - 1) {
        due.passed.extend(told_as("missed", timetable, *last, now));
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
    let first = fires(timetable, after, until, 1).first().copied()?;
    let count = timetable.count(after, until);
    let last = timetable.last(until).map(|slot| slot.at).filter(|at| *at > first);
    Some(Passed {
        at: first,
        until: last,
        count: i32::try_from(count.fires).unwrap_or(i32::MAX).max(1),
        at_least: !count.exact,
        outcome,
    })
}

/// What is told of every slot in `(after, until]` of a schedule that stood still: fires as `outcome`,
/// others as what the rule makes of them.
pub fn stood_still(
    outcome: &'static str,
    timetable: &Timetable,
    after: DateTime<Utc>,
    until: DateTime<Utc>,
) -> Vec<Passed> {
    let mut due = Due::default();
    due.skip(timetable, after, until);
    due.passed.extend(told_as(outcome, timetable, after, until));
    due.passed
}

impl Due {
    /// A row for each slot that does not fire by the rule. If there are too many, one row tells the
    /// rest; it is called after calendars, since gaps alone are never so many.
    fn skip(&mut self, timetable: &Timetable, after: DateTime<Utc>, until: DateTime<Utc>) {
        let mut from = after;
        for _ in 0..SLOTS_LIMIT {
            let Some(skipped) = timetable.next_skipped(from, until) else { return };
            from = skipped.at;
            let (at, outcome) = (skipped.at, skipped.outcome);
            self.passed.push(Passed { at, until: None, count: 1, at_least: false, outcome });
        }
        let Some(first) = timetable.next_skipped(from, until) else { return };
        let count = timetable.count_skipped(from, until);
        self.passed.push(Passed {
            at: first.at,
            until: timetable.last_skipped(until).filter(|last| *last > first.at),
            count: i32::try_from(count.fires).unwrap_or(i32::MAX),
            at_least: !count.exact,
            outcome: "skipped_calendar",
        });
    }
}

/// The first fires in `(after, until]`.
fn fires(
    timetable: &Timetable,
    after: DateTime<Utc>,
    until: DateTime<Utc>,
    limit: usize,
) -> Vec<DateTime<Utc>> {
    let until = until.timestamp_millis();
    let next = |from: i64| timetable.next_fire(from, until);
    let first = next(after.timestamp_millis().saturating_add(1));
    let found = std::iter::successors(first, |at| next(at.saturating_add(1)));
    found.filter_map(DateTime::from_timestamp_millis).take(limit).collect()
}

/// The end of what lies more than `span` before `now`. A span that reaches beyond all instants
/// leaves nothing before it.
fn before(now: DateTime<Utc>, span: TimeDelta) -> DateTime<Utc> {
    let begin = now.checked_sub_signed(span).and_then(|at| at.checked_sub_signed(INSTANT));
    begin.unwrap_or(DateTime::<Utc>::MIN_UTC)
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
