//! Queues that somebody has changed.

use chrono::{DateTime, Utc};
use tokio_postgres::Row;

use super::live::read_team;
use super::{Error, Session, Store, sql};
use crate::domain::principal::Team;
use crate::domain::queue::Queue;

/// The queue, if anybody has changed it.
pub async fn get(store: &Store, team: &Team, name: &str) -> Result<Option<Queue>, Error> {
    let rows = store.query(sql!("queues/get"), &[&team.as_str(), &name]).await?;
    rows.first().map(read).transpose()
}

/// The same, locked until the transaction ends.
pub async fn lock(session: &Session, team: &Team, name: &str) -> Result<Option<Queue>, Error> {
    let row = session.query_opt(sql!("queues/lock"), &[&team.as_str(), &name]).await?;
    row.as_ref().map(read).transpose()
}

/// Creates it or changes its description.
pub async fn put(
    session: &Session,
    team: &Team,
    name: &str,
    description: Option<&str>,
    now: DateTime<Utc>,
) -> Result<Queue, Error> {
    let params: super::Params<'_> = &[&team.as_str(), &name, &description, &now];
    let row = session.query_opt(sql!("queues/put"), params).await?;
    row.as_ref().map_or_else(|| Err(Error::corrupt("queue")), read)
}

/// Pauses it for a reason, or resumes it.
pub async fn pause(
    session: &Session,
    team: &Team,
    name: &str,
    paused: Option<&str>,
    now: DateTime<Utc>,
) -> Result<Queue, Error> {
    let params: super::Params<'_> = &[&team.as_str(), &name, &paused.is_some(), &paused, &now];
    let row = session.query_opt(sql!("queues/pause"), params).await?;
    row.as_ref().map_or_else(|| Err(Error::corrupt("queue")), read)
}

/// A queue that the sweep has to do with.
#[derive(Clone, Debug)]
pub struct Unsettled {
    /// Whose it is.
    pub team: Team,
    /// Its name.
    pub name: String,
    /// Whether it is paused, or resumed with jobs that may still be set aside.
    pub paused: bool,
}

/// The queues that are paused, or may still have jobs set aside.
pub async fn unsettled(store: &Store) -> Result<Vec<Unsettled>, Error> {
    let rows = store.query(sql!("queues/unsettled"), &[]).await?;
    rows.iter()
        .map(|row| {
            Ok(Unsettled {
                team: read_team(row)?,
                name: row.try_get("name")?,
                paused: row.try_get("paused")?,
            })
        })
        .collect()
}

/// Notes that every job of a resumed queue has been given back.
pub async fn settled(store: &Store, team: &Team, name: &str) -> Result<(), Error> {
    store.query(sql!("queues/settled"), &[&team.as_str(), &name]).await.map(drop)
}

fn read(row: &Row) -> Result<Queue, Error> {
    Ok(Queue {
        name: row.try_get("name")?,
        paused: row.try_get("paused")?,
        pause_reason: row.try_get("pause_reason")?,
        description: row.try_get("description")?,
        version: row.try_get("version")?,
        updated_at: row.try_get("updated_at")?,
    })
}
