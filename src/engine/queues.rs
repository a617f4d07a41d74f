//! Queues: look, describe, pause, resume.

use chrono::{DateTime, Utc};

use super::audit::{self, Deed, show};
use super::error::allow;
use super::once::{Answer, Key, once, whole};
use super::{Ctx, Error, sweep};
use crate::domain::principal::{Act, Principal};
use crate::domain::queue::Queue;
use crate::store::idempotency::Kept;
use crate::store::{Session, queues};

/// One queue; one that nobody has changed has the defaults.
pub async fn get(ctx: &Ctx, who: &Principal, name: &str) -> Result<Queue, Error> {
    allow(who, Act::Read)?;
    check(who, name)?;
    let found = queues::get(&ctx.store, &who.team, name).await?;
    Ok(found.unwrap_or_else(|| Queue::untouched(name)))
}

/// Creates or describes a queue.
pub async fn put(
    ctx: &Ctx,
    who: &Principal,
    name: &str,
    description: Option<&str>,
) -> Result<Queue, Error> {
    allow(who, Act::Configure)?;
    check(who, name)?;
    let now = ctx.clock.now();
    let work = async |session: &Session| {
        let before = queues::lock(session, &who.team, name).await?;
        let put = queues::put(session, &who.team, name, description, now).await?;
        record(session, who, ("put", None), (before.as_ref(), &put), now).await?;
        Ok(put)
    };
    whole(ctx, work).await
}

/// Pauses a queue for a reason, or resumes it (no reason). A paused queue accepts jobs; none of them
/// is claimed by a claim that begins after this has returned.
pub async fn pause(
    ctx: &Ctx,
    who: &Principal,
    key: Option<&Key>,
    (name, reason): (&str, Option<&str>),
    render: impl Fn(&Queue) -> Kept,
) -> Result<Answer<Queue>, Error> {
    allow(who, Act::Operate)?;
    check(who, name)?;
    let now = ctx.clock.now();
    let work = async |session: &Session| {
        let before = queues::lock(session, &who.team, name).await?;
        let queue = queues::pause(session, &who.team, name, reason, now).await?;
        let verb = if reason.is_some() { "pause" } else { "resume" };
        record(session, who, (verb, reason), (before.as_ref(), &queue), now).await?;
        Ok(queue)
    };
    let answer = once(ctx, key, now, work, render).await?;
    if reason.is_none() {
        // Should this be interrupted, the sweep goes on with it.
        sweep::give_back(ctx, (&who.team, name)).await?;
    }
    Ok(answer)
}

/// A queue beyond the caller's does not exist for it.
fn check(who: &Principal, name: &str) -> Result<(), Error> {
    if who.scope.holds(name) { Ok(()) } else { Err(Error::Missing { noun: "queue" }) }
}

async fn record(
    session: &Session,
    who: &Principal,
    (verb, reason): (&'static str, Option<&str>),
    (before, after): (Option<&Queue>, &Queue),
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let before = before.map(show::queue).unwrap_or_default();
    let deed = Deed::of(verb, format!("queues/{}", after.name));
    let deed = Deed { reason, ..deed.change(before, show::queue(after)) };
    Ok(audit::record(session, who, deed, now).await?)
}
