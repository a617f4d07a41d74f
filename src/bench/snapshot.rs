//! Drains while somebody holds an old snapshot, a backup for example: no dead row can be cleared away
//! until it ends, and a claim must not read them all again each time.

use super::figures::{Figures, What, percentiles};
use super::stage::Stage;
use super::{database, drain, ratio};

/// Of the drains under the snapshot the last ones count, by their median.
const LAST: usize = 3;
/// Runs in flight, and so rows of a claim at most, for the measurement with small claims.
const FEW: u16 = 50;

/// Drains `jobs` jobs before, and so many times under, a held snapshot: by a puller with the usual
/// claims, and by one with small ones.
pub(super) async fn measure(
    stage: &mut Stage,
    (jobs, times): (usize, usize),
    figures: &mut Figures,
) -> anyhow::Result<()> {
    figures.add(What::SnapshotRatio, under(stage, jobs, times).await?);
    stage.memory(figures);
    stage.set_pullers(1, Some(FEW)).await?;
    figures.add(What::SnapshotSmallRatio, under(stage, jobs, times).await?);
    stage.set_pullers(1, None).await
}

/// The last drains under a snapshot, as a share of those before it.
async fn under(stage: &Stage, jobs: usize, times: usize) -> anyhow::Result<f64> {
    let before = ratio::rate(stage, jobs).await?;
    database::with(&stage.database, async |client| {
        client.batch_execute(include_str!("snapshot_hold.sql")).await?;
        let mut rates = Vec::with_capacity(times);
        for _ in 0..times {
            rates.push(ratio::called(jobs, &drain::fill_and_drain(stage, jobs).await?));
        }
        client.batch_execute(include_str!("snapshot_end.sql")).await?;
        client.batch_execute(include_str!("vacuum.sql")).await?;
        Ok(percentiles(rates.split_off(times.saturating_sub(LAST))).0 / before)
    })
    .await
}
