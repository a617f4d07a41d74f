//! What becomes of slots whose time has come: edges, clock changes, closed days, long outages.

use std::time::{Duration, Instant};

use chrono::TimeDelta;

use super::super::doc::CalendarDoc;
use super::super::due::{Due, Passed, due};
use super::*;

pub(super) const POLICIES: [CatchUp; 3] = [CatchUp::None, CatchUp::Last, CatchUp::All];

/// What `due` says of a schedule as these lines: `fire HH:MM:SS`, `missed HH:MM:SS..HH:MM:SS x3`.
pub(super) fn told(
    doc: &ScheduleDoc,
    calendars: &[CalendarDoc],
    after: &str,
    now: &str,
) -> Vec<String> {
    shown(&due(doc, &closed_in(doc, calendars), at(after), at(now)))
}

/// The timetable of a schedule that excludes these calendars.
pub(super) fn closed_in(doc: &ScheduleDoc, calendars: &[CalendarDoc]) -> Timetable {
    let exclude = calendars.iter().map(|calendar| calendar.name.clone()).collect();
    ScheduleDoc { exclude, ..doc.clone() }.timetable(calendars).unwrap()
}

fn shown(due: &Due) -> Vec<String> {
    let time = |at: DateTime<Utc>| at.format("%H:%M:%S").to_string();
    let fires = due.fire.iter().map(|at| format!("fire {}", time(*at)));
    let row = |passed: &Passed| {
        let Passed { at, until, count, at_least, outcome } = passed;
        assert_eq!(until.is_some(), *count > 1, "{passed:?}");
        let until = until.map(|until| format!("..{}", time(until))).unwrap_or_default();
        let times = if *count == 1 { String::new() } else { format!(" x{count}") };
        format!("{outcome} {}{until}{times}{}", time(*at), if *at_least { "+" } else { "" })
    };
    fires.chain(due.passed.iter().map(row)).collect()
}

/// Every ten minutes, in UTC.
pub(super) fn with(policy: CatchUp, window_ms: u64, max: u32) -> ScheduleDoc {
    ScheduleDoc {
        catch_up: policy,
        catch_up_window_ms: window_ms,
        catch_up_max: max,
        ..cron_doc("*/10 * * * *", "UTC")
    }
}

#[test]
fn the_windows_edge_is_exact() {
    let millis = TimeDelta::milliseconds(1);
    for (now, missed) in [(at("2027-01-01T13:10") - millis, 0), (at("2027-01-01T13:10"), 0)]
        .into_iter()
        .chain([(at("2027-01-01T13:10") + millis, 1)])
    {
        let doc = with(CatchUp::All, 3_600_000, 100);
        let table = doc.timetable(&[]).unwrap();
        let found = due(&doc, &table, at("2027-01-01T12:00"), now);
        assert_eq!(found.passed.len(), missed, "{now}: {found:?}");
        assert_eq!(found.fire.first(), Some(&at(["2027-01-01T12:10", "2027-01-01T12:20"][missed])));
    }
    // No window leaves only what is on time, and no late one is younger than the endless one.
    assert_eq!(
        told(&with(CatchUp::Last, 0, 3), &[], "2027-01-01T12:00", "2027-01-01T12:15"),
        ["missed 12:10:00"]
    );
    assert_eq!(
        told(&with(CatchUp::Last, u64::MAX, 3), &[], "2027-01-01T12:00", "2027-01-01T12:15"),
        ["fire 12:10:00"]
    );
    assert_eq!(
        told(&with(CatchUp::All, u64::MAX, 0), &[], "2027-01-01T12:00", "2027-01-01T12:15"),
        ["missed 12:10:00"]
    );
}

