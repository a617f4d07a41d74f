//! Rules 1 and 2: gaps and repeated hours.

use super::super::{OnGap, OnOverlapHour};
use super::*;

#[test]
fn b001_daily_job_is_not_lost_in_the_spring_gap() {
    let table = timetable("30 2 * * *", "America/New_York");
    let right = ["2027-03-13T07:30", "2027-03-14T07:00", "2027-03-15T06:30"];
    assert_eq!(fires(&table, "2027-03-13T00:00", 3), right);
    let moved = table.next(at("2027-03-13T12:00")).unwrap();
    assert_eq!(moved.local.to_rfc3339(), "2027-03-14T03:00:00-04:00");
    assert_eq!(codes(&moved), ["moved_from_gap", "offset_change"]);
    assert_eq!(
        moved.notes[0].text(moved.local),
        "02:30 does not exist on Sun 14 Mar 2027 (clocks go forward); runs at 03:00"
    );
}

#[test]
fn a_gap_is_skipped_with_a_row_if_asked() {
    let mut plan = plan("30 2 * * *", "America/New_York");
    plan.on_gap = OnGap::Skip;
    let table = table(plan);
    assert_eq!(fires(&table, "2027-03-13T00:00", 2), ["2027-03-13T07:30", "2027-03-15T06:30"]);
    let slots = table.slots(at("2027-03-13T00:00"), at("2027-03-15T12:00"), 10);
    let fates: Vec<_> = slots.iter().map(|slot| slot.fate).collect();
    assert_eq!(fates, [Fate::Fires, Fate::SkippedGap, Fate::Fires]);
    assert_eq!(slots[1].at, at("2027-03-14T07:00"));
    assert_eq!(slots[1].fate.skipped(), Some("skipped_gap"));
}

#[test]
fn a_real_time_at_the_end_of_a_skipped_gap_fires_and_tells_of_it() {
    let mut plan = plan("0,30 2,3 * * *", "America/New_York");
    plan.on_gap = OnGap::Skip;
    let slots = table(plan).slots(at("2027-03-14T06:00"), at("2027-03-14T07:30"), 10);
    assert_eq!(slots.len(), 2);
    assert_eq!((slots[0].at, slots[0].fate), (at("2027-03-14T07:00"), Fate::Fires));
    assert_eq!(codes(&slots[0]), ["skipped_gap", "offset_change"]);
}

#[test]
fn b002_fixed_job_fires_once_when_clocks_go_back() {
    let right = ["2027-11-06T05:30", "2027-11-07T05:30", "2027-11-08T06:30"];
    expect("30 1 * * *", "America/New_York", "2027-11-06T00:00", &right);
    let right = ["2027-10-31T00:00", "2027-10-31T13:00", "2027-11-01T01:00"];
    expect("0 2,14 * * *", "Europe/Berlin", "2027-10-30T13:00", &right);
}

#[test]
fn the_pass_of_a_repeated_hour_can_be_chosen() {
    for (choice, right) in [
        (OnOverlapHour::First, vec!["2027-11-07T05:30"]),
        (OnOverlapHour::Second, vec!["2027-11-07T06:30"]),
        (OnOverlapHour::Both, vec!["2027-11-07T05:30", "2027-11-07T06:30"]),
    ] {
        let mut plan = plan("30 1 * * *", "America/New_York");
        plan.on_overlap_hour = choice;
        let table = table(plan);
        let slots = table.slots(at("2027-11-07T00:00"), at("2027-11-08T00:00"), 9);
        let found: Vec<_> = slots.iter().map(|slot| shown(slot.at)).collect();
        assert_eq!(found, right, "{choice:?}");
        assert!(slots.iter().all(|slot| codes(slot).contains(&"repeated_hour")), "{slots:?}");
        // Asked from inside either pass, the answer is the same.
        for from in ["2027-11-07T05:15", "2027-11-07T05:45", "2027-11-07T06:15"] {
            let next = fires(&table, from, 1);
            let expected = right.iter().find(|fire| **fire > from).copied();
            assert_eq!(next[0], expected.unwrap_or("2027-11-08T06:30"), "{choice:?} {from}");
        }
    }
}

