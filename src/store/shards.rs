//! The shards of this installation.

use super::{Error, Store, sql};
use crate::domain::id::Shard;

/// Every shard, always in the same order.
pub async fn list(store: &Store) -> Result<Vec<Shard>, Error> {
    let rows = store.query(sql!("shards/list"), &[]).await?;
    rows.iter().map(|row| Ok(Shard(row.try_get("shard")?))).collect()
}
