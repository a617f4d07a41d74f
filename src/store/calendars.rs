//! Days on which business rests.

use chrono::{DateTime, Utc};
use tokio_postgres::types::Json;

use super::{Error, Session, Store, sql};
use crate::domain::principal::Team;
use crate::domain::schedule::doc::CalendarDoc;

/// Some calendars of a team; those that do not exist are left out.
pub async fn get(
    session: &Session,
    team: &Team,
    names: &[String],
) -> Result<Vec<CalendarDoc>, Error> {
    let rows = session.query(sql!("calendars/get"), &[&team.as_str(), &names]).await?;
    rows.iter()
        .map(|row| {
            let Json(days): Json<CalendarDoc> = row.try_get("days")?;
            Ok(CalendarDoc { name: row.try_get("name")?, ..days })
        })
        .collect()
}

/// Creates or replaces a calendar; returns its version.
pub async fn put(
    store: &Store,
    team: &Team,
    calendar: &CalendarDoc,
    now: DateTime<Utc>,
) -> Result<i32, Error> {
    let params: super::Params<'_> = &[&team.as_str(), &calendar.name, &Json(calendar), &now];
    let row = store.query(sql!("calendars/put"), params).await?.pop();
    Ok(row.ok_or_else(|| Error::corrupt("calendar"))?.try_get("version")?)
}
