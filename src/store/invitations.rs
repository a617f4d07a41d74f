//! Invitations that nobody has accepted yet, by the hash of their token.

use chrono::{DateTime, Utc};
use tokio_postgres::Row;

use super::live::read_team;
use super::members::read_role;
use super::{Error, Session, Store, sql};
use crate::domain::person::Invitation;
use crate::domain::principal::Team;

/// Puts a new one there.
pub async fn insert(
    session: &Session,
    new: &Invitation,
    hash: [u8; 32],
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let params: super::Params<'_> = &[
        &hash.as_slice(),
        &new.team.as_str(),
        &new.email,
        &new.role.as_str(),
        &now,
        &new.expires_at,
    ];
    session.query(sql!("invitations/insert"), params).await.map(drop)
}

/// Takes it away, if it has not ended.
pub async fn take(
    session: &Session,
    hash: [u8; 32],
    now: DateTime<Utc>,
) -> Result<Option<Invitation>, Error> {
    let row = session.query_opt(sql!("invitations/take"), &[&hash.as_slice(), &now]).await?;
    row.as_ref().map(read).transpose()
}

/// One that has not ended.
pub async fn find(
    store: &Store,
    hash: [u8; 32],
    now: DateTime<Utc>,
) -> Result<Option<Invitation>, Error> {
    let rows = store.query(sql!("invitations/find"), &[&hash.as_slice(), &now]).await?;
    rows.first().map(read).transpose()
}

/// How many to a team are open, counted up to `most`.
pub async fn open(
    session: &Session,
    team: &Team,
    now: DateTime<Utc>,
    most: i64,
) -> Result<i64, Error> {
    let row = session.query_opt(sql!("invitations/open"), &[&team.as_str(), &now, &most]).await?;
    Ok(row.ok_or_else(|| Error::corrupt("count"))?.try_get("open")?)
}

/// Forgets those that ended before `ended`.
pub async fn prune(store: &Store, ended: DateTime<Utc>, most: i64) -> Result<(), Error> {
    store.query(sql!("invitations/prune"), &[&ended, &most]).await.map(drop)
}

fn read(row: &Row) -> Result<Invitation, Error> {
    Ok(Invitation {
        team: read_team(row)?,
        email: row.try_get("email")?,
        role: read_role(row)?,
        expires_at: row.try_get("expires_at")?,
    })
}
