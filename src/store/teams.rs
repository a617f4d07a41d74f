//! Teams that somebody has described.

use chrono::{DateTime, Utc};
use tokio_postgres::Row;
use tokio_postgres::types::Json;

use super::live::read_team;
use super::{Error, Session, Store, sql};
use crate::domain::principal::Team;
use crate::domain::team::{Settings, TeamRecord};

/// What every process knows of a team.
#[derive(Clone, Debug)]
pub struct Described {
    /// Which.
    pub team: Team,
    /// Why it is suspended, if it is.
    pub suspended: Option<String>,
    /// What it has settled.
    pub settings: Settings,
}

/// Describes a team for the first time; none if that was done before.
pub async fn insert(
    session: &Session,
    new: &TeamRecord,
    now: DateTime<Utc>,
) -> Result<Option<TeamRecord>, Error> {
    let params: super::Params<'_> = &[&new.team.as_str(), &new.name, &Json(&new.settings), &now];
    let row = session.query_opt(sql!("teams/insert"), params).await?;
    row.as_ref().map(read).transpose()
}

/// A team, if anybody has described it.
pub async fn get(store: &Store, team: &Team) -> Result<Option<TeamRecord>, Error> {
    let rows = store.query(sql!("teams/get"), &[&team.as_str()]).await?;
    rows.first().map(read).transpose()
}

/// The same, locked until the transaction ends.
pub async fn lock(session: &Session, team: &Team) -> Result<Option<TeamRecord>, Error> {
    let row = session.query_opt(sql!("teams/lock"), &[&team.as_str()]).await?;
    row.as_ref().map(read).transpose()
}

/// Teams by slug: those after one, and among some, if these are given.
pub async fn list(
    store: &Store,
    (after, among): (Option<&Team>, Option<&[Team]>),
    limit: i64,
) -> Result<Vec<TeamRecord>, Error> {
    let after = after.map(Team::as_str);
    let among = among.map(|teams| teams.iter().map(Team::as_str).collect::<Vec<_>>());
    store.query(sql!("teams/list"), &[&after, &among, &limit]).await?.iter().map(read).collect()
}

/// Describes or changes a team.
pub async fn put(
    session: &Session,
    team: &TeamRecord,
    now: DateTime<Utc>,
) -> Result<TeamRecord, Error> {
    let (since, reason) = team.suspended.clone().unzip();
    let params: super::Params<'_> =
        &[&team.team.as_str(), &team.name, &Json(&team.settings), &since, &reason, &now];
    let row = session.query_opt(sql!("teams/put"), params).await?;
    read(&row.ok_or_else(|| Error::corrupt("team"))?)
}

/// The teams that are suspended, and why, or have settled anything, and what.
pub async fn described(store: &Store) -> Result<Vec<Described>, Error> {
    store.query(sql!("teams/described"), &[]).await?.iter().map(read_described).collect()
}

pub(super) fn read_described(row: &Row) -> Result<Described, Error> {
    let reason: Option<String> = row.try_get("suspend_reason")?;
    let is_suspended: bool = row.try_get("is_suspended")?;
    let Json(settings) = row.try_get("settings")?;
    let suspended = is_suspended.then(|| reason.unwrap_or_default());
    Ok(Described { team: read_team(row)?, suspended, settings })
}

fn read(row: &Row) -> Result<TeamRecord, Error> {
    let Json(settings) = row.try_get("settings")?;
    let since: Option<DateTime<Utc>> = row.try_get("suspended_at")?;
    let reason: Option<String> = row.try_get("suspend_reason")?;
    Ok(TeamRecord {
        team: read_team(row)?,
        name: row.try_get("name")?,
        suspended: since.map(|since| (since, reason.unwrap_or_default())),
        settings,
        version: row.try_get("version")?,
        created_at: Some(row.try_get("created_at")?),
    })
}
