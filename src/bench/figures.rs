//! What is measured, what it is called, and the values of each round.

use std::collections::BTreeMap;

use tokio::time::Instant;

/// One thing that is measured, in the order of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    /// A block brought to the disk.
    Sync,
    /// Commits of one narrow row.
    Commits,
    /// A bare client against the sink.
    SinkRequests,
    /// Enqueues, one job a request.
    EnqueueSingle,
    /// Enqueues in batches.
    EnqueueBatch,
    /// A full queue, emptied by one puller.
    Drain,
    /// From the enqueue's answer to the arrival.
    LatencyP50,
    /// The same.
    LatencyP99,
    /// From the enqueue's call to the arrival.
    CallLatencyP50,
    /// The same.
    CallLatencyP99,
    /// From the due time to the arrival.
    LatenessP50,
    /// The same.
    LatenessP99,
    /// The job that was least late, or most early.
    Earliest,
    /// Jobs that came before they were due.
    Early,
    /// From a schedule's slot to the arrival of its job.
    SlotLatenessP50,
    /// The same.
    SlotLatenessP99,
    /// From one slot of many schedules until the last of their jobs has arrived.
    SlotArrived,
    /// The API meanwhile.
    SlotApiP99,
    /// The same as `SlotArrived` beside many schedules that are not due.
    SlotBeside,
    /// CPU of an enqueue, by who spends it.
    EnqueueApiCpu,
    /// The same.
    EnqueuePostgresCpu,
    /// The same.
    EnqueueClientCpu,
    /// CPU of a drained job, by who spends it.
    DrainPullerCpu,
    /// The same.
    DrainPostgresCpu,
    /// The same.
    DrainSinkCpu,
    /// The most memory of the API.
    ApiMemory,
    /// The most memory of the puller.
    PullerMemory,
}

/// How a thing that is measured is shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// Its name in JSON.
    pub(super) key: &'static str,
    /// Its name for people.
    pub(super) name: &'static str,
    /// Of its values.
    pub(super) unit: &'static str,
    /// What bounds it: shown is the share of that.
    pub(super) limit: Option<What>,
}

impl What {
    /// How it is shown.
    pub(super) fn row(self) -> Row {
        let (key, name, unit) = match self {
            Self::Sync => ("limit_sync", "limit: fdatasync of 8 KiB", "ms"),
            Self::Commits => ("limit_commits", "limit: single-row commits, 32 clients", "/s"),
            Self::SinkRequests => {
                ("limit_sink", "limit: bare client to the sink, 64 in flight", "/s")
            }
            Self::EnqueueSingle => {
                ("enqueue_single", "enqueue, one job a request, 32 connections", "jobs/s")
            }
            Self::EnqueueBatch => {
                ("enqueue_batch", "enqueue, batches of 500, 4 connections", "jobs/s")
            }
            Self::Drain => ("drain", "drain of a full queue, one puller", "jobs/s"),
            Self::LatencyP50 => ("latency_p50", "idle: enqueue answered → received, p50", "ms"),
            Self::LatencyP99 => ("latency_p99", "idle: enqueue answered → received, p99", "ms"),
            Self::CallLatencyP50 => {
                ("call_latency_p50", "idle: enqueue called → received, p50", "ms")
            }
            Self::CallLatencyP99 => {
                ("call_latency_p99", "idle: enqueue called → received, p99", "ms")
            }
            Self::LatenessP50 => ("lateness_p50", "delayed: due → received, p50", "ms"),
            Self::LatenessP99 => ("lateness_p99", "delayed: due → received, p99", "ms"),
            Self::Earliest => ("lateness_least", "delayed: due → received, least", "ms"),
            Self::Early => ("early", "delayed: received before due", "jobs"),
            Self::SlotLatenessP50 => ("slot_lateness_p50", "schedule: slot → received, p50", "ms"),
            Self::SlotLatenessP99 => ("slot_lateness_p99", "schedule: slot → received, p99", "ms"),
            Self::SlotArrived => ("slot_arrived", "1,000 schedules in a slot: all received", "ms"),
            Self::SlotApiP99 => ("slot_api_p99", "meanwhile: reading a schedule, p99", "ms"),
            Self::SlotBeside => ("slot_beside", "the same beside 100,000 that are not due", "ms"),
            Self::EnqueueApiCpu => ("enqueue_cpu_api", "CPU of 1,000 single enqueues: API", "s"),
            Self::EnqueuePostgresCpu => {
                ("enqueue_cpu_postgres", "CPU of 1,000 single enqueues: PostgreSQL", "s")
            }
            Self::EnqueueClientCpu => {
                ("enqueue_cpu_client", "CPU of 1,000 single enqueues: client", "s")
            }
            Self::DrainPullerCpu => ("drain_cpu_puller", "CPU of 1,000 drained jobs: puller", "s"),
            Self::DrainPostgresCpu => {
                ("drain_cpu_postgres", "CPU of 1,000 drained jobs: PostgreSQL", "s")
            }
            Self::DrainSinkCpu => ("drain_cpu_sink", "CPU of 1,000 drained jobs: sink", "s"),
            Self::ApiMemory => ("memory_api", "memory of the API, resident, at most", "MiB"),
            Self::PullerMemory => {
                ("memory_puller", "memory of the puller, resident, at most", "MiB")
            }
        };
        let limit = (self == Self::EnqueueSingle).then_some(Self::Commits);
        Row { key, name, unit, limit }
    }
}

