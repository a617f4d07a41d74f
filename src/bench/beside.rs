//! A drain beside a great many jobs that are no matter to it: those that are not due for years, and
//! those that have ended. A claim must read what it takes and nothing else.

use chrono::{DateTime, Utc};

use super::figures::{Figures, What};
use super::stage::Stage;
use super::{database, ratio};

/// What is put beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Others {
    /// Jobs that are due from `FAR` on.
    Future,
    /// Jobs that were called once and succeeded.
    Finished,
}

/// When the first of those of the future is due, and when the first of the others was.
const FAR: &str = "2090-01-01T00:00:00Z";
const PAST: &str = "2026-01-01T00:00:00Z";
/// Jobs of each shard that are put beside in one transaction. With many, the puller's looks meanwhile
/// would pass over all of them, which it cannot see yet, and take seconds.
const AT_ONCE: usize = 100;

/// Drains `jobs` jobs without and with so many others.
pub(super) async fn measure(
    stage: &mut Stage,
    others: Others,
    (jobs, count): (usize, i64),
    figures: &mut Figures,
) -> anyhow::Result<()> {
    let without = ratio::rate(stage, jobs).await?;
    let made = fill(stage, others, count).await?;
    stage.standing = if others == Others::Future { made } else { 0 };
    let beside = ratio::rate(stage, jobs).await?;
    clear(stage).await?;
    stage.standing = 0;
    let figure = match others {
        Others::Future => What::FutureRatio,
        Others::Finished => What::HistoryRatio,
    };
    figures.add(figure, beside / without);
    Ok(())
}

/// Puts them beside, by statements, since the API would take a minute; says how many.
async fn fill(stage: &Stage, others: Others, count: i64) -> anyhow::Result<i64> {
    let (statement, start) = match others {
        Others::Future => (include_str!("future.sql"), FAR),
        Others::Finished => (include_str!("finished.sql"), PAST),
    };
    let start: DateTime<Utc> = start.parse()?;
    database::with(&stage.database, async |client| {
        let row = client.query_one(include_str!("template.sql"), &[]).await?;
        let shards: Vec<i32> = row.try_get("shards")?;
        let of_each = count / i64::try_from(shards.len())?;
        let fill = client.prepare(statement).await?;
        let mut made = 0;
        for first in (1..=of_each).step_by(AT_ONCE) {
            let last = of_each.min(first - 1 + i64::try_from(AT_ONCE)?);
            made += client.execute(&fill, &[&first, &start, &last]).await?;
        }
        client.batch_execute(include_str!("vacuum.sql")).await?;
        client.batch_execute(include_str!("checkpoint.sql")).await?;
        Ok(i64::try_from(made)?)
    })
    .await
}

async fn clear(stage: &Stage) -> anyhow::Result<()> {
    database::with(&stage.database, async |client| {
        client.batch_execute(include_str!("beside_clear.sql")).await?;
        Ok(client.batch_execute(include_str!("vacuum.sql")).await?)
    })
    .await
}
