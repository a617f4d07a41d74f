//! Catch-up questions, bounds of a schedule, other rules, jitter.

use std::time::{Duration, Instant};

use chrono::TimeDelta;

use super::super::OnOverlapHour;
use super::super::jitter::jitter;
use super::super::rule::{AnyOf, At, Day, Every, Which};
use super::*;

#[test]
fn b003_next_grows_strictly_for_any_question() {
    let table = timetable("*/7 1-5 * * *", "Africa/Casablanca");
    let mut from = at("1970-01-01T00:00");
    for _ in 0..2_000 {
        let next = table.next(from).unwrap().at;
        assert!(next > from);
        from = next + TimeDelta::minutes(4_321);
    }
}

#[test]
fn b039_four_hundred_days_behind_cost_little() {
    let (from, to) = (at("2026-01-01T00:00"), at("2027-02-05T00:00"));
    for (line, right) in [
        ("* * * * *", 576_000),
        ("* * * * * *", 34_560_000),
        ("30 2 * * *", 400),
        ("0 0 29 2 *", 0),
        ("0 0 1 * *", 13),
    ] {
        let table = timetable(line, "UTC");
        #[expect(clippy::disallowed_methods, reason = "measures real time")]
        let start = Instant::now();
        let count = table.count(from, to);
        assert_eq!((count.fires, count.exact), (right, true), "{line}");
        let last = table.last(to).unwrap();
        assert!(last.at <= to && table.next(last.at).unwrap().at > to, "{line}");
        assert!(start.elapsed() < Duration::from_secs(1), "{line}: {:?}", start.elapsed());
    }
    assert!(timetable("0 0 29 2 *", "UTC").last(at("1971-01-01T00:00")).is_none());
}

#[test]
fn counts_agree_with_walks_across_clock_changes() {
    for name in ["America/New_York", "Australia/Lord_Howe", "Antarctica/Troll", "Asia/Beirut"] {
        for line in ["*/20 * * * *", "15,45 0-3 * * *", "30 2 * * 0", "30 2 L * 1"] {
            for overlap in [OnOverlapHour::First, OnOverlapHour::Second, OnOverlapHour::Both] {
                let mut plan = plan(line, name);
                plan.on_overlap_hour = overlap;
                let table = table(plan);
                let start = at("2027-03-12T05:20");
                for days in [1, 3, 17, 240] {
                    let until = start + TimeDelta::hours(days * 24 + days);
                    let walked = table.slots(start, until, 100_000).len();
                    let count = table.count(start, until);
                    assert_eq!(count.fires, u64::try_from(walked).unwrap(), "{line} {name} {days}");
                }
            }
        }
    }
}

#[test]
fn start_is_inside_and_end_is_not() {
    let mut plan = plan("0 * * * *", "UTC");
    plan.start_at = Some(at("2027-01-01T02:00"));
    plan.end_at = Some(at("2027-01-01T04:00"));
    let table = table(plan.clone());
    assert_eq!(fires(&table, "2026-01-01T00:00", 9), ["2027-01-01T02:00", "2027-01-01T03:00"]);
    assert_eq!(table.last(at("2028-01-01T00:00")).unwrap().at, at("2027-01-01T03:00"));
    assert!(table.last(at("2027-01-01T01:59")).is_none());
    assert_eq!(table.count(at("2020-01-01T00:00"), at("2030-01-01T00:00")).fires, 2);
    assert!(table.first(at("2027-01-01T03:00"), "#").is_err());
    plan.end_at = plan.start_at;
    assert_eq!(Timetable::new(plan, "#").unwrap_err().0[0].pointer, "#/end_at");
}

