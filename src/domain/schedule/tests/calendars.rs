//! Closed days, shifted slots, rules of days, and iCalendar files.

use std::collections::BTreeMap;

use chrono::{Datelike, NaiveDate, NaiveTime, TimeDelta, Weekday, WeekdaySet};

use super::super::calendar::{Calendar, Shift};
use super::super::ical;
use super::super::rule::{At, Day, Every, Which};
use super::oracle_case::{Line, Random};
use super::*;

fn date(text: &str) -> NaiveDate {
    text.parse().unwrap()
}

fn holidays(dates: &[&str], weekend: &[Weekday]) -> Calendar {
    let dates = dates.iter().map(|text| date(text)).collect();
    let weekend = weekend.iter().copied().collect::<WeekdaySet>();
    Calendar { name: "holidays".to_owned(), dates, weekend }
}

const WEEKEND: [Weekday; 2] = [Weekday::Sat, Weekday::Sun];

fn closed(rule: Rule, calendar: Calendar, shift: Shift) -> Timetable {
    let plan = Plan::new(rule, zone("Europe/Berlin"));
    table(Plan { exclude: vec![calendar], shift, ..plan })
}

/// Slots as `2027-01-01 fires` in local dates.
fn log(table: &Timetable, after: &str, until: &str) -> Vec<String> {
    let slots = table.slots(at(after), at(until), 100);
    assert!(slots.windows(2).all(|pair| pair[0].at < pair[1].at));
    let line = |slot: &Slot| {
        let fate = slot.fate.skipped().unwrap_or("fires");
        format!("{} {fate} {}", slot.local.format("%m-%d %H:%M"), codes(slot).join("+"))
    };
    slots.iter().map(|slot| line(slot).trim().to_owned()).collect()
}

#[test]
fn a_closed_day_is_skipped_with_a_row() {
    let table = closed(cron("0 9 * * *"), holidays(&["2027-01-06"], &[]), Shift::Skip);
    let right = ["01-05 09:00 fires", "01-06 09:00 skipped_calendar holiday", "01-07 09:00 fires"];
    assert_eq!(log(&table, "2027-01-05T00:00", "2027-01-07T12:00"), right);
    assert_eq!(fires(&table, "2027-01-05T12:00", 1), ["2027-01-07T08:00"]);
    assert_eq!(table.last(at("2027-01-06T20:00")).unwrap().at, at("2027-01-05T08:00"));
    let count = table.count(at("2027-01-01T00:00"), at("2027-01-31T00:00"));
    assert_eq!((count.fires, count.exact), (29, true));
}

#[test]
fn slots_move_to_the_next_business_day_and_merge() {
    let calendar = holidays(&["2027-01-01"], &WEEKEND);
    let table = closed(cron("0 9 * * *"), calendar, Shift::NextBusinessDay);
    let right = [
        "12-31 09:00 fires",
        "01-01 09:00 skipped_calendar holiday",
        "01-02 09:00 skipped_calendar holiday",
        "01-03 09:00 skipped_calendar holiday",
        "01-04 09:00 fires shifted",
        "01-05 09:00 fires",
    ];
    assert_eq!(log(&table, "2026-12-31T00:00", "2027-01-05T12:00"), right);
}

#[test]
fn a_shifted_slot_keeps_its_time_of_day() {
    let calendar = || holidays(&[], &[]);
    // Saturday 16:00 and Monday 09:00 and 16:00.
    let table = closed(cron("0 9,16 2,4 1 *"), calendar(), Shift::NextBusinessDay);
    let right = ["2027-01-04T08:00", "2027-01-04T15:00", "2028-01-03T08:00"];
    assert_eq!(fires(&table, "2027-01-01T00:00", 3), right);
    let table = closed(cron("0 16 3 1 *"), calendar(), Shift::PreviousBusinessDay);
    assert_eq!(fires(&table, "2026-12-01T00:00", 2), ["2027-01-01T15:00", "2028-01-03T15:00"]);
    // Asked on the way, after and before the target.
    assert_eq!(fires(&table, "2027-01-01T15:00", 1), ["2028-01-03T15:00"]);
    assert_eq!(fires(&table, "2027-01-01T14:59", 1), ["2027-01-01T15:00"]);
}

