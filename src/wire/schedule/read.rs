//! Reading a schedule's definition: bytes become a [`Draft`], or every fault with its pointer.

use bytes::Bytes;
use serde_json::value::RawValue;

use super::rule::read_spec;
use super::view::STANDING;
use super::words::{CATCH_UPS, GAPS, OVERLAPS, PASSES, SHIFTS};
use crate::domain::check::{YEAR_MS, check_instant};
use crate::domain::invalid::Invalid;
use crate::domain::job::{Completion, Spec, Target};
use crate::domain::queue::DEFAULT_QUEUE;
use crate::domain::redact::MASKED_VALUE;
use crate::domain::retry::RetryPolicy;
use crate::domain::schedule::calendar::CALENDAR_LIMIT;
use crate::domain::schedule::doc::{
    CatchUp, Draft, JobDoc, Overlap, RuleDoc, ScheduleDoc, is_plain_name, is_schedule_name,
};
use crate::domain::schedule::zone::zone;
use crate::wire::fields::Fields;
use crate::wire::request::{MILLIS, read_common};

/// The default of `catch_up.window_ms`: an hour.
const WINDOW_MS: u64 = 3_600_000;
/// The longest `catch_up.window_ms`: 366 days.
const WINDOW_LIMIT_MS: u64 = 366 * 86_400_000;
/// The default of `catch_up.max`.
const CATCH_UP_MAX: u32 = 10;
/// The most of `catch_up.max`.
const CATCH_UP_LIMIT: u32 = 1_000;
/// The widest `jitter_ms`: a day.
const JITTER_LIMIT_MS: u64 = 86_400_000;
/// What a schedule may be called.
pub const NAME_RULE: &str = "must be 1 to 128 of A-Z, a-z, 0-9, '.', '_', '-', the first a letter or \
                             digit, not beginning with \"sch_\", and not \"preview\"";

/// What a reader must know of the server, and of the request's path.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// The largest payload, in bytes.
    pub max_payload: usize,
    /// The zone of a schedule that names none.
    pub time_zone: &'a str,
    /// The name that is known already; the definition may repeat it and must not differ.
    pub name: Option<&'a str>,
}

/// Reads a definition.
pub fn read_schedule(raw: &RawValue, terms: Terms<'_>) -> Result<Draft, Invalid> {
    let mut fields = Fields::read(raw, "#")?;
    let name = read_name(&mut fields, terms.name);
    let mut doc = blank(terms.time_zone);
    let has_rule = read_times(&mut fields, &mut doc);
    read_policies(&mut fields, &mut doc);
    let paused = fields.get("paused", "true or false");
    let payload = read_job(&mut fields, &mut doc.job, terms.max_payload);
    for field in STANDING {
        fields.refuse(field, "read-only", "is shown and not set; leave it out");
    }
    let more = check(&doc, has_rule);
    fields.finish_with(more).into_result(Draft { name, doc, payload, paused })
}

/// A definition in which everything has its default and nothing is said yet.
pub(super) fn blank(time_zone: &str) -> ScheduleDoc {
    ScheduleDoc {
        rule: RuleDoc::At(Vec::new()),
        time_zone: time_zone.to_owned(),
        skip_gap: false,
        passes: (true, false),
        overlap: Overlap::default(),
        catch_up: CatchUp::default(),
        catch_up_window_ms: WINDOW_MS,
        catch_up_max: CATCH_UP_MAX,
        jitter_ms: 0,
        exclude: Vec::new(),
        shift: None,
        start_at: None,
        end_at: None,
        max_fires: None,
        pause_on_failure: false,
        job: JobDoc {
            name: None,
            queue: DEFAULT_QUEUE.to_owned(),
            spec: Spec {
                target: Target {
                    url: String::new(),
                    method: String::new(),
                    headers: Vec::new(),
                    secret_headers: Vec::new(),
                },
                content_type: String::new(),
                json: true,
                timeout_ms: 0,
                completion: Completion::Response,
                heartbeat_timeout_ms: None,
                retry: RetryPolicy::default(),
            },
            priority: 0,
            start_within_ms: None,
            owner_service: None,
            tags: std::collections::BTreeMap::new(),
        },
    }
}

/// Reads what decides the times; false if the rule itself could not be read.
pub(super) fn read_times(fields: &mut Fields<'_>, doc: &mut ScheduleDoc) -> bool {
    let rule = read_spec(fields);
    if let Some(zone) = fields.text("time_zone") {
        doc.time_zone = zone;
    }
    doc.skip_gap = fields.word("on_gap", &GAPS).unwrap_or(doc.skip_gap);
    doc.passes = fields.word("on_overlap_hour", &PASSES).unwrap_or(doc.passes);
    doc.exclude = read_exclude(fields);
    doc.shift = fields.word("shift", &SHIFTS).unwrap_or(doc.shift);
    doc.start_at = fields.instant("start_at");
    doc.end_at = fields.instant("end_at");
    let has_rule = rule.is_some();
    doc.rule = rule.unwrap_or(RuleDoc::At(Vec::new()));
    has_rule
}

/// Every fault that the domain finds in the times and the bounds of a definition.
pub(super) fn check(doc: &ScheduleDoc, has_rule: bool) -> Invalid {
    let mut faults = Invalid::default();
    let bounds = [("start_at", doc.start_at), ("end_at", doc.end_at)];
    for (field, bound) in bounds {
        if let Some(bound) = bound {
            check_instant(&mut faults, &format!("#/{field}"), bound);
        }
    }
    check_number(&mut faults, "#/jitter_ms", doc.jitter_ms, (0, JITTER_LIMIT_MS));
    check_number(&mut faults, "#/catch_up/window_ms", doc.catch_up_window_ms, (0, WINDOW_LIMIT_MS));
    let max = (1, u64::from(CATCH_UP_LIMIT));
    check_number(&mut faults, "#/catch_up/max", u64::from(doc.catch_up_max), max);
    if let Some(fires) = doc.max_fires {
        let most = u64::from(i32::MAX.unsigned_abs());
        check_number(&mut faults, "#/max_fires", u64::from(fires), (1, most));
    }
    faults.0.extend(check_times(doc, has_rule).0);
    faults
}

