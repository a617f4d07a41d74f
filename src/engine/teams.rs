//! Teams: describe, look, change, suspend. A team needs no description to work; one that nobody has
//! described has the defaults.

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::audit::{self, Deed, show};
use super::error::{allow, allow_scope};
use super::once::{Answer, Key, once, whole};
use super::{Ctx, Error, Refusal, suspension};
use crate::domain::id::UserId;
use crate::domain::json_path::JsonPath;
use crate::domain::principal::{Act, Kind, Principal, Role, Team};
use crate::domain::team::{Settings, TeamRecord};
use crate::store::idempotency::Kept;
use crate::store::{Session, members, teams};

/// The most teams of one person that are shown.
const MOST: i64 = 500;

/// What changes of a team; none leaves a value as it is.
#[derive(Clone, Debug, Default)]
pub struct Change {
    /// Its name.
    pub name: Option<String>,
    /// The zone of schedules that name none; the inner none unsets it.
    pub default_time_zone: Option<Option<String>>,
    /// How long finished jobs are kept, in milliseconds; the inner none unsets it.
    pub retention_ms: Option<Option<u64>>,
    /// Paths into payloads whose values are shown as masks; all of them.
    pub redact: Option<Vec<JsonPath>>,
    /// Whether viewers see payloads; the inner none unsets it.
    pub viewers_see_payloads: Option<Option<bool>>,
}

/// What the caller is in a team: in its own, its role; in any, an owner if it manages the
/// installation. To all others the team does not exist.
pub(super) fn role_in(who: &Principal, team: &Team) -> Result<Role, Error> {
    if who.may(Act::Install) {
        return Ok(Role::Owner);
    }
    if *team == who.team { Ok(who.role) } else { Err(Error::Missing { noun: "team" }) }
}

/// Goes on only if the caller may do this in that team.
pub(super) fn allow_in(who: &Principal, team: &Team, act: Act) -> Result<(), Error> {
    let role = role_in(who, team)?;
    allow_scope(who, act)?;
    if role.may(act) {
        return Ok(());
    }
    Err(Error::Denied { role: role.as_str(), act: act.as_str() })
}

/// Describes a team for the first time.
pub async fn create(
    ctx: &Ctx,
    who: &Principal,
    key: Option<&Key>,
    (team, name): (&Team, Option<&str>),
    render: impl Fn(&TeamRecord) -> Kept,
) -> Result<Answer<TeamRecord>, Error> {
    allow(who, Act::Install)?;
    let now = ctx.clock.now();
    let mut new = TeamRecord::untouched(team);
    new.name = name.map_or(new.name, str::to_owned);
    let work = async |session: &Session| {
        let made = teams::insert(session, &new, now).await?;
        let made = made.ok_or_else(|| Refusal::TeamExists(team.to_string()))?;
        record(session, who, ("create", None), (None, &made), now).await?;
        Ok(made)
    };
    once(ctx, key, now, work, render).await
}

/// One team that the caller can see.
pub async fn get(ctx: &Ctx, who: &Principal, team: &Team) -> Result<TeamRecord, Error> {
    allow_in(who, team, Act::Read)?;
    let found = teams::get(&ctx.store, team).await?;
    Ok(found.unwrap_or_else(|| TeamRecord::untouched(team)))
}

/// A page of the teams that the caller can see, by slug, after one if it is given; and whether there
/// are more. The installation admin sees every team that was described, a person those that they
/// are a member of, anybody else their own.
pub async fn list(
    ctx: &Ctx,
    who: &Principal,
    (after, limit): (Option<Team>, usize),
) -> Result<(Vec<TeamRecord>, bool), Error> {
    allow(who, Act::Read)?;
    let one_more = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let mut found = if who.may(Act::Install) {
        teams::list(&ctx.store, (after.as_ref(), None), one_more).await?
    } else {
        let own = own(ctx, who).await?;
        let known = teams::list(&ctx.store, (None, Some(&own)), MOST).await?;
        let describe = |team: &Team| {
            let described = known.iter().find(|known| known.team == *team).cloned();
            described.unwrap_or_else(|| TeamRecord::untouched(team))
        };
        let rest = own.iter().filter(|team| after.as_ref().is_none_or(|after| *team > after));
        rest.map(describe).collect()
    };
    let more = found.len() > limit;
    found.truncate(limit);
    Ok((found, more))
}

