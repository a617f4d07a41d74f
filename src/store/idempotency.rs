//! Answers kept for repeats of a request, inside the caller's transaction.

use std::collections::HashSet;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio_postgres::types::ToSql;

use super::{Bounds, Call, Error, Session, Store, sql};
use crate::domain::id::Shard;

/// A request's key: where it lives, what it is, and what came with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The shard of the key, a function of its scope.
    pub shard: Shard,
    /// SHA-256 of team, principal kind, method, route and key.
    pub scope: Vec<u8>,
    /// SHA-256 of route and body.
    pub fingerprint: Vec<u8>,
    /// When the key may be used anew.
    pub expires_at: DateTime<Utc>,
}

/// An answer as kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// The status code.
    pub status: i16,
    /// Where the thing made is found.
    pub location: Option<String>,
    /// Whether an older thing was given instead of a new one.
    pub deduplicated: bool,
    /// The body, byte for byte.
    pub body: Vec<u8>,
}

/// Begins a transaction and takes the key in it. False: somebody has it; the transaction is open
/// all the same.
pub async fn take(session: &Session, key: &Key, now: DateTime<Utc>) -> Result<bool, Error> {
    let params: super::Params<'_> =
        &[&key.shard.0, &key.scope, &key.fingerprint, &now, &key.expires_at];
    let call = Call::new(sql!("idempotency/take"), params);
    let answers = session.flight(Bounds::Begin, &[call]).await?;
    Ok(answers.first().is_some_and(|rows| !rows.is_empty()))
}

/// Begins a transaction in which no lock is waited for longer than `patience`, and takes the keys of
/// several requests in it, with the answers that they will get if all is committed. Returns the scopes
/// of those that nobody has.
pub async fn take_all(
    session: &Session,
    shards: &[(Shard, Vec<(&Key, &Kept)>)],
    (patience, now): (Duration, DateTime<Utc>),
) -> Result<HashSet<Vec<u8>>, Error> {
    let patience = patience.as_millis().to_string();
    let columns: Vec<_> = shards.iter().map(|(shard, keys)| Columns::new(*shard, keys)).collect();
    let params: Vec<_> = columns.iter().map(|columns| columns.params(&now)).collect();
    let patience: [&(dyn ToSql + Sync); 1] = [&patience];
    let mut calls = vec![Call::new(sql!("idempotency/patience"), &patience)];
    calls.extend(params.iter().map(|params| Call::new(sql!("idempotency/take_all"), params)));
    let answers = session.flight(Bounds::Begin, &calls).await?;
    answers.iter().skip(1).flatten().map(|row| Ok(row.try_get("scope")?)).collect()
}

/// Gives keys of one shard back that this transaction has taken.
pub async fn give_back(session: &Session, shard: Shard, scopes: &[&[u8]]) -> Result<(), Error> {
    session.query(sql!("idempotency/give_back"), &[&shard.0, &scopes]).await.map(drop)
}

/// Keeps the answer beside the work.
pub async fn keep(session: &Session, key: &Key, kept: &Kept) -> Result<(), Error> {
    let params: super::Params<'_> =
        &[&key.shard.0, &key.scope, &kept.status, &kept.location, &kept.deduplicated, &kept.body];
    session.query(sql!("idempotency/keep"), params).await.map(drop)
}

/// The fingerprint and the answer kept under a key.
pub async fn get(session: &Session, key: &Key) -> Result<Option<(Vec<u8>, Kept)>, Error> {
    let row = session.query_opt(sql!("idempotency/get"), &[&key.shard.0, &key.scope]).await?;
    row.map(|row| {
        let kept = Kept {
            status: row.try_get::<_, Option<i16>>("status")?.unwrap_or_default(),
            location: row.try_get("location")?,
            deduplicated: row.try_get("deduplicated")?,
            body: row.try_get::<_, Option<Vec<u8>>>("body")?.unwrap_or_default(),
        };
        Ok((row.try_get("fingerprint")?, kept))
    })
    .transpose()
}

/// Forgets up to `limit` keys of a shard past their lifetime.
pub async fn prune(
    store: &Store,
    shard: Shard,
    now: DateTime<Utc>,
    limit: i64,
) -> Result<(), Error> {
    store.query(sql!("idempotency/prune"), &[&shard.0, &now, &limit]).await.map(drop)
}

/// Keys and answers of one shard, column by column.
struct Columns<'a> {
    shard: i32,
    scopes: Vec<&'a [u8]>,
    fingerprints: Vec<&'a [u8]>,
    expiries: Vec<DateTime<Utc>>,
    statuses: Vec<i16>,
    locations: Vec<Option<&'a str>>,
    deduplicated: Vec<bool>,
    bodies: Vec<&'a [u8]>,
}

impl<'a> Columns<'a> {
    fn new(shard: Shard, keys: &[(&'a Key, &'a Kept)]) -> Self {
        Self {
            shard: shard.0,
            scopes: keys.iter().map(|(key, _)| key.scope.as_slice()).collect(),
            fingerprints: keys.iter().map(|(key, _)| key.fingerprint.as_slice()).collect(),
            expiries: keys.iter().map(|(key, _)| key.expires_at).collect(),
            statuses: keys.iter().map(|(_, kept)| kept.status).collect(),
            locations: keys.iter().map(|(_, kept)| kept.location.as_deref()).collect(),
            deduplicated: keys.iter().map(|(_, kept)| kept.deduplicated).collect(),
            bodies: keys.iter().map(|(_, kept)| kept.body.as_slice()).collect(),
        }
    }

    fn params<'s>(&'s self, now: &'s DateTime<Utc>) -> [&'s (dyn ToSql + Sync); 9] {
        [
            &self.shard,
            &self.scopes,
            &self.fingerprints,
            &self.expiries,
            &self.statuses,
            &self.locations,
            &self.deduplicated,
            &self.bodies,
            now,
        ]
    }
}
