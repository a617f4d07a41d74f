//! A schedule as it is kept: its times, its policies and the job that it makes, as plain documents.
//! [`ScheduleDoc::timetable`] turns the times into something that can be asked.

use std::collections::BTreeMap;

use bytes::Bytes;
use chrono::{DateTime, NaiveDate, Utc, Weekday};
use serde::{Deserialize, Serialize};

use super::calendar::{Calendar, Shift};
use super::cron::Cron;
use super::rule::{AnyOf, At, Day, Every, Rule, Which};
use super::timetable::{Plan, Timetable};
use super::zone::zone;
use super::{OnGap, OnOverlapHour};
use crate::domain::invalid::Invalid;
use crate::domain::job::{Due, NewJob, OnDuplicate, Spec};

/// When a schedule fires, as it was written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleDoc {
    /// A cron line; with a field for seconds or without.
    Cron {
        /// The line.
        cron: String,
        /// Whether its first field is the second.
        seconds: bool,
    },
    /// An interval in real time.
    Every {
        /// Its length.
        every_ms: u64,
        /// An instant that it meets.
        anchor: Option<DateTime<Utc>>,
    },
    /// Single instants.
    At(Vec<DateTime<Utc>>),
    /// One day of each month.
    Day {
        /// Which.
        day: DayDoc,
        /// For the n-th business day.
        n: Option<u32>,
        /// `HH:MM` or `HH:MM:SS`.
        time: String,
    },
    /// Any of several.
    AnyOf(Vec<RuleDoc>),
}

/// Which day of a month.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DayDoc {
    /// Its last.
    LastOfMonth,
    /// Its last business day.
    LastBusinessDay,
    /// Its n-th business day.
    NthBusinessDay,
}

impl RuleDoc {
    /// The rule, or everything that is wrong with it, with pointers below `at`.
    pub fn rule(&self, at: &str) -> Result<Rule, Invalid> {
        match self {
            Self::Cron { cron, seconds } => {
                Cron::parse(cron, *seconds, &format!("{at}/cron")).map(Rule::Cron)
            }
            Self::Every { every_ms, anchor } => Every::new(*every_ms, *anchor, at).map(Rule::Every),
            Self::At(instants) => At::new(instants.clone(), &format!("{at}/at")).map(Rule::At),
            Self::Day { day, n, time } => {
                let which = match (day, n) {
                    (DayDoc::LastOfMonth, _) => Which::LastOfMonth,
                    (DayDoc::LastBusinessDay, _) => Which::LastBusinessDay,
                    (DayDoc::NthBusinessDay, n) => Which::NthBusinessDay(n.unwrap_or(0)),
                };
                Day::new(which, Day::read_time(time, at)?, at).map(Rule::Day)
            }
            Self::AnyOf(rules) => {
                let (mut read, mut faults) = (Vec::new(), Invalid::default());
                for (n, rule) in rules.iter().enumerate() {
                    match rule.rule(&format!("{at}/any_of/{n}")) {
                        Ok(rule) => read.push(rule),
                        Err(invalid) => faults.0.extend(invalid.0),
                    }
                }
                faults.into_result(())?;
                AnyOf::new(read, at).map(Rule::AnyOf)
            }
        }
    }
}

/// What happens to a fire while an earlier job of the schedule is unfinished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overlap {
    /// It makes no job.
    #[default]
    Skip,
    /// One job waits for its turn; a further fire makes none.
    QueueOne,
    /// Each job waits for its turn, up to [`QUEUE_LIMIT`](super::overlap::QUEUE_LIMIT).
    QueueAll,
    /// The unfinished jobs are cancelled.
    CancelRunning,
    /// It makes a job beside the others.
    Allow,
}

/// Which of the fires that nobody was there for are made up for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CatchUp {
    /// None.
    None,
    /// The last one.
    #[default]
    Last,
    /// Each, oldest first, up to a number.
    All,
}

/// A schedule, without its name and its standing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScheduleDoc {
    /// When it fires.
    pub rule: RuleDoc,
    /// The IANA name of its zone.
    pub time_zone: String,
    /// `skip` where a time that does not exist is left out; else it fires at the gap's end.
    pub skip_gap: bool,
    /// Which passes of a repeated time fire: first, second.
    pub passes: (bool, bool),
    /// While an earlier job is unfinished.
    pub overlap: Overlap,
    /// After an outage.
    pub catch_up: CatchUp,
    /// How far back it makes up, in milliseconds.
    pub catch_up_window_ms: u64,
    /// How many fires it makes up at most.
    pub catch_up_max: u32,
    /// How far its jobs may be spread within their slot, in milliseconds.
    pub jitter_ms: u64,
    /// Calendars of closed days, by name.
    pub exclude: Vec<String>,
    /// Where a slot on a closed day goes: none for nowhere, else forward or back.
    pub shift: Option<bool>,
    /// No slot lies before.
    pub start_at: Option<DateTime<Utc>>,
    /// No slot lies on it or after.
    pub end_at: Option<DateTime<Utc>>,
    /// It ends after so many jobs made by the timer.
    pub max_fires: Option<u32>,
    /// Whether a job that is given up pauses it.
    pub pause_on_failure: bool,
    /// What each job is to be.
    pub job: JobDoc,
}