/// The slugs of the caller's teams, in their order.
async fn own(ctx: &Ctx, who: &Principal) -> Result<Vec<Team>, Error> {
    let user = who.subject.as_str().parse::<UserId>().ok().filter(|_| who.kind == Kind::User);
    let Some(user) = user else { return Ok(vec![who.team.clone()]) };
    let session = ctx.store.session().await?;
    let own = members::teams(&session, user, MOST).await?;
    Ok(own.into_iter().map(|(team, _)| team).collect())
}

/// Changes a team. `expected` lists the `ETag`s, with commas between, that the caller takes for
/// current; none means any.
pub async fn change(
    ctx: &Ctx,
    who: &Principal,
    team: &Team,
    expected: Option<&str>,
    change: Change,
) -> Result<TeamRecord, Error> {
    allow_in(who, team, Act::Own)?;
    let work = async |session: &Session| {
        let before = lock(session, team).await?;
        check(&before, expected)?;
        let new = change.apply(&before);
        put(ctx, session, who, ("change", None), (&before, new)).await
    };
    let changed = whole(ctx, work).await?;
    ctx.roster.note_settings(team, &changed.settings);
    Ok(changed)
}

impl Change {
    fn apply(self, before: &TeamRecord) -> TeamRecord {
        let known = before.settings.clone();
        let settings = Settings {
            default_time_zone: self.default_time_zone.unwrap_or(known.default_time_zone),
            retention_ms: self.retention_ms.unwrap_or(known.retention_ms),
            redact: self.redact.unwrap_or(known.redact),
            viewers_see_payloads: self.viewers_see_payloads.unwrap_or(known.viewers_see_payloads),
            ..known
        };
        let name = self.name.unwrap_or_else(|| before.name.clone());
        TeamRecord { name, settings, ..before.clone() }
    }
}

/// Suspends a team for a reason, or lifts that (no reason). Its callers are refused at once by this
/// process and within a second by the others; its owners may still look.
pub async fn suspend(
    ctx: &Ctx,
    who: &Principal,
    key: Option<&Key>,
    (team, reason): (&Team, Option<&str>),
    render: impl Fn(&TeamRecord) -> Kept,
) -> Result<Answer<TeamRecord>, Error> {
    role_in(who, team)?;
    allow(who, Act::Install)?;
    let now = ctx.clock.now();
    let work = async |session: &Session| {
        let before = lock(session, team).await?;
        let suspended = reason.map(|reason| (now, reason.to_owned()));
        if suspended.is_none() && before.suspended.is_none() {
            return Ok(before);
        }
        let verb = if reason.is_some() { "suspend" } else { "unsuspend" };
        let new = TeamRecord { suspended, ..before.clone() };
        put(ctx, session, who, (verb, reason), (&before, new)).await
    };
    let answer = once(ctx, key, now, work, render).await?;
    if let Answer::Fresh(..) = &answer {
        ctx.roster.note_suspended(team, reason);
        if reason.is_none() {
            // Should this be interrupted, the sweep goes on with it.
            suspension::give_back(ctx, team).await?;
        }
    }
    Ok(answer)
}

/// Goes on only if the team is as the caller takes it to be.
pub(super) fn check(team: &TeamRecord, expected: Option<&str>) -> Result<(), Error> {
    let etag = team.etag();
    if expected.is_some_and(|list| list.split(',').all(|known| known.trim() != etag)) {
        return Err(Error::ConditionFailed { current: etag });
    }
    Ok(())
}

/// Locks a team; one that nobody has described is as it would be.
pub(super) async fn lock(session: &Session, team: &Team) -> Result<TeamRecord, Error> {
    let found = teams::lock(session, team).await?;
    Ok(found.unwrap_or_else(|| TeamRecord::untouched(team)))
}

/// Writes a team as it is to be, and what was done to it.
pub(super) async fn put(
    ctx: &Ctx,
    session: &Session,
    who: &Principal,
    did: (&'static str, Option<&str>),
    (before, new): (&TeamRecord, TeamRecord),
) -> Result<TeamRecord, Error> {
    let now = ctx.clock.now();
    let stands = teams::put(session, &new, now).await?;
    record(session, who, did, (Some(before), &stands), now).await?;
    Ok(stands)
}

/// In the log of the team that it was done to.
async fn record(
    session: &Session,
    who: &Principal,
    (verb, reason): (&'static str, Option<&str>),
    (before, after): (Option<&TeamRecord>, &TeamRecord),
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let before = before.map_or(Value::Null, show::team);
    let deed = Deed::of(verb, format!("teams/{}", after.team)).change(before, show::team(after));
    Ok(audit::record_in(session, &after.team, who, Deed { reason, ..deed }, now).await?)
}
