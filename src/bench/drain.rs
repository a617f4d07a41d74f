//! One puller process and a full queue: from the instant at which it may go on to the last settle
//! that is durable.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::Client;

use super::figures::{Figures, What, number};
use super::sink::Arrival;
use super::stage::Stage;
use super::usage::Spent;
use super::{database, enqueue};

/// A drain that takes longer has failed.
const PATIENCE: Duration = Duration::from_mins(5);
/// How often the sink is looked at, which costs next to nothing.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// How often the database is asked once the sink has seen every job.
const ASK_EVERY: Duration = Duration::from_millis(2);

/// Drains the jobs that are queued, whose numbers count from 0, and checks that each was called once.
pub(super) async fn measure(
    stage: &Stage,
    jobs: usize,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    let drained = drain(stage, jobs).await?;
    figures.add(What::Drain, number(jobs) / drained.took.as_secs_f64());
    let spent = drained.spent;
    figures.add_some(What::DrainPullerCpu, spent.puller);
    figures.add_some(What::DrainPostgresCpu, spent.postgres);
    figures.add_some(What::DrainSinkCpu, spent.bench);
    Ok(())
}

/// Queues and drains many, to see whether the rate stays.
pub(super) async fn large(stage: &Stage, jobs: usize, figures: &mut Figures) -> anyhow::Result<()> {
    let drained = fill_and_drain(stage, jobs).await?;
    figures.add(What::DrainLarge, number(jobs) / drained.took.as_secs_f64());
    Ok(())
}

/// How a drain went.
pub(super) struct Drained {
    /// Until the last settle was durable.
    pub(super) took: Duration,
    /// Until the last call came. The last settles follow within milliseconds, and asking the
    /// database for them costs the more the more dead rows it has to pass over; so ratios are taken
    /// of this.
    pub(super) called: Duration,
    /// CPU seconds of 1,000 jobs.
    pub(super) spent: Spent,
}

/// Fills the queue with so many jobs and drains it; the pullers run before and after.
pub(super) async fn fill_and_drain(stage: &Stage, jobs: usize) -> anyhow::Result<Drained> {
    stage.hold_pullers().await?;
    enqueue::fill(&stage.api, 0..jobs, |_| ()).await?;
    drain(stage, jobs).await
}

/// Lets the pullers go on, and waits until the jobs that are queued, whose numbers count from 0, are
/// finished. Each must have been called once.
pub(super) async fn drain(stage: &Stage, jobs: usize) -> anyhow::Result<Drained> {
    let spent = stage.spent();
    let started = Instant::now();
    stage.release_pullers()?;
    let arrivals = wait(stage, jobs).await?;
    let took = started.elapsed();
    let spent = stage.spent().since(spent, number(jobs) / 1000.0);
    let last = arrivals.iter().map(|arrival| arrival.at).max().unwrap_or(started);
    let distinct: BTreeSet<usize> = arrivals.iter().map(|arrival| arrival.number).collect();
    ensure!(distinct.len() == jobs, "the sink saw {} of {jobs} jobs", distinct.len());
    Ok(Drained { took, called: last.saturating_duration_since(started), spent })
}

/// Waits until the sink has been called `jobs` times and no job is unfinished but those that are to
/// stay.
pub(super) async fn wait(stage: &Stage, jobs: usize) -> anyhow::Result<Vec<Arrival>> {
    timeout(PATIENCE, until_drained(stage, jobs)).await.context("the queue does not drain")?
}

async fn until_drained(stage: &Stage, jobs: usize) -> anyhow::Result<Vec<Arrival>> {
    database::within(&stage.database, "public", async |client| {
        while stage.sink.count() < jobs {
            sleep(LOOK_EVERY).await;
        }
        while running(client).await? {
            sleep(ASK_EVERY).await;
        }
        Ok(())
    })
    .await?;
    let arrivals = stage.sink.take();
    ensure!(arrivals.len() == jobs, "{} calls for {jobs} jobs", arrivals.len());
    Ok(arrivals)
}

async fn running(client: &Client) -> anyhow::Result<bool> {
    Ok(client.query_one(include_str!("running.sql"), &[]).await?.try_get(0)?)
}

/// Fails unless only those jobs are unfinished that are to stay, once the last settles are written.
pub(super) async fn check_empty(stage: &Stage) -> anyhow::Result<()> {
    database::with(&stage.database, async |client| {
        let settled = async {
            while running(client).await? {
                sleep(ASK_EVERY).await;
            }
            anyhow::Ok(())
        };
        timeout(PATIENCE, settled).await.context("the last runs do not end")??;
        let left: i64 = client.query_one(include_str!("unfinished.sql"), &[]).await?.try_get(0)?;
        ensure!(left == stage.standing, "{left} jobs are unfinished, not {}", stage.standing);
        Ok(())
    })
    .await
}
