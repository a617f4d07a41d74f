//! What a suspension does to jobs: those that are due are set aside, so that pullers do not ask for
//! them again and again, and given back when it is lifted. That none of them is claimed meanwhile is
//! the claim's own business; this only spares it the asking.

use chrono::{DateTime, Utc};

use super::settle::BATCH;
use super::wake::LONG_DUE;
use super::{Ctx, Error};
use crate::domain::principal::Team;
use crate::store::suspended;

/// Sets due jobs of suspended teams aside, and gives back what a lifted suspension has left.
pub async fn sweep(ctx: &Ctx, now: DateTime<Utc>) -> Result<(), Error> {
    for shard in suspended::look(&ctx.store, now).await? {
        while suspended::hold(&ctx.store, shard, now, limit()).await? > 0 {}
    }
    for team in suspended::unsettled(&ctx.store).await? {
        give_back(ctx, &team).await?;
        suspended::settled(&ctx.store, &team).await?;
    }
    Ok(())
}

/// Gives back every job of a team that was set aside; a paused queue keeps its own.
pub async fn give_back(ctx: &Ctx, team: &Team) -> Result<(), Error> {
    for shard in ctx.shards.iter() {
        while suspended::unhold(&ctx.store, *shard, team, limit()).await? > 0 {}
        ctx.wake.due(*shard, LONG_DUE);
    }
    Ok(())
}

fn limit() -> i64 {
    i64::try_from(BATCH).unwrap_or(i64::MAX)
}
