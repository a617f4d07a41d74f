//! Where a schedule stands after its slots: what it has accounted for, and when it comes next.

use chrono::{DateTime, Utc};

use super::batch::{Batch, Cause, Others, due_at};
use crate::domain::invalid::Invalid;
use crate::domain::schedule::doc::Overlap;
use crate::domain::schedule::due::{Due, Passed, due, stood_still};
use crate::domain::schedule::record::{Schedule, ScheduleState, TIMER};
use crate::domain::schedule::timetable::Timetable;

/// Handles every slot of an active schedule up to `now`: into `batch` what they do, onto the schedule
/// that they are accounted for.
pub(crate) fn account(
    batch: &mut Batch,
    schedule: &mut Schedule,
    timetable: &Timetable,
    others: &mut Others,
    now: DateTime<Utc>,
) {
    let Due { mut fire, mut passed } = due(&schedule.doc, timetable, schedule.accounted_until, now);
    let overlap = schedule.doc.overlap;
    if overlap == Overlap::CancelRunning {
        // Of several at once the last would cancel the others at birth.
        let last = fire.pop();
        passed.extend(fire.drain(..).map(coalesced));
        fire.extend(last);
    }
    let mut last = passed.iter().map(|passed| passed.until.unwrap_or(passed.at)).max();
    for passed in passed {
        batch.pass(schedule, passed, now);
    }
    for at in fire {
        if schedule.is_spent() {
            break;
        }
        let cause = Cause { origin: TIMER, at, due_at: due_at(schedule, timetable, at), overlap };
        if batch.fire(schedule, cause, others, now) {
            schedule.fires += 1;
            schedule.last_fire_at = Some(at);
        }
        last = last.max(Some(at));
    }
    // From the slots handled, not from the clock. Without any (a calendar has changed) the clock
    // alone says what is behind.
    schedule.accounted_until = last.unwrap_or(now).max(schedule.accounted_until);
}

fn coalesced(at: DateTime<Utc>) -> Passed {
    Passed { at, until: None, count: 1, at_least: false, outcome: "coalesced" }
}

/// Tells every slot up to `now` of a schedule that stood still, and accounts for it.
pub(crate) fn account_idle(
    batch: &mut Batch,
    schedule: &mut Schedule,
    timetable: &Timetable,
    outcome: &'static str,
    now: DateTime<Utc>,
) {
    for passed in stood_still(outcome, timetable, schedule.accounted_until, now) {
        batch.pass(schedule, passed, now);
    }
    schedule.accounted_until = now.max(schedule.accounted_until);
}

/// Lets a schedule go on after what it has accounted for, or ends it.
pub(crate) fn go_on(schedule: &mut Schedule, timetable: &Timetable) {
    let after = schedule.accounted_until;
    let next = timetable.next(after).filter(|_| !schedule.is_spent());
    let Some(next) = next else {
        stop(schedule, ScheduleState::Ended, None);
        return;
    };
    let slot = timetable.slots(after, next.at, 1).first().map_or(next.at, |slot| slot.at);
    if slot <= after {
        // Cannot be (bug B007): a slot that did not lie ahead would be fired for ever.
        stop(schedule, ScheduleState::Error, Some("its next slot lies in the past".into()));
        return;
    }
    schedule.state = ScheduleState::Active;
    schedule.reason = None;
    schedule.next_slot_at = Some(slot);
    schedule.next_fire_at = Some(next.at);
}

/// Stops a schedule.
pub(crate) fn stop(schedule: &mut Schedule, state: ScheduleState, reason: Option<String>) {
    schedule.state = state;
    schedule.reason = reason;
    schedule.next_slot_at = None;
    schedule.next_fire_at = None;
}

/// Why a schedule cannot be worked out, in one line.
pub(crate) fn why(invalid: &Invalid) -> String {
    let fault =
        |fault: &crate::domain::invalid::Fault| format!("{}: {}", fault.pointer, fault.detail);
    invalid.0.iter().map(fault).collect::<Vec<_>>().join("; ")
}
