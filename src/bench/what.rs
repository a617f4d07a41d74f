//! Everything that is measured, in the order of the table: its name, what bounds it in the same run,
//! and the bars that the project holds it to. A bar that is missed fails nothing; it is only said.

/// What a figure is to reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Bar {
    /// At least this share of its limit.
    Share(f64),
    /// At least so much.
    AtLeast(f64),
    /// At most so much.
    AtMost(f64),
    /// Less than so much.
    Below(f64),
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
    /// What it is to reach: all of them.
    pub(super) bars: &'static [Bar],
}

/// Each line: its variant, key, name and unit; its limit and its bars if it has some.
macro_rules! figures {
    (@limit) => { None };
    (@limit $limit:ident) => { Some(What::$limit) };
    ($($what:ident: $key:literal, $name:literal, $unit:literal $(, of $limit:ident)?
       $(, bars $($bar:ident $value:literal)+)?;)*) => {
        /// One thing that is measured, in the order of the table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(super) enum What {
            $(#[doc = $name] $what,)*
        }

        impl What {
            /// How it is shown.
            pub(super) fn row(self) -> Row {
                match self {
                    $(Self::$what => Row {
                        key: $key,
                        name: $name,
                        unit: $unit,
                        limit: figures!(@limit $($limit)?),
                        bars: &[$($(Bar::$bar($value)),+)?],
                    },)*
                }
            }
        }
    };
}

