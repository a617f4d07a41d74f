//! Whose turn it is: when the last active job of a schedule has ended, its oldest waiting job goes.
//!
//! Whoever ends jobs passes the turn on after its commit, and whoever made a job wait looks once
//! more after its own, so one of the two sees the other. Should both die in between, the sweep
//! passes it on. The schedule's lock keeps two from letting two jobs go.

use chrono::{DateTime, Utc};

use super::{Ctx, Error};
use crate::domain::id::{ScheduleId, Shard};
use crate::domain::state::State;
use crate::store::{schedules, turns};

/// So many schedules of a shard are seen to in one step.
const BATCH: i64 = 200;

/// Passes the turn on in these schedules of one shard. A failure is left to the sweep.
pub async fn pass_on(ctx: &Ctx, shard: Shard, of: &[ScheduleId]) {
    if of.is_empty() {
        return;
    }
    if let Err(error) = pass_on_any(ctx, shard, Some(of)).await {
        tracing::warn!(shard = shard.0, %error, "waiting jobs of a schedule are left to the sweep");
    }
}

/// Passes the turn on wherever nobody has: in these schedules of one shard, or in all.
pub async fn pass_on_any(ctx: &Ctx, shard: Shard, of: Option<&[ScheduleId]>) -> Result<(), Error> {
    let now = ctx.clock.now();
    for schedule in turns::open(&ctx.store, shard, of, BATCH).await? {
        if let Some(due_at) = release(ctx, schedule, now).await? {
            ctx.wake.due(shard, due_at);
        }
    }
    Ok(())
}

/// Lets the oldest waiting job of a schedule go, if none is ahead of it; returns when it is due.
async fn release(
    ctx: &Ctx,
    schedule: ScheduleId,
    now: DateTime<Utc>,
) -> Result<Option<DateTime<Utc>>, Error> {
    let session = ctx.store.session().await?;
    session.begin();
    // A schedule that was deleted makes no more jobs, so its waiting ones need no lock.
    schedules::hold(&session, schedule).await?;
    let jobs = turns::unfinished(&session, schedule.shard(), &[schedule]).await?;
    let busy = jobs.iter().any(|(_, _, state)| *state != State::Waiting);
    let due_at = match jobs.first() {
        Some((_, oldest, _)) if !busy => turns::release(&session, *oldest, now).await?,
        _ => None,
    };
    session.commit().await?;
    Ok(due_at)
}
