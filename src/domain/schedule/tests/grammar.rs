//! The grammar: what is taken, what is refused, and with which advice.

use super::*;
use crate::domain::invalid::Fault;

fn refused(line: &str, seconds: bool) -> String {
    let faults = Cron::parse(line, seconds, "#/spec/cron").expect_err(line).0;
    assert!(faults.iter().all(|fault| fault.pointer == "#/spec/cron" && !fault.detail.is_empty()));
    faults.iter().map(|fault| fault.detail.as_str()).collect::<Vec<_>>().join("; ")
}

#[test]
fn what_debian_takes_is_taken() {
    for line in [
        "* * * * *",
        "01 1 01 01 07",
        "0,30 * * * *",
        "*/70 * * * *",
        "0-0/5 * * * *",
        "0 0 * JAN-MAR MON-FRI",
        "0 0 * * mOn,wed",
        "\t 0  0\t* * * ",
        "1,1,1 0 * * *",
        "0-59/7 * * * *",
        "0 0 * * *,1",
        "@yearly",
        "@annually",
        "@monthly",
        "@weekly",
        "@daily",
        "@midnight",
        "@hourly",
        " @daily ",
        "0 0 L * *",
        "0 0 lw * *",
        "0 0 * * 5L",
        "0 0 * * FRI#3",
        "0 0 1,L,LW * 5#1,1L",
    ] {
        let read = Cron::parse(line, false, "#").unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!(read.text(), line.trim());
        let again = Cron::parse(read.text(), false, "#").unwrap();
        assert_eq!(read, again);
    }
    assert_eq!(
        fires(&timetable("*/70 * * * *", "UTC"), "2027-01-01T00:30", 1),
        ["2027-01-01T01:00"]
    );
    assert_eq!(
        fires(&timetable("0-0/5 * * * *", "UTC"), "2027-01-01T00:30", 1),
        ["2027-01-01T01:00"]
    );
    assert_eq!(fires(&timetable("@weekly", "UTC"), "2027-01-01T00:30", 1), ["2027-01-03T00:00"]);
}

#[test]
fn what_is_refused_comes_with_advice() {
    for (line, advice) in [
        ("6-1 * * * *", "6-1 runs backwards; write 6-59,0-1"),
        ("0 22-2 * * *", "22-2 runs backwards; write 22-23,0-2"),
        ("0 0 * * 6-1", "6-1 runs backwards; write 6,0-1"),
        ("0 0 * * FRI-MON", "FRI-MON runs backwards; write 5-6,0-1"),
        ("0 0 * * 7-2", "7-2 runs backwards; write 0-2"),
        ("40-10/5 * * * *", "one by one"),
        ("5/15 * * * *", "write 5-59/15"),
        ("60 * * * *", "minute must be 0 to 59, got 60"),
        ("4294967301 * * * *", "minute must be 0 to 59"),
        ("99999999999999999999999 * * * *", "minute must be 0 to 59"),
        ("* 24 * * *", "hour must be 0 to 23"),
        ("0 0 0 * *", "day of the month must be 1 to 31"),
        ("0 0 32 * *", "day of the month must be 1 to 31"),
        ("0 0 * 13 *", "month must be 1 to 12"),
        ("0 0 * * 8", "day of the week must be 0 to 7"),
        ("*/0 * * * *", "a whole number from 1"),
        ("*/+5 * * * *", "a whole number from 1"),
        ("*/ * * * *", "a whole number from 1"),
        ("-5 * * * *", "a number is missing"),
        ("+5 * * * *", "minute must be"),
        ("1.5 * * * *", "minute must be"),
        ("5, * * * *", "comma"),
        (",5 * * * *", "comma"),
        ("1--5 * * * *", "minute must be"),
        ("1--100000000 * * * *", "minute must be"),
        ("*-5 * * * *", "minute must be"),
        ("1-* * * * *", "minute must be"),
        ("0 0 * * Sunday", "write SUN"),
        ("0 0 * January *", "write JAN"),
        ("0 0 ? * 1", "write *"),
        ("0~30 * * * *", "jitter"),
        ("0 0 15W * *", "nth_business_day"),
        ("0 0 L-3 * *", "only L"),
        ("0 0 * * L", "write 5L"),
        ("0 0 * * 5#6", "1 to 5"),
        ("0 0 * * 5#0", "1 to 5"),
        ("0 0 * * 5#01", "1 to 5"),
        ("0 0 * * +MON", "day of the week must be"),
        ("L * * * *", "belong to days"),
        ("H * * * *", "minute must be"),
        ("* * * *", "4 of five fields"),
        ("*****", "1 of five fields"),
        ("******", "1 of five fields"),
        ("", "0 of five fields"),
        ("   ", "0 of five fields"),
        ("0 0 0 * * *", "seconds: true"),
        ("0 0 0 1 1 * 2027", "no year"),
        ("@Daily", "write @daily"),
        ("@every 5m", "every_ms"),
        ("@reboot", "call the API"),
        ("@fortnightly", "must be one of"),
        ("TZ=0", "time_zone"),
        ("TZ=TZ=TZ=", "time_zone"),
        ("CRON_TZ=UTC", "time_zone"),
        ("CRON_TZ=UTC 0 0 * * *", "time_zone"),
        ("0 0 * * *\n0 0 * * *", "cannot stand"),
        ("0 0 * * \0", "cannot stand"),
        ("０ 0 * * *", "cannot stand"),
        ("0\u{a0}0 * * *", "cannot stand"),
    ] {
        let detail = refused(line, false);
        assert!(detail.contains(advice), "{line:?}: {detail}");
    }
}