#[test]
fn intervals_and_lists_skip_closed_days_but_are_not_shifted() {
    let every = Every::new(6 * 3_600_000, None, "#").unwrap();
    let table = closed(Rule::Every(every), holidays(&["2027-01-06"], &[]), Shift::Skip);
    let right = ["2027-01-05T18:00", "2027-01-07T00:00"];
    assert_eq!(fires(&table, "2027-01-05T12:00", 2), right);
    assert_eq!(log(&table, "2027-01-05T18:00", "2027-01-07T00:00").len(), 5);
    let list = At::new(vec![at("2027-01-06T09:00"), at("2027-01-08T09:00")], "#").unwrap();
    let table = closed(Rule::At(list.clone()), holidays(&["2027-01-06"], &[]), Shift::Skip);
    let right = ["01-06 10:00 skipped_calendar holiday", "01-08 10:00 fires"];
    assert_eq!(log(&table, "2027-01-01T00:00", "2027-02-01T00:00"), right);
    let plan = Plan::new(Rule::At(list), zone("UTC"));
    let plan = Plan { shift: Shift::NextBusinessDay, ..plan };
    assert_eq!(Timetable::new(plan, "#").unwrap_err().0[0].pointer, "#/shift");
}

#[test]
fn days_of_the_month() {
    let day =
        |which| Rule::Day(Day::new(which, NaiveTime::from_hms_opt(2, 0, 0).unwrap(), "#").unwrap());
    let holidays = || holidays(&["2027-01-01", "2027-12-31"], &WEEKEND);
    for (which, shift, right) in [
        (Which::LastOfMonth, Shift::Skip, ["2027-03-31T00:00", "2027-04-30T00:00"]),
        (Which::LastOfMonth, Shift::PreviousBusinessDay, ["2027-02-26T01:00", "2027-03-31T00:00"]),
        (Which::LastBusinessDay, Shift::Skip, ["2027-02-26T01:00", "2027-03-31T00:00"]),
        (Which::NthBusinessDay(1), Shift::Skip, ["2027-02-01T01:00", "2027-03-01T01:00"]),
        (Which::NthBusinessDay(3), Shift::Skip, ["2027-02-03T01:00", "2027-03-03T01:00"]),
    ] {
        let table = closed(day(which), holidays(), shift);
        assert_eq!(fires(&table, "2027-01-31T00:00", 2), right, "{which:?}");
    }
    let table = closed(day(Which::LastBusinessDay), holidays(), Shift::Skip);
    assert_eq!(fires(&table, "2027-12-01T00:00", 1), ["2027-12-30T01:00"]);
    let table = closed(day(Which::NthBusinessDay(1)), holidays(), Shift::Skip);
    assert_eq!(fires(&table, "2026-12-31T00:00", 1), ["2027-01-04T01:00"]);
    let table = closed(day(Which::NthBusinessDay(30)), holidays(), Shift::Skip);
    assert_eq!(table.first(at("2027-01-01T00:00"), "#/spec").unwrap_err().0[0].code, "never-fires");
}

#[test]
fn a_schedule_on_closed_days_only_never_fires_and_is_found_out_quickly() {
    let table = closed(cron("* * * * 6"), holidays(&[], &WEEKEND), Shift::Skip);
    let fault = table.first(at("2027-01-01T00:00"), "#/spec").unwrap_err().0.remove(0);
    assert_eq!((fault.code, fault.pointer.as_str()), ("never-fires", "#/spec"));
    let table = closed(cron("30 2 * * 6"), holidays(&[], &WEEKEND), Shift::NextBusinessDay);
    assert_eq!(fires(&table, "2027-01-01T00:00", 1), ["2027-01-04T01:30"]);
}

#[test]
fn slots_of_closed_days_do_not_cost_a_search_to_the_last_year_each() {
    let table = closed(cron("30 2 * * 6"), holidays(&[], &WEEKEND), Shift::Skip);
    #[expect(clippy::disallowed_methods, reason = "measures real time")]
    let start = std::time::Instant::now();
    let slots = table.slots(at("2027-01-01T00:00"), at("2199-12-31T00:00"), 1_000);
    assert!(slots.len() == 1_000 && slots.iter().all(|slot| slot.fate == Fate::SkippedCalendar));
    assert!(start.elapsed() < std::time::Duration::from_secs(2), "{:?}", start.elapsed());
}

