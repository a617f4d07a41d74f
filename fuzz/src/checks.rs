//! What must hold of schedules and signatures whatever somebody writes. Each function takes the bytes of one input
//! and panics where something does not hold; inputs that say nothing are passed over.
//!
//! Two callers share this file: the fuzz targets beside it, and a test of Axle that replays
//! `fuzz/seeds` on a stable compiler.

use std::time::{Duration, Instant};

use chrono::{DateTime, Datelike, Utc, Weekday};
use chrono_tz::{TZ_VARIANTS, Tz};

use crate::domain::schedule::calendar::{Calendar, DATE_LIMIT, Shift};
use crate::domain::schedule::cron::Cron;
use crate::domain::schedule::rule::{AnyOf, At, Day, Every, Rule, Which};
use crate::domain::schedule::slot::Fate;
use crate::domain::schedule::timetable::{Plan, Timetable};
use crate::domain::schedule::{OnGap, OnOverlapHour, ical};
use crate::domain::signature::verify::{Captured, Freshness, header, verify};
use crate::domain::signature::{
    ID, Message, RUN_SIGNATURE, SIGNATURE, SigningKind, SigningSecret, TIMESTAMP,
};

/// No input may take longer. Far more than any takes, also unoptimized on a busy machine.
const LONGEST: Duration = Duration::from_secs(10);
/// Slots that are looked at one by one.
const SLOTS: usize = 40;

/// Reads a cron line, with seconds and without, and asks what it reads for its next fires.
pub fn cron(data: &[u8]) {
    bounded(data, || {
        let Ok(line) = std::str::from_utf8(data) else { return };
        for seconds in [false, true] {
            match Cron::parse(line, seconds, "#/spec/cron") {
                Err(refused) => {
                    let told = |pointer: &str, detail: &str| {
                        pointer == "#/spec/cron" && !detail.is_empty() && detail.len() < 2_000
                    };
                    let told = refused.0.iter().all(|fault| told(&fault.pointer, &fault.detail));
                    assert!(told && !refused.0.is_empty(), "{line:?}: {refused:?}");
                }
                Ok(cron) => {
                    let again = Cron::parse(cron.text(), seconds, "#");
                    assert_eq!(again.as_ref(), Ok(&cron), "{line:?} is read twice alike");
                    for zone in [Tz::UTC, Tz::America__New_York, Tz::Australia__Lord_Howe] {
                        let plan = Plan::new(Rule::Cron(cron.clone()), zone);
                        if let Ok(table) = Timetable::new(plan, "#") {
                            grows(&table, DateTime::UNIX_EPOCH);
                            grows(&table, instant("2027-03-14T06:59:59Z"));
                            grows(&table, instant("2027-11-07T05:30:00Z"));
                            grows(&table, instant("2099-12-31T23:59:59Z"));
                        }
                    }
                }
            }
        }
    });
}

/// Reads an iCalendar file.
pub fn ical(data: &[u8]) {
    bounded(data, || {
        let Ok(text) = std::str::from_utf8(data) else { return };
        for years in [2026..=2030, 1970..=2199] {
            let Ok(import) = ical::import(text, years.clone(), "#") else { continue };
            assert!(import.dates.iter().all(|date| years.contains(&date.year())), "{import:?}");
            assert!(import.dates.len() <= DATE_LIMIT, "{} dates", import.dates.len());
            assert_eq!(import.dates.is_empty(), import.events == 0, "{import:?}");
            let lines = text.lines().count();
            assert!(import.left.iter().all(|left| (1..=lines).contains(&left.line)));
            let told = |what: &str, why: &str| !what.is_empty() && !why.is_empty();
            assert!(import.left.iter().all(|left| told(&left.what, &left.why)), "{import:?}");
        }
    });
}

/// Reads a schedule's times, an instant and policies, one a line, as the seeds show; whatever is
/// none of these stands for one all the same. Then all answers about slots must agree.
pub fn timetable(data: &[u8]) {
    bounded(data, || {
        let text = String::from_utf8_lossy(data);
        let mut lines = text.split('\n');
        let mut next = || lines.next().unwrap_or_default().trim();
        let (rule, zone, after, policies) = (rule(next()), zone(next()), after(next()), next());
        let Some(rule) = rule else { return };
        let mut plan = Plan::new(rule, zone);
        for word in policies.split(' ') {
            apply(word, &mut plan);
        }
        if let Ok(table) = Timetable::new(plan, "#") {
            agree(&table, after);
        }
    });
}

