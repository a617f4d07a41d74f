//! `axle schedules explain`: what a cron line will do, in words. It asks no server: the rules are
//! those of the scheduler itself.

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};

use super::words::Explain;
use crate::cli::told::Failure;
use crate::domain::invalid::Invalid;
use crate::domain::schedule::changes::ClockChange;
use crate::domain::schedule::cron::Cron;
use crate::domain::schedule::preview::Preview;
use crate::domain::schedule::rule::Rule;
use crate::domain::schedule::slot::{Fate, Slot};
use crate::domain::schedule::timetable::{Plan, Timetable};
use crate::domain::schedule::zone::zone;

/// The whole answer, for people or as JSON; `now` stands in for `--from`.
pub fn explain(words: &Explain, now: DateTime<Utc>, json: bool) -> Result<String, Failure> {
    let from = words.from.unwrap_or(now);
    let timetable = timetable(words, from).map_err(|invalid| refusal(words, &invalid))?;
    let preview = timetable.preview(from, words.count.into());
    // What fires at the very instant of the change is the first after it.
    let before = |change: &ClockChange| change.at - chrono::TimeDelta::milliseconds(1);
    let after = preview.clock_change.as_ref().and_then(|change| timetable.next(before(change)));
    Ok(if json {
        format!("{:#}", document(&timetable, &preview, after.as_ref()))
    } else {
        text(&timetable, &preview, after.as_ref())
    })
}

fn timetable(words: &Explain, from: DateTime<Utc>) -> Result<Timetable, Invalid> {
    let zone = zone(&words.tz, "--tz")?;
    let cron = Cron::parse(&words.cron, words.seconds, "cron")?;
    let timetable = Timetable::new(Plan::new(Rule::Cron(cron), zone), "cron")?;
    timetable.first(from, "cron")?;
    Ok(timetable)
}

/// The domain's reasons name what would be right; of flags it knows nothing.
fn refusal(words: &Explain, invalid: &Invalid) -> Failure {
    let mut lines = vec!["the line cannot be used".to_owned()];
    lines.extend(invalid.0.iter().map(|fault| match fault.pointer.as_str() {
        "cron" => fault.detail.clone(),
        flag => format!("{flag}: {}", fault.detail),
    }));
    let fields = words.cron.split_ascii_whitespace().count();
    let hint = match (fields, words.seconds) {
        (6, false) => Some("for six fields, with seconds in front, add --seconds"),
        (5, true) => Some("without --seconds, five fields are right"),
        (1, _) if !words.cron.starts_with('@') => {
            Some("put the whole line in quotes, such as '30 2 * * 1-5'")
        }
        _ => None,
    };
    lines.extend(hint.map(|hint| format!("hint: {hint}")));
    Failure::Usage(lines.join("\n  "))
}

fn text(timetable: &Timetable, preview: &Preview, after: Option<&Slot>) -> String {
    let is_fixed = matches!(timetable.rule(), Rule::Cron(cron) if cron.is_fixed());
    let mut lines = vec![preview.description.clone(), String::new()];
    lines.push("next fires (local time, UTC):".to_owned());
    for slot in &preview.slots {
        lines.push(match slot.fate {
            Fate::Fires => format!("  {}", both(slot)),
            Fate::SkippedGap | Fate::SkippedCalendar => format!("  {}  skipped", both(slot)),
        });
        lines.extend(slot.notes.iter().map(|note| format!("    note: {}", note.text(slot.local))));
    }
    // What the next clock change does is said with it, below.
    let change = preview.clock_change.as_ref();
    let said = change.and_then(|change| change.touched.as_ref()).map(|touched| &touched.text);
    let warnings = preview.warnings.iter().filter(|warning| Some(&warning.text) != said);
    let warnings: Vec<_> = warnings.map(|warning| format!("  {}", warning.text)).collect();
    if !warnings.is_empty() {
        lines.extend([String::new(), "worth knowing:".to_owned()]);
        lines.extend(warnings);
    }
    lines.extend([String::new(), "at the next clock change:".to_owned()]);
    match change {
        None => lines.push("  none within 400 days: every local time comes once".to_owned()),
        Some(change) => lines.extend(of_change(change, is_fixed, after)),
    }
    lines.extend([String::new(), format!("(time zones: tzdata {})", preview.tzdata)]);
    lines.join("\n")
}

fn of_change(change: &ClockChange, is_fixed: bool, after: Option<&Slot>) -> Vec<String> {
    let mut lines = vec![format!("  {}", change.text)];
    if is_fixed && change.touched.is_none() {
        let what = if change.to > change.from { "is left out" } else { "comes twice" };
        lines.push(format!("  (none of its times lies in the stretch that {what} on that day)"));
    }
    lines.extend(after.map(|slot| format!("  the first fire from then on: {}", both(slot))));
    let by = change.to.abs_diff(change.from) / 60;
    let (count, unit) = if by.is_multiple_of(60) { (by / 60, "hour") } else { (by, "minute") };
    let plural = if count == 1 { "" } else { "s" };
    let way = if change.to > change.from { "earlier" } else { "later" };
    lines.push(format!(
        "  seen in UTC, the same local time comes {count} {unit}{plural} {way} from then on"
    ));
    lines
}

/// The local time with its offset, then the same instant in UTC.
fn both(slot: &Slot) -> String {
    let utc = slot.at.to_rfc3339_opts(SecondsFormat::AutoSi, true);
    format!("{}  {utc}", slot.local.format("%a %Y-%m-%d %H:%M:%S %:z"))
}

