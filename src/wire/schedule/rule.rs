//! A schedule's `spec`, read and shown.

use chrono::{DateTime, FixedOffset, Utc};

use super::request::SpecRequest;
use super::words::{DAYS, word};
use crate::domain::schedule::doc::{DayDoc, RuleDoc};
use crate::domain::schedule::rule::{ANY_OF_LIMIT, AT_LIMIT};
use crate::wire::fields::Fields;
use crate::wire::instant;
use crate::wire::request::MILLIS;

/// Each kind of rule is told by one field.
const KINDS: [&str; 5] = ["cron", "every_ms", "at", "day", "any_of"];
/// Fields that go with one kind.
const COMPANIONS: [(&str, &str); 4] =
    [("seconds", "cron"), ("anchor", "every_ms"), ("n", "day"), ("time", "day")];

/// Reads `spec`; none if it is absent or cannot be read, which has its fault then.
pub(super) fn read_spec(fields: &mut Fields<'_>) -> Option<RuleDoc> {
    let Some(mut spec) = fields.object("spec") else {
        fields.missing("spec", "say when it fires: {\"cron\": \"30 2 * * *\"}");
        return None;
    };
    let rule = read_rule(&mut spec, true);
    fields.add(spec.finish());
    rule
}

/// Reads one rule. Only the outermost may be an `any_of`, so that this does not go deeper than that.
fn read_rule(fields: &mut Fields<'_>, outermost: bool) -> Option<RuleDoc> {
    if !outermost {
        let why = "any_of holds no other any_of; put all rules side by side";
        fields.refuse("any_of", "excluded", why);
    }
    let given: Vec<_> = KINDS.into_iter().filter(|kind| fields.has(kind)).collect();
    let Some((kind, others)) = given.split_first() else {
        for kind in KINDS {
            fields.raw(kind);
        }
        fields.missing("cron", "give one of cron, every_ms, at, day and any_of");
        return None;
    };
    for other in others {
        let why = format!("give either {kind} or {other}; any_of takes several rules");
        fields.refuse(other, "excluded", &why);
    }
    for (companion, of) in COMPANIONS {
        if others.contains(&of) {
            fields.raw(companion);
        } else if of != *kind {
            fields.refuse(companion, "excluded", &format!("goes with {of}"));
        }
    }
    match *kind {
        "cron" => {
            let seconds = fields.get("seconds", "true or false").unwrap_or(false);
            Some(RuleDoc::Cron { cron: fields.text("cron")?, seconds })
        }
        "every_ms" => {
            let anchor = fields.instant("anchor");
            Some(RuleDoc::Every { every_ms: fields.get("every_ms", MILLIS)?, anchor })
        }
        "at" => read_at(fields),
        "day" => read_day(fields),
        _ => read_any_of(fields),
    }
}

fn read_at(fields: &mut Fields<'_>) -> Option<RuleDoc> {
    let expected = "an instant in RFC 3339, such as \"2026-12-01T08:00:00Z\"";
    let given: Vec<DateTime<FixedOffset>> = fields.list("at", expected, AT_LIMIT)?;
    // To the microsecond, as every instant is kept.
    let whole = |at: &DateTime<FixedOffset>| DateTime::from_timestamp_micros(at.timestamp_micros());
    Some(RuleDoc::At(given.iter().filter_map(whole).collect()))
}

fn read_day(fields: &mut Fields<'_>) -> Option<RuleDoc> {
    let day = fields.word("day", &DAYS);
    if day.is_some_and(|day| day != DayDoc::NthBusinessDay) {
        fields.refuse("n", "excluded", "goes with nth_business_day");
    }
    let n = fields.get("n", "a whole number from 1 to 31");
    if day == Some(DayDoc::NthBusinessDay) && n.is_none() {
        fields.missing("n", "say which business day, from 1");
    }
    let time = fields.text("time");
    if time.is_none() {
        fields.missing("time", "say at what time, such as \"02:00\"");
    }
    Some(RuleDoc::Day { day: day?, n, time: time? })
}

fn read_any_of(fields: &mut Fields<'_>) -> Option<RuleDoc> {
    let items = fields.items("any_of", ANY_OF_LIMIT)?;
    let mut rules = Vec::with_capacity(items.len());
    for (at, raw) in &items {
        let faults = match Fields::read(raw, at) {
            Ok(mut inner) => {
                rules.extend(read_rule(&mut inner, false));
                inner.finish()
            }
            Err(invalid) => invalid,
        };
        fields.add(faults);
    }
    (rules.len() == items.len()).then_some(RuleDoc::AnyOf(rules))
}

impl From<&RuleDoc> for SpecRequest {
    fn from(rule: &RuleDoc) -> Self {
        let shown = |at: &DateTime<Utc>| instant(*at);
        match rule {
            RuleDoc::Cron { cron, seconds } => Self {
                cron: Some(cron.clone()),
                seconds: Some(*seconds).filter(|seconds| *seconds),
                ..Self::default()
            },
            RuleDoc::Every { every_ms, anchor } => Self {
                every_ms: Some(*every_ms),
                anchor: anchor.as_ref().map(shown),
                ..Self::default()
            },
            RuleDoc::At(instants) => {
                Self { at: Some(instants.iter().map(shown).collect()), ..Self::default() }
            }
            RuleDoc::Day { day, n, time } => Self {
                day: Some(word(&DAYS, day).to_owned()),
                n: *n,
                time: Some(time.clone()),
                ..Self::default()
            },
            RuleDoc::AnyOf(rules) => {
                Self { any_of: Some(rules.iter().map(Self::from).collect()), ..Self::default() }
            }
        }
    }
}
