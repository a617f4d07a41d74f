//! Secrets as they are stored: sealed. What seals and opens them is in `engine`; here they are text.

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_postgres::Row;
use tokio_postgres::types::Json;
use uuid::Uuid;

use super::live::read_team;
use super::{Error, Session, Statement, Store, sql};
use crate::domain::id::{Shard, SigningId};
use crate::domain::job::Spec;
use crate::domain::principal::Team;
use crate::domain::schedule::doc::ScheduleDoc;
use crate::domain::signature::{PublicKey, SigningKind};

/// A signing secret.
#[derive(Clone, Debug)]
pub struct SigningRow {
    /// Its identity.
    pub id: SigningId,
    /// Whose it is.
    pub team: Team,
    /// The queue whose calls it signs; empty for all of the team's.
    pub queue: String,
    /// How it signs.
    pub kind: SigningKind,
    /// The secret, sealed.
    pub sealed: String,
    /// The public half, of a pair of keys.
    pub public_key: Option<PublicKey>,
    /// A short keyed hash of it.
    pub mask: String,
    /// Who made it.
    pub created_by: String,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// From when on it signs nothing; none for the current one.
    pub expires_at: Option<DateTime<Utc>>,
}

/// What the secret key must open, if there is such a thing yet.
pub async fn canary(store: &Store) -> Result<Option<String>, Error> {
    let rows = store.query(sql!("secrets/canary"), &[]).await?;
    rows.first().map(|row| Ok(row.try_get("sealed")?)).transpose()
}

/// Makes the canary, unless there is one.
pub async fn set_canary(store: &Store, sealed: &str) -> Result<(), Error> {
    store.query(sql!("secrets/set_canary"), &[&sealed]).await.map(drop)
}

/// Replaces the canary; false if it was another one.
pub async fn reseal_canary(store: &Store, old: &str, new: &str) -> Result<bool, Error> {
    Ok(!store.query(sql!("secrets/reseal_canary"), &[&old, &new]).await?.is_empty())
}

/// Adds the current secret of a team, queue and kind; false if they have one.
pub async fn insert(session: &Session, new: &SigningRow) -> Result<bool, Error> {
    let public_key = new.public_key.map(|key| key.to_string());
    let params: super::Params<'_> = &[
        &new.team.as_str(),
        &new.id.uuid(),
        &new.queue,
        &new.kind.as_str(),
        &new.sealed,
        &public_key,
        &new.mask,
        &new.created_by,
        &new.created_at,
    ];
    Ok(session.query_opt(sql!("secrets/insert"), params).await?.is_some())
}

/// A team's secrets, newest first, those that sign no more included.
pub async fn list(store: &Store, team: &Team) -> Result<Vec<SigningRow>, Error> {
    store.query(sql!("secrets/list"), &[&team.as_str()]).await?.iter().map(read).collect()
}

/// A team's secrets that sign at `now`: the current ones first, then the newest.
pub async fn active(
    session: &Session,
    team: &Team,
    now: DateTime<Utc>,
) -> Result<Vec<SigningRow>, Error> {
    let rows = session.query(sql!("secrets/active"), &[&team.as_str(), &now]).await?;
    rows.iter().map(read).collect()
}

/// Lets the current secret of a team, queue and kind sign until `until` only; false if there is none.
pub async fn succeed(
    session: &Session,
    team: &Team,
    (queue, kind): (&str, SigningKind),
    until: DateTime<Utc>,
) -> Result<bool, Error> {
    let params: super::Params<'_> = &[&team.as_str(), &queue, &kind.as_str(), &until];
    Ok(session.query_opt(sql!("secrets/succeed"), params).await?.is_some())
}

/// Ends a secret; false if it is not there or has ended.
pub async fn revoke(
    session: &Session,
    team: &Team,
    id: SigningId,
    now: DateTime<Utc>,
) -> Result<bool, Error> {
    let params: super::Params<'_> = &[&team.as_str(), &id.uuid(), &now];
    Ok(!session.query(sql!("secrets/revoke"), params).await?.is_empty())
}

/// Forgets a team's secrets that have ended before `before`.
pub async fn prune(session: &Session, team: &Team, before: DateTime<Utc>) -> Result<(), Error> {
    session.query(sql!("secrets/prune"), &[&team.as_str(), &before]).await.map(drop)
}

