//! The examples of `docs/schedules.md`, read: a schedule as the API takes it becomes a document, and
//! what is computed becomes the page's words. The room `wire` does the former for requests; `domain`
//! may not use it, and an example needs the part about times only.

use serde_json::Value;

use super::super::doc::{CalendarDoc, DayDoc};
use super::super::due::{Due, Passed};
use super::super::slot::Note;
use super::*;

/// The code blocks of a kind, with the line on which each begins.
pub(super) fn blocks<'t>(page: &'t str, kind: &str) -> Vec<(usize, Vec<&'t str>)> {
    let mut found: Vec<(usize, Vec<&str>)> = Vec::new();
    let mut open: Option<bool> = None;
    for (number, line) in page.lines().enumerate() {
        match (line.strip_prefix("```"), open) {
            (Some(info), None) => {
                open = Some(info == kind);
                if info == kind {
                    found.push((number + 1, Vec::new()));
                }
            }
            (Some(_), Some(_)) => open = None,
            (None, Some(true)) => found.last_mut().unwrap().1.push(line),
            (None, _) => {}
        }
    }
    assert!(!found.is_empty(), "the page has no block of {kind}");
    found
}

/// The same words with one space between.
pub(super) fn plain(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(super) fn calendar(text: &str) -> CalendarDoc {
    serde_json::from_str(text).unwrap()
}

/// A field that the page may name and this does not know would be an example of nothing.
pub(super) fn schedule(text: &str) -> ScheduleDoc {
    let value: Value = serde_json::from_str(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    let fields = value.as_object().unwrap();
    let mut read = doc(RuleDoc::At(Vec::new()), "UTC");
    for (name, value) in fields {
        let word = value.as_str().unwrap_or_default();
        match name.as_str() {
            "spec" => read.rule = rule(value),
            "time_zone" => word.clone_into(&mut read.time_zone),
            "on_gap" => read.skip_gap = one_of(word, ["fire", "skip"]) == 1,
            "on_overlap_hour" => {
                let passes = [(true, false), (false, true), (true, true)];
                read.passes = passes[one_of(word, ["first", "second", "both"])];
            }
            "catch_up" => catch_up(value, &mut read),
            "exclude" => read.exclude = serde_json::from_value(value.clone()).unwrap(),
            "shift" => {
                let words = ["skip", "next_business_day", "previous_business_day"];
                read.shift = [None, Some(true), Some(false)][one_of(word, words)];
            }
            "start_at" => read.start_at = Some(instant(word)),
            "end_at" => read.end_at = Some(instant(word)),
            "jitter_ms" => read.jitter_ms = value.as_u64().unwrap(),
            _ => panic!("{text}: {name} is no field that decides about times"),
        }
    }
    read
}

fn catch_up(value: &Value, read: &mut ScheduleDoc) {
    for (name, value) in value.as_object().unwrap() {
        match name.as_str() {
            "policy" => read.catch_up = serde_json::from_value(value.clone()).unwrap(),
            "window_ms" => read.catch_up_window_ms = value.as_u64().unwrap(),
            "max" => read.catch_up_max = u32::try_from(value.as_u64().unwrap()).unwrap(),
            _ => panic!("catch_up has no {name}"),
        }
    }
}

fn rule(value: &Value) -> RuleDoc {
    let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let list = |name: &str| value[name].as_array().cloned().unwrap_or_default();
    if value.get("cron").is_some() {
        let seconds = value["seconds"].as_bool().unwrap_or_default();
        return RuleDoc::Cron { cron: text("cron"), seconds };
    }
    if let Some(every_ms) = value["every_ms"].as_u64() {
        return RuleDoc::Every { every_ms, anchor: value["anchor"].as_str().map(instant) };
    }
    if value.get("at").is_some() {
        return RuleDoc::At(list("at").iter().map(|at| instant(at.as_str().unwrap())).collect());
    }
    if let Some(day) = value["day"].as_str() {
        let days = [DayDoc::LastOfMonth, DayDoc::LastBusinessDay, DayDoc::NthBusinessDay];
        let words = ["last_of_month", "last_business_day", "nth_business_day"];
        let n = value["n"].as_u64().map(|n| u32::try_from(n).unwrap());
        return RuleDoc::Day { day: days[one_of(day, words)], n, time: text("time") };
    }
    RuleDoc::AnyOf(list("any_of").iter().map(rule).collect())
}

fn one_of<const N: usize>(word: &str, words: [&str; N]) -> usize {
    words.iter().position(|known| *known == word).unwrap_or_else(|| panic!("{word}: {words:?}"))
}

pub(super) fn instant(text: &str) -> DateTime<Utc> {
    DateTime::parse_from_rfc3339(text).unwrap_or_else(|error| panic!("{text}: {error}")).to_utc()
}

fn utc(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(chrono::SecondsFormat::AutoSi, true)
}

/// `2027-03-14T07:00:00Z Sun 14 Mar 03:00 -04:00 fires moved_from_gap offset_change`
pub(super) fn slot_line(slot: &Slot) -> String {
    let local = slot.local;
    let time = super::super::slot::time(local.time());
    let note = |note: &Note| match note {
        Note::Holiday { moved_to: Some(day), .. } => format!("holiday, moved to {day}"),
        Note::Shifted { from } => format!("shifted from {from}"),
        Note::Holiday { moved_to: None, .. }
        | Note::MovedFromGap { .. }
        | Note::SkippedGap { .. }
        | Note::RepeatedHour { .. }
        | Note::OffsetChange { .. } => note.code().to_owned(),
    };
    let notes = slot.notes.iter().map(note).collect::<Vec<_>>().join(", ");
    let fate = slot.fate.skipped().unwrap_or("fires");
    let line = format!(
        "{} {} {time} {} {fate} {notes}",
        utc(slot.at),
        local.format("%a %-d %b"),
        local.format("%:z")
    );
    plain(&line)
}

/// In the order of time: `fired AT`, `missed AT`, `missed 12 from AT to AT`.
pub(super) fn due_lines(due: &Due) -> Vec<String> {
    let fires = due.fire.iter().map(|at| (*at, format!("fired {}", utc(*at))));
    let row = |row: &Passed| {
        let Passed { at, until, count, at_least, outcome } = row;
        assert!(!at_least);
        let line = match until {
            None => format!("{outcome} {}", utc(*at)),
            Some(until) => format!("{outcome} {count} from {} to {}", utc(*at), utc(*until)),
        };
        (*at, line)
    };
    let mut lines: Vec<_> = fires.chain(due.passed.iter().map(row)).collect();
    lines.sort();
    lines.into_iter().map(|(_, line)| line).collect()
}
