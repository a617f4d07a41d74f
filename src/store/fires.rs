//! A row for every fire time that was met, whatever came of it.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{Error, Session, Store, sql};
use crate::domain::id::{JobId, ScheduleId, Shard};
use crate::domain::schedule::record::Fire;

/// Writes what became of fire times of one shard; returns those that nobody had written before.
pub async fn insert(
    session: &Session,
    shard: Shard,
    fires: &[(ScheduleId, Fire)],
    now: DateTime<Utc>,
) -> Result<Vec<(ScheduleId, DateTime<Utc>)>, Error> {
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
    let rows = session.query(sql!("fires/insert"), params).await?;
    rows.iter()
        .map(|row| {
            Ok((ScheduleId::from_uuid(row.try_get("schedule_id")?), row.try_get("fire_at")?))
        })
        .collect()
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
    rows.iter()
        .map(|row| {
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
        })
        .collect()
}