/// What a schedule's jobs are to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobDoc {
    /// For people and filters; the schedule's name if it has none.
    pub name: Option<String>,
    /// Where they wait.
    pub queue: String,
    /// What their runs need to know.
    pub spec: Spec,
    /// 0 (lowest) to 9.
    pub priority: i16,
    /// How long after its due time a job may start at the latest, in milliseconds.
    pub start_within_ms: Option<u64>,
    /// Whom to call when one fails.
    pub owner_service: Option<String>,
    /// For filters.
    pub tags: BTreeMap<String, String>,
}

impl JobDoc {
    /// A job that is due then; every field of the document reaches it (bug B076).
    pub fn job(&self, name: &str, payload: Bytes, due_at: DateTime<Utc>) -> NewJob {
        let within = self.start_within_ms.map(std::time::Duration::from_millis);
        let within = within.and_then(|within| chrono::Duration::from_std(within).ok());
        NewJob {
            name: Some(self.name.clone().unwrap_or_else(|| name.to_owned())),
            queue: self.queue.clone(),
            spec: self.spec.clone(),
            payload,
            due: Due::At(Some(due_at)),
            priority: self.priority,
            start_deadline: within.and_then(|within| due_at.checked_add_signed(within)),
            unique_key: None,
            on_duplicate: OnDuplicate::Existing,
            owner_service: self.owner_service.clone(),
            tags: self.tags.clone(),
            rerun_of: None,
            fire: None,
        }
    }
}

impl ScheduleDoc {
    /// What it can be asked, with its calendars, or everything that is wrong with its times.
    pub fn timetable(&self, calendars: &[CalendarDoc]) -> Result<Timetable, Invalid> {
        let rule = self.rule.rule("#/spec");
        let zone = zone(&self.time_zone, "#/time_zone");
        let (rule, zone) = match (rule, zone) {
            (Ok(rule), Ok(zone)) => (rule, zone),
            (rule, zone) => {
                let faults = [rule.err(), zone.err()].into_iter().flatten().flat_map(|e| e.0);
                return Err(Invalid(faults.collect()));
            }
        };
        let mut plan = Plan::new(rule, zone);
        plan.on_gap = if self.skip_gap { OnGap::Skip } else { OnGap::Fire };
        plan.on_overlap_hour = match self.passes {
            (true, true) => OnOverlapHour::Both,
            (false, true) => OnOverlapHour::Second,
            (_, false) => OnOverlapHour::First,
        };
        plan.exclude = self.closed(calendars)?;
        plan.shift = match self.shift {
            None => Shift::Skip,
            Some(true) => Shift::NextBusinessDay,
            Some(false) => Shift::PreviousBusinessDay,
        };
        (plan.start_at, plan.end_at) = (self.start_at, self.end_at);
        Timetable::new(plan, "#")
    }

    /// Its calendars, of those of its team.
    fn closed(&self, calendars: &[CalendarDoc]) -> Result<Vec<Calendar>, Invalid> {
        let mut faults = Invalid::default();
        let mut closed = Vec::new();
        for (n, name) in self.exclude.iter().enumerate() {
            if let Some(calendar) = calendars.iter().find(|calendar| calendar.name == *name) {
                closed.push(calendar.calendar());
            } else {
                let detail = format!("there is no calendar {name:?} in your team");
                faults.add(format!("#/exclude/{n}"), "unknown-calendar", detail);
            }
        }
        faults.into_result(closed)
    }

    /// Whether the two have the same slots.
    pub fn has_times_of(&self, other: &Self) -> bool {
        let times = |doc: &Self| {
            let policies = (doc.skip_gap, doc.passes, doc.shift, doc.start_at, doc.end_at);
            (doc.rule.clone(), doc.time_zone.clone(), doc.exclude.clone(), policies)
        };
        times(self) == times(other)
    }
}

/// A schedule as somebody wants it.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// Unique within the team; never changes.
    pub name: String,
    /// What it says.
    pub doc: ScheduleDoc,
    /// What its jobs send, byte for byte.
    pub payload: Bytes,
    /// Whether it is to be paused; none leaves that as it is.
    pub paused: Option<bool>,
}

/// Whether `name` can be a schedule's or a calendar's: 1 to 128 of letters, digits, `.`, `_` and
/// `-`, the first a letter or digit, so that it stands in a URL as it is.
pub fn is_plain_name(name: &str) -> bool {
    name.len() <= 128
        && name.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
}

/// Whether `name` can be a schedule's: a plain one that is taken neither for an id nor for the
/// address of the preview.
pub fn is_schedule_name(name: &str) -> bool {
    is_plain_name(name) && !name.starts_with("sch_") && name != "preview"
}

/// A calendar as it is kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CalendarDoc {
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// Closed dates.
    pub dates: Vec<NaiveDate>,
    /// Closed weekdays, by three letters: `sat`, `sun`.
    pub weekend: Vec<String>,
}

impl CalendarDoc {
    /// The calendar; weekdays that are none were refused at the door.
    pub fn calendar(&self) -> Calendar {
        let weekend = self.weekend.iter().filter_map(|day| day.parse::<Weekday>().ok());
        Calendar {
            name: self.name.clone(),
            dates: self.dates.iter().copied().collect(),
            weekend: weekend.collect(),
        }
    }
}