#[test]
fn a_gap_inside_has_its_row_whatever_the_policy() {
    // 02:30 does not exist on 14 March; its slot stands at 07:00Z.
    let skip = "skipped_gap 07:00:00";
    let expected: [&[&str]; 3] = [
        &[skip, "missed 07:30:00..06:30:00 x2"],
        &["fire 06:30:00", skip, "missed 07:30:00"],
        &["fire 06:30:00", skip, "missed 07:30:00"],
    ];
    for (policy, right) in POLICIES.into_iter().zip(expected) {
        let rule = cron_doc("30 2 * * *", "America/New_York");
        let doc = ScheduleDoc { catch_up: policy, skip_gap: true, ..rule };
        let found = told(&doc, &[], "2027-03-13T00:00", "2027-03-15T07:00");
        assert_eq!(found, right, "{policy:?}");
        // Fired at the gap's end instead, it is a slot like any other.
        let doc = ScheduleDoc { skip_gap: false, ..doc };
        let found = told(&doc, &[], "2027-03-14T06:59", "2027-03-14T07:00:01");
        assert_eq!(found, ["fire 07:00:00"], "{policy:?}");
    }
}

fn weekend(dates: &[&str]) -> CalendarDoc {
    CalendarDoc {
        name: "closed".to_owned(),
        dates: dates.iter().map(|date| date.parse().unwrap()).collect(),
        weekend: vec!["sat".to_owned(), "sun".to_owned()],
    }
}

#[test]
fn closed_days_inside_have_their_rows_whatever_the_policy() {
    // Friday 1 January 2027 to Monday.
    let [sat, sun] = ["skipped_calendar 09:00:00"; 2];
    let expected: [&[&str]; 3] = [
        &["fire 09:00:00", sat, sun, "missed 09:00:00"],
        &["fire 09:00:00", sat, sun, "coalesced 09:00:00"],
        &["fire 09:00:00", "fire 09:00:00", sat, sun],
    ];
    for (policy, right) in POLICIES.into_iter().zip(expected) {
        let rule = cron_doc("0 9 * * *", "UTC");
        let doc = ScheduleDoc { catch_up: policy, catch_up_window_ms: 1_000_000_000, ..rule };
        let found = told(&doc, &[weekend(&[])], "2027-01-01T00:00", "2027-01-04T09:00");
        assert_eq!(found, right, "{policy:?}");
    }
}

#[test]
fn caught_up_fires_are_the_oldest_even_behind_many_closed_slots() {
    let rule = cron_doc("* * * * *", "UTC");
    let window = 7 * 86_400_000;
    let doc =
        ScheduleDoc { catch_up: CatchUp::All, catch_up_window_ms: window, catch_up_max: 2, ..rule };
    let table = closed_in(&doc, &[weekend(&[])]);
    let found = due(&doc, &table, at("2027-01-02T00:00"), at("2027-01-04T12:00:30"));
    assert_eq!(found.fire, [at("2027-01-04T00:00"), at("2027-01-04T00:01")]);
    let closed = found.passed.iter().filter(|row| row.outcome == "skipped_calendar");
    assert_eq!(closed.map(|row| row.count).sum::<i32>(), 2_879);
}

#[test]
fn b027_far_off_slots_are_not_due_before_their_time() {
    expect("0 4 1 1 *", "UTC", "2027-02-01T00:00", &["2028-01-01T04:00", "2029-01-01T04:00"]);
    for policy in POLICIES {
        let doc = ScheduleDoc { catch_up: policy, ..cron_doc("0 4 1 1 *", "UTC") };
        // 2^31 milliseconds after its birth is where timers of 32 bits went off.
        for now in ["2027-02-25T20:31:23", "2027-02-26T00:00:00", "2028-01-01T03:59:59"] {
            assert!(told(&doc, &[], "2027-02-01T00:00", now).is_empty(), "{policy:?} {now}");
        }
        let found = told(&doc, &[], "2027-02-01T00:00", "2028-01-01T04:00");
        assert_eq!(found, ["fire 04:00:00"], "{policy:?}");
    }
    let ten_years = doc(RuleDoc::At(vec![at("2036-11-30T00:00")]), "UTC");
    assert!(told(&ten_years, &[], "2026-11-30T00:00", "2036-11-29T23:59:59").is_empty());
    let found = told(&ten_years, &[], "2026-11-30T00:00", "2036-11-30T00:00");
    assert_eq!(found, ["fire 00:00:00"]);
}

