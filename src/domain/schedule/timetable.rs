//! A rule with all that decides its instants: zone, clock-change policies, calendars, bounds.
//!
//! The evaluation of schedules for everybody: scheduler, preview, command line. It has no clock;
//! every question says from when. Answers lie in the years 1970 to 2199, strictly grow, and cost a
//! bounded number of steps whatever the rule.

use chrono::{DateTime, FixedOffset, NaiveDate, Offset, TimeZone, Utc};
use chrono_tz::Tz;

use super::calendar::{Book, CALENDAR_LIMIT, Calendar, Shift};
use super::civil::LAST_YEAR;
use super::rule::Rule;
use super::slot::{Fate, Note, Pass, Slot};
use super::times::{Base, Side, Times};
use super::walk::{OnGap, OnOverlapHour, Walk};
use super::zone::{Fold, civil, offset};
use crate::domain::invalid::Invalid;

/// The first stretch of a search for slots of both sides, in milliseconds: a month.
const FIRST_STRETCH: i64 = 31 * 86_400_000;

/// What a schedule says about its times.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// When it fires.
    pub rule: Rule,
    /// The zone of its local times.
    pub zone: Tz,
    /// What happens to a fixed time that does not exist.
    pub on_gap: OnGap,
    /// When a fixed time that comes twice fires.
    pub on_overlap_hour: OnOverlapHour,
    /// The calendars of its closed days.
    pub exclude: Vec<Calendar>,
    /// What becomes of slots on closed days.
    pub shift: Shift,
    /// No slot lies before this instant; one may lie on it.
    pub start_at: Option<DateTime<Utc>>,
    /// No slot lies on this instant or after it.
    pub end_at: Option<DateTime<Utc>>,
}

impl Plan {
    /// A rule in a zone, all else by default.
    pub fn new(rule: Rule, zone: Tz) -> Self {
        Self {
            rule,
            zone,
            on_gap: OnGap::default(),
            on_overlap_hour: OnOverlapHour::default(),
            exclude: Vec::new(),
            shift: Shift::default(),
            start_at: None,
            end_at: None,
        }
    }
}

/// A plan that can be asked for its slots.
#[derive(Clone, Debug, PartialEq)]
pub struct Timetable {
    pub(super) rule: Rule,
    pub(super) zone: Tz,
    pub(super) on_gap: OnGap,
    pub(super) on_overlap_hour: OnOverlapHour,
    pub(super) book: Book,
    pub(super) start_at: Option<DateTime<Utc>>,
    pub(super) end_at: Option<DateTime<Utc>>,
}

/// A slot before anything is said about it; milliseconds since the epoch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub(super) at: i64,
    pub(super) fate: Fate,
    missing: Option<chrono::NaiveDateTime>,
}

impl Timetable {
    /// Checks what the plan's parts say together, with pointers below `at` (the schedule).
    pub fn new(plan: Plan, at: &str) -> Result<Self, Invalid> {
        let mut faults = Invalid::default();
        if plan.exclude.len() > CALENDAR_LIMIT {
            let detail = format!("at most {CALENDAR_LIMIT} calendars, got {}", plan.exclude.len());
            faults.add(format!("{at}/exclude"), "too-many", detail);
        }
        for (n, calendar) in plan.exclude.iter().enumerate() {
            faults.0.extend(calendar.check(&format!("{at}/exclude/{n}")).0);
        }
        let of_days = |rule: &Rule| matches!(rule, Rule::Cron(_) | Rule::Day(_));
        if plan.shift != Shift::Skip && !plan.rule.members().iter().all(of_days) {
            let detail = "only cron and day rules can be shifted to a business day; leave it out";
            faults.add(format!("{at}/shift"), "out-of-range", detail);
        }
        if plan.start_at.zip(plan.end_at).is_some_and(|(start, end)| start >= end) {
            faults.add(format!("{at}/end_at"), "out-of-range", "must lie after start_at");
        }
        faults.into_result(Self {
            rule: plan.rule,
            zone: plan.zone,
            on_gap: plan.on_gap,
            on_overlap_hour: plan.on_overlap_hour,
            book: Book { calendars: plan.exclude, shift: plan.shift },
            start_at: plan.start_at,
            end_at: plan.end_at,
        })
    }

    /// The first fire after `after`, or the fault of a schedule that never fires again: what a
    /// schedule must show when it is created or changed.
    pub fn first(&self, after: DateTime<Utc>, at: &str) -> Result<Slot, Invalid> {
        let detail = || {
            let from = after.format("%Y-%m-%d");
            format!(
                "it never fires: no time from {from} to the year {LAST_YEAR} matches its rule, \
                 calendars, start_at and end_at together"
            )
        };
        self.next(after).ok_or_else(|| Invalid::one(at, "never-fires", detail()))
    }

    /// The first fire strictly after an instant.
    pub fn next(&self, after: DateTime<Utc>) -> Option<Slot> {
        let from = after.timestamp_millis().saturating_add(1);
        let at = self.next_fire(from, i64::MAX)?;
        let event = self.earliest(at, at, false)?;
        self.slot(event, offset(self.zone, after.timestamp()))
    }

