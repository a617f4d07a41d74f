//! A schedule in plain English. The one place that says it, for API, command line and console.

use chrono_tz::Tz;

use super::calendar::Shift;
use super::cron::{Cron, Fields};
use super::field::{self, Extra, Field, Set};
use super::rule::{Day, Every, Rule, Which};
use super::slot::time;
use super::timetable::Timetable;
use super::words;

/// Up to so many times of a day are written out.
const TIMES_SHOWN: u32 = 6;
/// Up to so many instants of a list are written out.
const INSTANTS_SHOWN: usize = 3;

/// The rule in English, such as `at 02:30 on Monday to Friday, Europe/Berlin`.
pub fn describe(rule: &Rule, zone: Tz) -> String {
    let phrases: Vec<_> = rule.members().iter().map(|rule| phrase(rule, zone)).collect();
    format!("{}, {zone}", phrases.join("; and "))
}

impl Timetable {
    /// The rule in English, with calendars and bounds.
    pub fn describe(&self) -> String {
        let mut parts = vec![describe(&self.rule, self.zone)];
        let names: Vec<_> =
            self.book.calendars.iter().map(|calendar| calendar.name.clone()).collect();
        let closed = if names.is_empty() {
            "at weekends".to_owned()
        } else {
            format!("on days closed in {}", words::or(&names))
        };
        match self.book.shift {
            Shift::Skip if names.is_empty() => {}
            Shift::Skip => parts.push(format!("not {closed}")),
            Shift::NextBusinessDay => {
                parts.push(format!("{closed}, on the next business day instead"));
            }
            Shift::PreviousBusinessDay => {
                parts.push(format!("{closed}, on the business day before instead"));
            }
        }
        for (word, bound) in [("from", self.start_at), ("until", self.end_at)] {
            if let Some(bound) = bound {
                let local = bound.with_timezone(&self.zone);
                parts.push(format!("{word} {}", local.format("%Y-%m-%d %H:%M")));
            }
        }
        parts.join("; ")
    }
}

fn phrase(rule: &Rule, zone: Tz) -> String {
    match rule {
        Rule::Cron(cron) => of_cron(cron),
        Rule::Every(every) => of_every(every),
        Rule::Day(day) => of_day(day),
        Rule::At(list) => {
            let local = |at: &chrono::DateTime<chrono::Utc>| {
                at.with_timezone(&zone).format("%Y-%m-%d %H:%M:%S").to_string()
            };
            let all = list.instants();
            let mut shown: Vec<_> = all.iter().take(INSTANTS_SHOWN).map(local).collect();
            if all.len() > INSTANTS_SHOWN {
                shown.push(format!("{} more times", all.len() - INSTANTS_SHOWN));
            }
            format!("once at {}", words::and(&shown))
        }
        Rule::AnyOf(any) => {
            let phrases: Vec<_> = any.rules().iter().map(|rule| phrase(rule, zone)).collect();
            phrases.join("; and ")
        }
    }
}

fn of_every(every: &Every) -> String {
    let span = words::span(every.every_ms());
    if every.anchor() == chrono::DateTime::UNIX_EPOCH {
        return format!("every {span}");
    }
    format!("every {span}, counted from {}", every.anchor().format("%Y-%m-%dT%H:%M:%SZ"))
}

fn of_day(day: &Day) -> String {
    let which = match day.which {
        Which::LastOfMonth => "last day".to_owned(),
        Which::LastBusinessDay => "last business day".to_owned(),
        Which::NthBusinessDay(n) => format!("{} business day", words::ordinal(n)),
    };
    format!("at {} on the {which} of the month", time(day.time))
}

fn of_cron(cron: &Cron) -> String {
    let fields = &cron.fields;
    let listed = listed_times(fields);
    let is_listed = listed.is_some();
    let mut parts = vec![listed.unwrap_or_else(|| composed_times(fields))];
    match days(fields) {
        Some(days) => parts.push(days),
        None if is_listed => parts.push("every day".to_owned()),
        None => {}
    }
    if !fields.month.is_full(&field::MONTH) {
        let months = words::runs(fields.month.set, |month| words::month(month).to_owned());
        parts.push(format!("in {}", words::and(&months)));
    }
    parts.join(" ")
}

/// `at 02:30 and 14:30`, if that is short.
fn listed_times(fields: &Fields) -> Option<String> {
    let Fields { second, minute, hour, .. } = fields;
    if second.set.len() * minute.set.len() * hour.set.len() > TIMES_SHOWN {
        return None;
    }
    let mut times = Vec::new();
    for hour in hour.set.iter() {
        for minute in minute.set.iter() {
            for second in second.set.iter() {
                times.extend(chrono::NaiveTime::from_hms_opt(hour, minute, second).map(time));
            }
        }
    }
    Some(format!("at {}", words::and(&times)))
}

