//! Civil times: what a cron line or a rule of days names before any zone is looked at.
//!
//! The crate `cron` is used as a matcher only. It is given lists of numbers that we have read
//! ourselves and local times dressed as UTC, so its own grammar, its zones and its combination of
//! day fields never come into play. It knows the years 1970 to 2100; later years are asked through
//! a twin, a year of the same length that begins on the same weekday.

use chrono::{Datelike, Days, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Timelike};

use super::field::{Extra, Field, Set};

/// The first year looked at.
pub(super) const FIRST_YEAR: i32 = 1970;
/// The last year looked at; what a request may name ends here too (`check_instant`).
pub(super) const LAST_YEAR: i32 = 2199;
/// The last year asked of the crate directly. Its table ends with 2100, a year cut short for it is
/// not worth an exception.
const LAST_DIRECT_YEAR: i32 = 2099;

/// The days that one of the two day fields, or both, must allow.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Branch {
    matcher: ::cron::Schedule,
    month: Set,
    of_month: Option<Field>,
    of_week: Option<Field>,
}

/// The times of a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clock {
    pub(super) seconds: Set,
    pub(super) minutes: Set,
    pub(super) hours: Set,
}

impl Clock {
    /// How many times a day has.
    pub(super) fn per_day(self) -> u64 {
        [self.seconds, self.minutes, self.hours].map(|set| u64::from(set.len())).iter().product()
    }

    /// How many of them lie before `time`.
    pub(super) fn before(self, time: NaiveTime) -> u64 {
        let [seconds, minutes] = [self.seconds, self.minutes].map(|set| u64::from(set.len()));
        let mut count = u64::from(self.hours.below(time.hour())) * minutes * seconds;
        if self.hours.contains(time.hour()) {
            count += u64::from(self.minutes.below(time.minute())) * seconds;
            if self.minutes.contains(time.minute()) {
                count += u64::from(self.seconds.below(time.second()));
            }
        }
        count
    }
}

impl Branch {
    /// `None` for a day field stands for "any day". The error is the crate's, and a bug of ours.
    pub(super) fn new(
        clock: Clock,
        month: Set,
        of_month: Option<Field>,
        of_week: Option<Field>,
    ) -> Result<Self, String> {
        let days = of_month.as_ref().map(|field| list(superset_of_month(field), 0));
        let weekdays = of_week.as_ref().map(|field| list(superset_of_week(field), 1));
        let line = format!(
            "{} {} {} {} {} {}",
            list(clock.seconds, 0),
            list(clock.minutes, 0),
            list(clock.hours, 0),
            days.as_deref().unwrap_or("*"),
            list(month, 0),
            weekdays.as_deref().unwrap_or("*"),
        );
        let matcher = line.parse().map_err(|error| format!("{line}: {error}"))?;
        Ok(Self { matcher, month, of_month, of_week })
    }

    /// The first civil time not before `from` and not after `until`.
    pub(super) fn at_or_after(
        &self,
        from: NaiveDateTime,
        until: NaiveDateTime,
    ) -> Option<NaiveDateTime> {
        let mut from = from;
        while from <= until {
            let found = self.candidate(from).filter(|found| *found <= until)?;
            if self.allows(found.date()) {
                return Some(found);
            }
            from = next_midnight(found.date())?;
        }
        None
    }

    /// Whether it fires on that date at all.
    pub(super) fn allows(&self, date: NaiveDate) -> bool {
        let of_month = self.of_month.as_ref().is_none_or(|field| is_of_month(field, date));
        let of_week = self.of_week.as_ref().is_none_or(|field| is_of_week(field, date));
        self.month.contains(date.month()) && of_month && of_week
    }

