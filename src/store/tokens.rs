//! Tokens that were revoked before they expired.

use chrono::{DateTime, Utc};

use super::live::read_team;
use super::teams::{Described, read_described};
use super::{Error, Session, Store, sql};
use crate::domain::principal::Team;

/// One revocation.
#[derive(Clone, Debug)]
pub struct Revocation {
    /// Whose token.
    pub team: Team,
    /// The token's `jti`.
    pub jti: String,
    /// When the token ends by itself.
    pub expires_at: DateTime<Utc>,
    /// Grows in the order of commits.
    pub version: i64,
}

/// The number of the next revocation; others wait for this transaction's end to get theirs.
pub async fn next_version(session: &Session) -> Result<i64, Error> {
    let row = session.query_opt(sql!("tokens/next_version"), &[]).await?;
    Ok(row.ok_or_else(|| Error::corrupt("installation"))?.try_get("revocations")?)
}

/// Refuses a token from now on.
pub async fn revoke(session: &Session, revocation: &Revocation) -> Result<(), Error> {
    let Revocation { team, jti, expires_at, version } = revocation;
    let params: super::Params<'_> = &[&team.as_str(), jti, expires_at, version];
    session.query(sql!("tokens/revoke"), params).await.map(drop)
}

/// What is new for every process that serves the API.
#[derive(Clone, Debug, Default)]
pub struct News {
    /// At most as many revocations as were asked for, in their order.
    pub revocations: Vec<Revocation>,
    /// All teams that somebody has described.
    pub teams: Vec<Described>,
}

/// Revocations after `version`, `limit` at most, and the teams.
pub async fn news(store: &Store, version: i64, limit: i64) -> Result<News, Error> {
    let mut news = News::default();
    for row in &store.query(sql!("tokens/news"), &[&version, &limit]).await? {
        match row.try_get::<_, Option<String>>("jti")? {
            None => news.teams.push(read_described(row)?),
            Some(jti) => news.revocations.push(Revocation {
                team: read_team(row)?,
                jti,
                expires_at: row.try_get("expires_at")?,
                version: row.try_get("version")?,
            }),
        }
    }
    Ok(news)
}

/// How many tokens of a team are refused just now, counted up to `most`.
pub async fn count(
    session: &Session,
    team: &Team,
    now: DateTime<Utc>,
    most: i64,
) -> Result<i64, Error> {
    let row = session.query_opt(sql!("tokens/count"), &[&team.as_str(), &now, &most]).await?;
    Ok(row.ok_or_else(|| Error::corrupt("count"))?.try_get("revoked")?)
}

/// Forgets revocations of tokens that ended before `ended`.
pub async fn prune(store: &Store, ended: DateTime<Utc>, most: i64) -> Result<(), Error> {
    store.query(sql!("tokens/prune"), &[&ended, &most]).await.map(drop)
}
