//! What there is to sweep, and what a dashboard shows of the backlog.

use chrono::{DateTime, Utc};

use super::{Error, Store, sql};
use crate::domain::id::Shard;

/// What one shard has for the sweep.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "findings that have nothing to do with each other"
)]
pub struct Work {
    /// The shard.
    pub shard: Shard,
    /// Runs silent past their lease.
    pub overdue: bool,
    /// Jobs whose start deadline passed.
    pub unstarted: bool,
    /// Jobs that wait for their turn.
    pub waiting: bool,
    /// Idempotency keys past their lifetime.
    pub expired_keys: bool,
}

/// The shards that have anything to sweep.
pub async fn look(store: &Store, now: DateTime<Utc>) -> Result<Vec<Work>, Error> {
    let rows = store.query(sql!("sweep/look"), &[&now]).await?;
    rows.iter()
        .map(|row| {
            Ok(Work {
                shard: Shard(row.try_get("shard")?),
                overdue: row.try_get("overdue")?,
                unstarted: row.try_get("unstarted")?,
                waiting: row.try_get("waiting")?,
                expired_keys: row.try_get("expired_keys")?,
            })
        })
        .collect()
}

/// Due jobs (counted up to a bound) and the due time of the oldest.
pub async fn gauges(
    store: &Store,
    now: DateTime<Utc>,
) -> Result<(i64, Option<DateTime<Utc>>), Error> {
    let row = store.query(sql!("sweep/gauges"), &[&now]).await?.pop();
    let row = row.ok_or_else(|| Error::corrupt("count"))?;
    Ok((row.try_get("due_jobs")?, row.try_get("oldest_due_at")?))
}
