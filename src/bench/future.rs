//! A drain beside a great many jobs that are not due for years: a claim must read what it takes and
//! nothing else.

use chrono::{DateTime, Utc};

use super::figures::{Figures, What};
use super::stage::Stage;
use super::{database, ratio};

/// When the first of them is due.
const FAR: &str = "2090-01-01T00:00:00Z";

/// Drains `jobs` jobs without and with `future` others.
pub(super) async fn measure(
    stage: &mut Stage,
    (jobs, future): (usize, i64),
    figures: &mut Figures,
) -> anyhow::Result<()> {
    let without = ratio::rate(stage, jobs).await?;
    stage.standing = fill(stage, future).await?;
    let beside = ratio::rate(stage, jobs).await?;
    clear(stage).await?;
    stage.standing = 0;
    figures.add(What::FutureRatio, beside / without);
    Ok(())
}

/// Jobs of each shard that are put beside in one transaction. With many, the puller's looks meanwhile
/// would pass over all of them, which it cannot see yet, and take seconds.
const AT_ONCE: usize = 100;

/// Puts them beside, by statements, since the API would take a minute; says how many.
async fn fill(stage: &Stage, future: i64) -> anyhow::Result<i64> {
    let far: DateTime<Utc> = FAR.parse()?;
    database::with(&stage.database, async |client| {
        let row = client.query_one(include_str!("template.sql"), &[]).await?;
        let shards: Vec<i32> = row.try_get("shards")?;
        let of_each = future / i64::try_from(shards.len())?;
        let fill = client.prepare(include_str!("future.sql")).await?;
        let mut made = 0;
        for first in (1..=of_each).step_by(AT_ONCE) {
            let last = of_each.min(first - 1 + i64::try_from(AT_ONCE)?);
            made += client.execute(&fill, &[&first, &far, &last]).await?;
        }
        client.batch_execute(include_str!("vacuum.sql")).await?;
        client.batch_execute(include_str!("checkpoint.sql")).await?;
        Ok(i64::try_from(made)?)
    })
    .await
}

async fn clear(stage: &Stage) -> anyhow::Result<()> {
    database::with(&stage.database, async |client| {
        client.batch_execute(include_str!("future_clear.sql")).await?;
        Ok(client.batch_execute(include_str!("vacuum.sql")).await?)
    })
    .await
}
