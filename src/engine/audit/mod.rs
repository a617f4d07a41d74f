//! The audit log: who did what to which thing, written in the transaction that did it, so that there
//! is no act without its entry and no entry without its act. Reading and proving it is here too.
//!
//! An entry takes the lock of its team's last one, as the last lock of its transaction: audited acts
//! of one team commit one after another, and no two transactions wait for each other in a circle.

pub(super) mod show;
mod verify;

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::error::allow;
use super::{Ctx, Error};
use crate::domain::audit::{Entry, Link};
use crate::domain::principal::{Act, Principal, Team};
use crate::store::{self, Session, audit};

pub use crate::store::audit::Filter;
pub use verify::{Checked, teams, verify};

/// What was done, for the record. `Value::Null` where there was nothing before or is nothing after.
pub(super) struct Deed<'a> {
    /// `create`, `pause` …
    pub(super) verb: &'static str,
    /// As a path below `/v1`.
    pub(super) object: String,
    /// How it stood before, secrets hidden.
    pub(super) before: Value,
    /// How it stands now, secrets hidden.
    pub(super) after: Value,
    /// Why, as the actor wrote.
    pub(super) reason: Option<&'a str>,
}

impl Deed<'_> {
    /// Something that was done, of which there is no more to tell.
    pub(super) fn of(verb: &'static str, object: String) -> Self {
        Self { verb, object, before: Value::Null, after: Value::Null, reason: None }
    }

    /// What became of it.
    pub(super) fn change(self, before: Value, after: Value) -> Self {
        Self { before, after, ..self }
    }
}

/// Writes an entry into the open transaction, which must take no other lock after it.
pub(super) async fn record(
    session: &Session,
    who: &Principal,
    deed: Deed<'_>,
    now: DateTime<Utc>,
) -> Result<(), store::Error> {
    record_in(session, &who.team, who, deed, now).await
}

/// The same in the log of the team that it was done to.
pub(super) async fn record_in(
    session: &Session,
    team: &Team,
    who: &Principal,
    deed: Deed<'_>,
    now: DateTime<Utc>,
) -> Result<(), store::Error> {
    let head = audit::lock_head(session, team).await?;
    let entry = Entry {
        team: team.clone(),
        seq: head.seq + 1,
        at: now,
        kind: who.kind.as_str().to_owned(),
        subject: who.subject.to_string(),
        credential: who.via.credential.as_deref().map(str::to_owned),
        verb: deed.verb.to_owned(),
        object: deed.object,
        before: show::text(&deed.before),
        after: show::text(&deed.after),
        reason: deed.reason.map(str::to_owned),
        address: who.via.address.map(|address| address.to_string()),
        request_id: who.via.request_id.as_deref().map(str::to_owned),
    };
    let hash = entry.hash(&head.hash);
    audit::append(session, &Link { entry, previous: head.hash, hash }).await
}

/// A page of the log of the caller's team, newest first, below a number if one is given; and whether
/// there are more.
pub async fn list(
    ctx: &Ctx,
    who: &Principal,
    filter: &Filter,
    (below, limit): (Option<i64>, usize),
) -> Result<(Vec<Link>, bool), Error> {
    allow(who, Act::Manage)?;
    let one_more = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let page = (below.unwrap_or(i64::MAX), one_more);
    let mut found = audit::list(&ctx.store, &who.team, filter, page).await?;
    let more = found.len() > limit;
    found.truncate(limit);
    Ok((found, more))
}

/// Entries of an export's page.
const PAGE: i64 = 500;

/// The next entries of the log of the caller's team, in their order, after a number; the last page
/// is empty.
pub async fn export(ctx: &Ctx, who: &Principal, after: i64) -> Result<Vec<Link>, Error> {
    allow(who, Act::Manage)?;
    Ok(audit::walk(&ctx.store, &who.team, after, PAGE).await?)
}