fn composed_times(fields: &Fields) -> String {
    let Fields { second, minute, hour, .. } = fields;
    let on_the_minute = second.set == [0].into_iter().collect();
    let hours = (!hour.is_full(&field::HOUR)).then(|| of_hours(hour.set, minute));
    let every_minute = minute.is_full(&field::MINUTE);
    if on_the_minute {
        if hours.is_none() && minute.set == [0].into_iter().collect() {
            return "every hour, on the hour".to_owned();
        }
        return match (units("minute", minute), hours) {
            (minutes, None) if minutes.starts_with("at") => format!("{minutes} of every hour"),
            (minutes, None) => minutes,
            (minutes, Some(hours)) => format!("{minutes} {hours}"),
        };
    }
    let seconds = units("second", second);
    match (every_minute, hours) {
        (true, None) if seconds.starts_with("at") => format!("{seconds} of every minute"),
        (true, None) => seconds,
        (true, Some(hours)) => format!("{seconds} of every minute {hours}"),
        (false, hours) => {
            let minutes = words::and(&words::runs(minute.set, |value| value.to_string()));
            let hours = hours.unwrap_or_else(|| "of every hour".to_owned());
            format!("{seconds} of minute {minutes} {hours}")
        }
    }
}

/// `every minute`, `every 15 minutes`, `at minutes 5, 20 and 35`.
fn units(unit: &str, field: &Field) -> String {
    if field.set.len() == 60 {
        return format!("every {unit}");
    }
    if let Some(step) = even_step(field.set, 60) {
        return format!("every {step} {unit}s");
    }
    let plural = if field.set.len() == 1 { "" } else { "s" };
    format!("at {unit}{plural} {}", words::and(&words::runs(field.set, |value| value.to_string())))
}

/// `from 09:00 to 17:59`, `of every 2nd hour`, `of hours 9, 12 and 15`.
fn of_hours(hours: Set, minute: &Field) -> String {
    if let Some(step) = even_step(hours, 24) {
        return format!("of every {} hour", words::short_ordinal(step));
    }
    let all: Vec<_> = hours.iter().collect();
    let (first, last) = (all.first().copied().unwrap_or(0), all.last().copied().unwrap_or(0));
    let regular = minute.set.len() == 60 || even_step(minute.set, 60).is_some();
    let one_run = u32::try_from(all.len()).is_ok_and(|len| last - first + 1 == len);
    if regular && one_run {
        let end = minute.set.iter().last().unwrap_or(59);
        return format!("from {first:02}:00 to {last:02}:{end:02}");
    }
    let plural = if all.len() == 1 { "" } else { "s" };
    format!("of hour{plural} {}", words::and(&words::runs(hours, |value| value.to_string())))
}

/// The step of `*/step`, where it divides the whole and so stays even.
fn even_step(set: Set, whole: u32) -> Option<u32> {
    let mut values = set.iter();
    let step = (values.next()? == 0).then(|| values.next())??;
    let even = whole.is_multiple_of(step) && step > 1 && set.len() == whole / step;
    (even && set.iter().all(|value| value.is_multiple_of(step))).then_some(step)
}

/// On which days, unless on every one.
fn days(fields: &Fields) -> Option<String> {
    let of_month = !fields.day.is_full(&field::DAY);
    let of_week = !fields.weekday.is_full(&field::WEEKDAY);
    if fields.is_either() {
        return (of_month && of_week).then(|| {
            let weekdays = words::and(&days_of_week(&fields.weekday));
            format!("on {}, and also on {weekdays}", words::and(&days_of_month(&fields.day)))
        });
    }
    match (of_month, of_week) {
        (false, false) => None,
        (true, false) => Some(format!("on {}", words::and(&days_of_month(&fields.day)))),
        (false, true) => Some(format!("on {}", words::and(&days_of_week(&fields.weekday)))),
        (true, true) => {
            let weekdays = words::or(&days_of_week(&fields.weekday));
            let days = words::and(&days_of_month(&fields.day));
            Some(format!("on {days}, only if it is {weekdays}"))
        }
    }
}

fn days_of_month(field: &Field) -> Vec<String> {
    let numbers = words::runs(field.set, |day| day.to_string());
    let plural = if field.set.len() == 1 { "" } else { "s" };
    let numbers =
        (!numbers.is_empty()).then(|| format!("day{plural} {} of the month", words::and(&numbers)));
    let extras = field.extras.iter().filter_map(|extra| match extra {
        Extra::Last => Some("the last day of the month".to_owned()),
        Extra::LastWeekday => Some("the last weekday (Monday to Friday) of the month".to_owned()),
        Extra::LastOf(_) | Extra::Nth(..) => None,
    });
    numbers.into_iter().chain(extras).collect()
}

fn days_of_week(field: &Field) -> Vec<String> {
    let extras = field.extras.iter().filter_map(|extra| match *extra {
        Extra::LastOf(day) => Some(format!("the last {} of the month", words::weekday(day))),
        Extra::Nth(day, nth) => {
            Some(format!("the {} {} of the month", words::ordinal(nth), words::weekday(day)))
        }
        Extra::Last | Extra::LastWeekday => None,
    });
    words::weekdays(field.set).into_iter().chain(extras).collect()
}
