//! Calendars of days on which a schedule does not run, and what "business day" means.
//!
//! A calendar is a value: the caller resolves names and versions, and passes the days in.

use std::collections::BTreeSet;

use chrono::{Datelike, Days, NaiveDate, Weekday, WeekdaySet};

use crate::domain::invalid::Invalid;

/// Most dates of one calendar: more than a century of a country's holidays.
pub const DATE_LIMIT: usize = 5_000;
/// Most calendars of one schedule.
pub const CALENDAR_LIMIT: usize = 8;
/// How far a slot may be shifted, in days.
pub const SHIFT_LIMIT: u64 = 31;
/// More closed days in a row than any calendars within the limits can have.
const CLOSED_RUN_LIMIT: usize = 100_000;

/// Days that are closed: single dates, and the same weekdays in every week.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Calendar {
    /// Its name, for notes.
    pub name: String,
    /// Closed dates.
    pub dates: BTreeSet<NaiveDate>,
    /// Closed weekdays; empty if the calendar says nothing of weekends.
    pub weekend: WeekdaySet,
}

impl Calendar {
    /// Every value that cannot be accepted, with pointers below `at`.
    pub fn check(&self, at: &str) -> Invalid {
        let mut faults = Invalid::default();
        if self.dates.len() > DATE_LIMIT {
            let detail = format!("at most {DATE_LIMIT} dates, got {}", self.dates.len());
            faults.add(format!("{at}/dates"), "too-many", detail);
        }
        if let Some(odd) = self.dates.iter().find(|date| !(1970..2200).contains(&date.year())) {
            let detail = format!("dates must lie in the years 1970 to 2199, got {odd}");
            faults.add(format!("{at}/dates"), "out-of-range", detail);
        }
        if self.weekend.len() > 6 {
            let detail = "at most six weekdays; with all seven nothing would ever run";
            faults.add(format!("{at}/weekend"), "out-of-range", detail);
        }
        faults
    }

    /// Whether it closes that day.
    pub fn is_closed(&self, date: NaiveDate) -> bool {
        self.weekend.contains(date.weekday()) || self.dates.contains(&date)
    }
}

/// What becomes of a slot on a closed day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shift {
    /// It is skipped.
    #[default]
    Skip,
    /// It moves to the same time of the next business day.
    NextBusinessDay,
    /// It moves to the same time of the business day before.
    PreviousBusinessDay,
}

/// The calendars of a schedule, taken together.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Book {
    pub(super) calendars: Vec<Calendar>,
    pub(super) shift: Shift,
}

impl Book {
    /// The calendar that closes a day, if one does.
    pub(super) fn closing(&self, date: NaiveDate) -> Option<&Calendar> {
        self.calendars.iter().find(|calendar| calendar.is_closed(date))
    }

    /// Whether people work: no calendar closes the day and, where no calendar speaks of weekends,
    /// it is not Saturday or Sunday.
    pub(super) fn is_business(&self, date: NaiveDate) -> bool {
        let silent = self.calendars.iter().all(|calendar| calendar.weekend.is_empty());
        let weekend = silent && is_weekend(date.weekday());
        !weekend && self.closing(date).is_none()
    }

    /// Whether a slot of that day does not stay on it. One who asked for business days means
    /// weekends too; one who asked to skip holidays does not.
    pub(super) fn is_stopped(&self, date: NaiveDate) -> bool {
        match self.shift {
            Shift::Skip => self.closing(date).is_some(),
            Shift::NextBusinessDay | Shift::PreviousBusinessDay => !self.is_business(date),
        }
    }

    /// Whether no day is ever stopped.
    pub(super) fn is_blank(&self) -> bool {
        self.calendars.is_empty() && self.shift == Shift::Skip
    }

    /// The first day not before `date` on which slots stay.
    pub(super) fn first_open(&self, date: NaiveDate) -> Option<NaiveDate> {
        date.iter_days().take(CLOSED_RUN_LIMIT).find(|day| !self.is_stopped(*day))
    }

    /// The first day not before `date` and not after `until` on which slots do not stay.
    pub(super) fn first_stopped(&self, date: NaiveDate, until: NaiveDate) -> Option<NaiveDate> {
        let dates =
            self.calendars.iter().filter_map(|calendar| calendar.dates.range(date..).next());
        let week = date.iter_days().take(7).find(|day| self.is_stopped(*day));
        dates.copied().chain(week).min().filter(|day| *day <= until)
    }

    /// Where a slot of that day goes: the day itself if it is open, or a day at most
    /// [`SHIFT_LIMIT`] days away, or nowhere.
    pub(super) fn target(&self, date: NaiveDate) -> Option<NaiveDate> {
        match self.shift {
            Shift::Skip => Some(date).filter(|date| !self.is_stopped(*date)),
            Shift::NextBusinessDay => {
                let day = |away| date.checked_add_days(Days::new(away));
                (0..=SHIFT_LIMIT).filter_map(day).find(|day| !self.is_stopped(*day))
            }
            Shift::PreviousBusinessDay => {
                let day = |away| date.checked_sub_days(Days::new(away));
                (0..=SHIFT_LIMIT).filter_map(day).find(|day| !self.is_stopped(*day))
            }
        }
    }

    /// The stopped days whose slots go to the open day `date`, the nearest first.
    pub(super) fn sources(&self, date: NaiveDate) -> Vec<NaiveDate> {
        let day = |away: u64| match self.shift {
            Shift::Skip => None,
            Shift::NextBusinessDay => date.checked_sub_days(Days::new(away)),
            Shift::PreviousBusinessDay => date.checked_add_days(Days::new(away)),
        };
        (1..=SHIFT_LIMIT).map_while(day).take_while(|day| self.is_stopped(*day)).collect()
    }
}

fn is_weekend(day: Weekday) -> bool {
    matches!(day, Weekday::Sat | Weekday::Sun)
}