// The absolute rates among the bars are twice those of the best peer, and for batches once: see
// docs/performance.md for whose they are. They were measured on another machine of the same kind.
figures! {
    Sync: "limit_sync", "limit: fdatasync of 8 KiB", "ms";
    Commits: "limit_commits", "limit: single-row commits, 32 clients", "/s";
    Rows: "limit_rows", "limit: unnest of 500 jobs a commit, our tables", "jobs/s";
    SinkRequests: "limit_sink", "limit: bare client to the sink, 64 in flight", "/s";
    RequestCpu: "limit_cpu_request", "limit: CPU of 1,000 bare requests and answers", "s";
    StatementCpu: "limit_cpu_statements", "limit: CPU of 1,000 jobs claimed and settled by 200", "s";
    DrainLimit: "limit_drain", "limit: drain, these two on all cores", "jobs/s";
    EnqueueSingle: "enqueue_single", "enqueue, one job a request, 32 connections", "jobs/s",
        of Commits, bars Share 1.0;
    EnqueueBatch: "enqueue_batch", "enqueue, batches of 500, 4 connections", "jobs/s",
        of Rows, bars Share 0.4 AtLeast 31_700.0;
    Drain: "drain", "drain of a full queue, one puller", "jobs/s",
        of DrainLimit, bars Share 0.4 AtLeast 10_380.0;
    DrainLarge: "drain_large", "drain of ten times as many", "jobs/s", of Drain;
    Sustained: "sustained_single", "end to end, single enqueues while draining", "jobs/s",
        bars AtLeast 4_820.0;
    SustainedBatch: "sustained_batch", "end to end, batches while draining", "jobs/s";
    Callback: "callback", "end to end, target answers 202 and calls back", "jobs/s";
    CallbackLost: "callback_lost", "of these not finished by their callback", "jobs",
        bars AtMost 0.0;
    LatencyP50: "latency_p50", "idle: enqueue answered → received, p50", "ms", bars AtMost 2.0;
    LatencyP99: "latency_p99", "idle: enqueue answered → received, p99", "ms", bars AtMost 6.0;
    CallLatencyP50: "call_latency_p50", "idle: enqueue called → received, p50", "ms",
        bars AtMost 3.5;
    CallLatencyP99: "call_latency_p99", "idle: enqueue called → received, p99", "ms";
    LatenessP50: "lateness_p50", "delayed: due → received, p50", "ms";
    LatenessP99: "lateness_p99", "delayed: due → received, p99", "ms", bars AtMost 20.0;
    Earliest: "lateness_least", "delayed: due → received, least", "ms";
    Early: "early", "delayed: received before due", "jobs", bars AtMost 0.0;
    SlotLatenessP50: "slot_lateness_p50", "schedule: slot → received, p50", "ms";
    SlotLatenessP99: "slot_lateness_p99", "schedule: slot → received, p99", "ms";
    SlotArrived: "slot_arrived", "1,000 schedules in a slot: all received", "ms";
    SlotApiP99: "slot_api_p99", "meanwhile: reading a schedule, p99", "ms";
    SlotBeside: "slot_beside", "the same beside 100,000 that are not due", "ms";
    TwoPullers: "two_pullers", "drain by two puller processes / by one", "ratio",
        bars AtLeast 1.0;
    NotOnce: "not_once", "of these jobs not run exactly once", "jobs", bars AtMost 0.0;
    FutureRatio: "future_ratio", "drain beside 1,000,000 future jobs / without", "ratio",
        bars AtLeast 0.95;
    HistoryRatio: "history_ratio", "drain beside 1,000,000 finished jobs / without", "ratio",
        bars AtLeast 0.95;
    TeamsRatio: "teams_ratio", "drain of jobs of 1,000 teams / of one", "ratio";
    ChurnRatio: "churn_ratio", "churn: the last drains / the first", "ratio";
    ChurnLive: "churn_live", "churn: size of live, indexes too, at the end", "MiB";
    ChurnLiveFirst: "churn_live_first", "churn: the same after the first drains", "MiB";
    SnapshotRatio: "snapshot_ratio", "drains 6 to 8 under a held snapshot / before it", "ratio",
        bars AtLeast 0.8;
    SnapshotSmallRatio: "snapshot_ratio_50", "the same with 50 runs at a time", "ratio",
        bars AtLeast 0.8;
    IdleCpu: "idle_cpu_puller", "idle: CPU of the puller, of one core", "%", bars Below 1.0;
    IdleApiCpu: "idle_cpu_api", "idle: CPU of the API, of one core", "%";
    IdleStatements: "idle_statements", "idle: statements", "/s", bars Below 5.0;
    IdleTransactions: "idle_transactions", "idle: transactions", "/s";
    EnqueueApiCpu: "enqueue_cpu_api", "CPU of 1,000 single enqueues: API", "s";
    EnqueuePostgresCpu: "enqueue_cpu_postgres", "CPU of 1,000 single enqueues: PostgreSQL", "s";
    EnqueueClientCpu: "enqueue_cpu_client", "CPU of 1,000 single enqueues: client", "s";
    BatchApiCpu: "batch_cpu_api", "CPU of 1,000 jobs in batches: API", "s";
    BatchPostgresCpu: "batch_cpu_postgres", "CPU of 1,000 jobs in batches: PostgreSQL", "s";
    DrainPullerCpu: "drain_cpu_puller", "CPU of 1,000 drained jobs: puller", "s";
    DrainPostgresCpu: "drain_cpu_postgres", "CPU of 1,000 drained jobs: PostgreSQL", "s";
    DrainSinkCpu: "drain_cpu_sink", "CPU of 1,000 drained jobs: sink", "s";
    SustainedApiCpu: "sustained_cpu_api", "CPU of 1,000 jobs end to end: API", "s";
    SustainedPullerCpu: "sustained_cpu_puller", "CPU of 1,000 jobs end to end: puller", "s";
    SustainedPostgresCpu: "sustained_cpu_postgres", "CPU of 1,000 jobs end to end: PostgreSQL", "s";
    SustainedBenchCpu: "sustained_cpu_bench", "CPU of 1,000 jobs end to end: client, sink", "s";
    SingleWal: "enqueue_wal", "WAL of a job: single enqueue", "B";
    BatchWal: "batch_wal", "WAL of a job: enqueue in a batch", "B";
    DrainWal: "drain_wal", "WAL of a job: drain", "B";
    SingleStatements: "enqueue_statements", "statements of a job: single enqueue", "";
    BatchStatements: "batch_statements", "statements of a job: enqueue in a batch", "";
    DrainStatements: "drain_statements", "statements of a job: drain", "";
    ApiMemory: "memory_api", "memory of the API, resident, at most", "MiB", bars Below 150.0;
    PullerMemory: "memory_puller", "memory of the puller, resident, at most", "MiB",
        bars Below 150.0;
}

impl std::fmt::Display for Bar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Share(least) => write!(f, "≥ {least} of limit"),
            Self::AtLeast(least) => write!(f, "≥ {least}"),
            Self::AtMost(most) => write!(f, "≤ {most}"),
            Self::Below(most) => write!(f, "< {most}"),
        }
    }
}