#[test]
fn shifted_times_meet_clock_changes_like_any_other() {
    // Friday the 26th is closed and so is the weekend: Sunday's gap is never met, Monday is.
    let calendar = holidays(&["2027-03-26"], &[Weekday::Sat]);
    let table = closed(cron("30 2 26 3 *"), calendar, Shift::NextBusinessDay);
    let slot = table.next(at("2027-03-01T00:00")).unwrap();
    assert_eq!((slot.at, slot.fate), (at("2027-03-28T01:00"), Fate::Fires));
    assert_eq!(codes(&slot), ["moved_from_gap", "offset_change", "shifted"]);
}

#[test]
fn calendars_have_bounds() {
    let week: WeekdaySet = (0..7).filter_map(|n| Weekday::try_from(n).ok()).collect();
    let dates = date("2000-01-01").iter_days().take(5_001).collect();
    let odd = Calendar { name: String::new(), dates, weekend: week };
    let pointers: Vec<_> = odd.check("#").0.into_iter().map(|fault| fault.pointer).collect();
    assert_eq!(pointers, ["#/dates", "#/weekend"]);
}

const FILE: &str = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\n\
    BEGIN:VTIMEZONE\r\nTZID:Europe/Berlin\r\nBEGIN:STANDARD\r\nDTSTART:19701025T030000\r\n\
    RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n\
    BEGIN:VEVENT\r\nSUMMARY:New Ye\r\n ar\r\nDTSTART;VALUE=DATE:20200101\r\n\
    DTEND;VALUE=DATE:20200102\r\nRRULE:FREQ=YEARLY\r\nEND:VEVENT\r\n\
    BEGIN:VEVENT\r\nSUMMARY:Christmas\r\nDTSTART;X-NOTE=\"a:b\";VALUE=DATE:20271225\r\n\
    DTEND;VALUE=DATE:20271227\r\nBEGIN:VALARM\r\nDTSTART:20200101T000000Z\r\nEND:VALARM\r\n\
    END:VEVENT\r\n\
    BEGIN:VEVENT\r\nSUMMARY:Leap\r\nDTSTART;VALUE=DATE:20240229\r\n\
    RRULE:FREQ=YEARLY;UNTIL=20290101T000000Z\r\nEND:VEVENT\r\n\
    BEGIN:VEVENT\r\nSUMMARY:Meeting\r\nDTSTART:20270105T090000Z\r\nEND:VEVENT\r\n\
    BEGIN:VEVENT\r\nSUMMARY:Easter\r\nDTSTART;VALUE=DATE:20270329\r\n\
    RRULE:FREQ=YEARLY;BYDAY=1MO\r\nEND:VEVENT\r\n\
    BEGIN:VEVENT\r\nSUMMARY:Called off\r\nDTSTART;VALUE=DATE:20270501\r\nSTATUS:CANCELLED\r\n\
    END:VEVENT\r\n\
    BEGIN:VEVENT\r\nSUMMARY:Long ago\r\nDTSTART;VALUE=DATE:19990501\r\nEND:VEVENT\r\n\
    BEGIN:VTODO\r\nSUMMARY:Buy\r\nEND:VTODO\r\n\
    END:VCALENDAR\r\n";

#[test]
fn icalendar_files_give_dates_and_name_what_they_do_not() {
    let import = ical::import(FILE, 2027..=2028, "#/ical").unwrap();
    let dates: Vec<_> = import.dates.iter().map(ToString::to_string).collect();
    let right = ["2027-01-01", "2027-12-25", "2027-12-26", "2028-01-01", "2028-02-29"];
    assert_eq!(dates, right);
    assert_eq!(import.events, 3);
    let right = [
        ("Meeting", "it is not an all-day event"),
        ("Easter", "its RRULE has BYDAY=1MO"),
        ("Called off", "it is cancelled"),
        ("Long ago", "no day of it lies in 2027 to 2028"),
        ("VTODO", "only VEVENT is taken"),
    ];
    assert_eq!(import.left.len(), right.len(), "{:?}", import.left);
    for (left, (what, why)) in import.left.iter().zip(right) {
        assert!(left.what == what && left.why.starts_with(why), "{left:?}");
    }
    assert_eq!(import.left[0].line, 30);
}