/// A rule or a zone that is wrong keeps the timetable from comparing the rest; a stand-in for both
/// shows what is wrong with that.
fn check_times(doc: &ScheduleDoc, has_rule: bool) -> Invalid {
    // Which calendars there are is for the engine to say.
    let doc = ScheduleDoc { exclude: Vec::new(), ..doc.clone() };
    let own =
        if has_rule { doc.timetable(&[]).err() } else { zone(&doc.time_zone, "#/time_zone").err() };
    let mut faults = own.unwrap_or_default();
    let rule = RuleDoc::Cron { cron: "* * * * *".to_owned(), seconds: false };
    let stand_in = ScheduleDoc { rule, time_zone: "UTC".to_owned(), ..doc };
    let rest = stand_in.timetable(&[]).err().into_iter().flat_map(|invalid| invalid.0);
    for fault in rest {
        if faults.0.iter().all(|known| known.pointer != fault.pointer) {
            faults.0.push(fault);
        }
    }
    faults
}

fn check_number(faults: &mut Invalid, at: &str, value: u64, (low, high): (u64, u64)) {
    if !(low..=high).contains(&value) {
        faults.add(at, "out-of-range", format!("must be {low} to {high}, got {value}"));
    }
}

fn read_name(fields: &mut Fields<'_>, known: Option<&str>) -> String {
    let given = fields.text("name");
    match (&given, known) {
        (Some(given), Some(known)) if given != known => {
            let detail = format!("this is {known:?}; a schedule never changes its name");
            fields.fault("name", "differs", detail);
        }
        (Some(given), None) if !is_schedule_name(given) => {
            fields.fault("name", "out-of-range", NAME_RULE);
        }
        (None, None) => fields.missing("name", "a schedule needs a name"),
        (Some(_), _) | (None, Some(_)) => {}
    }
    known.map(str::to_owned).or(given).unwrap_or_default()
}

fn read_exclude(fields: &mut Fields<'_>) -> Vec<String> {
    let names: Vec<String> =
        fields.list("exclude", "a calendar's name", CALENDAR_LIMIT).unwrap_or_default();
    for (n, name) in names.iter().enumerate() {
        let key = format!("#/exclude/{n}");
        if !is_plain_name(name) {
            fields.add(Invalid::one(key, "out-of-range", "that is no calendar's name"));
        } else if names.iter().take(n).any(|before| before == name) {
            fields.add(Invalid::one(key, "duplicate-item", "is named twice; name it once"));
        }
    }
    names
}

fn read_policies(fields: &mut Fields<'_>, doc: &mut ScheduleDoc) {
    doc.overlap = fields.word("overlap", &OVERLAPS).unwrap_or(doc.overlap);
    if let Some(mut inner) = fields.object("catch_up") {
        let count = "a whole number from 1 to 1000";
        doc.catch_up = inner.word("policy", &CATCH_UPS).unwrap_or(doc.catch_up);
        doc.catch_up_window_ms = inner.get("window_ms", MILLIS).unwrap_or(doc.catch_up_window_ms);
        doc.catch_up_max = inner.get("max", count).unwrap_or(doc.catch_up_max);
        fields.add(inner.finish());
    }
    doc.jitter_ms = fields.get("jitter_ms", MILLIS).unwrap_or(doc.jitter_ms);
    doc.max_fires = fields.get("max_fires", "a whole number from 1 to 2147483647");
    let pauses = fields.get("pause_on_failure", "true or false");
    doc.pause_on_failure = pauses.unwrap_or(doc.pause_on_failure);
}

/// Fields of a job that the jobs of a schedule do not have, and why.
const NOT_OF_A_SCHEDULE: [(&str, &str); 5] = [
    ("due_at", "the schedule's spec says when its jobs are due; leave it out"),
    ("delay_ms", "the schedule's spec says when its jobs are due; leave it out"),
    ("start_deadline", "give start_within_ms: it counts from the due time of each job"),
    (
        "unique_key",
        "the schedule and the fire time identify each job; overlap says how many may run",
    ),
    ("on_duplicate", "no two jobs of a schedule have the same fire time; leave it out"),
];

const WITHHELD: &str = "whoever read this was not shown the payload; give the payload itself and leave \
                        this out, or PATCH what is to change";

fn read_job(fields: &mut Fields<'_>, job: &mut JobDoc, max_payload: usize) -> Bytes {
    let Some(mut inner) = fields.object("job") else {
        fields.missing("job", "a schedule needs a job: {\"target\": {\"url\": \"https://…\"}}");
        return Bytes::new();
    };
    for (field, why) in NOT_OF_A_SCHEDULE {
        inner.refuse(field, "excluded", why);
    }
    inner.refuse("withheld", MASKED_VALUE, WITHHELD);
    let new = read_common(&mut inner);
    let start_within_ms = inner.get("start_within_ms", MILLIS);
    let mut faults = new.check("#/job", max_payload);
    if let Some(within) = start_within_ms {
        check_number(&mut faults, "#/job/start_within_ms", within, (1, YEAR_MS));
    }
    fields.add(inner.finish_with(faults));
    *job = JobDoc {
        name: new.name,
        queue: new.queue,
        spec: new.spec,
        priority: new.priority,
        start_within_ms,
        owner_service: new.owner_service,
        tags: new.tags,
    };
    new.payload
}
