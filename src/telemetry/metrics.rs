//! The names of all metrics, what they count, and their buckets, in one list. Labels are the
//! caller's, and must be bounded: never a job, a run, a URL or free text.

use std::sync::OnceLock;

use ::metrics::{describe_counter, describe_gauge, describe_histogram, set_global_recorder};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

/// Jobs registered. Labels `team`, `source`.
pub const JOBS_CREATED: &str = "axle_jobs_created_total";
/// From due to claimed. Label `team`.
pub const SCHEDULE_LAG: &str = "axle_schedule_lag_seconds";
/// From claimed to accepted by the target. Label `target_kind`.
pub const DISPATCH_DURATION: &str = "axle_dispatch_duration_seconds";
/// From claimed to the run's end. Labels `target_kind`, `outcome`.
pub const RUN_DURATION: &str = "axle_run_duration_seconds";
/// Runs ended. Labels `team`, `target_kind`, `outcome`.
pub const RUNS: &str = "axle_runs_total";
/// Retries scheduled. Labels `team`, `budget`.
pub const RETRIES: &str = "axle_retries_total";
/// Attempts a job had taken when it ended. Label `team`.
pub const JOB_ATTEMPTS: &str = "axle_job_attempts";
/// Runs this process has under way. Label `target_kind`.
pub const INFLIGHT_RUNS: &str = "axle_inflight_runs";
/// The most it may have under way. Label `target_kind`.
pub const INFLIGHT_RUNS_LIMIT: &str = "axle_inflight_runs_limit";
/// Jobs one claim took.
pub const CLAIM_BATCH_SIZE: &str = "axle_claim_batch_size";
/// How long one claim took.
pub const CLAIM_DURATION: &str = "axle_claim_duration_seconds";
/// How long one settle took.
pub const SETTLE_DURATION: &str = "axle_settle_duration_seconds";
/// What became of fire times. Labels `team`, `result`.
pub const SCHEDULE_FIRES: &str = "axle_schedule_fires_total";
/// From a nominal fire time to its job.
pub const SCHEDULE_FIRE_LAG: &str = "axle_schedule_fire_lag_seconds";
/// Breakers of targets that are not closed, in this process. Label `state`: `open`, `half_open`.
pub const BREAKERS: &str = "axle_target_breakers";
/// Targets that this process holds calls back from, because of their breaker or their ceiling.
pub const TARGET_THROTTLED: &str = "axle_target_throttled";
/// Times that a breaker opened, or opened again.
pub const BREAKERS_OPENED: &str = "axle_target_breakers_opened_total";
/// Claimed jobs given back because of their target. Label `reason`.
pub const RUNS_DEFERRED: &str = "axle_runs_deferred_total";
/// Leases that ran out under a running job.
pub const LEASES_LOST: &str = "axle_leases_lost_total";
/// Callbacks of runs that were no longer current.
pub const STALE_CALLBACKS: &str = "axle_stale_callbacks_total";
/// Writes whose fence was too old.
pub const FENCE_REJECTIONS: &str = "axle_fence_rejections_total";
/// Runs ended because their time was up. Label `source`.
pub const TIMEOUTS_SWEPT: &str = "axle_timeouts_swept_total";
/// Requests refused because a quota of their team was used up. Labels `team`, `policy`.
pub const RATE_LIMITED: &str = "axle_rate_limited_total";
/// Requests answered. Labels `method`, `route` (the template), `status_class`.
pub const HTTP_REQUEST_DURATION: &str = "axle_http_request_duration_seconds";
/// Jobs due and not yet claimed. Label `team`.
pub const DUE_JOBS: &str = "axle_due_jobs";
/// How long the oldest of them has been due. Label `team`.
pub const OLDEST_DUE_AGE: &str = "axle_oldest_due_age_seconds";
/// Finished jobs removed because they had been kept long enough.
pub const JOBS_REMOVED: &str = "axle_jobs_removed_total";
/// Parts of the history, of a week each, dropped whole.
pub const HISTORY_PARTS_DROPPED: &str = "axle_history_parts_dropped_total";
/// Connections to PostgreSQL. Label `state`.
pub const DB_POOL_CONNECTIONS: &str = "axle_db_pool_connections";
/// Whether Redis passes hints on. There is none where no Redis is set.
pub const REDIS_UP: &str = "axle_redis_up";
/// The newest migration the database has.
pub const MIGRATION_VERSION: &str = "axle_migration_version";
/// Always 1. Labels `version`, `commit`.
pub const BUILD_INFO: &str = "axle_build_info";

