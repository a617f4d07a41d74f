//! The members of a team: look, change a role, remove. Owners decide about owners and admins; a team
//! that has owners keeps one.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::audit::{self, Deed};
use super::error::allow_everywhere;
use super::login::session::renew;
use super::once::whole;
use super::teams::allow_in;
use super::{Ctx, Error, Refusal};
use crate::domain::id::UserId;
use crate::domain::person::Member;
use crate::domain::principal::{Act, Kind, Principal, Role, Team};
use crate::store::{Session, members};

/// The most members of a list.
const LIST_LIMIT: i64 = 1_000;
const MISSING: Error = Error::Missing { noun: "member" };

/// The members of a team, those who were there first before the others.
pub async fn list(ctx: &Ctx, who: &Principal, team: &Team) -> Result<Vec<Member>, Error> {
    allow_in(who, team, Act::Read)?;
    allow_everywhere(who, "its members")?;
    Ok(members::list(&ctx.store, team, LIST_LIMIT).await?)
}

/// One member.
pub async fn get(ctx: &Ctx, who: &Principal, team: &Team, user: UserId) -> Result<Member, Error> {
    allow_in(who, team, Act::Read)?;
    allow_everywhere(who, "its members")?;
    members::get(&ctx.store.session().await?, team, user).await?.ok_or(MISSING)
}

/// Changes what a member is. Their access tokens are void at once; refreshing brings new ones.
pub async fn set_role(
    ctx: &Ctx,
    who: &Principal,
    (team, user): (&Team, UserId),
    role: Role,
) -> Result<Member, Error> {
    allow_in(who, team, Act::Manage)?;
    let now = ctx.clock.now();
    let work = async |session: &Session| {
        let before = lock(session, team, user).await?;
        allow_in(who, team, before.role.granted_by())?;
        allow_in(who, team, role.granted_by())?;
        if before.role == role {
            return Ok((before, Vec::new()));
        }
        check_owners(session, team, user, role).await?;
        members::set_role(session, team, user, role).await?;
        let ended = renew(session, team, user, now).await?;
        let after = json!({"role": role.as_str()});
        record(session, who, (team, "put", &before), after, now).await?;
        Ok((Member { role, ..before }, ended))
    };
    let (member, ended) = whole(ctx, work).await?;
    ctx.access.refuse_all(&ended);
    Ok(member)
}

/// Removes a member, who may do so too: whoever is one may leave.
pub async fn remove(
    ctx: &Ctx,
    who: &Principal,
    (team, user): (&Team, UserId),
) -> Result<(), Error> {
    let leaves = who.kind == Kind::User && who.subject.as_str() == user.to_string();
    allow_in(who, team, if leaves { Act::Read } else { Act::Manage })?;
    let now = ctx.clock.now();
    let work = async |session: &Session| {
        let before = lock(session, team, user).await?;
        if !leaves {
            allow_in(who, team, before.role.granted_by())?;
        }
        check_owners(session, team, user, Role::Viewer).await?;
        members::delete(session, team, user).await?;
        let ended = renew(session, team, user, now).await?;
        record(session, who, (team, "delete", &before), Value::Null, now).await?;
        Ok(ended)
    };
    ctx.access.refuse_all(&whole(ctx, work).await?);
    Ok(())
}

async fn lock(session: &Session, team: &Team, user: UserId) -> Result<Member, Error> {
    members::lock(session, team).await?;
    members::get(session, team, user).await?.ok_or(MISSING)
}

/// Refuses what would leave a team without an owner. The rows are locked: of two owners who leave at
/// the same time one finds itself the last.
async fn check_owners(
    session: &Session,
    team: &Team,
    user: UserId,
    role: Role,
) -> Result<(), Error> {
    let owners: Vec<_> = members::lock(session, team).await?;
    let mut owners = owners.iter().filter(|(_, role)| *role == Role::Owner).map(|(id, _)| *id);
    let is_last = owners.next() == Some(user) && owners.next().is_none();
    if is_last && role != Role::Owner { Err(Refusal::LastOwner.into()) } else { Ok(()) }
}

async fn record(
    session: &Session,
    who: &Principal,
    (team, verb, before): (&Team, &'static str, &Member),
    after: Value,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let stood = json!({"email": before.email, "role": before.role.as_str()});
    let deed = Deed::of(verb, format!("members/{}", before.user)).change(stood, after);
    Ok(audit::record_in(session, team, who, deed, now).await?)
}
