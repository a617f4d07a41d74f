//! Descriptions, previews and warnings.

use chrono::{NaiveTime, Weekday};

use super::super::calendar::{Calendar, Shift};
use super::super::describe::describe;
use super::super::preview::Preview;
use super::super::rule::{AnyOf, At, Day, Every, Which};
use super::*;

#[test]
fn descriptions() {
    for (line, right) in [
        ("30 2 * * 1-5", "at 02:30 on Monday to Friday"),
        ("30 2 * * *", "at 02:30 every day"),
        ("0 9,17 * * *", "at 09:00 and 17:00 every day"),
        ("* * * * *", "every minute"),
        ("*/15 * * * *", "every 15 minutes"),
        ("*/7 * * * *", "at minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56 of every hour"),
        ("0 * * * *", "every hour, on the hour"),
        ("5 * * * *", "at minute 5 of every hour"),
        ("0 */2 * * *", "at minute 0 of every 2nd hour"),
        ("* 9-17 * * *", "every minute from 09:00 to 17:59"),
        ("*/15 9-17 * * 1-5", "every 15 minutes from 09:00 to 17:45 on Monday to Friday"),
        ("* 9,12 * * *", "every minute of hours 9 and 12"),
        ("5-10 1-3 * * *", "at minutes 5 to 10 of hours 1 to 3"),
        ("0 0 1 * *", "at 00:00 on day 1 of the month"),
        ("0 0 1,15 * *", "at 00:00 on days 1 and 15 of the month"),
        ("0 0 13 * 5", "at 00:00 on day 13 of the month, and also on Friday"),
        (
            "0 0 */10 * 1,2",
            "at 00:00 on days 1, 11, 21 and 31 of the month, only if it is Monday or Tuesday",
        ),
        ("0 0 1-31 * 4", "at 00:00 every day"),
        ("0 0 L * *", "at 00:00 on the last day of the month"),
        ("0 0 LW 2 *", "at 00:00 on the last weekday (Monday to Friday) of the month in February"),
        ("0 0 * * 5L", "at 00:00 on the last Friday of the month"),
        ("0 0 * * 5#3", "at 00:00 on the third Friday of the month"),
        ("0 0 * 1-3,6 0,6", "at 00:00 on Saturday and Sunday in January to March and June"),
        ("@yearly", "at 00:00 on day 1 of the month in January"),
        ("*/10 * * * * *", "every 10 seconds"),
        ("* * * * * *", "every second"),
        ("5 * * * * *", "at second 5 of every minute"),
        (
            "*/10 30 2 * * *",
            "at 02:30, 02:30:10, 02:30:20, 02:30:30, 02:30:40 and 02:30:50 every day",
        ),
        ("*/5 30 * * * *", "every 5 seconds of minute 30 of every hour"),
    ] {
        assert_eq!(describe(&cron(line), zone("Europe/Berlin")), format!("{right}, Europe/Berlin"));
    }
}

#[test]
fn descriptions_of_other_rules() {
    let every = Rule::Every(Every::new(90_000, None, "#").unwrap());
    assert_eq!(describe(&every, zone("UTC")), "every 90 seconds, UTC");
    let every = Every::new(3_600_000, Some(at("2027-01-01T00:07")), "#").unwrap();
    let right = "every hour, counted from 2027-01-01T00:07:00Z, UTC";
    assert_eq!(describe(&Rule::Every(every), zone("UTC")), right);
    let day =
        |which| Rule::Day(Day::new(which, NaiveTime::from_hms_opt(2, 0, 0).unwrap(), "#").unwrap());
    let right = "at 02:00 on the third business day of the month, UTC";
    assert_eq!(describe(&day(Which::NthBusinessDay(3)), zone("UTC")), right);
    let list = At::new(vec![at("2027-01-01T00:00")], "#").unwrap();
    let right = "once at 2027-01-01 01:00:00, Europe/Berlin";
    assert_eq!(describe(&Rule::At(list), zone("Europe/Berlin")), right);
    let any = AnyOf::new(vec![cron("@hourly"), day(Which::LastOfMonth)], "#").unwrap();
    let right = "every hour, on the hour; and at 02:00 on the last day of the month, UTC";
    assert_eq!(describe(&Rule::AnyOf(any), zone("UTC")), right);
}

#[test]
fn a_plan_is_described_with_its_calendars_and_bounds() {
    let calendar = Calendar { name: "de-holidays".to_owned(), ..Calendar::default() };
    let mut plan = plan("30 2 * * 1-5", "Europe/Berlin");
    plan.exclude.push(calendar);
    plan.end_at = Some(at("2027-12-31T23:00"));
    let right = "at 02:30 on Monday to Friday, Europe/Berlin; not on days closed in de-holidays; \
                 until 2028-01-01 00:00";
    assert_eq!(table(plan.clone()).describe(), right);
    plan.shift = Shift::NextBusinessDay;
    let text = table(plan).describe();
    assert!(text.contains("on days closed in de-holidays, on the next business day instead"));
}

