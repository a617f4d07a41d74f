//! Firing schedules: at each slot, the job and the row of the fire, in one transaction with the move
//! to the next slot.
//!
//! Any number of processes fire side by side; none leads. A due schedule is locked by whoever comes
//! first and skipped by the others, and the row of a fire can be written once, so a slot makes one
//! job whatever clocks, pauses and crashes do (bugs B033 to B038, B046 to B049). A schedule that
//! cannot be worked out is set aside with its reason; it stops no other (bug B006).

pub mod batch;
mod shard;
pub(super) mod standing;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures_util::{StreamExt as _, stream};
use tokio::time::Instant;

use super::claim::Agenda;
use super::{Ctx, Error, clock};
use crate::domain::id::Shard;
use crate::store::schedules;

/// How often every shard is looked at, hints or not. A schedule whose hint was lost is late by so
/// much at most, and still on time.
const LOOK_PERIOD: Duration = Duration::from_secs(5);
/// A shard that said a slot was due and then gave nothing (another process has it) rests so long.
const REST: Duration = Duration::from_millis(200);
/// A shard that failed rests so long.
const AFTER_ERROR: Duration = Duration::from_secs(1);
/// So many shards are seen to at the same time.
const SHARDS_AT_ONCE: usize = 4;

/// A process that fires schedules.
pub struct Firing {
    ctx: Ctx,
    agenda: Mutex<Agenda>,
    next_look: Mutex<Instant>,
}

impl Firing {
    /// One that has looked at nothing yet.
    pub fn new(ctx: Ctx) -> Self {
        Self { ctx, agenda: Mutex::default(), next_look: Mutex::new(Instant::now()) }
    }

    /// One step: fires what is due, and says when to come back.
    pub async fn step(&self) -> Result<Duration, Error> {
        self.agenda().merge(self.ctx.wake.slots().here.take());
        self.look().await?;
        let now = self.ctx.clock.now();
        let due = self.agenda().take_due(now);
        stream::iter(due).for_each_concurrent(SHARDS_AT_ONCE, |shard| self.see_to(shard)).await;
        Ok(self.pause())
    }

    /// A shard that fails keeps no other waiting.
    async fn see_to(&self, shard: Shard) {
        let now = self.ctx.clock.now();
        let next = match shard::fire(&self.ctx, shard).await {
            Ok((_, None)) => return,
            // Due, but not to be had: somebody else is at it.
            Ok((0, Some(next))) => next.max(clock::after(now, REST)),
            Ok((_, Some(next))) => next,
            Err(error) => {
                tracing::warn!(shard = shard.0, %error, "schedules of a shard could not be fired");
                clock::after(now, AFTER_ERROR)
            }
        };
        self.agenda().merge([(shard, next)].into());
    }

    /// Looks at every shard when it is time to.
    async fn look(&self) -> Result<(), Error> {
        let due = *self.next_look.lock().unwrap_or_else(PoisonError::into_inner) <= Instant::now();
        if due {
            let next = schedules::next_slots(&self.ctx.store).await?;
            self.agenda().merge(next.into_iter().collect());
            let next = Instant::now() + LOOK_PERIOD;
            *self.next_look.lock().unwrap_or_else(PoisonError::into_inner) = next;
        }
        Ok(())
    }

    /// Until the next slot, or the next look.
    fn pause(&self) -> Duration {
        let now: DateTime<Utc> = self.ctx.clock.now();
        let look = *self.next_look.lock().unwrap_or_else(PoisonError::into_inner);
        let look = look.saturating_duration_since(Instant::now());
        self.agenda().earliest().map_or(look, |slot| clock::until(now, slot).min(look))
    }

    fn agenda(&self) -> MutexGuard<'_, Agenda> {
        self.agenda.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
