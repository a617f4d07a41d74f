//! Enqueueing and draining at the same time: from the first request until the last job is finished.

use tokio::time::Instant;

use super::figures::{Figures, What, number};
use super::stage::Stage;
use super::{drain, enqueue};

/// Single enqueues for `seconds`, then `jobs` jobs in batches, each time while the puller works.
pub(super) async fn measure(
    stage: &Stage,
    (seconds, jobs): (u32, usize),
    figures: &mut Figures,
) -> anyhow::Result<()> {
    let spent = stage.spent();
    let started = Instant::now();
    let count = enqueue::singles(&stage.api, seconds).await?;
    drain::wait(stage, count).await?;
    figures.add(What::Sustained, number(count) / started.elapsed().as_secs_f64());
    let spent = stage.spent().since(spent, number(count) / 1000.0);
    figures.add_some(What::SustainedApiCpu, spent.api);
    figures.add_some(What::SustainedPullerCpu, spent.puller);
    figures.add_some(What::SustainedPostgresCpu, spent.postgres);
    figures.add_some(What::SustainedBenchCpu, spent.bench);
    let started = Instant::now();
    enqueue::fill(&stage.api, 0..jobs, |_| ()).await?;
    drain::wait(stage, jobs).await?;
    figures.add(What::SustainedBatch, number(jobs) / started.elapsed().as_secs_f64());
    Ok(())
}
