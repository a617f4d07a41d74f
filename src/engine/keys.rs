//! API keys: make, look, roll, revoke. The text of a key exists only in the answer to whoever made it.

use std::time::Duration;

use chrono::{DateTime, Utc};

use super::audit::{self, Deed, show};
use super::error::allow;
use super::once::{Answer, Key as OnceKey, once, whole};
use super::{Ctx, Error, Refusal, clock, random};
use crate::domain::invalid::Invalid;
use crate::domain::key::{KEY_RANDOM_BYTES, Key, KeyId, KeyText};
use crate::domain::principal::{Act, Principal, Role};
use crate::domain::scope::Scope;
use crate::store::idempotency::Kept;
use crate::store::{Session, keys};

pub use crate::store::keys::Place;

/// The most keys of a team that open something.
const MOST: i64 = 1_000;
/// The longest time for which two keys of a roll hold side by side.
pub const OVERLAP_LIMIT: Duration = Duration::from_hours(24 * 30);
const MISSING: Error = Error::Missing { noun: "key" };

/// What a new key is to be.
#[derive(Clone, Debug)]
pub struct NewKey {
    /// What it is for.
    pub name: String,
    /// The role of whoever holds it.
    pub role: Role,
    /// The queues that whoever holds it reaches.
    pub scope: Scope,
    /// When it ends by itself.
    pub expires_at: Option<DateTime<Utc>>,
}

/// A key that was just made, with the text that nobody can read again.
#[derive(Debug)]
pub struct Made {
    /// The key.
    pub key: Key,
    /// Its text.
    pub text: KeyText,
}

/// Makes a key. Its role may do nothing that the caller may not.
pub async fn create(
    ctx: &Ctx,
    who: &Principal,
    key: Option<&OnceKey>,
    new: NewKey,
    render: impl Fn(&Made) -> Kept,
) -> Result<Answer<Made>, Error> {
    allow(who, Act::Manage)?;
    let now = ctx.clock.now();
    may_grant(who, new.role)?;
    check_end(new.expires_at, now)?;
    let work = async |session: &Session| {
        let made = make(session, who, new, now).await?;
        let deed = Deed::of("create", object(made.key.id));
        let deed = deed.change(serde_json::Value::Null, show::key(&made.key));
        audit::record(session, who, deed, now).await?;
        Ok(made)
    };
    once(ctx, key, now, work, render).await
}

/// One key of the caller's team.
pub async fn get(ctx: &Ctx, who: &Principal, id: KeyId) -> Result<Key, Error> {
    allow(who, Act::Manage)?;
    keys::get(&ctx.store, &who.team, id).await?.ok_or(MISSING)
}

/// A page of keys, newest first, and whether there are more. Those that have ended are among them.
pub async fn list(
    ctx: &Ctx,
    who: &Principal,
    (before, limit): (Option<Place>, usize),
) -> Result<(Vec<Key>, bool), Error> {
    allow(who, Act::Manage)?;
    let one_more = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let mut page = keys::list(&ctx.store, &who.team, before, one_more).await?;
    let more = page.len() > limit;
    page.truncate(limit);
    Ok((page, more))
}

/// Ends a key for good; again changes nothing. This process refuses it at once, the others within
/// half a second.
pub async fn revoke(ctx: &Ctx, who: &Principal, id: KeyId) -> Result<(), Error> {
    allow(who, Act::Manage)?;
    let now = ctx.clock.now();
    let work = async |session: &Session| {
        let found = keys::lock(session, &who.team, id).await?.ok_or(MISSING)?;
        if found.revoked_at.is_none() {
            keys::revoke(session, &who.team, id, now).await?;
            let deed = Deed::of("revoke", object(id));
            let deed = deed.change(show::key(&found), serde_json::Value::Null);
            audit::record(session, who, deed, now).await?;
        }
        Ok(())
    };
    whole(ctx, work).await?;
    ctx.access.forget(id);
    Ok(())
}

/// Makes a key in place of another, which ends after `overlap`. The new one ends at `expires_at`; if
/// that is absent, when the old one would have ended.
pub async fn roll(
    ctx: &Ctx,
    who: &Principal,
    key: Option<&OnceKey>,
    (id, overlap, expires_at): (KeyId, Duration, Option<DateTime<Utc>>),
    render: impl Fn(&Made) -> Kept,
) -> Result<Answer<Made>, Error> {
    allow(who, Act::Manage)?;
    let now = ctx.clock.now();
    check_end(expires_at, now)?;
    let work = async |session: &Session| {
        let old = keys::lock(session, &who.team, id).await?.ok_or(MISSING)?;
        may_grant(who, old.role)?;
        if !old.is_live(now) {
            return Err(Refusal::KeyEnded.into());
        }
        let expires_at = expires_at.or(old.expires_at);
        let end = clock::after(now, overlap);
        keys::shorten(session, &who.team, id, end).await?;
        let (name, role, scope) = (old.name.clone(), old.role, old.scope.clone());
        let new = NewKey { name, role, scope, expires_at };
        let made = make(session, who, new, now).await?;
        let after =
            serde_json::json!({"by": made.key.id.to_string(), "old_ends": show::instant(end)});
        let deed = Deed::of("roll", object(id)).change(show::key(&old), after);
        audit::record(session, who, deed, now).await?;
        Ok(made)
    };
    let answer = once(ctx, key, now, work, render).await?;
    ctx.access.forget(id);
    Ok(answer)
}

async fn make(
    session: &Session,
    who: &Principal,
    new: NewKey,
    now: DateTime<Utc>,
) -> Result<Made, Error> {
    if keys::live(session, &who.team, now, MOST).await? >= MOST {
        let detail = format!("the team has {MOST} keys already; revoke those that nobody uses");
        return Err(Invalid::one("#", "too-many", detail).into());
    }
    let text = KeyText::new(&random::bytes::<KEY_RANDOM_BYTES>()?);
    let key = Key {
        id: text.id,
        team: who.team.clone(),
        name: new.name,
        role: new.role,
        scope: new.scope,
        expires_at: new.expires_at,
        created_by: who.subject.to_string(),
        created_at: now,
        last_used_at: None,
        revoked_at: None,
    };
    if !keys::insert(session, &key, text.hash()).await? {
        // One in a trillion per key that there is.
        return Err(Error::Busy("a key with this id exists; another try gets another id".into()));
    }
    Ok(Made { key, text })
}

fn object(id: KeyId) -> String {
    format!("keys/{id}")
}

/// Nobody gives away more than it has.
pub(super) fn may_grant(who: &Principal, role: Role) -> Result<(), Error> {
    if who.role.may_grant(role) {
        return Ok(());
    }
    Err(Refusal::RoleTooHigh { own: who.role.as_str(), given: role.as_str() }.into())
}

fn check_end(expires_at: Option<DateTime<Utc>>, now: DateTime<Utc>) -> Result<(), Error> {
    if expires_at.is_some_and(|end| end <= now) {
        let detail = "must lie in the future";
        return Err(Invalid::one("#/expires_at", "out-of-range", detail).into());
    }
    Ok(())
}
