//! Rule 3 and the extras: which days a line names.

use super::*;

/// The first dates in UTC.
fn dates(line: &str, after: &str, right: &[&str]) {
    let found: Vec<_> = fires(&timetable(line, "UTC"), after, right.len())
        .iter()
        .map(|fire| fire.split('T').next().unwrap().to_owned())
        .collect();
    assert_eq!(found, right, "{line}");
}

#[test]
fn b014_steps_of_days_start_again_each_month() {
    let right = ["2027-02-21", "2027-02-26", "2027-03-01", "2027-03-06", "2027-03-11"];
    dates("0 0 */5 * *", "2027-02-20T00:00", &right);
}

#[test]
fn b015_either_day_field_suffices() {
    let right = ["2027-01-08", "2027-01-13", "2027-01-15", "2027-01-22", "2027-01-29"];
    dates("0 0 13 * 5", "2027-01-01T00:00", &right);
    let right = ["2027-01-02", "2027-01-03", "2027-01-04", "2027-01-05"];
    dates("0 0 1-31 * 4", "2027-01-01T00:00", &right);
}

#[test]
fn b016_a_star_with_a_step_is_a_star() {
    let right = ["2027-01-11", "2027-01-25", "2027-02-01", "2027-02-15", "2027-03-01"];
    dates("0 0 */2 * 1", "2027-01-01T00:00", &right);
    dates("0 0 1 * */2", "2027-01-02T00:00", &["2027-04-01", "2027-05-01", "2027-06-01"]);
    dates("0 0 1 * *,1", "2027-01-02T00:00", &["2027-02-01", "2027-03-01"]);
}

#[test]
fn b017_nth_weekday_does_not_hide_the_day_of_month() {
    let right = ["2027-01-08", "2027-01-09", "2027-01-10", "2027-02-08", "2027-02-09"];
    dates("0 0 8-9 * 0#2", "2027-01-01T00:00", &right);
}

#[test]
fn b018_fourth_is_not_fifth() {
    let right = ["2027-01-23", "2027-02-27", "2027-03-27", "2027-04-24", "2027-05-22"];
    dates("0 0 * * 6#4", "2027-01-01T00:00", &right);
}

#[test]
fn b019_last_friday_is_monthly() {
    let right = ["2027-01-29", "2027-02-26", "2027-03-26", "2027-04-30", "2027-05-28"];
    dates("0 0 * * 5L", "2027-01-01T00:00", &right);
    dates("0 0 * * friL", "2027-01-01T00:00", &right);
}

#[test]
fn b020_last_day_keeps_short_months() {
    let right = ["2027-01-31", "2027-02-28", "2027-03-31", "2027-04-30", "2027-05-31"];
    dates("0 0 L * *", "2027-01-01T00:00", &right);
    dates("0 0 L 2 *", "2027-03-01T00:00", &["2028-02-29", "2029-02-28"]);
    let right = ["2027-01-29", "2027-02-26", "2027-03-31", "2027-04-30", "2027-05-31"];
    dates("0 0 LW * *", "2027-01-01T00:00", &right);
}

#[test]
fn b021_a_weekday_saves_an_impossible_day() {
    let right = ["2027-06-06", "2027-06-13", "2027-06-20", "2027-06-27"];
    dates("48 14 31 6 0", "2027-01-01T00:00", &right);
}

#[test]
fn b022_an_impossible_date_is_refused() {
    for line in ["0 0 30 2 *", "0 0 31 4,6 *", "0 0 31 2,4,6,9,11 *", "0 0 30-31 2 *"] {
        let fault = Cron::parse(line, false, "#/spec/cron").unwrap_err().0.remove(0);
        assert_eq!((fault.code, fault.pointer.as_str()), ("never-fires", "#/spec/cron"), "{line}");
    }
    // Seen only by searching: a day that is never that weekday does not exist, but a rare one does.
    dates("0 0 29 2 */7", "2027-01-01T00:00", &["2032-02-29"]);
    dates("0 0 * 2 5#5", "2027-01-01T00:00", &["2036-02-29", "2064-02-29", "2092-02-29"]);
}

#[test]
fn b023_leap_days_reach_past_2100() {
    let right = ["2104-02-29", "2108-02-29", "2112-02-29"];
    dates("0 0 29 2 *", "2096-03-01T00:00", &right);
    dates("0 0 29 2 *", "2026-11-30T00:00", &["2028-02-29", "2032-02-29"]);
    dates("0 0 1 1 1", "2099-12-31T00:00", &["2100-01-01", "2100-01-04", "2100-01-11"]);
    dates("0 0 31 12 *", "2198-12-31T00:00", &["2199-12-31"]);
    assert!(timetable("0 0 31 12 *", "UTC").next(at("2199-12-31T00:00")).is_none());
}

#[test]
fn b024_sunday_is_0_and_7() {
    for (line, right) in [
        ("0 0 * * 5-7", vec!["2027-01-02", "2027-01-03", "2027-01-08", "2027-01-09", "2027-01-10"]),
        ("0 0 * * 7", vec!["2027-01-03", "2027-01-10", "2027-01-17"]),
        ("0 0 * * 0", vec!["2027-01-03", "2027-01-10", "2027-01-17"]),
        ("0 0 * * 1", vec!["2027-01-04", "2027-01-11", "2027-01-18"]),
        (
            "0 0 * * 0-7/2",
            vec!["2027-01-02", "2027-01-03", "2027-01-05", "2027-01-07", "2027-01-09"],
        ),
        ("0 0 * * SUN-TUE", vec!["2027-01-03", "2027-01-04", "2027-01-05", "2027-01-10"]),
    ] {
        dates(line, "2027-01-01T00:00", &right);
    }
}

#[test]
fn both_day_fields_with_extras() {
    dates("0 0 L * 5", "2027-01-20T00:00", &["2027-01-22", "2027-01-29", "2027-01-31"]);
    dates("0 0 1,L * *", "2027-01-02T00:00", &["2027-01-31", "2027-02-01", "2027-02-28"]);
    dates("0 0 * * 1#1,1#3", "2027-01-02T00:00", &["2027-01-04", "2027-01-18", "2027-02-01"]);
}