fn preview(line: &str, name: &str, after: &str) -> Preview {
    timetable(line, name).preview(at(after), 3)
}

#[test]
fn a_preview_tells_what_happens_at_the_next_clock_changes() {
    let preview = preview("30 2 * * 1-7", "Europe/Berlin", "2026-11-30T00:00");
    assert_eq!(preview.slots.len(), 3);
    let texts: Vec<_> = preview.warnings.iter().map(|w| (w.code, w.text.as_str())).collect();
    let right = [
        (
            "moved-at-clock-change",
            "02:30 does not exist on Sun 28 Mar 2027 (clocks go forward); runs at 03:00",
        ),
        (
            "repeated-at-clock-change",
            "02:30 occurs twice on Sun 31 Oct 2027 (clocks go back); runs once, at the first",
        ),
    ];
    assert_eq!(texts, right);
    assert!(!preview.description.is_empty() && preview.tzdata.len() == 5);
}

#[test]
fn warnings() {
    for (line, code) in [
        ("*/10 * * * * *", Some("more-than-once-a-minute")),
        ("0 2 31 * *", Some("never-in-month")),
        ("0 2 30 * *", Some("never-in-month")),
        ("0 2 29 2 *", Some("only-in-leap-years")),
        ("0 2 29 * *", Some("february-only-in-leap-years")),
        ("0 2 31 * 1", None),
        ("0 2 31,L * *", None),
        ("0 2 28-31 * *", None),
        ("0 2 31 1,3 *", None),
        ("* * * * *", None),
    ] {
        let found = preview(line, "UTC", "2027-12-01T00:00").warnings;
        assert_eq!(found.first().map(|warning| warning.code), code, "{line}: {found:?}");
    }
    let found = preview("0 2 31 * *", "UTC", "2027-12-01T00:00").warnings;
    let right = "never in February, April, June, September or November, which has no day 31; \
                 write L for the last day of the month";
    assert_eq!(found[0].text, right);
    let found = preview("0 0 29 2 *", "UTC", "2096-12-01T00:00").warnings;
    assert_eq!(found[1].text, "the next fire is only on 29 Feb 2104");
}

#[test]
fn a_preview_shows_fires_even_behind_many_skipped_slots() {
    let mut plan = plan("0 9 * * *", "UTC");
    let weekend = [Weekday::Sat, Weekday::Sun].into_iter().collect();
    plan.exclude.push(Calendar { name: "weekend".to_owned(), weekend, ..Calendar::default() });
    let preview = table(plan).preview(at("2027-01-01T12:00"), 2);
    let fates: Vec<_> = preview.slots.iter().map(|slot| slot.fate.skipped()).collect();
    let skipped = Some("skipped_calendar");
    assert_eq!(fates, [skipped, skipped, None, None]);
    assert!(timetable("@hourly", "UTC").preview(at("2027-01-01T12:00"), 1_000).slots.len() == 100);
}

#[test]
fn a_preview_tells_of_the_next_clock_change_whatever_it_does() {
    for (line, after, right) in [
        (
            "0 2 31 * *",
            "2026-11-30T00:00",
            "clocks go forward on Sun 14 Mar 2027 from 02:00 to 03:00 (UTC-5 to UTC-4): \
             no fire is moved, lost or doubled",
        ),
        (
            "30 2 * * *",
            "2026-11-30T00:00",
            "clocks go forward on Sun 14 Mar 2027 from 02:00 to 03:00 (UTC-5 to UTC-4): \
             02:30 does not exist on Sun 14 Mar 2027 (clocks go forward); runs at 03:00",
        ),
        (
            "*/5 * * * *",
            "2026-11-30T00:00",
            "clocks go forward on Sun 14 Mar 2027 from 02:00 to 03:00 (UTC-5 to UTC-4): \
             it follows the wall clock; times in between do not come",
        ),
        (
            "*/5 * * * *",
            "2027-05-30T00:00",
            "clocks go back on Sun 7 Nov 2027 from 02:00 to 01:00 (UTC-4 to UTC-5): \
             it follows the wall clock; times that come twice fire twice",
        ),
    ] {
        let preview = preview(line, "America/New_York", after);
        assert_eq!(preview.clock_change.unwrap().text, right);
    }
    assert!(preview("0 2 31 * *", "UTC", "2026-11-30T00:00").clock_change.is_none());
    let change = preview("0 2 31 * *", "America/New_York", "2026-11-30T00:00").clock_change;
    let change = change.unwrap();
    assert_eq!((change.at, change.from, change.to), (at("2027-03-14T07:00"), -18_000, -14_400));
}
