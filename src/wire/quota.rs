//! Quotas of teams on the wire.

use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::fields::Fields;
use crate::domain::invalid::Invalid;
use crate::domain::quota::{Quota, Quotas};

/// The limits that a team has of its own; the installation's hold where it has none.
#[derive(Debug, Serialize, ToSchema)]
pub struct LimitsView {
    /// Requests that change something, and jobs registered, per second.
    #[schema(example = 100)]
    pub writes_per_second: Option<u64>,
    /// Unfinished jobs.
    pub unfinished_jobs: Option<u64>,
    /// Schedules.
    pub schedules: Option<u64>,
    /// Payloads of its unfinished jobs together.
    pub payload_bytes: Option<u64>,
    /// Runs at the same time.
    pub concurrent_runs: Option<u64>,
}

impl From<&Quotas> for LimitsView {
    fn from(own: &Quotas) -> Self {
        Self {
            writes_per_second: own.writes_per_second,
            unfinished_jobs: own.unfinished_jobs,
            schedules: own.schedules,
            payload_bytes: own.payload_bytes,
            concurrent_runs: own.concurrent_runs,
        }
    }
}

/// The quotas of a team.
#[derive(Debug, Serialize, ToSchema)]
pub struct QuotasView {
    /// The team's slug.
    #[schema(example = "shop")]
    pub team: String,
    /// Requests that change something, and jobs registered, per second.
    pub writes_per_second: QuotaView,
    /// Unfinished jobs; counted as far as the limit, or 100,000.
    pub unfinished_jobs: QuotaView,
    /// Schedules.
    pub schedules: QuotaView,
    /// Payloads of its unfinished jobs together.
    pub payload_bytes: QuotaView,
    /// Runs at the same time, over all pullers.
    pub concurrent_runs: QuotaView,
}

/// One quota.
#[derive(Clone, Copy, Debug, Default, Serialize, ToSchema)]
pub struct QuotaView {
    /// The limit; null if there is none.
    #[schema(example = 100)]
    pub limit: Option<u64>,
    /// Whether the limit is the team's own, and not the installation's for all teams.
    pub own: bool,
    /// How much is used; null for a rate that has no limit. Unfinished jobs and payloads are counted
    /// once a second, or less often where counting takes long.
    #[schema(example = 3)]
    pub used: Option<u64>,
}

impl QuotasView {
    /// The view of a team's quotas, each by its name.
    pub fn new(team: &str, quota: impl Fn(Quota) -> QuotaView) -> Self {
        Self {
            team: team.to_owned(),
            writes_per_second: quota(Quota::WritesPerSecond),
            unfinished_jobs: quota(Quota::UnfinishedJobs),
            schedules: quota(Quota::Schedules),
            payload_bytes: quota(Quota::PayloadBytes),
            concurrent_runs: quota(Quota::ConcurrentRuns),
        }
    }
}

/// Limits of a team that change. A JSON merge patch: what is absent stays, null takes the team's own
/// limit back.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct QuotasPatch {
    /// Requests that change something, and jobs registered, per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1_000_000)]
    pub writes_per_second: Option<u64>,
    /// Unfinished jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1_000_000_000)]
    pub unfinished_jobs: Option<u64>,
    /// Schedules.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1_000_000_000)]
    pub schedules: Option<u64>,
    /// Payloads of its unfinished jobs together.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 9_007_199_254_740_991_u64)]
    pub payload_bytes: Option<u64>,
    /// Runs at the same time, over all pullers.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1_000_000_000)]
    pub concurrent_runs: Option<u64>,
}

/// Reads the limits that a patch sets, or takes back.
pub fn read_quotas(raw: &RawValue) -> Result<Vec<(Quota, Option<u64>)>, Invalid> {
    let mut fields = Fields::read(raw, "#")?;
    let mut limits = Vec::new();
    for quota in Quota::ALL {
        let Some(value) = fields.raw(quota.as_str()) else { continue };
        match serde_json::from_str::<Option<u64>>(value.get()) {
            Ok(limit) if limit.is_none_or(|limit| (1..=quota.most()).contains(&limit)) => {
                limits.push((quota, limit));
            }
            Ok(_) => {
                let detail = format!(
                    "must be 1 to {}, or null; a team that is to have nothing is suspended",
                    quota.most()
                );
                fields.fault(quota.as_str(), "out-of-range", detail);
            }
            Err(_) => fields.fault(quota.as_str(), "wrong-type", "must be a whole number, or null"),
        }
    }
    fields.finish().into_result(limits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<(Quota, Option<u64>)>, Vec<String>> {
        let raw: &RawValue = serde_json::from_str(text).unwrap();
        read_quotas(raw).map_err(|bad| bad.0.into_iter().map(|fault| fault.pointer).collect())
    }

    #[test]
    fn a_limit_is_set_or_taken_back_and_never_nothing() {
        let read_both = read(r#"{"schedules": 5, "payload_bytes": null}"#).unwrap();
        assert_eq!(read_both, [(Quota::Schedules, Some(5)), (Quota::PayloadBytes, None)]);
        assert_eq!(read("{}").unwrap(), []);
        for bad in ["0", "-1", "1.5", "\"5\"", "1000000001", "true", "{}"] {
            let faults = read(&format!(r#"{{"schedules": {bad}}}"#)).unwrap_err();
            assert_eq!(faults, ["#/schedules"], "{bad}");
        }
        assert_eq!(read(r#"{"jobs": 1}"#).unwrap_err(), ["#/jobs"]);
    }
}
