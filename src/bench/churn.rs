//! Fills and drains, one after the other, for long: whether the table that every job passes through
//! stays small, and the drains quick.

use std::time::Duration;

use tokio::time::Instant;

use super::figures::{Figures, What, number, percentiles};
use super::stage::Stage;
use super::{database, drain, ratio};

/// So many drains at the beginning, and at the end, are compared, by their medians.
const COMPARED: usize = 10;

/// Fills and drains `jobs` jobs again and again for so long.
pub(super) async fn measure(
    stage: &Stage,
    (jobs, time): (usize, Duration),
    figures: &mut Figures,
) -> anyhow::Result<()> {
    let deadline = Instant::now() + time;
    let mut rates = Vec::new();
    while rates.len() < COMPARED || Instant::now() < deadline {
        rates.push(ratio::called(jobs, &drain::fill_and_drain(stage, jobs).await?));
        if rates.len() == COMPARED {
            figures.add(What::ChurnLiveFirst, size(stage).await?);
        }
    }
    figures.add(What::ChurnLive, size(stage).await?);
    let last = rates.split_off(rates.len().saturating_sub(COMPARED));
    // With so few drains there is only one side.
    rates.truncate(COMPARED);
    let first = if rates.is_empty() { last.clone() } else { rates };
    figures.add(What::ChurnRatio, percentiles(last).0 / percentiles(first).0);
    Ok(())
}

/// MiB of `live` with its indexes.
async fn size(stage: &Stage) -> anyhow::Result<f64> {
    database::with(&stage.database, async |client| {
        let row = client.query_one(include_str!("churn_size.sql"), &[]).await?;
        let kib: i64 = row.try_get("kib")?;
        Ok(number(usize::try_from(kib)?) / 1024.0)
    })
    .await
}
