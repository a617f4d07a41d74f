//! Sessions: families of refresh tokens, of which the newest one's hash is kept.

use chrono::{DateTime, Utc};
use tokio_postgres::Row;

use super::live::read_team;
use super::{Error, Session as Connection, Store, sql};
use crate::domain::id::{SessionId, UserId};
use crate::domain::principal::Team;

/// A session as it is kept.
#[derive(Clone, Debug)]
pub struct Session {
    /// Its identity.
    pub id: SessionId,
    /// Whose it is.
    pub user: UserId,
    /// In which team.
    pub team: Team,
    /// The hash of the newest refresh token.
    pub hash: Vec<u8>,
    /// Its access tokens name it.
    pub epoch: i32,
    /// When it ends if it is not refreshed.
    pub expires_at: DateTime<Utc>,
}

/// Puts a new one there, in its first epoch.
pub async fn insert(
    connection: &Connection,
    new: &Session,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let params: super::Params<'_> =
        &[&new.id.uuid(), &new.user.uuid(), &new.team.as_str(), &new.hash, &now, &new.expires_at];
    connection.query(sql!("sessions/insert"), params).await.map(drop)
}

/// One, locked until the transaction ends.
pub async fn lock(connection: &Connection, id: SessionId) -> Result<Option<Session>, Error> {
    let row = connection.query_opt(sql!("sessions/lock"), &[&id.uuid()]).await?;
    row.as_ref().map(read).transpose()
}

/// Those of a person, in one team or in all, locked until the transaction ends.
pub async fn of_user(
    connection: &Connection,
    user: UserId,
    team: Option<&Team>,
) -> Result<Vec<Session>, Error> {
    let team = team.map(Team::as_str);
    let rows = connection.query(sql!("sessions/of_user"), &[&user.uuid(), &team]).await?;
    rows.iter().map(read).collect()
}

/// Keeps the hash of a new refresh token.
pub async fn rotate(
    connection: &Connection,
    id: SessionId,
    hash: [u8; 32],
    expires_at: DateTime<Utc>,
) -> Result<(), Error> {
    let params: super::Params<'_> = &[&id.uuid(), &hash.as_slice(), &expires_at];
    connection.query(sql!("sessions/rotate"), params).await.map(drop)
}

/// Begins a new epoch.
pub async fn renew(connection: &Connection, id: SessionId) -> Result<(), Error> {
    connection.query(sql!("sessions/renew"), &[&id.uuid()]).await.map(drop)
}

/// Ends one.
pub async fn delete(connection: &Connection, id: SessionId) -> Result<(), Error> {
    connection.query(sql!("sessions/delete"), &[&id.uuid()]).await.map(drop)
}

/// Forgets those that ended before `ended`.
pub async fn prune(store: &Store, ended: DateTime<Utc>, most: i64) -> Result<(), Error> {
    store.query(sql!("sessions/prune"), &[&ended, &most]).await.map(drop)
}

fn read(row: &Row) -> Result<Session, Error> {
    Ok(Session {
        id: SessionId::from_uuid(row.try_get("session_id")?),
        user: UserId::from_uuid(row.try_get("user_id")?),
        team: read_team(row)?,
        hash: row.try_get("hash")?,
        epoch: row.try_get("epoch")?,
        expires_at: row.try_get("expires_at")?,
    })
}
