//! The weeks by which the history is divided: from Monday to Monday in UTC. What is kept no longer is
//! dropped by the week, so this must agree with the function `history_open` of the migrations.

use chrono::{DateTime, Datelike as _, NaiveTime, TimeDelta, Utc};
use uuid::Uuid;

use super::id::JobId;

/// How long one is.
pub const LENGTH: TimeDelta = TimeDelta::days(7);

/// A week, by the instant at which it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Week(DateTime<Utc>);

impl Week {
    /// The week of an instant.
    pub fn of(at: DateTime<Utc>) -> Self {
        let into = TimeDelta::days(at.weekday().num_days_from_monday().into());
        let monday = at.date_naive().checked_sub_signed(into).unwrap_or(at.date_naive());
        Self(monday.and_time(NaiveTime::MIN).and_utc())
    }

    /// The one after it.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.checked_add_signed(LENGTH).unwrap_or(self.0))
    }

    /// Its first instant.
    pub fn begins(self) -> DateTime<Utc> {
        self.0
    }

    /// The smallest id of a job that was registered in it.
    pub fn first_id(self) -> Uuid {
        JobId::floor(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weeks_begin_on_monday_in_utc_and_follow_one_another() {
        let at = |text: &str| text.parse::<DateTime<Utc>>().unwrap();
        let monday = at("2026-11-30T00:00:00Z");
        for inside in
            ["2026-11-30T00:00:00Z", "2026-12-03T12:00:00Z", "2026-12-06T23:59:59.999999Z"]
        {
            assert_eq!(Week::of(at(inside)).begins(), monday, "{inside}");
        }
        assert_eq!(Week::of(monday).next().begins(), at("2026-12-07T00:00:00Z"));
        assert_eq!(Week::of(at("2026-11-29T23:59:59Z")).next(), Week::of(monday));
        // Over the turn of a year, and in one that begins with its last week.
        assert_eq!(Week::of(at("2027-01-03T00:00:00Z")).begins(), at("2026-12-28T00:00:00Z"));
        let id = JobId::new(monday, super::super::id::Shard(7), 0);
        assert!(Week::of(monday).first_id() <= id.uuid());
        assert!(id.uuid() < Week::of(monday).next().first_id());
    }
}