enum Kind {
    Counter,
    Gauge,
    /// With the upper bounds of its buckets.
    Histogram(&'static [f64]),
}

use Kind::{Counter, Gauge, Histogram};

/// From one millisecond to five minutes: what waits for the clock and for us.
const LAG: &[f64] =
    &[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 300.0];
/// From five milliseconds to an hour: what targets take.
const RUN: &[f64] = &[
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 30.0, 60.0, 300.0, 900.0, 3600.0,
];
/// From half a millisecond to ten seconds: what we and our database take.
const STEP: &[f64] =
    &[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];
const ATTEMPTS: &[f64] = &[1.0, 2.0, 3.0, 4.0, 5.0, 8.0, 13.0];
const BATCH: &[f64] = &[1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0];

/// Name, kind, and what `/metrics` says of it.
const METRICS: &[(&str, Kind, &str)] = &[
    (JOBS_CREATED, Counter, "Jobs registered"),
    (SCHEDULE_LAG, Histogram(LAG), "From due to claimed"),
    (DISPATCH_DURATION, Histogram(LAG), "From claimed to accepted by the target"),
    (RUN_DURATION, Histogram(RUN), "From claimed to the end of the run"),
    (RUNS, Counter, "Runs ended"),
    (RETRIES, Counter, "Retries scheduled"),
    (JOB_ATTEMPTS, Histogram(ATTEMPTS), "Attempts a job had taken when it ended"),
    (INFLIGHT_RUNS, Gauge, "Runs this process has under way"),
    (INFLIGHT_RUNS_LIMIT, Gauge, "The most runs this process may have under way"),
    (CLAIM_BATCH_SIZE, Histogram(BATCH), "Jobs one claim took"),
    (CLAIM_DURATION, Histogram(STEP), "How long one claim took"),
    (SETTLE_DURATION, Histogram(STEP), "How long one settle took"),
    (SCHEDULE_FIRES, Counter, "What became of fire times of schedules"),
    (SCHEDULE_FIRE_LAG, Histogram(LAG), "From a nominal fire time to its job"),
    (BREAKERS, Gauge, "Breakers of targets that are not closed"),
    (TARGET_THROTTLED, Gauge, "Targets that this process holds calls back from"),
    (BREAKERS_OPENED, Counter, "Times that a breaker of a target opened"),
    (RUNS_DEFERRED, Counter, "Claimed jobs given back because their target may not be called now"),
    (LEASES_LOST, Counter, "Leases that ran out under a running job"),
    (STALE_CALLBACKS, Counter, "Callbacks of runs that were no longer current"),
    (FENCE_REJECTIONS, Counter, "Writes whose fence was too old"),
    (TIMEOUTS_SWEPT, Counter, "Runs ended because their time was up"),
    (RATE_LIMITED, Counter, "Requests refused because a quota of their team was used up"),
    (HTTP_REQUEST_DURATION, Histogram(STEP), "How long requests took to answer"),
    (DUE_JOBS, Gauge, "Jobs due and not yet claimed"),
    (OLDEST_DUE_AGE, Gauge, "How long the oldest unclaimed job has been due"),
    (JOBS_REMOVED, Counter, "Finished jobs removed because they had been kept long enough"),
    (HISTORY_PARTS_DROPPED, Counter, "Parts of the history, of a week each, dropped whole"),
    (DB_POOL_CONNECTIONS, Gauge, "Connections to PostgreSQL"),
    (REDIS_UP, Gauge, "1 while Redis passes hints on"),
    (MIGRATION_VERSION, Gauge, "The newest migration the database has"),
    (BUILD_INFO, Gauge, "Always 1; the labels say which build this is"),
];

/// Makes `metrics`' macros record, and returns what renders them. The caller serves
/// `handle.render()` and calls `handle.run_upkeep()` every few seconds, or histograms grow. Further
/// calls return the same handle: several servers of one process share their metrics.
pub fn install_metrics() -> PrometheusHandle {
    static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();
    HANDLE.get_or_init(install).clone()
}

fn install() -> PrometheusHandle {
    let recorder = with_buckets(PrometheusBuilder::new()).build_recorder();
    let handle = recorder.handle();
    if set_global_recorder(recorder).is_err() {
        tracing::warn!("another metrics recorder is installed: /metrics will stay empty");
    }
    for (name, kind, help) in METRICS {
        match kind {
            Counter => describe_counter!(*name, *help),
            Gauge => describe_gauge!(*name, *help),
            Histogram(_) => describe_histogram!(*name, *help),
        }
    }
    handle
}

fn with_buckets(builder: PrometheusBuilder) -> PrometheusBuilder {
    METRICS.iter().fold(builder, |builder, (name, kind, _)| match kind {
        Histogram(bounds) =>
        {
            #[expect(clippy::expect_used, reason = "it fails on an empty list, and none is")]
            builder
                .set_buckets_for_metric(Matcher::Full((*name).to_owned()), bounds)
                .expect("buckets are not empty")
        }
        Counter | Gauge => builder,
    })
}

#[cfg(test)]
mod tests {
    use ::metrics::{counter, histogram};

    use super::*;

    #[test]
    fn names_follow_the_habits_of_prometheus_and_are_unique() {
        for (at, (name, kind, help)) in METRICS.iter().enumerate() {
            assert!(name.starts_with("axle_"), "{name}");
            assert_eq!(matches!(kind, Counter), name.ends_with("_total"), "{name}");
            assert!(!help.is_empty(), "{name}");
            assert!(METRICS[..at].iter().all(|(other, ..)| other != name), "{name} twice");
            if let Histogram(bounds) = kind {
                assert!(bounds.is_sorted_by(|a, b| a < b), "{name}: {bounds:?}");
            }
        }
    }

    #[test]
    fn what_is_recorded_is_rendered_with_its_buckets() {
        let handle = install_metrics();
        counter!(LEASES_LOST).increment(2);
        histogram!(SCHEDULE_LAG).record(0.003);
        let text = install_metrics().render();
        assert_eq!(text, handle.render());
        assert!(text.contains("# HELP axle_leases_lost_total Leases that ran out"), "{text}");
        assert!(text.contains("axle_leases_lost_total 2"), "{text}");
        assert!(text.contains("axle_schedule_lag_seconds_bucket{le=\"0.0025\"} 0"), "{text}");
        assert!(text.contains("axle_schedule_lag_seconds_bucket{le=\"0.005\"} 1"), "{text}");
    }
}