/// Reads a captured call, `name: value` lines, an empty line and the body, as the seeds show. No call
/// that was not signed verifies; one that is signed does, whatever stands beside our signature.
pub fn signature(data: &[u8]) {
    const NOW: Freshness = Freshness { now: 1_800_000_000, tolerance: 300 };
    bounded(data, || {
        let secret =
            SigningSecret::from_bytes(SigningKind::Hmac, &[7; 32]).expect("32 bytes are enough");
        let secrets = [secret];
        let split = data.windows(2).position(|pair| pair == b"\n\n");
        let (head, body) = data.split_at(split.map_or(data.len(), |at| at + 2));
        let head = String::from_utf8_lossy(head);
        let lines = head.lines().filter_map(|line| line.split_once(':'));
        let mut headers: Vec<_> =
            lines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let call = Captured { headers: &headers, body, sent: None };
        let (_, why) = verify(call, &secrets, NOW);
        assert!(!why.is_empty(), "nobody has signed it");
        assert!(why.iter().all(|why| !why.code().is_empty() && !why.detail().is_empty()));
        let sent = Captured { sent: Some(b"{}"), ..call };
        assert!(!verify(sent, &secrets, NOW).1.is_empty(), "nobody has signed it");

        // Signed in its own words, as far as they are there once and make sense.
        let word = |name| header(&headers, name).map(str::to_owned);
        let (job, run, fence) = (word(ID), word("axle-run-id"), word("axle-fence"));
        let (Some(job), Some(run), Some(fence)) = (job, run, fence) else { return };
        let theirs = word(SIGNATURE).unwrap_or_default();
        let message =
            Message { job: &job, run: &run, fence: &fence, timestamp: "1800000000", body };
        let ours = [
            (TIMESTAMP, "1800000000".to_owned()),
            (SIGNATURE, format!("{} {theirs}", message.signature(&secrets))),
            (RUN_SIGNATURE, message.run_signature(&secrets)),
            ("axle-job-id", job.clone()),
        ];
        headers.retain(|(name, _)| ours.iter().all(|(own, _)| !own.eq_ignore_ascii_case(name)));
        headers.extend(ours.map(|(name, value)| (name.to_owned(), value)));
        let call = Captured { headers: &headers, body, sent: None };
        assert_eq!(verify(call, &secrets, NOW), (Some(0), Vec::new()));
    });
}

/// `next`, `slots`, `last` and `count` are four ways to ask the same thing.
fn agree(table: &Timetable, after: DateTime<Utc>) {
    grows(table, after);
    let end = DateTime::<Utc>::MAX_UTC;
    let slots = table.slots(after, end, SLOTS);
    assert!(slots.iter().all(|slot| slot.at > after), "{slots:?}");
    assert!(slots.windows(2).all(|pair| pair[0].at < pair[1].at), "{slots:?}");
    assert!(slots.iter().all(|slot| slot.local == slot.at && slot.notes.len() < 8), "{slots:?}");
    let fires: Vec<_> = slots.iter().filter(|slot| slot.fate == Fate::Fires).collect();
    if let Some(first) = fires.first() {
        assert_eq!(table.next(after).map(|slot| slot.at), Some(first.at));
    } else if slots.len() < SLOTS {
        assert_eq!(table.next(after), None);
    }
    for (n, fire) in fires.iter().enumerate() {
        assert_eq!(table.last(fire.at).map(|slot| slot.at), Some(fire.at));
        let count = table.count(after, fire.at);
        assert_eq!((usize::try_from(count.fires), count.exact), (Ok(n + 1), true), "{}", fire.at);
    }
    let preview = table.preview(after, 3);
    assert!(preview.warnings.iter().all(|warning| !warning.text.is_empty()), "{preview:?}");
}