    /// The slots after `after` up to and with `until`, ascending, at most `limit`: those that fire
    /// and those that a gap or a calendar takes away.
    pub fn slots(&self, after: DateTime<Utc>, until: DateTime<Utc>, limit: usize) -> Vec<Slot> {
        let mut slots = Vec::new();
        let mut from = after.timestamp_millis().saturating_add(1);
        let mut before = offset(self.zone, after.timestamp());
        while slots.len() < limit {
            let event = self.earliest(from, until.timestamp_millis(), true);
            let Some(slot) = event.and_then(|event| self.slot(event, before)) else { break };
            from = slot.at.timestamp_millis() + 1;
            before = i64::from(slot.local.offset().local_minus_utc());
            slots.push(slot);
        }
        slots
    }

    /// The last fire at or before an instant. It is found by halving, so years of missed slots
    /// cost no more steps than a day's.
    pub fn last(&self, at: DateTime<Utc>) -> Option<Slot> {
        let last = last_of(at.timestamp_millis(), |from, until| self.next_fire(from, until))?;
        let event = self.earliest(last, last, false)?;
        self.slot(event, offset(self.zone, last.div_euclid(1_000)))
    }

    /// The zone of its local times.
    pub fn zone(&self) -> Tz {
        self.zone
    }

    /// When it fires.
    pub fn rule(&self) -> &Rule {
        &self.rule
    }

    /// The first fire in `[from, until]`, milliseconds.
    pub(super) fn next_fire(&self, from: i64, until: i64) -> Option<i64> {
        let mut from = from;
        loop {
            let event = self.earliest(from, until, false)?;
            if event.fate == Fate::Fires {
                return Some(event.at);
            }
            from = event.at + 1;
        }
    }

    /// A walk over the civil times of a rule that has such.
    pub(super) fn walk<'a>(&'a self, rule: &'a Rule, side: Side) -> Option<Walk<'a>> {
        let base = match rule {
            Rule::Cron(cron) => Base::Cron(cron),
            Rule::Day(day) => Base::Day(day),
            Rule::Every(_) | Rule::At(_) | Rule::AnyOf(_) => return None,
        };
        Some(Walk {
            times: Times { base, book: &self.book, side },
            zone: self.zone,
            on_gap: self.on_gap,
            on_overlap_hour: self.on_overlap_hour,
        })
    }

    /// `[from, until]` cut to the schedule's own bounds and to the years looked at.
    pub(super) fn clamp(&self, from: i64, until: i64) -> (i64, i64) {
        let start = self.start_at.map_or(0, round_up);
        let end = self.end_at.map_or(i64::MAX, |at| round_up(at).saturating_sub(1));
        (from.max(start).max(0), until.min(end).min(last_instant()))
    }

    /// The first slot in `[from, until]`; those that calendars take away only `with_dropped`.
    pub(super) fn earliest(&self, from: i64, until: i64, with_dropped: bool) -> Option<Event> {
        let (mut from, until) = self.clamp(from, until);
        if !with_dropped {
            return self.earliest_of(&[Side::Kept], from, until);
        }
        // Stretch by stretch: where one side comes often and the other never again, neither search
        // may run on to the last year for every slot.
        let mut width = FIRST_STRETCH;
        while from <= until {
            let end = until.min(from.saturating_add(width));
            let found = self.earliest_of(&[Side::Kept, Side::Dropped], from, end);
            if found.is_some() {
                return found;
            }
            (from, width) = (end.saturating_add(1), width.saturating_mul(4));
        }
        None
    }

    fn earliest_of(&self, sides: &[Side], from: i64, until: i64) -> Option<Event> {
        let mut until = until;
        let mut best: Option<Event> = None;
        for side in sides {
            for rule in self.rule.members() {
                let Some(event) = self.of_member(rule, *side, from, until) else { continue };
                until = event.at;
                best = Some(match best {
                    Some(best) if best.at == event.at => Event {
                        at: best.at,
                        fate: best.fate.min(event.fate),
                        missing: best.missing.or(event.missing),
                    },
                    _ => event,
                });
            }
        }
        best
    }

    pub(super) fn of_member(
        &self,
        rule: &Rule,
        side: Side,
        from: i64,
        until: i64,
    ) -> Option<Event> {
        if side == Side::Dropped && self.book.is_blank() {
            return None;
        }
        let Some(walk) = self.walk(rule, side) else {
            return self.of_instants(rule, side, from, until);
        };
        let second = from.div_euclid(1_000) + i64::from(from.rem_euclid(1_000) != 0);
        let hit = walk.at_or_after(second, until.div_euclid(1_000))?;
        let fate = match (side, hit.fires) {
            (Side::Dropped, _) => Fate::SkippedCalendar,
            (Side::Kept, true) => Fate::Fires,
            (Side::Kept, false) => Fate::SkippedGap,
        };
        Some(Event { at: hit.at * 1_000, fate, missing: hit.missing })
    }

