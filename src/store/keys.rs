//! API keys. The text of a key never comes here; its hash does.

use chrono::{DateTime, Utc};
use tokio_postgres::Row;

use super::live::read_team;
use super::{Error, Session, Store, sql};
use crate::domain::key::{Key, KeyId};
use crate::domain::principal::{Role, Team};
use crate::domain::scope::Scope;

/// Where a page of keys ended: what was made when, and which.
pub type Place = (DateTime<Utc>, KeyId);

/// Puts a new key there; false if another one has its public part.
pub async fn insert(session: &Session, key: &Key, hash: [u8; 32]) -> Result<bool, Error> {
    let params: super::Params<'_> = &[
        &key.id.as_str(),
        &key.team.as_str(),
        &key.name,
        &key.role.as_str(),
        &hash.as_slice(),
        &key.expires_at,
        &key.created_by,
        &key.created_at,
        &key.scope.queues(),
    ];
    Ok(session.query_opt(sql!("keys/insert"), params).await?.is_some())
}

/// The key that a caller shows, and its hash.
pub async fn find(store: &Store, id: KeyId) -> Result<Option<(Key, [u8; 32])>, Error> {
    let rows = store.query(sql!("keys/find"), &[&id.as_str()]).await?;
    rows.first()
        .map(|row| {
            let hash: Vec<u8> = row.try_get("hash")?;
            Ok((read(row)?, hash.try_into().or(Err(Error::corrupt("key's hash")))?))
        })
        .transpose()
}

/// A key of a team.
pub async fn get(store: &Store, team: &Team, id: KeyId) -> Result<Option<Key>, Error> {
    let rows = store.query(sql!("keys/get"), &[&team.as_str(), &id.as_str()]).await?;
    rows.first().map(read).transpose()
}

/// The same, locked until the transaction ends.
pub async fn lock(session: &Session, team: &Team, id: KeyId) -> Result<Option<Key>, Error> {
    let row = session.query_opt(sql!("keys/lock"), &[&team.as_str(), &id.as_str()]).await?;
    row.as_ref().map(read).transpose()
}

/// A page of a team's keys, newest first.
pub async fn list(
    store: &Store,
    team: &Team,
    before: Option<Place>,
    limit: i64,
) -> Result<Vec<Key>, Error> {
    let (at, id) = before.unzip();
    let id = id.as_ref().map(KeyId::as_str);
    let rows = store.query(sql!("keys/list"), &[&team.as_str(), &at, &id, &limit]).await?;
    rows.iter().map(read).collect()
}

/// How many keys of a team open something, counted up to `most`.
pub async fn live(
    session: &Session,
    team: &Team,
    now: DateTime<Utc>,
    most: i64,
) -> Result<i64, Error> {
    let row = session.query_opt(sql!("keys/live"), &[&team.as_str(), &now, &most]).await?;
    Ok(row.ok_or_else(|| Error::corrupt("count"))?.try_get("live")?)
}

/// Ends a key for good.
pub async fn revoke(
    session: &Session,
    team: &Team,
    id: KeyId,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let params: super::Params<'_> = &[&team.as_str(), &id.as_str(), &now];
    session.query(sql!("keys/revoke"), params).await.map(drop)
}

/// Lets a key end at `end`, or when it would by itself, if that is earlier.
pub async fn shorten(
    session: &Session,
    team: &Team,
    id: KeyId,
    end: DateTime<Utc>,
) -> Result<(), Error> {
    let params: super::Params<'_> = &[&team.as_str(), &id.as_str(), &end];
    session.query(sql!("keys/shorten"), params).await.map(drop)
}

/// Notes that a key was used, unless that was noted since `before`.
pub async fn touch(
    store: &Store,
    id: KeyId,
    now: DateTime<Utc>,
    before: DateTime<Utc>,
) -> Result<(), Error> {
    store.query(sql!("keys/touch"), &[&id.as_str(), &now, &before]).await.map(drop)
}

fn read(row: &Row) -> Result<Key, Error> {
    let (id, role): (&str, &str) = (row.try_get("key_id")?, row.try_get("role")?);
    Ok(Key {
        id: KeyId::from_characters(id).or(Err(Error::corrupt("key id")))?,
        team: read_team(row)?,
        name: row.try_get("name")?,
        role: Role::parse(role).or(Err(Error::corrupt("role")))?,
        scope: row.try_get::<_, Option<_>>("queues")?.map(Scope::of).unwrap_or_default(),
        expires_at: row.try_get("expires_at")?,
        created_by: row.try_get("created_by")?,
        created_at: row.try_get("created_at")?,
        last_used_at: row.try_get("last_used_at")?,
        revoked_at: row.try_get("revoked_at")?,
    })
}