#[test]
fn b025_nothing_panics_and_everything_is_bounded() {
    assert!(refused(&"* ".repeat(10_000), false).contains("256 bytes"));
    assert!(refused(&"1".repeat(10_000), false).contains("256 bytes"));
    assert!(refused(&"é".repeat(200), false).contains("256 bytes"));
    // Every byte after every prefix of a good line.
    let line = "*/5,1-3 0-7/2 L,1 JAN-MAR 5L,1#2";
    for end in 0..=line.len() {
        let (head, tail) = line.split_at(end);
        for byte in 0..=u8::MAX {
            let cut = format!("{head}{}", char::from(byte));
            for text in [format!("{cut}{tail}"), cut] {
                if let Ok(read) = Cron::parse(&text, end.is_multiple_of(2), "#") {
                    assert!(Cron::parse(read.text(), read.has_seconds(), "#").is_ok(), "{text:?}");
                }
            }
        }
    }
}

#[test]
fn every_wrong_field_is_named() {
    let faults = Cron::parse("60 24 0 13 8", false, "#").unwrap_err().0;
    let head = |fault: &Fault| fault.detail.split(" must").next().unwrap().to_owned();
    let heads: Vec<_> = faults.iter().map(head).collect();
    assert_eq!(heads, ["minute", "hour", "day of the month", "month", "day of the week"]);
}

#[test]
fn seconds_are_taken_only_when_asked_for() {
    let read = Cron::parse("*/10 30 2 * * 1-5", true, "#").unwrap();
    assert!(read.has_seconds() && read.is_fixed());
    assert!(refused("30 2 * * *", true).contains("write 0 30 2 * * *"));
    assert!(Cron::parse("@daily", true, "#").is_ok());
    let table = timetable("*/20 59 23 31 12 *", "UTC");
    let first = table.next(at("2027-12-31T23:59:20")).unwrap();
    assert_eq!(first.at, at("2027-12-31T23:59:40"));
}

#[test]
fn b026_unknown_zones_are_refused_with_advice() {
    for (name, advice) in [
        ("Mars/Base", "IANA name"),
        ("europe/berlin", "write Europe/Berlin"),
        ("Berlin", "write Europe/Berlin"),
        ("new york", "write America/New_York"),
        ("+02:00", "is an offset"),
        ("", "IANA name"),
        ("\0", "IANA name"),
        ("Europe/Berlin ", "write Europe/Berlin"),
    ] {
        let fault = super::super::zone::zone(name, "#/time_zone").unwrap_err().0.remove(0);
        assert_eq!((fault.code, fault.pointer.as_str()), ("unknown-zone", "#/time_zone"));
        assert!(fault.detail.contains(advice), "{name:?}: {}", fault.detail);
    }
    assert!(super::super::zone::zone(&"é".repeat(5_000), "#").is_err());
    for name in ["UTC", "Europe/Berlin", "Etc/GMT+5", "America/Argentina/Buenos_Aires"] {
        assert_eq!(zone(name).name(), name);
    }
}