/// The values of every round.
#[derive(Debug, Default)]
pub(super) struct Figures(BTreeMap<What, Vec<f64>>);

impl Figures {
    /// Adds a round's value.
    pub(super) fn add(&mut self, what: What, value: f64) {
        self.0.entry(what).or_default().push(value);
    }

    /// Adds a round's value if this machine can tell it.
    pub(super) fn add_some(&mut self, what: What, value: Option<f64>) {
        if let Some(value) = value {
            self.add(what, value);
        }
    }

    /// Everything that was measured, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (What, &[f64])> {
        self.0.iter().map(|(what, values)| (*what, values.as_slice()))
    }

    /// The middle value.
    pub(super) fn median(&self, what: What) -> Option<f64> {
        Some(percentiles(self.0.get(&what)?.clone()).0)
    }

    /// Which share of its limit it reaches, by the medians.
    pub(super) fn share(&self, what: What) -> Option<f64> {
        Some(self.median(what)? / self.median(what.row().limit?)?)
    }
}

/// The 50th and the 99th percentile, by nearest rank: always one of the values, NaN if there are none.
pub(super) fn percentiles(mut values: Vec<f64>) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    let rank = |percent: usize| {
        let rank = (values.len() * percent).div_ceil(100);
        values.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
    };
    (rank(50), rank(99))
}

/// Milliseconds from one instant to another, negative if the order is the other one.
pub(super) fn signed_ms(later: Instant, earlier: Instant) -> f64 {
    let ahead = later.saturating_duration_since(earlier).as_secs_f64();
    (ahead - earlier.saturating_duration_since(later).as_secs_f64()) * 1000.0
}

/// A count as a number to calculate with.
pub(super) fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let values = (1..=300).map(f64::from).rev().collect();
        assert_eq!(percentiles(values), (150.0, 297.0));
        assert_eq!(percentiles(vec![3.0, 1.0, 2.0]), (2.0, 3.0));
        assert_eq!(percentiles(vec![7.0]), (7.0, 7.0));
        assert!(percentiles(Vec::new()).0.is_nan());
    }

    #[test]
    fn a_share_is_of_the_medians_and_only_where_there_is_a_limit() {
        let mut figures = Figures::default();
        for (commits, enqueues) in [(100.0, 10.0), (400.0, 20.0), (200.0, 50.0)] {
            figures.add(What::Commits, commits);
            figures.add(What::EnqueueSingle, enqueues);
        }
        assert_eq!(figures.share(What::EnqueueSingle), Some(0.1));
        assert_eq!(figures.share(What::Commits), None);
    }
}