#[test]
fn what_is_no_icalendar_file_is_refused() {
    let open = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART;VALUE=DATE:20270101\nEND:VEVENT\n";
    let crossed = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nEND:VCALENDAR\nEND:VEVENT\n";
    for text in ["", "hello", "{}", open, crossed, "END:VCALENDAR", "\u{feff}:::\n;;;"] {
        assert_eq!(ical::import(text, 2027..=2028, "#/ical").unwrap_err().0[0].pointer, "#/ical");
    }
    let event = "BEGIN:VEVENT\nDTSTART;VALUE=DATE:20000101\nDURATION:P300D\n\
                 RRULE:FREQ=YEARLY\nEND:VEVENT\n";
    let many = format!("BEGIN:VCALENDAR\n{event}END:VCALENDAR\n");
    assert_eq!(ical::import(&many, 1970..=2199, "#").unwrap_err().0[0].code, "too-many");
    assert_eq!(ical::import(&many, 2000..=2004, "#").unwrap().dates.len(), 1_500);
}

/// Random calendars, day by day: every slot of the plain rule either stays, is left out, or arrives
/// where a walk over days finds the nearest business day.
#[test]
fn calendars_agree_with_a_walk_over_days() {
    let mut random = Random(20_261_201);
    for number in 0..300 {
        let line = Line::random(&mut random);
        let Ok(rule) = Cron::parse(&line.text(), line.seconds, "#") else { continue };
        let first = date("2027-01-01") + TimeDelta::days(random.within(0, 20_000));
        let day = |away: i64| first + TimeDelta::days(away);
        let density = u64::try_from(random.within(5, 90)).unwrap();
        let dates = (-60..90).map(day).filter(|_| random.chance(density)).collect();
        let weekend = if random.chance(50) { &WEEKEND[..] } else { &[] };
        let calendar = Calendar { dates, ..holidays(&[], weekend) };
        let shift =
            *random.pick(&[Shift::Skip, Shift::NextBusinessDay, Shift::PreviousBusinessDay]);
        let plain = table(Plan::new(Rule::Cron(rule.clone()), zone("UTC")));
        let plan = Plan::new(Rule::Cron(rule), zone("UTC"));
        let table = table(Plan { exclude: vec![calendar.clone()], shift, ..plan });

        let is_weekend = |date: NaiveDate| WEEKEND.contains(&date.weekday());
        let stopped = |date: NaiveDate| {
            let silent = weekend.is_empty() && shift != Shift::Skip;
            calendar.is_closed(date) || silent && is_weekend(date)
        };
        let target = |date: NaiveDate| match shift {
            Shift::Skip => None,
            Shift::NextBusinessDay => {
                (1..=31).map(|n| date + TimeDelta::days(n)).find(|d| !stopped(*d))
            }
            Shift::PreviousBusinessDay => {
                (1..=31).map(|n| date - TimeDelta::days(n)).find(|d| !stopped(*d))
            }
        };
        let instant = |date: NaiveDate| date.and_time(NaiveTime::MIN).and_utc();
        let mut expected = BTreeMap::new();
        // Dense lines make many slots; what they do on the first 2,000 of them is enough.
        let slots = plain.slots(instant(day(-60)), instant(day(60)), 2_000);
        let known = slots.last().filter(|_| slots.len() == 2_000).map(|slot| slot.at);
        for slot in &slots {
            let (date, time) = (slot.at.date_naive(), slot.at.time());
            if !stopped(date) {
                expected.insert(slot.at, Fate::Fires);
                continue;
            }
            expected.insert(slot.at, Fate::SkippedCalendar);
            if let Some(target) = target(date) {
                expected.insert(target.and_time(time).and_utc(), Fate::Fires);
            }
        }
        // Shifts cross the edges of what was listed; the middle is whole.
        let (from, mut until) = (instant(day(-27)), instant(day(27)));
        if let Some(known) = known {
            until = until.min(known - TimeDelta::days(33));
        }
        expected.retain(|at, _| *at > from && *at <= until);
        let found: BTreeMap<_, _> =
            table.slots(from, until, 5_000).into_iter().map(|slot| (slot.at, slot.fate)).collect();
        assert_eq!(found, expected, "case {number}: {} {shift:?} from {from}", line.text());
    }
}
