//! Schedules: what makes a job at every fire time. Whoever moves one holds its row's lock.

use bytes::Bytes;
use chrono::{DateTime, Utc};
use tokio_postgres::Row;
use tokio_postgres::types::Json;
use uuid::Uuid;

use super::live::read_team;
use super::{Error, Session, Store, sql};
use crate::domain::id::{ScheduleId, Shard};
use crate::domain::principal::Team;
use crate::domain::schedule::doc::ScheduleDoc;
use crate::domain::schedule::record::{Schedule, ScheduleState};

/// Which schedule: by id or by name.
#[derive(Clone, Copy, Debug)]
pub enum Which<'a> {
    /// By id.
    Id(ScheduleId),
    /// By name.
    Name(&'a str),
}

impl<'a> Which<'a> {
    fn columns(self) -> (Option<&'a str>, Option<Uuid>) {
        match self {
            Self::Id(id) => (None, Some(id.uuid())),
            Self::Name(name) => (Some(name), None),
        }
    }
}

/// Adds a schedule; false if the team has one of that name.
pub async fn insert(session: &Session, new: &Schedule) -> Result<bool, Error> {
    let params: super::Params<'_> = &[
        &new.id.shard().0,
        &new.id.uuid(),
        &new.team.as_str(),
        &new.name,
        &Json(&new.doc),
        &new.payload.as_ref(),
        &new.state.as_str(),
        &new.reason,
        &new.accounted_until,
        &new.next_slot_at,
        &new.next_fire_at,
        &new.created_at,
    ];
    Ok(session.query_opt(sql!("schedules/insert"), params).await?.is_some())
}

/// Locks a schedule of a team.
pub async fn lock(
    session: &Session,
    shard: Shard,
    team: &Team,
    which: Which<'_>,
) -> Result<Option<Schedule>, Error> {
    let (name, id) = which.columns();
    let params: super::Params<'_> = &[&shard.0, &team.as_str(), &name, &id];
    session.query_opt(sql!("schedules/lock"), params).await?.as_ref().map(read).transpose()
}

/// Locks a schedule without reading it; one that is gone is no error.
pub async fn hold(session: &Session, id: ScheduleId) -> Result<(), Error> {
    session.query(sql!("schedules/hold"), &[&id.shard().0, &id.uuid()]).await.map(drop)
}

/// A schedule of a team.
pub async fn get(
    store: &Store,
    shard: Shard,
    team: &Team,
    which: Which<'_>,
) -> Result<Option<Schedule>, Error> {
    let (name, id) = which.columns();
    let params: super::Params<'_> = &[&shard.0, &team.as_str(), &name, &id];
    store.query(sql!("schedules/get"), params).await?.first().map(read).transpose()
}

/// A page of a team's schedules, newest first, with ids below `before`.
pub async fn list(
    store: &Store,
    team: &Team,
    (states, part, queues): (&[ScheduleState], Option<&str>, Option<&[String]>),
    before: Option<ScheduleId>,
    limit: i64,
) -> Result<Vec<Schedule>, Error> {
    let before = before.map_or(Uuid::max(), ScheduleId::uuid);
    let words: Vec<_> = states.iter().map(|state| state.as_str()).collect();
    let params: super::Params<'_> = &[&team.as_str(), &before, &words, &part, &limit, &queues];
    store.query(sql!("schedules/list"), params).await?.iter().map(read).collect()
}

/// Locks up to `limit` due schedules of one shard, or `only` one if it is due. A row that cannot be read comes as its id and
/// what is wrong, so that it stops nobody else.
pub async fn due(
    session: &Session,
    shard: Shard,
    (only, now): (Option<ScheduleId>, DateTime<Utc>),
    limit: i64,
) -> Result<Vec<Result<Schedule, (ScheduleId, Error)>>, Error> {
    let params: super::Params<'_> = &[&shard.0, &now, &limit, &only.map(ScheduleId::uuid)];
    let rows = session.query(sql!("schedules/due"), params).await?;
    rows.iter()
        .map(|row| {
            let id = ScheduleId::from_uuid(row.try_get("schedule_id")?);
            Ok(read(row).map_err(|error| (id, error)))
        })
        .collect()
}

/// The ids of due schedules of one shard.
pub async fn due_ids(
    store: &Store,
    shard: Shard,
    now: DateTime<Utc>,
    limit: i64,
) -> Result<Vec<ScheduleId>, Error> {
    let rows = store.query(sql!("schedules/due_ids"), &[&shard.0, &now, &limit]).await?;
    rows.iter().map(|row| Ok(ScheduleId::from_uuid(row.try_get("schedule_id")?))).collect()
}

