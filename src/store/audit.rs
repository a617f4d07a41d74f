//! The audit log: entries are added, and never changed by any statement of ours.

use chrono::{DateTime, Utc};
use tokio_postgres::Row;

use super::live::read_team;
use super::{Bounds, Call, Error, Session, Store, sql};
use crate::domain::audit::{Entry, GENESIS, Hash, Head, Link};
use crate::domain::principal::Team;

/// Which entries of a team's log to list; what is none filters nothing.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// The actor, by name or by credential.
    pub actor: Option<String>,
    /// What was done.
    pub verb: Option<String>,
    /// To what.
    pub object: Option<String>,
    /// Not before.
    pub since: Option<DateTime<Utc>>,
    /// Before.
    pub until: Option<DateTime<Utc>>,
}

/// The end of a team's log; others who append wait for this transaction's end.
pub async fn lock_head(session: &Session, team: &Team) -> Result<Head, Error> {
    let params: super::Params<'_> = &[&team.as_str(), &GENESIS.as_slice()];
    let row = session.query_opt(sql!("audit/lock_head"), params).await?;
    read_head(&row.ok_or_else(|| Error::corrupt("audit head"))?)
}

/// Adds an entry, and notes that it is the last.
pub async fn append(session: &Session, link: &Link) -> Result<(), Error> {
    let Link { entry, previous, hash } = link;
    let added: super::Params<'_> = &[
        &entry.team.as_str(),
        &entry.seq,
        &entry.at,
        &entry.kind,
        &entry.subject,
        &entry.credential,
        &entry.verb,
        &entry.object,
        &entry.before,
        &entry.after,
        &entry.reason,
        &entry.address,
        &entry.request_id,
        &previous.as_slice(),
        &hash.as_slice(),
    ];
    let head = Head { seq: entry.seq, hash: *hash };
    let added = Call::new(sql!("audit/append"), added);
    let head: super::Params<'_> = &[&entry.team.as_str(), &head.seq, &hash.as_slice()];
    session.flight(Bounds::Inside, &[added, advance(head)]).await.map(drop)
}

/// Goes out together with the entry.
fn advance(params: super::Params<'_>) -> Call<'_> {
    Call::new(sql!("audit/advance"), params)
}

/// The noted end of a team's log.
pub async fn head(store: &Store, team: &Team) -> Result<Option<Head>, Error> {
    let rows = store.query(sql!("audit/head"), &[&team.as_str()]).await?;
    rows.first().map(read_head).transpose()
}

/// Every team that has a log, or the end of one.
pub async fn teams(store: &Store) -> Result<Vec<Team>, Error> {
    store.query(sql!("audit/teams"), &[]).await?.iter().map(read_team).collect()
}

/// A page of a team's log, newest first, below a number.
pub async fn list(
    store: &Store,
    team: &Team,
    filter: &Filter,
    (below, limit): (i64, i64),
) -> Result<Vec<Link>, Error> {
    let Filter { actor, verb, object, since, until } = filter;
    let params: super::Params<'_> =
        &[&team.as_str(), &below, actor, verb, object, since, until, &limit];
    store.query(sql!("audit/list"), params).await?.iter().map(read).collect()
}

/// A page of a team's log in its order, after a number.
pub async fn walk(store: &Store, team: &Team, after: i64, limit: i64) -> Result<Vec<Link>, Error> {
    let params: super::Params<'_> = &[&team.as_str(), &after, &limit];
    store.query(sql!("audit/walk"), params).await?.iter().map(read).collect()
}

fn read_head(row: &Row) -> Result<Head, Error> {
    Ok(Head { seq: row.try_get("seq")?, hash: read_hash(row, "hash")? })
}

fn read(row: &Row) -> Result<Link, Error> {
    Ok(Link {
        entry: Entry {
            team: read_team(row)?,
            seq: row.try_get("seq")?,
            at: row.try_get("at")?,
            kind: row.try_get("kind")?,
            subject: row.try_get("subject")?,
            credential: row.try_get("credential")?,
            verb: row.try_get("verb")?,
            object: row.try_get("object")?,
            before: row.try_get("before")?,
            after: row.try_get("after")?,
            reason: row.try_get("reason")?,
            address: row.try_get("address")?,
            request_id: row.try_get("request_id")?,
        },
        previous: read_hash(row, "prev_hash")?,
        hash: read_hash(row, "hash")?,
    })
}

fn read_hash(row: &Row, column: &str) -> Result<Hash, Error> {
    let bytes: Vec<u8> = row.try_get(column)?;
    bytes.try_into().or(Err(Error::corrupt("hash")))
}
