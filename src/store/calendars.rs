//! Days on which business rests.

use chrono::{DateTime, Utc};
use tokio_postgres::Row;
use tokio_postgres::types::Json;

use super::{Error, Session, Store, sql};
use crate::domain::id::ScheduleId;
use crate::domain::principal::Team;
use crate::domain::schedule::doc::CalendarDoc;
use crate::domain::schedule::record::CalendarRecord;

/// Some calendars of a team; those that do not exist are left out.
pub async fn get(
    session: &Session,
    team: &Team,
    names: &[String],
) -> Result<Vec<CalendarDoc>, Error> {
    let rows = session.query(sql!("calendars/get"), &[&team.as_str(), &names]).await?;
    rows.iter().map(|row| Ok(read(row)?.doc)).collect()
}

/// The calendars of a team, by name.
pub async fn list(store: &Store, team: &Team, limit: i64) -> Result<Vec<CalendarRecord>, Error> {
    let rows = store.query(sql!("calendars/list"), &[&team.as_str(), &limit]).await?;
    rows.iter().map(read).collect()
}

/// One calendar of a team.
pub async fn find(store: &Store, team: &Team, name: &str) -> Result<Option<CalendarRecord>, Error> {
    let names = vec![name];
    let rows = store.query(sql!("calendars/get"), &[&team.as_str(), &names]).await?;
    rows.first().map(read).transpose()
}

/// The same, locked until the transaction ends.
pub async fn lock(
    session: &Session,
    team: &Team,
    name: &str,
) -> Result<Option<CalendarRecord>, Error> {
    let row = session.query_opt(sql!("calendars/lock"), &[&team.as_str(), &name]).await?;
    row.as_ref().map(read).transpose()
}

/// Creates or replaces a calendar; one that says the same already keeps its version.
pub async fn put(
    session: &Session,
    team: &Team,
    calendar: &CalendarDoc,
    now: DateTime<Utc>,
) -> Result<CalendarRecord, Error> {
    let params: super::Params<'_> = &[&team.as_str(), &calendar.name, &Json(calendar), &now];
    let row = session.query_opt(sql!("calendars/put"), params).await?;
    read(&row.ok_or_else(|| Error::corrupt("calendar"))?)
}

/// Deletes a calendar that no schedule uses; false if there was none to delete.
pub async fn delete(session: &Session, team: &Team, name: &str) -> Result<bool, Error> {
    Ok(session.query_opt(sql!("calendars/delete"), &[&team.as_str(), &name]).await?.is_some())
}

/// Schedules of a team that exclude the days of a calendar.
pub async fn users(
    store: &Store,
    team: &Team,
    name: &str,
) -> Result<Vec<(ScheduleId, String)>, Error> {
    let rows = store.query(sql!("calendars/users"), &[&team.as_str(), &name]).await?;
    rows.iter()
        .map(|row| Ok((ScheduleId::from_uuid(row.try_get("schedule_id")?), row.try_get("name")?)))
        .collect()
}

fn read(row: &Row) -> Result<CalendarRecord, Error> {
    let Json(days): Json<CalendarDoc> = row.try_get("days")?;
    Ok(CalendarRecord {
        doc: CalendarDoc { name: row.try_get("name")?, ..days },
        version: row.try_get("version")?,
        updated_at: row.try_get("updated_at")?,
    })
}