    /// The first time of the superset not before `from`, in any year up to [`LAST_YEAR`].
    fn candidate(&self, from: NaiveDateTime) -> Option<NaiveDateTime> {
        let mut from = from;
        if from.year() <= LAST_DIRECT_YEAR {
            if let Some(found) = self.ask(from).filter(|found| found.year() <= LAST_DIRECT_YEAR) {
                return Some(found);
            }
            from = new_year(LAST_DIRECT_YEAR + 1)?;
        }
        while from.year() <= LAST_YEAR {
            let twin = twin_of(from.year())?;
            let found = from.with_year(twin).and_then(|asked| self.ask(asked));
            if let Some(found) = found.filter(|found| found.year() == twin) {
                return found.with_year(from.year());
            }
            from = new_year(from.year() + 1)?;
        }
        None
    }

    fn ask(&self, from: NaiveDateTime) -> Option<NaiveDateTime> {
        let just_before = from.checked_sub_signed(TimeDelta::seconds(1))?.and_utc();
        let found = self.matcher.after(&just_before).next()?.naive_utc();
        // The crate promises "after"; a scheduler that trusted it and were wrong would spin.
        (found >= from).then_some(found)
    }
}

/// The start of the day after `date`.
pub(super) fn next_midnight(date: NaiveDate) -> Option<NaiveDateTime> {
    Some(date.checked_add_days(Days::new(1))?.and_time(NaiveTime::MIN))
}

/// How many days the month of `date` has.
pub(super) fn month_length(date: NaiveDate) -> u32 {
    u32::from(date.num_days_in_month())
}

/// The last Monday to Friday of the month of `date`.
pub(super) fn last_weekday(date: NaiveDate) -> u32 {
    let length = month_length(date);
    let weekend =
        date.with_day(length).map_or(0, |last| match last.weekday().number_from_monday() {
            6 => 1,
            7 => 2,
            _ => 0,
        });
    length - weekend
}

fn new_year(year: i32) -> Option<NaiveDateTime> {
    Some(NaiveDate::from_ymd_opt(year, 1, 1)?.and_time(NaiveTime::MIN))
}

/// A year of the crate's table with the same length and the same first weekday. The 28 years from
/// 2000 hold all fourteen kinds.
fn twin_of(year: i32) -> Option<i32> {
    let kind = |year| {
        let first = NaiveDate::from_ymd_opt(year, 1, 1)?;
        Some((first.leap_year(), first.weekday()))
    };
    (2000..2028).find(|twin| kind(*twin) == kind(year))
}

fn is_of_month(field: &Field, date: NaiveDate) -> bool {
    field.set.contains(date.day())
        || field.extras.iter().any(|extra| match extra {
            Extra::Last => date.day() == month_length(date),
            Extra::LastWeekday => date.day() == last_weekday(date),
            Extra::LastOf(_) | Extra::Nth(..) => false,
        })
}

fn is_of_week(field: &Field, date: NaiveDate) -> bool {
    let weekday = date.weekday().num_days_from_sunday();
    field.set.contains(weekday)
        || field.extras.iter().any(|extra| match *extra {
            Extra::LastOf(day) => day == weekday && date.day() + 7 > month_length(date),
            Extra::Nth(day, nth) => day == weekday && (date.day() - 1) / 7 + 1 == nth,
            Extra::Last | Extra::LastWeekday => false,
        })
}

/// Every number on which a day of the field can fall.
fn superset_of_month(field: &Field) -> Set {
    field.extras.iter().fold(field.set, |set, extra| match extra {
        Extra::Last => set.union((28..=31).collect()),
        // The 28th of a short February that ends on a Sunday is two days after its last Friday.
        Extra::LastWeekday => set.union((26..=31).collect()),
        Extra::LastOf(_) | Extra::Nth(..) => set,
    })
}

fn superset_of_week(field: &Field) -> Set {
    field.extras.iter().fold(field.set, |set, extra| match *extra {
        Extra::LastOf(day) | Extra::Nth(day, _) => set.union([day].into_iter().collect()),
        Extra::Last | Extra::LastWeekday => set,
    })
}

/// The numbers as the crate reads them; it counts weekdays from 1.
fn list(set: Set, add: u32) -> String {
    set.iter().map(|value| (value + add).to_string()).collect::<Vec<_>>().join(",")
}