/// As the API's preview has it; zone and first fire are added.
fn document(timetable: &Timetable, preview: &Preview, after: Option<&Slot>) -> Value {
    let change = preview.clock_change.as_ref().map(|change| {
        json!({
            "at": utc(change.at),
            "from_offset_s": change.from,
            "to_offset_s": change.to,
            "text": change.text,
            "first_fire": after.map(fire),
        })
    });
    let warnings: Vec<_> = preview
        .warnings
        .iter()
        .map(|warning| json!({"code": warning.code, "text": warning.text}))
        .collect();
    json!({
        "description": preview.description,
        "time_zone": timetable.zone().name(),
        "tzdata": preview.tzdata,
        "fires": preview.slots.iter().map(fire).collect::<Vec<_>>(),
        "next_clock_change": change,
        "warnings": warnings,
    })
}

fn fire(slot: &Slot) -> Value {
    let notes = slot.notes.iter();
    let notes: Vec<_> =
        notes.map(|note| json!({"code": note.code(), "text": note.text(slot.local)})).collect();
    json!({
        "at": utc(slot.at),
        "local": slot.local.to_rfc3339_opts(SecondsFormat::AutoSi, false),
        "outcome": slot.fate.skipped().unwrap_or("expected"),
        "notes": notes,
    })
}

fn utc(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Micros, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(cron: &str, tz: &str, from: &str) -> Result<String, String> {
        let words = Explain {
            cron: cron.to_owned(),
            tz: tz.to_owned(),
            count: 2,
            seconds: false,
            from: Some(from.parse().unwrap()),
        };
        explain(&words, DateTime::UNIX_EPOCH, false).map_err(|failure| failure.to_string())
    }

    #[test]
    fn a_newcomer_learns_what_the_next_clock_change_does() {
        let text = said("0 2 31 * *", "America/New_York", "2026-01-05T00:00:00Z").unwrap();
        for line in [
            "  Sat 2026-01-31 02:00:00 -05:00  2026-01-31T07:00:00Z",
            "  Tue 2026-03-31 02:00:00 -04:00  2026-03-31T06:00:00Z",
            "    note: from here UTC-4, before UTC-5",
            "  clocks go forward on Sun 8 Mar 2026 from 02:00 to 03:00 (UTC-5 to UTC-4): no fire is \
             moved, lost or doubled",
            "  (none of its times lies in the stretch that is left out on that day)",
            "  the first fire from then on: Tue 2026-03-31 02:00:00 -04:00  2026-03-31T06:00:00Z",
            "  seen in UTC, the same local time comes 1 hour earlier from then on",
        ] {
            assert!(text.lines().any(|said| said == line), "{line:?} in\n{text}");
        }
        assert!(text.contains("which has no day 31; write L"), "{text}");
    }

    #[test]
    fn a_fire_in_the_missing_hour_is_said_to_move() {
        let text = said("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z").unwrap();
        assert!(text.contains("  Sun 2026-03-29 03:00:00 +02:00  2026-03-29T01:00:00Z"), "{text}");
        assert!(text.contains("02:30 does not exist on Sun 29 Mar 2026"), "{text}");
        assert_eq!(text.matches("worth knowing").count(), 1, "the change after it: {text}");
        assert_eq!(text.matches("02:30 occurs twice").count(), 1, "{text}");
        let first = "the first fire from then on: Sun 2026-03-29 03:00:00 +02:00";
        assert!(text.contains(first), "{text}");
    }

    #[test]
    fn a_zone_without_changes_says_so() {
        let text = said("@daily", "UTC", "2026-03-28T12:00:00Z").unwrap();
        assert!(text.contains("none within 400 days"), "{text}");
    }

    #[test]
    fn a_bad_line_gets_its_reason_and_what_would_be_right() {
        let wrong = |cron, tz| said(cron, tz, "2026-01-05T00:00:00Z").unwrap_err();
        assert!(wrong("75 2 * * *", "UTC").contains("minute must be 0 to 59, got 75"));
        assert!(wrong("0 0 2 * * 1", "UTC").contains("add --seconds"));
        assert!(wrong("* * *", "UTC").contains("such as 30 2 * * 1-5"));
        assert!(wrong("5", "UTC").contains("in quotes"));
        assert!(wrong("0 2 * * *", "berlin").contains("--tz: "));
        assert!(wrong("0 2 31 2 *", "UTC").contains("it never fires"));
    }

    #[test]
    fn the_same_is_there_for_programs() {
        let words = Explain {
            cron: "*/30 1 * * * *".to_owned(),
            tz: "Europe/Berlin".to_owned(),
            count: 1,
            seconds: true,
            from: None,
        };
        let said = explain(&words, "2026-03-28T12:00:00Z".parse().unwrap(), true).unwrap();
        let said: Value = serde_json::from_str(&said).unwrap();
        assert_eq!(said["time_zone"], "Europe/Berlin");
        assert_eq!(said["fires"][0]["at"], "2026-03-28T12:01:00.000000Z");
        assert_eq!(said["fires"][0]["local"], "2026-03-28T13:01:00+01:00");
        assert_eq!(said["next_clock_change"]["to_offset_s"], 7_200);
        assert_eq!(said["warnings"][0]["code"], "more-than-once-a-minute");
    }
}
