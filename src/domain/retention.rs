//! How long finished jobs are kept: as long as their team says, or else the installation. What counts
//! is when a job ended, not when it was registered.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use super::principal::Team;
use super::team::Settings;

/// The shortest retention that can be set, in milliseconds: a day.
pub const LEAST_MS: u64 = 86_400_000;
/// The longest, beside "for ever": ten years.
pub const MOST_MS: u64 = 3_650 * LEAST_MS;

/// The retention of the installation and those of teams of their own.
#[derive(Clone, Debug, Default)]
pub struct Retention {
    /// None: for ever.
    installation: Option<Duration>,
    teams: BTreeMap<Team, Duration>,
}

impl Retention {
    /// Of what is set; none means for ever.
    pub fn new<'a>(
        installation: Option<Duration>,
        teams: impl IntoIterator<Item = (&'a Team, &'a Settings)>,
    ) -> Self {
        let own = |(team, settings): (&Team, &Settings)| {
            settings.retention_ms.map(|span| (team.clone(), Duration::from_millis(span)))
        };
        Self { installation, teams: teams.into_iter().filter_map(own).collect() }
    }

    /// Until when a job of this team that ended then is kept; none means for ever.
    pub fn until(&self, team: &Team, ended: DateTime<Utc>) -> Option<DateTime<Utc>> {
        self.teams.get(team).copied().or(self.installation).and_then(|span| after(ended, span))
    }

    /// From when on nobody's job is kept that ended then; none if somebody's is for ever.
    pub fn end_for_all(&self, ended: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let longest = self.teams.values().copied().chain(self.installation).max();
        self.installation.and(longest).and_then(|span| after(ended, span))
    }

    /// From when on somebody's job may be kept no longer that ended then; none if everybody's is for
    /// ever.
    pub fn end_for_some(&self, ended: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let shortest = self.teams.values().copied().chain(self.installation).min();
        shortest.and_then(|span| after(ended, span))
    }
}

/// What lies beyond the last instant there is, is never.
fn after(at: DateTime<Utc>, span: Duration) -> Option<DateTime<Utc>> {
    TimeDelta::from_std(span).ok().and_then(|span| at.checked_add_signed(span))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_hours(24);

    #[test]
    fn a_team_has_its_own_or_the_installations() {
        let [brief, other] = ["brief", "other"].map(|slug| Team::parse(slug).unwrap());
        let set =
            |days: u64| Settings { retention_ms: Some(days * 86_400_000), ..Settings::default() };
        let at = DateTime::UNIX_EPOCH;
        let days = |days: i64| Some(at + TimeDelta::days(days));
        let both =
            Retention::new(Some(DAY * 30), [(&brief, &set(2)), (&other, &Settings::default())]);
        assert_eq!([&brief, &other].map(|team| both.until(team, at)), [days(2), days(30)]);
        assert_eq!((both.end_for_some(at), both.end_for_all(at)), (days(2), days(30)));
        let longer = Retention::new(Some(DAY), [(&brief, &set(400))]);
        assert_eq!((longer.end_for_some(at), longer.end_for_all(at)), (days(1), days(400)));
        let ever = Retention::new(None, [(&brief, &set(2))]);
        assert_eq!([&brief, &other].map(|team| ever.until(team, at)), [days(2), None]);
        assert_eq!((ever.end_for_some(at), ever.end_for_all(at)), (days(2), None));
        let nobody = Retention::default();
        assert_eq!((nobody.end_for_some(at), nobody.end_for_all(at)), (None, None));
    }
}