    /// Rules that name instants rather than local times.
    fn of_instants(&self, rule: &Rule, side: Side, from: i64, until: i64) -> Option<Event> {
        let mut from = from;
        loop {
            let at = match rule {
                Rule::Every(every) => Some(every.at_or_after(from)),
                Rule::At(list) => list.at_or_after(from),
                Rule::Cron(_) | Rule::Day(_) | Rule::AnyOf(_) => None,
            };
            let at = at.filter(|at| *at <= until)?;
            let date = self.date(at)?;
            let stopped = self.book.is_stopped(date);
            let fate = if stopped { Fate::SkippedCalendar } else { Fate::Fires };
            if stopped == (side == Side::Dropped) {
                return Some(Event { at, fate, missing: None });
            }
            let until = civil(until.div_euclid(1_000), 86_400)?.date();
            let day = match side {
                Side::Kept => self.book.first_open(date)?,
                Side::Dropped => self.book.first_stopped(date, until)?,
            };
            from = self.before_midnight(day)?.max(at + 1);
        }
    }

    fn date(&self, at: i64) -> Option<NaiveDate> {
        let second = at.div_euclid(1_000);
        Some(civil(second, offset(self.zone, second))?.date())
    }

    /// An instant shortly before the local day begins, in milliseconds.
    fn before_midnight(&self, day: NaiveDate) -> Option<i64> {
        let midnight = day.and_hms_opt(0, 0, 0)?.and_utc().timestamp();
        let guess = midnight - offset(self.zone, midnight);
        Some((guess.min(midnight - offset(self.zone, guess)) - 2 * 3_600) * 1_000)
    }

    fn slot(&self, event: Event, offset_before: i64) -> Option<Slot> {
        let at = DateTime::from_timestamp_millis(event.at)?;
        let zone: FixedOffset = self.zone.offset_from_utc_datetime(&at.naive_utc()).fix();
        let local = at.with_timezone(&zone);
        let mut slot = Slot { at, local, fate: event.fate, notes: Vec::new() };
        if let Some(missing) = event.missing {
            slot.notes.push(match (event.fate, self.on_gap) {
                (Fate::SkippedGap, _) | (_, OnGap::Skip) => Note::SkippedGap { missing },
                _ => Note::MovedFromGap { missing },
            });
        }
        let second = event.at.div_euclid(1_000);
        if Fold::first_pass(self.zone, second).is_some() {
            slot.notes.push(Note::RepeatedHour { pass: Pass::First });
        } else if Fold::second_pass(self.zone, second).is_some() {
            slot.notes.push(Note::RepeatedHour { pass: Pass::Second });
        }
        let (from, to) = (i32::try_from(offset_before).unwrap_or(0), zone.local_minus_utc());
        if from != to {
            slot.notes.push(Note::OffsetChange { from, to });
        }
        slot.notes.extend(self.calendar_note(event, &slot));
        Some(slot)
    }

    fn calendar_note(&self, event: Event, slot: &Slot) -> Option<Note> {
        let date = slot.local.date_naive();
        if event.fate == Fate::SkippedCalendar {
            let calendar = self.book.closing(date).map(|calendar| calendar.name.clone());
            let moved_to = self.book.target(date).filter(|target| *target != date);
            return Some(Note::Holiday { calendar: calendar.unwrap_or_default(), moved_to });
        }
        let time = event.missing.map_or(slot.local.time(), |missing| missing.time());
        let came_from = |rule| self.walk(rule, Side::Kept)?.times.came_from(date, time);
        let from = self.rule.members().iter().find_map(came_from)?;
        Some(Note::Shifted { from })
    }
}

/// The last instant, not after `until`, that `next` finds when it is asked for the first one of a
/// stretch.
pub(super) fn last_of(until: i64, next: impl Fn(i64, i64) -> Option<i64>) -> Option<i64> {
    let mut width = 1_000;
    let mut low = loop {
        let start = until.saturating_sub(width);
        if let Some(found) = next(start, until) {
            break found;
        }
        if start < 0 {
            return None;
        }
        width *= 2;
    };
    // One at `low`; none in [high, until].
    let mut high = until.saturating_add(1);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        match next(middle, high - 1) {
            Some(found) => low = found,
            None => high = middle,
        }
    }
    Some(low)
}

/// The last millisecond of the years looked at.
fn last_instant() -> i64 {
    NaiveDate::from_ymd_opt(LAST_YEAR + 1, 1, 1)
        .and_then(|date| date.and_hms_opt(0, 0, 0))
        .map_or(i64::MAX, |end| end.and_utc().timestamp_millis() - 1)
}

/// The first whole millisecond not before an instant.
fn round_up(at: DateTime<Utc>) -> i64 {
    at.timestamp_millis() + i64::from(!at.timestamp_subsec_nanos().is_multiple_of(1_000_000))
}
