//! Tests of schedules; those that carry a number are cases of known bugs elsewhere.

mod bounds;
mod calendars;
mod clock_changes;
mod days;
mod due;
mod due_oracle;
mod due_table;
mod grammar;
mod oracle;
mod oracle_case;
mod page;
mod page_words;
mod seeds;
mod words;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;

use super::cron::Cron;
use super::doc::{CatchUp, JobDoc, Overlap, RuleDoc, ScheduleDoc};
use super::rule::Rule;
use super::slot::{Fate, Slot};
use super::timetable::{Plan, Timetable};
use crate::domain::job::{Completion, Spec, Target};
use crate::domain::retry::RetryPolicy;

/// `2027-03-14T07:00` or with seconds, in UTC.
fn at(text: &str) -> DateTime<Utc> {
    let seconds = if text.len() == 16 { ":00Z" } else { "Z" };
    DateTime::parse_from_rfc3339(&format!("{text}{seconds}")).unwrap().to_utc()
}

fn cron(line: &str) -> Rule {
    Rule::Cron(Cron::parse(line, line.split_whitespace().count() == 6, "#").unwrap())
}

fn zone(name: &str) -> Tz {
    super::zone::zone(name, "#").unwrap()
}

fn plan(line: &str, name: &str) -> Plan {
    Plan::new(cron(line), zone(name))
}

fn table(plan: Plan) -> Timetable {
    Timetable::new(plan, "#").unwrap()
}

fn timetable(line: &str, name: &str) -> Timetable {
    table(plan(line, name))
}

/// The first fires after an instant, as `2027-03-14T07:00`.
fn fires(table: &Timetable, after: &str, count: usize) -> Vec<String> {
    let mut found = Vec::new();
    let mut from = at(after);
    while found.len() < count
        && let Some(slot) = table.next(from)
    {
        assert!(slot.at > from, "{} is not after {from}", slot.at);
        assert_eq!(slot.fate, Fate::Fires);
        from = slot.at;
        found.push(shown(slot.at));
    }
    found
}

fn shown(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%dT%H:%M").to_string()
}

/// Expects exactly these to come first after an instant.
fn expect(line: &str, name: &str, after: &str, right: &[&str]) {
    let found = fires(&timetable(line, name), after, right.len());
    assert_eq!(found, right, "{line} in {name} after {after}");
}

fn codes(slot: &Slot) -> Vec<&'static str> {
    slot.notes.iter().map(super::slot::Note::code).collect()
}

/// A schedule with this rule, all else by default.
fn doc(rule: RuleDoc, time_zone: &str) -> ScheduleDoc {
    let target = Target {
        url: "http://127.0.0.1/".into(),
        method: "POST".into(),
        headers: Vec::new(),
        secret_headers: Vec::new(),
    };
    let spec = Spec {
        target,
        content_type: "application/json".to_owned(),
        json: true,
        timeout_ms: 30_000,
        completion: Completion::Response,
        heartbeat_timeout_ms: None,
        retry: RetryPolicy::default(),
    };
    ScheduleDoc {
        rule,
        time_zone: time_zone.to_owned(),
        skip_gap: false,
        passes: (true, false),
        overlap: Overlap::default(),
        catch_up: CatchUp::default(),
        catch_up_window_ms: 3_600_000,
        catch_up_max: 10,
        jitter_ms: 0,
        exclude: Vec::new(),
        shift: None,
        start_at: None,
        end_at: None,
        max_fires: None,
        pause_on_failure: false,
        job: JobDoc {
            name: None,
            queue: "default".to_owned(),
            spec,
            priority: 5,
            start_within_ms: None,
            owner_service: None,
            tags: std::collections::BTreeMap::new(),
        },
    }
}

fn cron_doc(line: &str, time_zone: &str) -> ScheduleDoc {
    let seconds = line.split_whitespace().count() == 6;
    doc(RuleDoc::Cron { cron: line.to_owned(), seconds }, time_zone)
}