/// When one shard next has a slot to see to.
pub async fn next_slot(store: &Store, shard: Shard) -> Result<Option<DateTime<Utc>>, Error> {
    let rows = store.query(sql!("schedules/next_slot"), &[&shard.0]).await?;
    rows.first().map(|row| Ok(row.try_get("next_slot_at")?)).transpose()
}

/// When each shard next has a slot to see to; shards with none are left out.
pub async fn next_slots(store: &Store) -> Result<Vec<(Shard, DateTime<Utc>)>, Error> {
    let rows = store.query(sql!("schedules/next_slots"), &[]).await?;
    rows.iter()
        .map(|row| Ok((Shard(row.try_get("shard")?), row.try_get("next_slot_at")?)))
        .collect()
}

/// Moves schedules of one shard to where `moved` says that they stand. The caller has locked them.
pub async fn advance(
    session: &Session,
    shard: Shard,
    moved: &[Schedule],
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let ids: Vec<_> = moved.iter().map(|m| m.id.uuid()).collect();
    let accounted: Vec<_> = moved.iter().map(|m| m.accounted_until).collect();
    let slots: Vec<_> = moved.iter().map(|m| m.next_slot_at).collect();
    let nexts: Vec<_> = moved.iter().map(|m| m.next_fire_at).collect();
    let lasts: Vec<_> = moved.iter().map(|m| m.last_fire_at).collect();
    let fires: Vec<_> = moved.iter().map(|m| m.fires).collect();
    let states: Vec<_> = moved.iter().map(|m| m.state.as_str()).collect();
    let reasons: Vec<_> = moved.iter().map(|m| m.reason.as_deref()).collect();
    let params: super::Params<'_> =
        &[&shard.0, &ids, &accounted, &slots, &nexts, &lasts, &fires, &states, &reasons, &now];
    session.query(sql!("schedules/advance"), params).await.map(drop)
}

/// Sets a schedule aside that cannot be worked out, whatever is wrong with it.
pub async fn set_aside(
    store: &Store,
    id: ScheduleId,
    reason: &str,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let params: super::Params<'_> = &[&id.shard().0, &id.uuid(), &reason, &now];
    store.query(sql!("schedules/set_aside"), params).await.map(drop)
}

/// Pauses those of these schedules of one shard that want it when a job of theirs has failed.
pub async fn pause_on_failure(
    session: &Session,
    shard: Shard,
    failed: &[(ScheduleId, String)],
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let (ids, reasons): (Vec<_>, Vec<_>) =
        failed.iter().map(|(id, reason)| (id.uuid(), reason.as_str())).unzip();
    let params: super::Params<'_> = &[&shard.0, &ids, &reasons, &now];
    session.query(sql!("schedules/pause_on_failure"), params).await.map(drop)
}

/// Writes a locked schedule back.
pub async fn change(
    session: &Session,
    schedule: &Schedule,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let params: super::Params<'_> = &[
        &schedule.id.shard().0,
        &schedule.id.uuid(),
        &Json(&schedule.doc),
        &schedule.payload.as_ref(),
        &schedule.state.as_str(),
        &schedule.reason,
        &schedule.accounted_until,
        &schedule.next_slot_at,
        &schedule.next_fire_at,
        &now,
    ];
    session.query(sql!("schedules/change"), params).await.map(drop)
}

/// Deletes a locked schedule.
pub async fn delete(session: &Session, id: ScheduleId) -> Result<(), Error> {
    session.query(sql!("schedules/delete"), &[&id.shard().0, &id.uuid()]).await.map(drop)
}

fn read(row: &Row) -> Result<Schedule, Error> {
    let plan: Result<Json<ScheduleDoc>, _> = row.try_get("plan");
    let Json(doc) =
        plan.map_err(|error| Error::Broken(format!("its plan cannot be read: {}", cause(&error))))?;
    let payload: Vec<u8> = row.try_get("payload")?;
    let state = ScheduleState::parse(row.try_get("state")?);
    Ok(Schedule {
        id: ScheduleId::from_uuid(row.try_get("schedule_id")?),
        team: read_team(row)?,
        name: row.try_get("name")?,
        doc,
        payload: Bytes::from(payload),
        state: state.ok_or_else(|| Error::corrupt("state"))?,
        reason: row.try_get("reason")?,
        accounted_until: row.try_get("accounted_until")?,
        next_slot_at: row.try_get("next_slot_at")?,
        next_fire_at: row.try_get("next_fire_at")?,
        fires: row.try_get("fires")?,
        last_fire_at: row.try_get("last_fire_at")?,
        version: row.try_get("version")?,
        created_at: row.try_get("created_at")?,
        updated_at: row.try_get("updated_at")?,
    })
}

/// The driver's `Display` hides it.
fn cause(error: &tokio_postgres::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}
