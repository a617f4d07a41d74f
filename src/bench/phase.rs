//! The phases: what each is called, how often it is measured, and in which order. Each leaves the
//! system as it found it, idle and without unfinished jobs, so that any of them can run alone.

use std::path::Path;

use anyhow::bail;

use super::beside::{self, Others};
use super::figures::Figures;
use super::stage::Stage;
use super::{
    Size, callback, churn, cost, delayed, drain, enqueue, idle, latency, limits, pair, slots,
    snapshot, sustained, teams,
};

/// What can be measured by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// What the machine can do at best.
    Limits,
    /// Single enqueues.
    Enqueue,
    /// Batches, and the drain of what they enqueued.
    Drain,
    /// One job at a time on an idle system.
    Latency,
    /// Jobs that are due at an instant.
    Delayed,
    /// Schedules.
    Schedules,
    /// Enqueues while the puller drains.
    Sustained,
    /// Targets that call back.
    Callback,
    /// Write-ahead log and statements of a job.
    Cost,
    /// Two pullers beside one.
    Pullers,
    /// A system without work.
    Idle,
    /// A drain of many.
    Large,
    /// Drains under a held snapshot.
    Snapshot,
    /// Drains beside jobs of the future.
    Future,
    /// Drains beside jobs that have ended.
    History,
    /// Drains of the jobs of many teams.
    Teams,
    /// Fills and drains for an hour: only where it is asked for.
    Churn,
}

/// Every phase in the order in which they are measured.
const ALL: &[Phase] = &[
    Phase::Limits,
    Phase::Enqueue,
    Phase::Drain,
    Phase::Latency,
    Phase::Delayed,
    Phase::Schedules,
    Phase::Sustained,
    Phase::Callback,
    Phase::Cost,
    Phase::Pullers,
    Phase::Idle,
    Phase::Large,
    Phase::Snapshot,
    Phase::Future,
    Phase::History,
    Phase::Teams,
    Phase::Churn,
];

impl Phase {
    /// The phases with these names, in their order, of all or of those that a caller can measure; all
    /// of them but the one that takes an hour if none is named.
    pub(super) fn chosen(names: &[String], of_a_caller: bool) -> anyhow::Result<Vec<Self>> {
        let there = ALL.iter().copied().filter(|phase| !of_a_caller || phase.is_of_a_caller());
        let there: Vec<Self> = there.collect();
        let known = |name: &&String| there.iter().any(|phase| phase.name() == name.as_str());
        if let Some(unknown) = names.iter().find(|name| !known(name)) {
            let names: Vec<_> = there.iter().map(|phase| phase.name()).collect();
            bail!("there is no phase {unknown:?} here; the phases are {}", names.join(", "));
        }
        let wanted = |phase: &Self| match names {
            [] => *phase != Self::Churn,
            names => names.iter().any(|name| name == phase.name()),
        };
        Ok(there.into_iter().filter(wanted).collect())
    }

    /// What it is called on the command line.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Limits => "limits",
            Self::Enqueue => "enqueue",
            Self::Drain => "drain",
            Self::Latency => "latency",
            Self::Delayed => "delayed",
            Self::Schedules => "schedules",
            Self::Sustained => "sustained",
            Self::Callback => "callback",
            Self::Cost => "cost",
            Self::Pullers => "pullers",
            Self::Idle => "idle",
            Self::Large => "large",
            Self::Snapshot => "snapshot",
            Self::Future => "future",
            Self::History => "history",
            Self::Teams => "teams",
            Self::Churn => "churn",
        }
    }

    /// Whether one measurement is enough: it is long, or a median already.
    pub(super) fn is_once(self) -> bool {
        matches!(
            self,
            Self::Idle
                | Self::Large
                | Self::Snapshot
                | Self::Future
                | Self::History
                | Self::Teams
                | Self::Churn
        )
    }

    /// Whether a caller of a server that runs already can measure it.
    pub(super) fn is_of_a_caller(self) -> bool {
        matches!(self, Self::Enqueue | Self::Drain | Self::Latency)
    }

    /// Measures it once.
    pub(super) async fn measure(
        self,
        stage: &mut Stage,
        scratch: &Path,
        size: Size,
        figures: &mut Figures,
    ) -> anyhow::Result<()> {
        match self {
            Self::Limits => {
                limits::measure(stage, scratch, (size.seconds, size.claims), figures).await?;
            }
            Self::Enqueue => enqueue::single(stage, size.seconds, figures).await?,
            Self::Drain => {
                enqueue::batches(stage, size.jobs, figures).await?;
                drain::measure(stage, size.jobs, figures).await?;
            }
            Self::Latency => {
                latency::measure((&stage.api, &stage.sink), size.timed, figures).await?;
            }
            Self::Delayed => delayed::measure(stage, size.timed, figures).await?,
            Self::Schedules => {
                slots::measure(stage, (size.timed, size.slot, size.others), figures).await?;
            }
            Self::Sustained => {
                sustained::measure(stage, (size.seconds, 2 * size.jobs), figures).await?;
            }
            Self::Callback => callback::measure(stage, size.jobs / 4, figures).await?,
            Self::Cost => cost::measure(stage, (1, size.jobs), figures).await?,
            Self::Pullers => pair::measure(stage, size.jobs, figures).await?,
            Self::Idle => idle::measure(stage, size.idle, figures).await?,
            Self::Large => drain::large(stage, 10 * size.jobs, figures).await?,
            Self::Snapshot => snapshot::measure(stage, (size.jobs, size.fills), figures).await?,
            Self::Future => {
                let amounts = (size.jobs, size.others_jobs);
                beside::measure(stage, Others::Future, amounts, figures).await?;
            }
            Self::History => {
                let amounts = (size.jobs, size.others_jobs);
                beside::measure(stage, Others::Finished, amounts, figures).await?;
            }
            Self::Teams => teams::measure(stage, (size.jobs, size.teams), figures).await?,
            Self::Churn => churn::measure(stage, (size.jobs, size.churn), figures).await?,
        }
        stage.memory(figures);
        drain::check_empty(stage).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_are_chosen_by_name_and_keep_their_order() {
        let names =
            |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let chosen = Phase::chosen(&names(&["drain", "enqueue", "drain"]), false).unwrap();
        assert_eq!(chosen, [Phase::Enqueue, Phase::Drain]);
        let (last, rest) = ALL.split_last().unwrap();
        assert_eq!((Phase::chosen(&[], false).unwrap(), *last), (rest.to_vec(), Phase::Churn));
        let caller = Phase::chosen(&[], true).unwrap();
        assert_eq!(caller, [Phase::Enqueue, Phase::Drain, Phase::Latency]);
        for (name, of_a_caller) in [("drian", false), ("snapshot", true)] {
            let error = Phase::chosen(&names(&[name]), of_a_caller).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("latency"), "{error}");
        }
    }
}
