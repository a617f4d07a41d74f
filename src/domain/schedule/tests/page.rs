//! Every value in `docs/schedules.md` that the rules decide is computed again. A code block's kind
//! says how, as `docs/development.md` explains.

use super::super::calendar::{CALENDAR_LIMIT, DATE_LIMIT, SHIFT_LIMIT};
use super::super::doc::CalendarDoc;
use super::super::due::due;
use super::super::jitter::jitter;
use super::super::overlap::{QUEUE_LIMIT, Turn, Unfinished};
use super::super::preview::COUNT_LIMIT;
use super::super::rule::{ANY_OF_LIMIT, AT_LIMIT, SHORTEST_MS};
use super::super::{cron::LINE_LIMIT, ical::SIZE_LIMIT};
use super::page_words::{blocks, calendar, due_lines, instant, plain, schedule, slot_line};
use super::*;
use crate::domain::check::YEAR_MS;

fn page() -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schedules.md");
    std::fs::read_to_string(path).unwrap()
}

/// The calendars of the page that a schedule names.
fn calendars(page: &str, doc: &ScheduleDoc) -> Vec<CalendarDoc> {
    let all: Vec<_> =
        blocks(page, "calendar").iter().map(|(_, lines)| calendar(&lines.concat())).collect();
    let named = |name: &String| all.iter().find(|calendar| calendar.name == *name).cloned();
    doc.exclude.iter().map(|name| named(name).unwrap_or_else(|| panic!("no {name}"))).collect()
}

/// The lines of JSON at the top, which end with a brace, and what follows.
fn split(lines: &[&str]) -> (String, Vec<String>) {
    let end = lines.iter().position(|line| line.ends_with('}')).unwrap() + 1;
    (lines[..end].concat(), lines[end..].iter().map(|line| plain(line)).collect())
}

/// Every block that differs, so that a new example can be filled in from one run.
#[derive(Default)]
struct Faults(Vec<String>);

impl Faults {
    fn compare(&mut self, at: usize, found: &[String], written: &[String]) {
        if found != written {
            self.0.push(format!("docs/schedules.md:{at}: computed:\n{}", found.join("\n")));
        }
    }

    fn none(&self) {
        assert!(self.0.is_empty(), "{}", self.0.join("\n\n"));
    }
}

#[test]
fn schedules() {
    let page = page();
    let mut faults = Faults::default();
    for (at, lines) in blocks(&page, "schedule") {
        let (json, written) = split(&lines);
        let doc = schedule(&json);
        let made = doc.timetable(&calendars(&page, &doc));
        let mut found = Vec::new();
        let mut from = chrono::DateTime::UNIX_EPOCH;
        let mut lines = 0;
        for line in &written {
            match line.split_once(' ').unwrap_or((line, "")) {
                ("from", instant_text) => {
                    from = instant(instant_text);
                    found.push(line.clone());
                }
                ("says", _) => found.push(format!("says {}", made.as_ref().unwrap().describe())),
                ("warns", _) => {
                    let warnings = made.as_ref().unwrap().warnings(from);
                    let known = |text: &&str| *line == format!("warns {text}");
                    let mut texts = warnings.iter().map(|warning| warning.text.as_str());
                    found.extend(texts.find(known).map(|text| format!("warns {text}")));
                }
                ("refused", _) => {
                    let refused = match &made {
                        Err(refused) => refused.clone(),
                        Ok(table) => table.first(from, "#/spec").expect_err("it fires"),
                    };
                    let fault = &refused.0[0];
                    found.push(format!("refused {} {}", fault.pointer, fault.detail));
                }
                _ => lines += 1,
            }
        }
        if lines > 0 {
            let slots = made.unwrap().slots(from, DateTime::<Utc>::MAX_UTC, lines);
            found.extend(slots.iter().map(slot_line));
        }
        faults.compare(at, &found, &written);
    }
    faults.none();
}

#[test]
fn cron_lines() {
    let mut faults = Faults::default();
    for (at, lines) in blocks(&page(), "cron") {
        for line in lines {
            let (text, written) = line.split_once("->").unwrap();
            let seconds = text.split_whitespace().count() == 6;
            let found = match Cron::parse(text.trim(), seconds, "#") {
                Ok(cron) => {
                    let words = super::super::describe::describe(&Rule::Cron(cron), Tz::UTC);
                    words.strip_suffix(", UTC").unwrap().to_owned()
                }
                Err(refused) => format!("refused: {}", refused.0[0].detail),
            };
            faults.compare(at, &[found], &[plain(written)]);
        }
    }
    faults.none();
}

#[test]
fn catch_up() {
    let page = page();
    let mut faults = Faults::default();
    for (at, lines) in blocks(&page, "catch-up") {
        let (json, written) = split(&lines);
        let doc = schedule(&json);
        let head = written[0].clone();
        let words: Vec<_> = head.split(' ').collect();
        let ["down", "from", after, "to", now] = words.as_slice() else { panic!("{head}") };
        let table = doc.timetable(&calendars(&page, &doc)).unwrap();
        let decided = due(&doc, &table, instant(after), instant(now));
        faults.compare(at, &due_lines(&decided), &written[1..]);
    }
    faults.none();
}

