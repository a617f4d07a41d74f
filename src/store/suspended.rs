//! Due jobs of suspended teams, set aside so that no claim meets them.

use chrono::{DateTime, Utc};

use super::live::read_team;
use super::{Error, Store, sql};
use crate::domain::id::Shard;
use crate::domain::principal::Team;

/// The shards in which a suspended team has something due that is not set aside.
pub async fn look(store: &Store, now: DateTime<Utc>) -> Result<Vec<Shard>, Error> {
    let rows = store.query(sql!("suspended/look"), &[&now]).await?;
    rows.iter().map(|row| Ok(Shard(row.try_get("shard")?))).collect()
}

/// Sets due jobs of suspended teams aside in one shard, as far as the first `depth` of each priority;
/// returns how many.
pub async fn hold(
    store: &Store,
    shard: Shard,
    now: DateTime<Utc>,
    depth: i64,
) -> Result<usize, Error> {
    Ok(store.query(sql!("suspended/hold"), &[&shard.0, &now, &depth]).await?.len())
}

/// Gives back up to `limit` jobs of a team in one shard, but for those of its paused queues; returns how
/// many.
pub async fn unhold(store: &Store, shard: Shard, team: &Team, limit: i64) -> Result<usize, Error> {
    let params: super::Params<'_> = &[&shard.0, &team.as_str(), &limit];
    Ok(store.query(sql!("suspended/unhold"), params).await?.len())
}

/// Teams that are suspended no more and may still have jobs set aside.
pub async fn unsettled(store: &Store) -> Result<Vec<Team>, Error> {
    store.query(sql!("suspended/unsettled"), &[]).await?.iter().map(read_team).collect()
}

/// Notes that a team has none left to give back, unless it is suspended again.
pub async fn settled(store: &Store, team: &Team) -> Result<(), Error> {
    store.query(sql!("suspended/settled"), &[&team.as_str()]).await.map(drop)
}
