//! Enqueueing through the API, each job durable when it is answered, while the puller is held still.

use std::ops::Range;
use std::time::Duration;

use futures_util::future::try_join_all;
use tokio::time::Instant;

use super::api::Api;
use super::drain;
use super::figures::{Figures, What, number};
use super::stage::Stage;
use crate::wire::batch::BatchRequest;
use crate::wire::request::JobRequest;

/// Connections that enqueue single jobs, each one at a time.
const CONNECTIONS: usize = 32;
/// Connections that enqueue batches: enough that the API works on one while another is on its way.
const BATCH_CONNECTIONS: usize = 4;
/// Jobs in a batch.
const BATCH: usize = 500;
/// The requests of a fill are made before it begins; so many jobs of a larger one at a time.
const PREPARED: usize = 20_000;

/// One job a request. The jobs are drained afterwards, so that the next fill starts from nothing.
pub(super) async fn single(
    stage: &Stage,
    seconds: u32,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    stage.hold_pullers().await?;
    let spent = stage.spent();
    let started = Instant::now();
    let count = singles(&stage.api, seconds).await?;
    figures.add(What::EnqueueSingle, number(count) / started.elapsed().as_secs_f64());
    let spent = stage.spent().since(spent, number(count) / 1000.0);
    figures.add_some(What::EnqueueApiCpu, spent.api);
    figures.add_some(What::EnqueuePostgresCpu, spent.postgres);
    figures.add_some(What::EnqueueClientCpu, spent.bench);
    stage.release_pullers()?;
    drain::wait(stage, count).await?;
    Ok(())
}

/// Enqueues single jobs for so long; says how many.
pub(super) async fn singles(api: &Api, seconds: u32) -> anyhow::Result<usize> {
    let request = api.post("/v1/jobs", &api.job(0)?)?;
    let mut connections = api.connect_all(CONNECTIONS).await?;
    let deadline = Instant::now() + Duration::from_secs(seconds.into());
    let clients = connections.iter_mut().map(async |connection| {
        let mut count = 0;
        while Instant::now() < deadline {
            Api::check(&connection.ask(&request).await?)?;
            count += 1;
        }
        anyhow::Ok(count)
    });
    Ok(try_join_all(clients).await?.into_iter().sum())
}

/// Batches, until `jobs` jobs are queued. They stay, and the puller stays held.
pub(super) async fn batches(
    stage: &Stage,
    jobs: usize,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    stage.hold_pullers().await?;
    let spent = stage.spent();
    let took = fill(&stage.api, 0..jobs, |_| ()).await?;
    figures.add(What::EnqueueBatch, number(jobs) / took.as_secs_f64());
    let spent = stage.spent().since(spent, number(jobs) / 1000.0);
    figures.add_some(What::BatchApiCpu, spent.api);
    figures.add_some(What::BatchPostgresCpu, spent.postgres);
    Ok(())
}

/// Enqueues jobs with these numbers in batches, each job changed by `shape`; says how long the
/// requests took.
pub(super) async fn fill(
    api: &Api,
    numbers: Range<usize>,
    shape: fn(&mut JobRequest),
) -> anyhow::Result<Duration> {
    let mut connections = api.connect_all(BATCH_CONNECTIONS).await?;
    let mut took = Duration::ZERO;
    for first in numbers.clone().step_by(PREPARED) {
        let shares = prepare(api, first..(first + PREPARED).min(numbers.end), shape)?;
        let started = Instant::now();
        let clients = connections.iter_mut().zip(&shares).map(async |(connection, requests)| {
            for request in requests {
                Api::check(&connection.ask(request).await?)?;
            }
            anyhow::Ok(())
        });
        try_join_all(clients).await?;
        took += started.elapsed();
    }
    Ok(took)
}

/// The requests of each connection.
fn prepare(
    api: &Api,
    numbers: Range<usize>,
    shape: fn(&mut JobRequest),
) -> anyhow::Result<Vec<Vec<Vec<u8>>>> {
    let mut shares = vec![Vec::new(); BATCH_CONNECTIONS];
    for (first, share) in numbers.clone().step_by(BATCH).zip((0..BATCH_CONNECTIONS).cycle()) {
        let jobs = (first..(first + BATCH).min(numbers.end)).map(|number| {
            let mut job = api.job(number)?;
            shape(&mut job);
            anyhow::Ok(job)
        });
        let batch = BatchRequest { atomic: None, jobs: jobs.collect::<Result<_, _>>()? };
        let request = api.post("/v1/jobs/batch", &batch)?;
        if let Some(requests) = shares.get_mut(share) {
            requests.push(request);
        }
    }
    Ok(shares)
}