/// Each fire lies after what was asked, and the schedule has words.
fn grows(table: &Timetable, after: DateTime<Utc>) {
    assert!(!table.describe().is_empty());
    let mut after = after;
    for _ in 0..5 {
        let Some(slot) = table.next(after) else { return };
        assert!(slot.at > after, "{} is not after {after}: {table:?}", slot.at);
        assert_eq!(slot.fate, Fate::Fires);
        after = slot.at;
    }
}

fn bounded(data: &[u8], check: impl FnOnce()) {
    #[expect(clippy::disallowed_methods, reason = "measures real time")]
    let start = Instant::now();
    check();
    let took = start.elapsed();
    assert!(took < LONGEST, "{took:?} for {:?}", String::from_utf8_lossy(data));
}

/// `every 90000`, `at 1800000000`, `day last 02:00`, several with `|` between; else a cron line,
/// with seconds if it has six fields.
fn rule(text: &str) -> Option<Rule> {
    if text.contains('|') {
        let rules = text.split('|').map(|part| rule(part.trim())).collect::<Option<_>>()?;
        return AnyOf::new(rules, "#").ok().map(Rule::AnyOf);
    }
    let words: Vec<_> = text.split(' ').collect();
    match words.as_slice() {
        ["every", ms] => Every::new(ms.parse().ok()?, None, "#").ok().map(Rule::Every),
        ["every", ms, anchor] => {
            let anchor = DateTime::from_timestamp(anchor.parse().ok()?, 0);
            Every::new(ms.parse().ok()?, anchor, "#").ok().map(Rule::Every)
        }
        ["at", list] => {
            let instant = |text: &str| DateTime::from_timestamp(text.parse().ok()?, 0);
            let list = list.split(',').map(instant).collect::<Option<_>>()?;
            At::new(list, "#").ok().map(Rule::At)
        }
        ["day", which, time] => {
            let which = match *which {
                "last" => Which::LastOfMonth,
                "business" => Which::LastBusinessDay,
                n => Which::NthBusinessDay(n.parse().ok()?),
            };
            Day::new(which, Day::read_time(time, "#").ok()?, "#").ok().map(Rule::Day)
        }
        words => Cron::parse(text, words.len() == 6, "#").ok().map(Rule::Cron),
    }
}

/// Any text names a zone: its own, or the one that its bytes add up to.
fn zone(text: &str) -> Tz {
    let sum: usize = text.bytes().map(usize::from).sum();
    text.parse().unwrap_or(TZ_VARIANTS[sum % TZ_VARIANTS.len()])
}

/// Any text names an instant: RFC 3339, or seconds since the epoch, or what its bytes add up to.
fn after(text: &str) -> DateTime<Utc> {
    if let Ok(at) = DateTime::parse_from_rfc3339(text) {
        return at.to_utc();
    }
    let mixed = |sum: i64, byte: u8| (sum * 257 + i64::from(byte)) % 7_258_118_400;
    let seconds = text.parse().unwrap_or_else(|_| text.bytes().fold(0, mixed));
    DateTime::from_timestamp(seconds, 0).unwrap_or(DateTime::UNIX_EPOCH)
}

fn apply(word: &str, plan: &mut Plan) {
    let instant = |text: &str| DateTime::from_timestamp(text.parse().ok()?, 0);
    match word.split_once('=').unwrap_or((word, "")) {
        ("skip", _) => plan.on_gap = OnGap::Skip,
        ("second", _) => plan.on_overlap_hour = OnOverlapHour::Second,
        ("both", _) => plan.on_overlap_hour = OnOverlapHour::Both,
        ("next", _) => plan.shift = Shift::NextBusinessDay,
        ("previous", _) => plan.shift = Shift::PreviousBusinessDay,
        ("start", at) => plan.start_at = instant(at),
        ("end", at) => plan.end_at = instant(at),
        // `closed=sat,2027-12-25`
        ("closed", days) => plan.exclude.push(Calendar {
            name: "closed".to_owned(),
            dates: days.split(',').filter_map(|day| day.parse().ok()).collect(),
            weekend: days.split(',').filter_map(|day| day.parse::<Weekday>().ok()).collect(),
        }),
        _ => {}
    }
}

fn instant(text: &str) -> DateTime<Utc> {
    DateTime::parse_from_rfc3339(text).map_or(DateTime::UNIX_EPOCH, |at| at.to_utc())
}
