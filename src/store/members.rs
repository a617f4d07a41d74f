//! Who is what in which team.

use chrono::{DateTime, Utc};
use tokio_postgres::Row;

use super::live::read_team;
use super::{Error, Session, Store, sql};
use crate::domain::id::UserId;
use crate::domain::person::Member;
use crate::domain::principal::{Role, Team};

/// Makes somebody a member; false if they are one.
pub async fn insert(
    session: &Session,
    (team, user): (&Team, UserId),
    role: Role,
    now: DateTime<Utc>,
) -> Result<bool, Error> {
    let params: super::Params<'_> = &[&team.as_str(), &user.uuid(), &role.as_str(), &now];
    Ok(session.query_opt(sql!("members/insert"), params).await?.is_some())
}

/// A team's members.
pub async fn list(store: &Store, team: &Team, limit: i64) -> Result<Vec<Member>, Error> {
    let rows = store.query(sql!("members/list"), &[&team.as_str(), &limit]).await?;
    rows.iter().map(read).collect()
}

/// A member of a team.
pub async fn get(session: &Session, team: &Team, user: UserId) -> Result<Option<Member>, Error> {
    let row = session.query_opt(sql!("members/get"), &[&team.as_str(), &user.uuid()]).await?;
    row.as_ref().map(read).transpose()
}

/// Everybody's role in a team, locked until the transaction ends.
pub async fn lock(session: &Session, team: &Team) -> Result<Vec<(UserId, Role)>, Error> {
    let rows = session.query(sql!("members/lock"), &[&team.as_str()]).await?;
    let read = |row: &Row| Ok((UserId::from_uuid(row.try_get("user_id")?), read_role(row)?));
    rows.iter().map(read).collect()
}

/// What a member is from now on.
pub async fn set_role(
    session: &Session,
    team: &Team,
    user: UserId,
    role: Role,
) -> Result<(), Error> {
    let params: super::Params<'_> = &[&team.as_str(), &user.uuid(), &role.as_str()];
    session.query(sql!("members/set_role"), params).await.map(drop)
}

/// Somebody is no member any more.
pub async fn delete(session: &Session, team: &Team, user: UserId) -> Result<(), Error> {
    session.query(sql!("members/delete"), &[&team.as_str(), &user.uuid()]).await.map(drop)
}

/// The teams of a person, and what they are there.
pub async fn teams(
    session: &Session,
    user: UserId,
    limit: i64,
) -> Result<Vec<(Team, Role)>, Error> {
    let rows = session.query(sql!("members/teams"), &[&user.uuid(), &limit]).await?;
    rows.iter().map(|row| Ok((read_team(row)?, read_role(row)?))).collect()
}

pub(super) fn read_role(row: &Row) -> Result<Role, Error> {
    Role::parse(row.try_get("role")?).or(Err(Error::corrupt("role")))
}

fn read(row: &Row) -> Result<Member, Error> {
    Ok(Member {
        user: UserId::from_uuid(row.try_get("user_id")?),
        email: row.try_get("email")?,
        name: row.try_get("name")?,
        role: read_role(row)?,
        joined_at: row.try_get("joined_at")?,
    })
}
