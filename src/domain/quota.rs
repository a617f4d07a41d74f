//! What a team may use of the installation: its quotas by name. How use is counted is not known here;
//! the arithmetic of the rate is in `rate`.

use serde::{Deserialize, Serialize};

/// Something that a team has only so much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Quota {
    /// Requests that change something, and jobs registered, per second.
    WritesPerSecond,
    /// Jobs that have not finished.
    UnfinishedJobs,
    /// Schedules, whatever their state.
    Schedules,
    /// The payloads of its unfinished jobs together, in bytes.
    PayloadBytes,
    /// Runs at the same time, over all pullers.
    ConcurrentRuns,
}

/// The largest limit of a number of bytes: what every JSON reader takes for exact (2⁵³ − 1).
const MOST_BYTES: u64 = 9_007_199_254_740_991;
/// The largest limit of anything that is counted one by one.
const MOST_COUNTED: u64 = 1_000_000_000;
/// The largest rate. One row moves on for it, and no database registers so many.
const MOST_WRITES: u64 = 1_000_000;

impl Quota {
    /// Every quota.
    pub const ALL: [Self; 5] = [
        Self::WritesPerSecond,
        Self::UnfinishedJobs,
        Self::Schedules,
        Self::PayloadBytes,
        Self::ConcurrentRuns,
    ];

    /// The word used on the wire and in SQL.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::WritesPerSecond => "writes_per_second",
            Self::UnfinishedJobs => "unfinished_jobs",
            Self::Schedules => "schedules",
            Self::PayloadBytes => "payload_bytes",
            Self::ConcurrentRuns => "concurrent_runs",
        }
    }

    /// What headers, problems and metrics call it.
    pub const fn policy(self) -> &'static str {
        match self {
            Self::WritesPerSecond => "team-write",
            Self::UnfinishedJobs => "team-unfinished-jobs",
            Self::Schedules => "team-schedules",
            Self::PayloadBytes => "team-payload-bytes",
            Self::ConcurrentRuns => "team-concurrent-runs",
        }
    }

    /// The largest limit that may be set; the smallest is 1: a team that is to have nothing is
    /// suspended.
    pub const fn most(self) -> u64 {
        match self {
            Self::WritesPerSecond => MOST_WRITES,
            Self::PayloadBytes => MOST_BYTES,
            Self::UnfinishedJobs | Self::Schedules | Self::ConcurrentRuns => MOST_COUNTED,
        }
    }
}

/// A limit for each quota; none means that there is no limit, or none of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quotas {
    /// [`Quota::WritesPerSecond`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes_per_second: Option<u64>,
    /// [`Quota::UnfinishedJobs`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfinished_jobs: Option<u64>,
    /// [`Quota::Schedules`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedules: Option<u64>,
    /// [`Quota::PayloadBytes`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_bytes: Option<u64>,
    /// [`Quota::ConcurrentRuns`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrent_runs: Option<u64>,
}

impl Quotas {
    /// The limit of a quota.
    pub const fn get(&self, quota: Quota) -> Option<u64> {
        match quota {
            Quota::WritesPerSecond => self.writes_per_second,
            Quota::UnfinishedJobs => self.unfinished_jobs,
            Quota::Schedules => self.schedules,
            Quota::PayloadBytes => self.payload_bytes,
            Quota::ConcurrentRuns => self.concurrent_runs,
        }
    }

    /// Sets or takes back the limit of a quota.
    pub const fn set(&mut self, quota: Quota, limit: Option<u64>) {
        let place = match quota {
            Quota::WritesPerSecond => &mut self.writes_per_second,
            Quota::UnfinishedJobs => &mut self.unfinished_jobs,
            Quota::Schedules => &mut self.schedules,
            Quota::PayloadBytes => &mut self.payload_bytes,
            Quota::ConcurrentRuns => &mut self.concurrent_runs,
        };
        *place = limit;
    }

    /// Whether it limits nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// These limits, and where there is none that of `defaults`.
    #[must_use]
    pub fn or(mut self, defaults: &Self) -> Self {
        for quota in Quota::ALL {
            self.set(quota, self.get(quota).or(defaults.get(quota)));
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_quota_has_a_place_and_names_of_its_own() {
        for (n, quota) in (1_u64..).zip(Quota::ALL) {
            let mut quotas = Quotas::default();
            quotas.set(quota, Some(n));
            let json = serde_json::to_value(quotas).unwrap();
            assert_eq!(json, serde_json::json!({quota.as_str(): n}), "only what is set is kept");
            assert_eq!(serde_json::from_value::<Quotas>(json).unwrap(), quotas);
            assert!(Quota::ALL.iter().all(|q| quotas.get(*q) == (*q == quota).then_some(n)));
            assert!(quota.policy().starts_with("team-"));
        }
    }

    #[test]
    fn a_teams_own_limit_comes_before_the_installations() {
        let own = Quotas { schedules: Some(5), ..Quotas::default() };
        let defaults = Quotas { schedules: Some(9), concurrent_runs: Some(3), ..own };
        let both = Quotas { schedules: Some(5), concurrent_runs: Some(3), ..Quotas::default() };
        assert_eq!(own.or(&defaults), both);
        assert!(Quotas::default().or(&Quotas::default()).is_empty());
    }
}