#[test]
fn b003_next_firing_never_goes_back() {
    let right = [
        "2027-04-03T14:30",
        "2027-04-03T14:45",
        "2027-04-03T15:00",
        "2027-04-03T15:15",
        "2027-04-03T15:30",
    ];
    expect("*/15 * * * *", "Australia/Lord_Howe", "2027-04-03T14:20", &right);
}

#[test]
fn b004_interval_job_goes_on_in_the_repeated_hour() {
    let table = timetable("* * * * *", "Europe/Berlin");
    let slots = table.slots(at("2027-10-30T23:59"), at("2027-10-31T02:59"), 1_000);
    assert_eq!(slots.len(), 180);
    assert_eq!(table.count(at("2027-10-30T23:59"), at("2027-10-31T02:59")).fires, 180);
}

#[test]
fn b005_no_slot_is_missing_at_the_switch() {
    let table = timetable("*/15 * * * *", "Europe/Berlin");
    let slots = table.slots(at("2017-10-28T23:45"), at("2017-10-29T02:45"), 100);
    assert_eq!(slots.len(), 12);
    assert!(slots.windows(2).all(|pair| (pair[1].at - pair[0].at).num_minutes() == 15));
}

#[test]
fn b006_no_panic_inside_the_gap() {
    expect("0 2 * * *", "America/New_York", "2025-03-09T06:30", &["2025-03-09T07:00"]);
    let right = ["2025-03-09T07:00", "2025-03-10T06:00", "2025-03-10T06:30"];
    expect("0,30 2 * * *", "America/New_York", "2025-03-09T06:30", &right);
}

#[test]
fn b007_next_is_later_than_what_was_asked() {
    expect("*/5 * * * *", "America/New_York", "2026-03-08T06:59", &["2026-03-08T07:00"]);
}

#[test]
fn b008_missing_midnight_ends_the_search() {
    let right = ["2027-09-04T10:00", "2027-09-05T09:00", "2027-09-06T09:00"];
    expect("0 6 * * *", "America/Santiago", "2027-09-04T00:00", &right);
}

#[test]
fn b009_day_search_keeps_a_day_without_midnight() {
    let right = ["2027-09-05T04:00", "2027-09-05T04:10", "2027-09-05T04:20"];
    expect("*/10 1 * * 7", "America/Santiago", "2027-09-03T12:00", &right);
}

#[test]
fn b010_no_midnight_is_dropped_or_doubled() {
    let right = ["2027-11-06T04:00", "2027-11-07T04:00", "2027-11-08T05:00"];
    expect("0 0 * * *", "America/Havana", "2027-11-06T00:00", &right);
    let right = ["2027-09-04T04:00", "2027-09-05T04:00", "2027-09-06T03:00"];
    expect("0 0 * * *", "America/Santiago", "2027-09-03T12:00", &right);
}

#[test]
fn b011_another_zone_does_not_leak_in() {
    expect("0 * * * *", "UTC", "2025-10-05T02:00", &["2025-10-05T03:00", "2025-10-05T04:00"]);
}

#[test]
fn b012_a_weekly_job_in_the_gap_fires_once() {
    let right = ["2027-03-14T08:00", "2027-03-21T07:01"];
    expect("1 2 * * 0", "America/Chicago", "2027-03-13T12:00", &right);
}

#[test]
fn b013_a_shifted_firing_does_not_move_later_ones() {
    let table = timetable("30 2 * * *", "Europe/Amsterdam");
    let all = fires(&table, "2025-03-01T00:00", 32);
    assert_eq!(all[29], "2025-03-30T01:00");
    assert_eq!(all[31], "2025-04-01T00:30");
    expect("30 2 * * *", "Europe/Amsterdam", "2025-04-01T00:00", &["2025-04-01T00:30"]);
}

