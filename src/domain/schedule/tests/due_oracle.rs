//! An oracle of `due`: the rules applied to one slot after the other, without halving or counting.

use chrono::{NaiveDate, TimeDelta};

use super::super::doc::CalendarDoc;
use super::super::due::{Due, Passed, due};
use super::due::POLICIES;
use super::oracle_case::{Line, Random};
use super::*;

/// What the rules say of each slot by itself.
fn expected(doc: &ScheduleDoc, slots: &[Slot], now: DateTime<Utc>) -> Due {
    let late_by = |slot: &Slot| (now - slot.at).num_milliseconds();
    let window = i64::try_from(doc.catch_up_window_ms).unwrap();
    let of_window = |slot: &Slot| match doc.catch_up {
        CatchUp::None => false,
        CatchUp::Last | CatchUp::All => late_by(slot) <= window,
    };
    let firing: Vec<_> = slots.iter().filter(|slot| slot.fate == Fate::Fires).collect();
    let (punctual, late): (Vec<_>, Vec<_>) =
        firing.into_iter().partition(|slot| late_by(slot) <= 10_000);
    let (young, old): (Vec<_>, Vec<_>) = late.into_iter().partition(|slot| of_window(slot));
    let (fired, word, rest) = match doc.catch_up {
        CatchUp::None => (Vec::new(), "missed", young),
        CatchUp::Last => {
            let kept =
                if punctual.is_empty() { young.len().saturating_sub(1) } else { young.len() };
            (young[kept..].to_vec(), "coalesced", young[..kept].to_vec())
        }
        CatchUp::All => {
            let max = usize::try_from(doc.catch_up_max).unwrap().min(young.len());
            (young[..max].to_vec(), "missed", young[max..].to_vec())
        }
    };
    let skipped = slots.iter().filter_map(|slot| {
        let outcome = slot.fate.skipped()?;
        Some(Passed { at: slot.at, until: None, count: 1, at_least: false, outcome })
    });
    let row = |outcome, slots: &[&Slot]| {
        let at = slots.first()?.at;
        let until = slots.last().map(|slot| slot.at).filter(|last| *last > at);
        let count = i32::try_from(slots.len()).unwrap();
        Some(Passed { at, until, count, at_least: false, outcome })
    };
    let told = [row("missed", &old), row(word, &rest)].into_iter().flatten();
    Due {
        fire: fired.into_iter().chain(punctual).map(|slot| slot.at).collect(),
        passed: skipped.chain(told).collect(),
    }
}

/// Rows in the order of their times: `due` promises none.
fn in_order(mut due: Due) -> Due {
    due.passed.sort_by_key(|row| (row.at, row.outcome));
    due
}

fn random_doc(random: &mut Random) -> Option<(ScheduleDoc, Vec<CalendarDoc>)> {
    const ZONES: [&str; 5] =
        ["UTC", "America/New_York", "Australia/Lord_Howe", "Antarctica/Troll", "Asia/Beirut"];
    let line = Line::random(random);
    let cron = RuleDoc::Cron { cron: line.text(), seconds: line.seconds };
    let every = RuleDoc::Every {
        every_ms: u64::try_from(random.within(60, 5_000)).unwrap() * 1_000,
        anchor: Some(at("2027-01-01T00:00:07")),
    };
    let rule = match random.within(0, 5) {
        0 => every,
        1 => RuleDoc::AnyOf(vec![cron, every]),
        _ => cron,
    };
    let mut doc = doc(rule, random.pick::<&str>(&ZONES));
    doc.skip_gap = random.chance(50);
    doc.passes = *random.pick(&[(true, false), (false, true), (true, true)]);
    doc.catch_up = *random.pick(&POLICIES);
    doc.catch_up_window_ms = u64::try_from(random.within(0, 200_000)).unwrap() * 1_000;
    doc.catch_up_max = u32::try_from(random.within(0, 12)).unwrap();
    doc.shift = *random.pick(&[None, None, Some(true), Some(false)]);
    let mut calendars = Vec::new();
    if random.chance(50) {
        let first: NaiveDate = "2027-01-01".parse().unwrap();
        let days = first.iter_days().take(366).filter(|_| random.chance(20));
        calendars.push(CalendarDoc { dates: days.collect(), ..CalendarDoc::default() });
        doc.exclude.push(String::new());
    }
    doc.timetable(&calendars).is_ok().then_some((doc, calendars))
}

/// Every slot of `(after, now]` is in exactly one row or fire, and nothing else is.
#[test]
fn b028_every_slot_is_told_exactly_once() {
    let mut random = Random(20_261_130);
    let (mut compared, mut unlike) = (0, std::collections::BTreeSet::new());
    for number in 0..4_000 {
        let Some((doc, calendars)) = random_doc(&mut random) else { continue };
        let table = doc.timetable(&calendars).unwrap();
        let near = ["2027-03-14T07:00", "2027-11-07T06:00", "2027-04-03T15:00", "2027-06-01T00:00"];
        let after = at(random.pick::<&str>(&near))
            + TimeDelta::milliseconds(random.within(-90_000_000, 90_000_000));
        let length =
            random.within(0, 4) * random.within(0, 100_000) * 1_000 + random.within(0, 20_000);
        let now = after + TimeDelta::milliseconds(length);
        let slots = table.slots(after, now, 1_500);
        if slots.len() == 1_500 {
            continue;
        }
        let found = due(&doc, &table, after, now);
        let about = format!("case {number}: {doc:?} {calendars:?} after {after} now {now}");
        let count: i64 = found.passed.iter().map(|row| i64::from(row.count)).sum();
        let fired = i64::try_from(found.fire.len()).unwrap();
        assert_eq!(fired + count, i64::try_from(slots.len()).unwrap(), "{about}");
        assert_eq!(in_order(found.clone()), in_order(expected(&doc, &slots, now)), "{about}");
        compared += slots.len();
        unlike.extend(found.passed.iter().map(|row| row.outcome));
    }
    println!("{compared} slots compared");
    assert!(compared > 20_000, "{compared}");
    let right = ["coalesced", "missed", "skipped_calendar", "skipped_gap"];
    assert_eq!(unlike.into_iter().collect::<Vec<_>>(), right);
}