#[test]
fn intervals_run_in_real_time() {
    let every = Every::new(90_000, Some(at("2027-03-14T06:59")), "#").unwrap();
    let table = table(Plan::new(Rule::Every(every), zone("America/New_York")));
    let slots = table.slots(at("2027-03-14T06:58"), at("2027-03-14T07:02"), 9);
    let found: Vec<_> = slots.iter().map(|slot| slot.at.format("%H:%M:%S").to_string()).collect();
    assert_eq!(found, ["06:59:00", "07:00:30", "07:02:00"]);
    assert_eq!(codes(&slots[1]), ["offset_change"]);
    assert_eq!(table.count(at("2027-01-01T00:00"), at("2027-01-02T00:00")).fires, 960);
    assert_eq!(table.last(at("2027-03-14T06:58")).unwrap().at, at("2027-03-14T06:57:30"));
    assert!(Every::new(999, None, "#").is_err() && Every::new(u64::MAX, None, "#").is_err());
}

#[test]
fn lists_fire_once_each() {
    let instants = vec![at("2027-05-01T00:00"), at("2027-01-01T00:00"), at("2027-05-01T00:00")];
    let table = table(Plan::new(Rule::At(At::new(instants, "#").unwrap()), zone("UTC")));
    assert_eq!(fires(&table, "2026-01-01T00:00", 9), ["2027-01-01T00:00", "2027-05-01T00:00"]);
    assert_eq!(table.count(at("2026-01-01T00:00"), at("2028-01-01T00:00")).fires, 2);
    assert!(At::new(Vec::new(), "#").is_err());
}

#[test]
fn any_of_several_is_one_fire_per_instant() {
    let every = Rule::Every(Every::new(3_600_000, None, "#").unwrap());
    let rules = vec![cron("0,30 9 * * *"), every, cron("0 10 * * *")];
    let any = Rule::AnyOf(AnyOf::new(rules, "#").unwrap());
    let nested = AnyOf::new(vec![any.clone(), cron("@daily")], "#").unwrap();
    assert_eq!(nested.rules().len(), 4);
    let table = table(Plan::new(any, zone("UTC")));
    let right = ["2027-01-01T09:00", "2027-01-01T09:30", "2027-01-01T10:00", "2027-01-01T11:00"];
    assert_eq!(fires(&table, "2027-01-01T08:00", 4), right);
    let count = table.count(at("2027-01-01T00:00"), at("2027-01-02T00:00"));
    assert_eq!((count.fires, count.exact), (25, true));
    assert!(AnyOf::new(Vec::new(), "#").is_err());
    assert!(AnyOf::new(vec![cron("@daily"); 17], "#").is_err());
}

#[test]
fn times_of_day_are_read_strictly() {
    for good in ["02:00", "23:59", "17:30:15"] {
        assert!(Day::read_time(good, "#").is_ok(), "{good}");
    }
    for bad in ["2:00", "24:00", "02:60", "23:59:60", "", "02:00Z", "noon", "02:00:00.5"] {
        assert_eq!(Day::read_time(bad, "#").unwrap_err().0[0].pointer, "#/time", "{bad}");
    }
}

#[test]
fn questions_outside_of_the_years_are_answered() {
    let table = timetable("0 0 1 1 *", "America/New_York");
    assert_eq!(fires(&table, "1900-01-01T00:00", 1), ["1970-01-01T05:00"]);
    let ends = [chrono::DateTime::<Utc>::MAX_UTC, chrono::DateTime::<Utc>::MIN_UTC];
    assert!(table.next(ends[0]).is_none());
    assert!(table.next(ends[1]).is_some());
    assert!(table.last(ends[0]).is_some() && table.last(ends[1]).is_none());
    assert_eq!(table.slots(ends[1], ends[0], 1_000).len(), 230);
    assert_eq!(table.count(ends[1], ends[0]).fires, 230);
    // The edges are those of local time, for counts too.
    for (name, first) in [("America/Sao_Paulo", "1970-01-01T03:00"), ("UTC", "1970-01-01T00:00")] {
        let minutes = timetable("* * * * *", name);
        assert_eq!(fires(&minutes, "1969-12-31T00:00", 1), [first]);
        assert_eq!(minutes.count(ends[1], at(first)).fires, 1);
    }
    let time = Day::read_time("02:00", "#").unwrap();
    let day = Rule::Day(Day::new(Which::LastOfMonth, time, "#").unwrap());
    let monthly = super::table(Plan::new(day, zone("America/Sao_Paulo")));
    assert_eq!(fires(&monthly, "1969-12-31T00:00", 1), ["1970-01-31T05:00"]);
    let east = timetable("0 * * * *", "Asia/Tokyo");
    assert_eq!(east.last(ends[0]).unwrap().at, at("2199-12-31T14:00"));
    assert_eq!(east.count(at("2199-12-31T13:00"), ends[0]).fires, 1);
    // Fractions of a second are after the whole one.
    let half = at("2027-01-01T05:00") - TimeDelta::nanoseconds(1);
    assert_eq!(table.next(half).unwrap().at, at("2027-01-01T05:00"));
    let half = at("2027-01-01T05:00") + TimeDelta::nanoseconds(1);
    assert_eq!(table.next(half).unwrap().at, at("2028-01-01T05:00"));
}