#[test]
fn overlap() {
    let page = page();
    let [(at, lines)] = blocks(&page, "overlap").try_into().unwrap();
    let policies = [
        Overlap::Skip,
        Overlap::QueueOne,
        Overlap::QueueAll,
        Overlap::CancelRunning,
        Overlap::Allow,
    ];
    let situations = [(0, 0), (1, 0), (1, 1)];
    let mut found = vec![plain(lines[0])];
    for policy in policies {
        let name = serde_json::to_value(policy).unwrap();
        let turn = |(active, waiting)| match (Unfinished { active, waiting }).turn(policy) {
            Turn::Run => "runs",
            Turn::Wait => "waits",
            Turn::Replace => "replaces",
            Turn::Skip => "skipped",
        };
        found.push(format!("{} {}", name.as_str().unwrap(), situations.map(turn).join(" ")));
    }
    let mut faults = Faults::default();
    faults.compare(at, &found, &lines.iter().map(|line| plain(line)).collect::<Vec<_>>());
    faults.none();
}

#[test]
fn jitters() {
    for (at, lines) in blocks(&page(), "jitter") {
        let (json, written) = split(&lines);
        let doc = schedule(&json);
        let words: Vec<_> = written[0].split(' ').collect();
        let ["from", "0", "to", "less", "than", most, "ms"] = words.as_slice() else {
            panic!("docs/schedules.md:{at}: {words:?}")
        };
        let table = doc.timetable(&[]).unwrap();
        let slot = table.next(DateTime::UNIX_EPOCH).unwrap().at;
        let next = table.next(slot).map(|slot| slot.at);
        let delay = |id: u32| jitter(&id.to_be_bytes(), slot, next, doc.jitter_ms).as_millis();
        let longest = (0..2_000).map(delay).max().unwrap();
        let most: u128 = most.replace(',', "").parse().unwrap();
        assert!(longest < most && longest > most * 9 / 10, "{at}: {longest} of {most}");
    }
}

#[test]
fn limits() {
    let page = page();
    let (_, section) = page.split_once("\n## Limits\n").unwrap();
    let grouped = |value: u64| {
        let digits = value.to_string();
        let from = digits.len() % 3;
        let (head, tail) = digits.split_at(from);
        let groups = tail.as_bytes().chunks(3).map(|group| std::str::from_utf8(group).unwrap());
        let head = Some(head).filter(|head| !head.is_empty());
        head.into_iter().chain(groups).collect::<Vec<_>>().join(",")
    };
    let number = |value: usize| u64::try_from(value).unwrap();
    for (name, values) in [
        ("a cron line", vec![number(LINE_LIMIT)]),
        ("`every_ms`", vec![SHORTEST_MS, YEAR_MS]),
        ("`at`", vec![number(AT_LIMIT)]),
        ("`any_of`", vec![number(ANY_OF_LIMIT)]),
        ("`exclude`", vec![number(CALENDAR_LIMIT)]),
        ("a calendar", vec![number(DATE_LIMIT)]),
        ("an iCalendar file", vec![number(SIZE_LIMIT)]),
        ("a shift", vec![SHIFT_LIMIT]),
        ("a preview", vec![number(COUNT_LIMIT)]),
        ("`queue_all`", vec![number(QUEUE_LIMIT)]),
    ] {
        let (_, rest) = section.split_once(&format!("| {name} | ")).expect(name);
        let cell: Vec<_> = rest.split('|').next().unwrap().split(' ').collect();
        for value in values.into_iter().map(grouped) {
            assert!(cell.contains(&value.as_str()), "{name}: {cell:?}: {value}");
        }
    }
    let version = super::super::zone::TZDATA_VERSION;
    assert!(page.contains(&format!("`{version}`")), "the page names tzdata {version}");
}

/// The bodies of the examples for curl belong to the page's first schedule, and so does the answer.
#[test]
fn requests() {
    let page = page();
    let (_, first) = &blocks(&page, "schedule")[0];
    let doc = schedule(&split(first).0);
    let shell: String = blocks(&page, "sh").iter().map(|(_, lines)| lines.join("\n")).collect();
    let bodies = shell.split("--data '").skip(1).map(|rest| rest.split('\'').next().unwrap());
    let bodies: Vec<serde_json::Value> = bodies
        .map(|body| serde_json::from_str(body).unwrap_or_else(|e| panic!("{body}: {e}")))
        .collect();
    let [put, preview, backfill] = bodies.as_slice() else { panic!("{bodies:?}") };
    for body in [put, preview] {
        let times = serde_json::json!({"spec": body["spec"], "time_zone": body["time_zone"]});
        assert_eq!(schedule(&times.to_string()), doc);
    }
    assert!(put["job"]["target"]["url"].is_string());
    let [from, to] = ["from", "to"].map(|name| instant(backfill[name].as_str().unwrap()));
    let just_before = chrono::TimeDelta::milliseconds(1);
    let slots = doc.timetable(&[]).unwrap().slots(from - just_before, to - just_before, 100);
    let fires: Vec<_> = slots
        .iter()
        .map(|slot| slot.at.to_rfc3339_opts(chrono::SecondsFormat::Micros, true))
        .map(|at| serde_json::json!({"fire_at": at, "job_id": null}))
        .collect();
    let answer = serde_json::json!({"dry_run": true, "count": fires.len(), "fires": fires});
    let answers = blocks(&page, "json");
    let written = answers[0].1.last().unwrap();
    assert_eq!(serde_json::from_str::<serde_json::Value>(written).unwrap(), answer);
}