#[test]
fn b029_the_zone_table_is_one_and_has_a_version() {
    let right = ["2027-04-03T08:00", "2027-04-04T08:00", "2027-04-05T08:00"];
    expect("0 2 * * *", "America/Mexico_City", "2027-04-03T00:00", &right);
    let version = super::super::zone::TZDATA_VERSION;
    assert!(version.len() == 5 && version >= "2025b", "{version}");
}

#[test]
fn b030_no_offset_of_the_last_run_is_reused() {
    let right = ["2027-10-30T10:00", "2027-10-31T11:00", "2027-11-01T11:00"];
    expect("0 12 * * *", "Europe/Berlin", "2027-10-30T00:00", &right);
}

#[test]
fn b031_ambiguous_instants_are_plain_questions() {
    for from in ["2027-11-07T05:30", "2027-11-07T06:30"] {
        let table = timetable("30 1 * * *", "America/New_York");
        assert_eq!(fires(&table, from, 1), ["2027-11-08T06:30"]);
        assert_eq!(table.last(at(from)).unwrap().at, at("2027-11-07T05:30"));
    }
}

#[test]
fn b032_the_day_of_the_switch_is_on_time() {
    let right = ["2027-03-13T21:04", "2027-03-14T20:04"];
    expect("4 16 * * *", "America/New_York", "2027-03-13T12:00", &right);
}

#[test]
fn the_table_of_the_libraries_comes_out_as_debian_has_it() {
    let table = timetable("30 1-2 * * *", "America/New_York");
    let right = ["2026-03-08T06:30", "2026-03-08T07:00", "2026-03-09T05:30"];
    assert_eq!(fires(&table, "2026-03-08T00:00", 3), right);
    let right = ["2026-11-01T05:30", "2026-11-01T07:30", "2026-11-02T06:30"];
    assert_eq!(fires(&table, "2026-11-01T00:00", 3), right);
    let right = ["2026-03-08T05:15", "2026-03-08T08:15"];
    expect("15 */2 * * *", "America/New_York", "2026-03-08T05:00", &right);
    let right = ["2026-11-01T05:00", "2026-11-01T05:30", "2026-11-01T06:00", "2026-11-01T06:30"];
    expect("*/30 * * * *", "America/New_York", "2026-11-01T04:31", &right);
}

#[test]
fn zones_with_odd_changes() {
    // A whole day that Samoa left out: what was due in it fires when the next one begins.
    let right = ["2011-12-29T22:00", "2011-12-30T10:00", "2011-12-30T22:00"];
    expect("0 12 * * *", "Pacific/Apia", "2011-12-29T12:00", &right);
    // Two hours at once.
    expect("30 1 * * *", "Antarctica/Troll", "2027-03-28T00:00", &["2027-03-28T01:00"]);
    expect("30 1 * * *", "Antarctica/Troll", "2027-10-30T23:00", &["2027-10-30T23:30"]);
    // Half an hour.
    expect("15 2 * * *", "Australia/Lord_Howe", "2027-10-02T15:00", &["2027-10-02T15:30"]);
    // Midnight in Beirut.
    expect("0 0 * * *", "Asia/Beirut", "2027-03-27T12:00", &["2027-03-27T22:00"]);
}

#[test]
fn a_summer_time_of_one_week_is_not_overlooked() {
    let right = ["2000-10-08T04:00", "2000-10-08T15:00", "2000-10-09T03:00"];
    expect("0 0,12 * * *", "America/Boa_Vista", "2000-10-07T16:00", &right);
    let right = ["2000-10-14T15:00", "2000-10-15T04:00", "2000-10-15T16:00"];
    expect("0 0,12 * * *", "America/Boa_Vista", "2000-10-14T03:00", &right);
}
