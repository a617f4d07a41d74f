//! What a schedule will do, before it does: its next slots with notes, and warnings about what
//! people overlook.

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};

use super::changes::ClockChange;
use super::civil::month_length;
use super::cron::Fields;
use super::field::Set;
use super::rule::Rule;
use super::slot::{Fate, Slot};
use super::timetable::Timetable;
use super::words;
use super::zone::TZDATA_VERSION;

/// Most fires of one preview.
pub const COUNT_LIMIT: usize = 100;
/// So many slots are looked at for each fire that was asked for; the rest are skipped ones.
const SLOTS_PER_FIRE: usize = 10;
/// What a schedule will do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// The schedule in English.
    pub description: String,
    /// The release of the zone table that this was computed with.
    pub tzdata: &'static str,
    /// The next slots, ascending: as many fires as asked for, and what is skipped between them.
    pub slots: Vec<Slot>,
    /// The next clock change of its zone, if there is one within 400 days.
    pub clock_change: Option<ClockChange>,
    /// What the author may not have meant.
    pub warnings: Vec<Warning>,
}

/// Something that the author may not have meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The word for machines.
    pub code: &'static str,
    /// The same in English.
    pub text: String,
}

impl Timetable {
    /// The next `count` fires after an instant (at most [`COUNT_LIMIT`]), and all there is to say.
    pub fn preview(&self, after: DateTime<Utc>, count: usize) -> Preview {
        let count = count.min(COUNT_LIMIT);
        let mut slots = self.slots(after, DateTime::<Utc>::MAX_UTC, count);
        while slots.iter().filter(|slot| slot.fate == Fate::Fires).count() < count
            && slots.len() < count * SLOTS_PER_FIRE
            && let Some(last) = slots.last().map(|slot| slot.at)
        {
            let more = self.slots(last, DateTime::<Utc>::MAX_UTC, 1);
            if more.is_empty() {
                break;
            }
            slots.extend(more);
        }
        Preview {
            description: self.describe(),
            tzdata: TZDATA_VERSION,
            slots,
            clock_change: self.next_clock_change(after),
            warnings: self.warnings(after),
        }
    }

    /// What the author may not have meant, as seen from an instant.
    pub fn warnings(&self, after: DateTime<Utc>) -> Vec<Warning> {
        let mut warnings = Vec::new();
        for rule in self.rule.members() {
            match rule {
                Rule::Cron(cron) => {
                    warnings.extend(often(u64::from(cron.fields.second.set.len())));
                    warnings.extend(missing_days(&cron.fields));
                }
                Rule::Every(every) => {
                    warnings.extend(often(60_000_u64.div_ceil(every.every_ms())));
                }
                Rule::At(_) | Rule::Day(_) | Rule::AnyOf(_) => {}
            }
        }
        warnings.dedup();
        if let Some(first) = self.next(after)
            && first.at - after > TimeDelta::days(366)
        {
            let text = format!("the next fire is only on {}", first.local.format("%-d %b %Y"));
            warnings.push(Warning { code: "far-away", text });
        }
        // The one forward and the one back, as a rule.
        let next = self.next_clock_change(after);
        let second = next.as_ref().and_then(|change| self.next_clock_change(change.at));
        let touched = next.into_iter().chain(second).filter_map(|change| change.touched);
        warnings.extend(touched.map(|touched| Warning { code: touched.code, text: touched.text }));
        warnings
    }
}

fn often(per_minute: u64) -> Option<Warning> {
    (per_minute > 1).then(|| Warning {
        code: "more-than-once-a-minute",
        text: format!("fires up to {per_minute} times a minute"),
    })
}

/// Months in which none of the days exists, and days that come in leap years only.
fn missing_days(fields: &Fields) -> Option<Warning> {
    if !fields.day.extras.is_empty() || fields.is_either() {
        return None;
    }
    let first = fields.day.set.iter().next()?;
    let length =
        |month: u32, year: i32| NaiveDate::from_ymd_opt(year, month, 1).map_or(0, month_length);
    let never: Set = fields.month.set.iter().filter(|month| length(*month, 2024) < first).collect();
    let seldom = first == 29 && fields.month.set.contains(2);
    if !never.is_empty() {
        let names: Vec<_> = never.iter().map(|month| words::month(month).to_owned()).collect();
        let text = format!(
            "never in {}, which has no day {first}; write L for the last day of the month",
            words::or(&names)
        );
        return Some(Warning { code: "never-in-month", text });
    }
    seldom.then(|| {
        let only = fields.month.set.len() == 1;
        let text = if only { "only in leap years" } else { "in February only in leap years" };
        let code = if only { "only-in-leap-years" } else { "february-only-in-leap-years" };
        Warning { code, text: format!("fires {text}") }
    })
}
