//! One puller process and a full queue: from the instant at which it may go on to the last settle
//! that is durable.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use futures_util::future::{Either, select};
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::{Client, NoTls};

use super::figures::{Figures, What, number};
use super::sink::Arrival;
use super::stage::Stage;
use super::usage::Spent;

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
    let spent = stage.spent();
    let started = Instant::now();
    stage.release_puller()?;
    let arrivals = wait(stage, jobs).await?;
    figures.add(What::Drain, number(jobs) / started.elapsed().as_secs_f64());
    let Spent { api: _, puller, postgres, bench } =
        stage.spent().since(spent, number(jobs) / 1000.0);
    figures.add_some(What::DrainPullerCpu, puller);
    figures.add_some(What::DrainPostgresCpu, postgres);
    figures.add_some(What::DrainSinkCpu, bench);
    let distinct: BTreeSet<usize> = arrivals.iter().map(|arrival| arrival.number).collect();
    ensure!(distinct.len() == jobs, "the sink saw {} of {jobs} jobs", distinct.len());
    Ok(())
}

/// Waits until the sink has been called `jobs` times and no job is unfinished.
pub(super) async fn wait(stage: &Stage, jobs: usize) -> anyhow::Result<Vec<Arrival>> {
    timeout(PATIENCE, until_drained(stage, jobs)).await.context("the queue does not drain")?
}

async fn until_drained(stage: &Stage, jobs: usize) -> anyhow::Result<Vec<Arrival>> {
    let (client, connection) = tokio_postgres::connect(&stage.database, NoTls).await?;
    let done = async {
        while stage.sink.count() < jobs {
            sleep(LOOK_EVERY).await;
        }
        while !is_drained(&client).await? {
            sleep(ASK_EVERY).await;
        }
        anyhow::Ok(())
    };
    // A connection works only while it is driven; it ends when its client does.
    match select(Box::pin(done), Box::pin(connection)).await {
        Either::Left((done, _)) => done?,
        Either::Right(_) => bail!("the connection to PostgreSQL ended"),
    }
    let arrivals = stage.sink.take();
    ensure!(arrivals.len() == jobs, "{} calls for {jobs} jobs", arrivals.len());
    Ok(arrivals)
}

async fn is_drained(client: &Client) -> anyhow::Result<bool> {
    Ok(client.query_one(include_str!("drained.sql"), &[]).await?.try_get(0)?)
}
