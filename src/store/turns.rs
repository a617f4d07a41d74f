//! The unfinished jobs of schedules, and whose turn it is.

use chrono::{DateTime, Utc};

use super::{Error, Session, Store, sql};
use crate::domain::id::{JobId, ScheduleId, Shard};
use crate::domain::state::State;

/// The unfinished jobs of some schedules of one shard, in the order in which they take turns.
pub async fn unfinished(
    session: &Session,
    shard: Shard,
    schedules: &[ScheduleId],
) -> Result<Vec<(ScheduleId, JobId, State)>, Error> {
    let ids: Vec<_> = schedules.iter().map(|id| id.uuid()).collect();
    let rows = session.query(sql!("turns/unfinished"), &[&shard.0, &ids]).await?;
    rows.iter()
        .map(|row| {
            let state = State::parse(row.try_get("state")?);
            Ok((
                ScheduleId::from_uuid(row.try_get("schedule_id")?),
                JobId::from_uuid(row.try_get("job_id")?),
                state.ok_or_else(|| Error::corrupt("state"))?,
            ))
        })
        .collect()
}

/// Schedules of one shard whose waiting jobs nobody is ahead of; of all, or of these.
pub async fn open(
    store: &Store,
    shard: Shard,
    of: Option<&[ScheduleId]>,
    limit: i64,
) -> Result<Vec<ScheduleId>, Error> {
    let of: Option<Vec<_>> = of.map(|ids| ids.iter().map(|id| id.uuid()).collect());
    let rows = store.query(sql!("turns/open"), &[&shard.0, &of, &limit]).await?;
    rows.iter().map(|row| Ok(ScheduleId::from_uuid(row.try_get("schedule_id")?))).collect()
}

/// Lets a job go that waited for its turn, unless it is no longer waiting; returns when it is due.
pub async fn release(
    session: &Session,
    job: JobId,
    now: DateTime<Utc>,
) -> Result<Option<DateTime<Utc>>, Error> {
    let params: super::Params<'_> = &[&job.shard().0, &job.uuid(), &now];
    let row = session.query_opt(sql!("turns/release"), params).await?;
    row.map(|row| Ok(row.try_get("due_at")?)).transpose()
}