#[test]
fn b033_waking_early_and_again_on_time_is_one_fire() {
    let doc = cron_doc("0 12 * * *", "UTC");
    let table = doc.timetable(&[]).unwrap();
    let (born, slot) = (at("2027-01-01T00:00"), at("2027-01-01T12:00"));
    let early = slot - TimeDelta::milliseconds(1);
    assert_eq!(due(&doc, &table, born, early), Due::default());
    assert_eq!(due(&doc, &table, early, slot).fire, [slot]);
    assert_eq!(due(&doc, &table, slot, slot + TimeDelta::milliseconds(1)), Due::default());
}

#[test]
fn b038_a_pause_longer_than_any_tick_loses_no_slot() {
    let doc = ScheduleDoc { catch_up: CatchUp::All, ..cron_doc("* * * * *", "UTC") };
    let found = told(&doc, &[], "2027-01-01T12:00:30", "2027-01-01T12:03");
    assert_eq!(found, ["fire 12:01:00", "fire 12:02:00", "fire 12:03:00"]);
}

#[test]
fn b039_four_hundred_days_behind_are_one_row_and_little_work() {
    let (after, now) = (at("2026-01-01T00:00:30"), at("2027-02-05T00:00:30"));
    for policy in POLICIES {
        let doc = ScheduleDoc { catch_up: policy, ..cron_doc("* * * * *", "UTC") };
        let (found, took) = timed(&doc, &[], after, now);
        let missed: Vec<_> = found.passed.iter().filter(|row| row.outcome == "missed").collect();
        assert_eq!((missed[0].at, missed[0].at_least), (at("2026-01-01T00:01"), false));
        match policy {
            CatchUp::None => {
                assert_eq!((found.passed.len(), missed[0].count), (1, 576_000));
                assert!(found.fire.is_empty());
            }
            CatchUp::Last => {
                assert_eq!((found.passed.len(), missed[0].count), (2, 575_940));
                assert_eq!(found.fire, [at("2027-02-05T00:00")]);
                assert_eq!((found.passed[1].outcome, found.passed[1].count), ("coalesced", 59));
            }
            CatchUp::All => {
                assert_eq!((missed[0].count, missed[1].count, missed.len()), (575_940, 50, 2));
                assert_eq!(found.fire.len(), 10);
            }
        }
        assert!(took < Duration::from_secs(1), "{policy:?}: {took:?}");
    }
    // The next step finds nothing left.
    let doc = cron_doc("* * * * *", "UTC");
    assert_eq!(due(&doc, &doc.timetable(&[]).unwrap(), now, now), Due::default());
}

#[test]
fn b039_closed_days_and_several_rules_over_four_hundred_days_are_bounded_too() {
    let (after, now) = (at("2026-01-01T00:00:30"), at("2027-02-05T00:00:30"));
    let calendars = [weekend(&["2026-12-25"])];
    let minutes = RuleDoc::Cron { cron: "* * * * *".to_owned(), seconds: false };
    let several = vec![minutes.clone(), RuleDoc::Every { every_ms: 7_000, anchor: None }];
    for (rule, shift) in
        [(minutes.clone(), None), (minutes, Some(true)), (RuleDoc::AnyOf(several), None)]
    {
        let doc = ScheduleDoc { shift, ..doc(rule, "Europe/Berlin") };
        let (found, took) = timed(&doc, &calendars, after, now);
        assert!(took < Duration::from_secs(20), "{took:?}");
        assert!(found.passed.len() < 4_010, "{}", found.passed.len());
        let rest =
            found.passed.iter().find(|row| row.outcome == "skipped_calendar" && row.count > 1);
        let rest = rest.expect("what is beyond the rows is told in one");
        assert!(rest.at_least && rest.count == 10_000 && rest.until > Some(rest.at), "{rest:?}");
    }
}

fn timed(
    doc: &ScheduleDoc,
    calendars: &[CalendarDoc],
    after: DateTime<Utc>,
    now: DateTime<Utc>,
) -> (Due, Duration) {
    let table = closed_in(doc, calendars);
    #[expect(clippy::disallowed_methods, reason = "measures real time")]
    let start = Instant::now();
    let found = due(doc, &table, after, now);
    (found, start.elapsed())
}

