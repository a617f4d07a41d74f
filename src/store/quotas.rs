//! What teams have used of their quotas: the shared bucket of a rate, and counts.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use tokio_postgres::Row;

use super::live::read_team;
use super::{Bounds, Call, Error, Session, Store, sql};
use crate::domain::id::Shard;
use crate::domain::principal::Team;
use crate::domain::quota::Quota;

/// Takes `cost` out of a team's bucket if that is full by `horizon` or before; returns when it is
/// full then, or none if it gave nothing.
pub async fn lend(
    store: &Store,
    team: &Team,
    cost: TimeDelta,
    (now, horizon): (DateTime<Utc>, DateTime<Utc>),
) -> Result<Option<DateTime<Utc>>, Error> {
    let cost = cost.num_microseconds().unwrap_or(i64::MAX / 2);
    let (now, horizon) = (now.timestamp_micros(), horizon.timestamp_micros());
    let rows = store.query(sql!("quotas/lend"), &[&team.as_str(), &now, &cost, &horizon]).await?;
    rows.first().map(read_full_at).transpose()
}

/// Takes `cost` out of a team's bucket, whatever is in it; returns when it is full then.
pub async fn charge(
    store: &Store,
    team: &Team,
    cost: TimeDelta,
    now: DateTime<Utc>,
) -> Result<DateTime<Utc>, Error> {
    let cost = cost.num_microseconds().unwrap_or(i64::MAX / 2);
    let params: super::Params<'_> = &[&team.as_str(), &now.timestamp_micros(), &cost];
    let row = store.query(sql!("quotas/charge"), params).await?.pop();
    read_full_at(&row.ok_or_else(|| Error::corrupt("full_at_us"))?)
}

/// When a team's bucket is full; none if nothing was ever taken.
pub async fn full_at(store: &Store, team: &Team) -> Result<Option<DateTime<Utc>>, Error> {
    let rows = store.query(sql!("quotas/full_at"), &[&team.as_str()]).await?;
    rows.first().map(read_full_at).transpose()
}

/// Makes a team's bucket full.
pub async fn forget_rate(session: &Session, team: &Team) -> Result<(), Error> {
    session.query(sql!("quotas/forget_rate"), &[&team.as_str()]).await.map(drop)
}

/// How many unfinished jobs a team has, as far as `most`.
pub async fn jobs(store: &Store, team: &Team, most: i64) -> Result<u64, Error> {
    used(&store.query(sql!("quotas/jobs"), &[&team.as_str(), &most]).await?)
}

/// The bytes of the payloads of a team's unfinished jobs.
pub async fn bytes(store: &Store, team: &Team) -> Result<u64, Error> {
    used(&store.query(sql!("quotas/bytes"), &[&team.as_str()]).await?)
}

/// How many runs of these teams are going on; those with none are left out.
pub async fn running(store: &Store, teams: &[&Team]) -> Result<BTreeMap<Team, u64>, Error> {
    let teams: Vec<&str> = teams.iter().map(|team| team.as_str()).collect();
    let rows = store.query(sql!("quotas/running"), &[&teams]).await?;
    rows.iter().map(|row| Ok((read_team(row)?, read_used(row)?))).collect()
}

/// The shards in which a team has something due, in their order.
pub async fn due_shards(
    store: &Store,
    team: &Team,
    now: DateTime<Utc>,
) -> Result<Vec<Shard>, Error> {
    let rows = store.query(sql!("quotas/due_shards"), &[&team.as_str(), &now]).await?;
    rows.iter().map(|row| Ok(Shard(row.try_get("shard")?))).collect()
}

/// How many schedules a team has.
pub async fn schedules(store: &Store, team: &Team) -> Result<u64, Error> {
    used(&store.query(sql!("quotas/schedules"), &[&team.as_str()]).await?)
}

/// The same for whoever has added one in the open transaction: the team's gate is locked first, so
/// that of two at the same time the second counts what the first has committed.
pub async fn schedules_alone(session: &Session, team: &Team) -> Result<u64, Error> {
    let team = team.as_str();
    let gate: super::Params<'_> = &[&team, &Quota::Schedules.as_str()];
    let of_team: super::Params<'_> = &[&team];
    // The count is a statement of its own, which sees what was committed before the lock was had.
    let count = Call::new(sql!("quotas/schedules"), of_team);
    let calls = [add_gate(gate), lock_gate(gate), count];
    let answers = session.flight(Bounds::Inside, &calls).await?;
    used(answers.last().map_or(&[], Vec::as_slice))
}

fn add_gate(gate: super::Params<'_>) -> Call<'_> {
    Call::new(sql!("quotas/add_gate"), gate)
}

fn lock_gate(gate: super::Params<'_>) -> Call<'_> {
    Call::new(sql!("quotas/lock_gate"), gate)
}

fn used(rows: &[Row]) -> Result<u64, Error> {
    read_used(rows.first().ok_or_else(|| Error::corrupt("used"))?)
}

fn read_used(row: &Row) -> Result<u64, Error> {
    u64::try_from(row.try_get::<_, i64>("used")?).or(Err(Error::corrupt("used")))
}

fn read_full_at(row: &Row) -> Result<DateTime<Utc>, Error> {
    let micros = row.try_get("full_at_us")?;
    DateTime::from_timestamp_micros(micros).ok_or_else(|| Error::corrupt("full_at_us"))
}
