//! Two puller processes beside one: they must not get into each other's way, and no job may be
//! claimed by both.

use anyhow::Context as _;

use super::figures::{Figures, What, number};
use super::stage::Stage;
use super::{database, drain, enqueue, ratio};
use crate::wire::request::JobRequest;

/// The queue of the jobs that are drained by two, so that their runs can be counted.
const QUEUE: &str = "bench-pair";

/// Drains `jobs` jobs by one puller and by two.
pub(super) async fn measure(
    stage: &mut Stage,
    jobs: usize,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    let one = ratio::rate(stage, jobs).await?;
    stage.memory(figures);
    stage.set_pullers(2, None).await?;
    let two = ratio::rate(stage, jobs).await?;
    stage.hold_pullers().await?;
    enqueue::fill(&stage.api, 0..jobs, shape).await?;
    drain::drain(stage, jobs).await?;
    stage.set_pullers(1, None).await?;
    figures.add(What::TwoPullers, two / one);
    figures.add(What::NotOnce, not_once(stage, QUEUE).await?);
    Ok(())
}

fn shape(job: &mut JobRequest) {
    job.queue = Some(QUEUE.to_owned());
}

/// How many jobs of a queue did not succeed in exactly one run.
pub(super) async fn not_once(stage: &Stage, queue: &str) -> anyhow::Result<f64> {
    database::with(&stage.database, async |client| {
        let row = client.query_one(include_str!("not_once.sql"), &[&queue]).await?;
        let count: i64 = row.try_get("count").context("counting runs")?;
        Ok(number(usize::try_from(count)?))
    })
    .await
}
