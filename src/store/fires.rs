//! A row for every fire time that was met, whatever came of it.

use chrono::{DateTime, Utc};
use tokio_postgres::Row;
use uuid::Uuid;

use super::{Error, Session, Statement, Store, sql};
use crate::domain::id::{JobId, ScheduleId, Shard};
use crate::domain::schedule::record::Fire;

/// Writes what became of fire times of one shard; returns those that nobody had written before.
pub async fn insert(
    session: &Session,
    shard: Shard,
    fires: &[(ScheduleId, Fire)],
    now: DateTime<Utc>,
) -> Result<Vec<(ScheduleId, DateTime<Utc>)>, Error> {
    write(session, sql!("fires/insert"), (shard, now), fires).await
}

/// The same over rows of fire times that have made no job; returns what was written.
pub async fn insert_over(
    session: &Session,
    shard: Shard,
    fires: &[(ScheduleId, Fire)],
    now: DateTime<Utc>,
) -> Result<Vec<(ScheduleId, DateTime<Utc>)>, Error> {
    write(session, sql!("fires/insert_over"), (shard, now), fires).await
}

async fn write(
    session: &Session,
    statement: Statement,
    (shard, now): (Shard, DateTime<Utc>),
    fires: &[(ScheduleId, Fire)],
) -> Result<Vec<(ScheduleId, DateTime<Utc>)>, Error> {
    if fires.is_empty() {
        return Ok(Vec::new());
    }
    let ids: Vec<_> = fires.iter().map(|(id, _)| id.uuid()).collect();
    let ats: Vec<_> = fires.iter().map(|(_, fire)| fire.at).collect();
    let outcomes: Vec<_> = fires.iter().map(|(_, fire)| fire.outcome.as_str()).collect();
    let origins: Vec<_> = fires.iter().map(|(_, fire)| fire.origin.as_str()).collect();
    let untils: Vec<_> = fires.iter().map(|(_, fire)| fire.until).collect();
    let counts: Vec<_> = fires.iter().map(|(_, fire)| fire.count).collect();
    let at_least: Vec<_> = fires.iter().map(|(_, fire)| fire.at_least).collect();
    let jobs: Vec<_> = fires.iter().map(|(_, fire)| fire.job.map(JobId::uuid)).collect();
    let params: super::Params<'_> =
        &[&shard.0, &ids, &ats, &outcomes, &origins, &untils, &counts, &at_least, &jobs, &now];
    let rows = session.query(statement, params).await?;
    rows.iter()
        .map(|row| {
            Ok((ScheduleId::from_uuid(row.try_get("schedule_id")?), row.try_get("fire_at")?))
        })
        .collect()
}

/// Which fire times of a locked schedule in `[from, to)` have made a job.
pub async fn fired(
    session: &Session,
    schedule: ScheduleId,
    (from, to): (DateTime<Utc>, DateTime<Utc>),
) -> Result<Vec<DateTime<Utc>>, Error> {
    let params: super::Params<'_> = &[&schedule.shard().0, &schedule.uuid(), &from, &to];
    let rows = session.query(sql!("fires/fired"), params).await?;
    rows.iter().map(|row| Ok(row.try_get("fire_at")?)).collect()
}

/// Takes out the rows of a locked schedule that tell several fire times at once, where these touch
/// `[from, to)`; returns them.
pub async fn take_ranges(
    session: &Session,
    schedule: ScheduleId,
    (from, to): (DateTime<Utc>, DateTime<Utc>),
) -> Result<Vec<Fire>, Error> {
    let params: super::Params<'_> = &[&schedule.shard().0, &schedule.uuid(), &from, &to];
    session.query(sql!("fires/take_ranges"), params).await?.iter().map(read).collect()
}

/// What became of the fire times of a schedule in `[from, to)`, newest first.
pub async fn list(
    store: &Store,
    schedule: ScheduleId,
    (from, to): (DateTime<Utc>, DateTime<Utc>),
    limit: i64,
) -> Result<Vec<Fire>, Error> {
    let params: super::Params<'_> = &[&schedule.shard().0, &schedule.uuid(), &from, &to, &limit];
    let rows = store.query(sql!("fires/list"), params).await?;
    rows.iter().map(read).collect()
}

fn read(row: &Row) -> Result<Fire, Error> {
    let job: Option<Uuid> = row.try_get("job_id")?;
    Ok(Fire {
        at: row.try_get("fire_at")?,
        outcome: row.try_get("outcome")?,
        origin: row.try_get("origin")?,
        until: row.try_get("until")?,
        count: row.try_get("count")?,
        at_least: row.try_get("at_least")?,
        job: job.map(JobId::from_uuid),
        recorded_at: row.try_get("recorded_at")?,
    })
}