#[test]
fn b055_jitter_is_stable_spread_and_inside_the_slot() {
    let slot = at("2027-01-01T00:00");
    let next = Some(slot + TimeDelta::seconds(10));
    let delays: Vec<_> = (0..1_000_u32)
        .map(|id| jitter(&id.to_be_bytes(), slot, None, 60_000).as_millis())
        .collect();
    assert!(delays.iter().all(|delay| *delay < 60_000));
    for tenth in 0..10_u128 {
        let inside = delays.iter().filter(|delay| **delay / 6_000 == tenth).count();
        assert!((60..=140).contains(&inside), "{tenth}: {inside}");
    }
    assert_eq!(jitter(b"id", slot, next, 60_000), jitter(b"id", slot, next, 60_000));
    assert_ne!(
        jitter(b"id", slot, None, 60_000),
        jitter(b"id", at("2027-01-01T00:01"), None, 60_000)
    );
    assert!((0..100_u32).all(|id| jitter(&id.to_be_bytes(), slot, next, 60_000).as_secs() < 10));
    assert_eq!(jitter(b"id", slot, next, 0), Duration::ZERO);
}

/// The whole of two files, each time in a process of its own, whose host is elsewhere.
#[test]
fn b011_the_hosts_zone_changes_no_answer() {
    for zone in ["Australia/Sydney", "America/Sao_Paulo", "UTC"] {
        let mut tests = std::process::Command::new(std::env::current_exe().unwrap());
        tests.args(["schedule::tests::clock_changes", "schedule::tests::days"]).env("TZ", zone);
        let output = tests.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && !text.contains(" 0 passed"), "{zone}: {text}");
    }
}

#[test]
fn b044_a_new_schedule_fires_no_slot_from_before_its_birth() {
    expect("30 7 * * *", "UTC", "2027-01-01T09:00", &["2027-01-02T07:30"]);
}

#[test]
fn b045_another_zone_is_another_next_slot() {
    expect("0 9 * * *", "UTC", "2027-01-01T00:00", &["2027-01-01T09:00"]);
    expect("0 9 * * *", "Asia/Kathmandu", "2027-01-01T00:00", &["2027-01-01T03:15"]);
}

#[test]
fn b034_next_of_a_slot_is_another_slot() {
    let table = timetable("0 12 * * *", "UTC");
    let slot = table.next(at("2027-01-01T11:59:59")).unwrap().at;
    assert_eq!(table.next(slot).unwrap().at, at("2027-01-02T12:00"));
    // A wake-up 10 ms early still sees the slot ahead, and the slot itself never again.
    assert_eq!(table.next(slot - TimeDelta::milliseconds(10)).unwrap().at, slot);
}

/// What the search for clock changes relies on: two of them never lie within one of its steps.
#[test]
fn no_zone_changes_twice_within_a_step() {
    use super::super::zone::{STEP, next_change, offset};
    const LOOK: i64 = 24 * 3_600;
    for zone in chrono_tz::TZ_VARIANTS {
        let (mut at, mut last) = (2 * LOOK, i64::MIN);
        while at < 2_240_611_200 {
            if offset(zone, at) != offset(zone, at + LOOK) {
                let change = next_change(zone, at, at + LOOK).unwrap();
                assert!(change - STEP > last, "{zone} changes at {last} and {change}");
                last = change;
            }
            at += LOOK;
        }
    }
}