/// Some secrets of all teams, after one, whose sealed text does not begin with `prefix`.
pub async fn stale(
    store: &Store,
    prefix: &str,
    (team, id): (&str, Uuid),
) -> Result<Vec<SigningRow>, Error> {
    let rows = store.query(sql!("secrets/stale"), &[&prefix, &team, &id]).await?;
    rows.iter().map(read).collect()
}

/// Stores a secret sealed anew; false if it has changed meanwhile.
pub async fn reseal(store: &Store, row: &SigningRow, sealed: &str) -> Result<bool, Error> {
    let params: super::Params<'_> = &[&row.team.as_str(), &row.id.uuid(), &row.sealed, &sealed];
    Ok(!store.query(sql!("secrets/reseal"), params).await?.is_empty())
}

/// A document that holds sealed headers.
#[derive(Clone, Debug)]
pub struct Holder<D> {
    /// The job or schedule.
    pub id: Uuid,
    /// Whose it is.
    pub team: Team,
    /// What it says.
    pub document: D,
    /// The same as it is stored.
    text: String,
}

/// Some jobs of one shard, after one, that hold sealed headers.
pub async fn jobs(store: &Store, shard: Shard, after: Uuid) -> Result<Vec<Holder<Spec>>, Error> {
    holders(store, sql!("secrets/jobs"), shard, after).await
}

/// Stores a job's definition sealed anew; false if it has changed meanwhile.
pub async fn reseal_job(store: &Store, shard: Shard, holder: &Holder<Spec>) -> Result<bool, Error> {
    put(store, sql!("secrets/reseal_job"), shard, holder).await
}

/// Some schedules of one shard, after one, that hold sealed headers.
pub async fn schedules(
    store: &Store,
    shard: Shard,
    after: Uuid,
) -> Result<Vec<Holder<ScheduleDoc>>, Error> {
    holders(store, sql!("secrets/schedules"), shard, after).await
}

/// Stores a schedule's definition sealed anew; false if it has changed meanwhile.
pub async fn reseal_schedule(
    store: &Store,
    shard: Shard,
    holder: &Holder<ScheduleDoc>,
) -> Result<bool, Error> {
    put(store, sql!("secrets/reseal_schedule"), shard, holder).await
}

async fn holders<D: DeserializeOwned>(
    store: &Store,
    statement: Statement,
    shard: Shard,
    after: Uuid,
) -> Result<Vec<Holder<D>>, Error> {
    let rows = store.query(statement, &[&shard.0, &after]).await?;
    rows.iter()
        .map(|row| {
            let Json(raw): Json<Box<serde_json::value::RawValue>> = row.try_get("document")?;
            let text = raw.get().to_owned();
            let document = serde_json::from_str(&text).or(Err(Error::corrupt("document")))?;
            Ok(Holder { id: row.try_get("id")?, team: read_team(row)?, document, text })
        })
        .collect()
}

async fn put<D: Serialize + std::fmt::Debug + Sync>(
    store: &Store,
    statement: Statement,
    shard: Shard,
    holder: &Holder<D>,
) -> Result<bool, Error> {
    let params: super::Params<'_> = &[&shard.0, &holder.id, &holder.text, &Json(&holder.document)];
    Ok(!store.query(statement, params).await?.is_empty())
}

fn read(row: &Row) -> Result<SigningRow, Error> {
    let kind = SigningKind::parse(row.try_get("kind")?).ok_or_else(|| Error::corrupt("kind"))?;
    let public_key: Option<&str> = row.try_get("public_key")?;
    let public_key = public_key.map(PublicKey::parse).transpose();
    Ok(SigningRow {
        id: SigningId::from_uuid(row.try_get("secret_id")?),
        team: read_team(row)?,
        queue: row.try_get("queue")?,
        kind,
        sealed: row.try_get("sealed")?,
        public_key: public_key.or(Err(Error::corrupt("public_key")))?,
        mask: row.try_get("mask")?,
        created_by: row.try_get("created_by")?,
        created_at: row.try_get("created_at")?,
        expires_at: row.try_get("expires_at")?,
    })
}
