//! Queues: look, describe, pause, resume.

use super::error::allow;
use super::once::{Answer, Key, once};
use super::{Ctx, Error};
use crate::domain::principal::{Act, Principal};
use crate::domain::queue::Queue;
use crate::store::idempotency::Kept;
use crate::store::{Session, queues};

/// One queue; one that nobody has changed has the defaults.
pub async fn get(ctx: &Ctx, who: &Principal, name: &str) -> Result<Queue, Error> {
    allow(who, Act::Read)?;
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
    Ok(queues::put(&ctx.store, &who.team, name, description, ctx.clock.now()).await?)
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
    let now = ctx.clock.now();
    let work =
        async |session: &Session| Ok(queues::pause(session, &who.team, name, reason, now).await?);
    let answer = once(ctx, key, now, work, render).await?;
    if reason.is_none() {
        // What was set aside is given back by the sweep, within its period; what was not is due now.
        for shard in ctx.shards.iter() {
            ctx.wake.due(*shard, now);
        }
    }
    Ok(answer)
}