#[test]
fn b040_a_second_late_is_not_dropped() {
    for policy in POLICIES {
        let doc = ScheduleDoc { catch_up: policy, ..cron_doc("* * * * *", "UTC") };
        let found = told(&doc, &[], "2027-01-01T12:00", "2027-01-01T12:01:03");
        assert_eq!(found, ["fire 12:01:00"], "{policy:?}");
    }
}

#[test]
fn b041_what_is_accounted_for_is_never_due_again() {
    for policy in POLICIES {
        let doc = ScheduleDoc { catch_up: policy, ..cron_doc("1 11 * * *", "UTC") };
        let table = doc.timetable(&[]).unwrap();
        let found = due(&doc, &table, at("2027-01-01T11:01"), at("2027-01-01T11:30"));
        assert_eq!(found, Due::default(), "{policy:?}");
    }
}

#[test]
fn b042_without_catch_up_punctual_slots_fire() {
    let doc = ScheduleDoc { catch_up: CatchUp::None, ..cron_doc("* * * * *", "UTC") };
    let table = doc.timetable(&[]).unwrap();
    let mut after = at("2027-01-01T12:00:00");
    let mut fired = 0;
    for second in 1..=600 {
        let now = at("2027-01-01T12:00:00") + TimeDelta::milliseconds(second * 1_000 + 37);
        let found = due(&doc, &table, after, now);
        assert!(found.passed.is_empty());
        fired += found.fire.len();
        after = now;
    }
    assert_eq!(fired, 10);
}

#[test]
fn b043_ten_minutes_down_make_no_flood() {
    for (policy, fires) in POLICIES.into_iter().zip([0, 1, 10]) {
        let rule = cron_doc("* * * * *", "UTC");
        let doc = ScheduleDoc { catch_up: policy, ..rule };
        let table = doc.timetable(&[]).unwrap();
        let found = due(&doc, &table, at("2027-01-01T12:00:30"), at("2027-01-01T12:10:30"));
        assert_eq!(found.fire.len(), fires, "{policy:?}");
        // And the overlap rule decides about each of them, as about any other.
        let mut unfinished = super::super::overlap::Unfinished::default();
        let turns = found.fire.iter().map(|_| unfinished.turn(Overlap::Skip));
        let ran = turns.filter(|turn| *turn == super::super::overlap::Turn::Run).count();
        assert_eq!(ran, fires.min(1), "{policy:?}");
    }
}

#[test]
fn b044_catch_up_does_not_reach_behind_the_birth() {
    for policy in POLICIES {
        let doc = ScheduleDoc {
            catch_up: policy,
            catch_up_window_ms: 86_400_000,
            ..cron_doc("30 7 * * *", "UTC")
        };
        let found = told(&doc, &[], "2027-01-01T09:00", "2027-01-01T09:01");
        assert!(found.is_empty(), "{policy:?}");
        let found = told(&doc, &[], "2027-01-01T09:00", "2027-01-02T07:30:01");
        assert_eq!(found, ["fire 07:30:00"], "{policy:?}");
    }
}

#[test]
fn b049_a_clock_that_steps_back_makes_nothing_due() {
    let doc = ScheduleDoc { catch_up: CatchUp::All, ..cron_doc("* * * * *", "UTC") };
    let table = doc.timetable(&[]).unwrap();
    let done = at("2027-01-01T02:00:10");
    assert_eq!(due(&doc, &table, done, at("2027-01-01T00:00:10")), Due::default());
    assert_eq!(due(&doc, &table, done, done), Due::default());
}

#[test]
fn a_dense_list_of_instants_loses_none() {
    let near = at("2027-01-01T12:00");
    let list = |from: i64| {
        RuleDoc::At((0..1_000).map(|n| near + TimeDelta::milliseconds(from + n)).collect())
    };
    let rule = RuleDoc::AnyOf(vec![list(0), list(1_000), list(2_000)]);
    let doc = doc(rule, "UTC");
    let table = doc.timetable(&[]).unwrap();
    let found = due(&doc, &table, near - TimeDelta::seconds(1), near + TimeDelta::seconds(5));
    assert_eq!((found.fire.len(), found.passed.len()), (2_000, 1));
    assert_eq!((found.passed[0].outcome, found.passed[0].count), ("missed", 1_000));
}
