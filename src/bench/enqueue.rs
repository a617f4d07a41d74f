//! Enqueueing through the API, each job durable when it is answered, while the puller is held still.

use std::time::Duration;

use futures_util::future::try_join_all;
use tokio::time::Instant;

use super::figures::{Figures, What, number};
use super::stage::Stage;
use super::{drain, usage::Spent};
use crate::wire::batch::BatchRequest;

/// Connections that enqueue single jobs, each one at a time.
const CONNECTIONS: usize = 32;
/// Connections that enqueue batches: enough that the API works on one while another is on its way.
const BATCH_CONNECTIONS: usize = 4;
/// Jobs in a batch.
const BATCH: usize = 500;

/// One job a request. The jobs are drained afterwards, so that the next fill starts from nothing.
pub(super) async fn single(
    stage: &Stage,
    seconds: u32,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    let request = stage.post("/v1/jobs", &stage.job(0)?)?;
    let mut connections = Vec::new();
    for _ in 0..CONNECTIONS {
        connections.push(stage.connect().await?);
    }
    stage.hold_puller().await?;
    let spent = stage.spent();
    let started = Instant::now();
    let deadline = started + Duration::from_secs(seconds.into());
    let clients = connections.iter_mut().map(async |connection| {
        let mut count = 0;
        while Instant::now() < deadline {
            Stage::check(&connection.ask(&request).await?)?;
            count += 1;
        }
        anyhow::Ok(count)
    });
    let count: usize = try_join_all(clients).await?.into_iter().sum();
    let rate = number(count) / started.elapsed().as_secs_f64();
    figures.add(What::EnqueueSingle, rate);
    let spent = stage.spent().since(spent, number(count) / 1000.0);
    let Spent { api, postgres, bench, puller: _ } = spent;
    figures.add_some(What::EnqueueApiCpu, api);
    figures.add_some(What::EnqueuePostgresCpu, postgres);
    figures.add_some(What::EnqueueClientCpu, bench);
    stage.release_puller()?;
    drain::wait(stage, count).await?;
    Ok(())
}

/// Batches, until `jobs` jobs are queued. They stay, and the puller stays held.
pub(super) async fn batches(
    stage: &Stage,
    jobs: usize,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    stage.hold_puller().await?;
    let mut shares = vec![Vec::new(); BATCH_CONNECTIONS];
    for (first, share) in (0..jobs).step_by(BATCH).zip((0..BATCH_CONNECTIONS).cycle()) {
        let numbers = first..(first + BATCH).min(jobs);
        let batch = BatchRequest {
            atomic: None,
            jobs: numbers.map(|number| stage.job(number)).collect::<Result<_, _>>()?,
        };
        let request = stage.post("/v1/jobs/batch", &batch)?;
        shares.get_mut(share).into_iter().for_each(|requests| requests.push(request.clone()));
    }
    let mut connections = Vec::new();
    for share in shares {
        connections.push((stage.connect().await?, share));
    }
    let started = Instant::now();
    let clients = connections.iter_mut().map(async |(connection, requests)| {
        for request in requests {
            Stage::check(&connection.ask(request).await?)?;
        }
        anyhow::Ok(())
    });
    try_join_all(clients).await?;
    figures.add(What::EnqueueBatch, number(jobs) / started.elapsed().as_secs_f64());
    Ok(())
}
