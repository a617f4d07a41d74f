//! How fast teams write, over all processes: each takes writes out of the team's shared bucket in
//! blocks, before they are needed, and gives them out by itself.
//!
//! A block is at most a tenth of a second's worth, so a busy process asks the database some ten times
//! a second for a team, and it is void after a second, so what idle processes hold is little: in any
//! t seconds at most `rate × (t + 2)` writes go through all processes together, and a block, and the
//! debt of a batch. A process whose blocks lapse unused takes smaller ones.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};

use super::count_refusal;
use crate::domain::principal::Team;
use crate::domain::quota::Quota;
use crate::domain::rate::{Rate, Standing};
use crate::engine::{Ctx, Error, Refusal};
use crate::store::quotas;

/// How many teams are remembered; beyond them those that have nothing in hand are forgotten.
const MOST: usize = 10_000;
/// After so long what is left of a block is void.
const LAPSE: TimeDelta = TimeDelta::seconds(1);
/// A block that is used up sooner was too small.
const QUICK: TimeDelta = TimeDelta::milliseconds(100);

#[derive(Default)]
pub(super) struct Buckets(Mutex<HashMap<Team, Arc<Slot>>>);

/// What this process has of one team's bucket.
#[derive(Default)]
struct Slot {
    /// Held by whoever asks the database: the others wait for what it brings.
    asking: tokio::sync::Mutex<()>,
    share: Mutex<Share>,
}

#[derive(Debug, Default)]
struct Share {
    /// Writes in hand.
    spare: u64,
    /// The size of the last block.
    block: u64,
    /// When it was taken.
    taken_at: DateTime<Utc>,
    /// When the bucket is full, as the database said at `asked_at`; it may be later by now, or all
    /// may have been forgotten with a new rate.
    full_at: DateTime<Utc>,
    asked_at: DateTime<Utc>,
}

/// What is to be done about a write.
#[derive(Debug, PartialEq, Eq)]
enum Move {
    /// It goes through.
    Pass,
    /// The bucket is known to be empty.
    Refuse,
    /// A block of this size is asked for.
    Ask(u64),
}

impl Buckets {
    /// Takes one write, or refuses.
    pub(super) async fn take(&self, ctx: &Ctx, team: &Team, limit: u64) -> Result<(), Error> {
        let rate = Rate::new(limit);
        let slot = self.slot(team);
        if slot.share().pass(ctx.clock.now()) {
            return Ok(());
        }
        let asking = slot.asking.lock().await;
        // Whoever asked before may have brought enough.
        let now = ctx.clock.now();
        let step = slot.share().step(rate, now);
        let block = match step {
            Move::Pass => return Ok(()),
            Move::Refuse => return Err(refuse(team, slot.share().standing(rate, now))),
            Move::Ask(block) => block,
        };
        let times = (now, rate.horizon(now));
        let lent = quotas::lend(&ctx.store, team, rate.cost(block), times).await?;
        if let Some(full_at) = lent {
            slot.share().add((block, full_at), now);
            return Ok(());
        }
        let full_at = quotas::full_at(&ctx.store, team).await?.unwrap_or(now);
        drop(asking);
        let mut share = slot.share();
        (share.full_at, share.asked_at) = (full_at, now);
        Err(refuse(team, share.standing(rate, now)))
    }

    /// Takes so many writes, in hand or not.
    pub(super) async fn owe(
        &self,
        ctx: &Ctx,
        team: &Team,
        (limit, writes): (u64, u64),
    ) -> Result<(), Error> {
        let (rate, now) = (Rate::new(limit), ctx.clock.now());
        let slot = self.slot(team);
        let owed = slot.share().spend(writes, now);
        if owed > 0 {
            let full_at = quotas::charge(&ctx.store, team, rate.cost(owed), now).await?;
            let mut share = slot.share();
            (share.full_at, share.asked_at) = (full_at, now);
        }
        Ok(())
    }

    /// Forgets what is known of a team's bucket.
    pub(super) fn forget(&self, team: &Team) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(team);
    }

    /// How a team's bucket stands, by what is known here.
    pub(super) fn standing(&self, team: &Team, limit: u64, now: DateTime<Utc>) -> Standing {
        self.slot(team).share().standing(Rate::new(limit), now)
    }

    fn slot(&self, team: &Team) -> Arc<Slot> {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if slots.len() >= MOST && !slots.contains_key(team) {
            slots.retain(|_, slot| Arc::strong_count(slot) > 1 || slot.share().spare > 0);
        }
        Arc::clone(slots.entry(team.clone()).or_default())
    }
}

impl Slot {
    fn share(&self) -> MutexGuard<'_, Share> {
        self.share.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Share {
    /// Takes a write that is in hand.
    fn pass(&mut self, now: DateTime<Utc>) -> bool {
        self.spend(1, now) == 0
    }

    /// Takes as many of these as are in hand; returns how many are not.
    fn spend(&mut self, writes: u64, now: DateTime<Utc>) -> u64 {
        let spare = if self.has_lapsed(now) { 0 } else { self.spare };
        let spent = spare.min(writes);
        if spent > 0 {
            self.spare -= spent;
        }
        writes - spent
    }

    /// Takes a write that is in hand, or says how to come by one.
    fn step(&mut self, rate: Rate, now: DateTime<Utc>) -> Move {
        if self.pass(now) {
            return Move::Pass;
        }
        if now < rate.opens_at(self.full_at) && now - self.asked_at < LAPSE {
            return Move::Refuse;
        }
        let wanted = if self.spare > 0 {
            // The last block has lapsed: as much as was used of it is enough.
            self.block.saturating_sub(self.spare)
        } else if now - self.taken_at < QUICK {
            self.block.saturating_mul(2)
        } else {
            self.block
        };
        self.spare = 0;
        Move::Ask(wanted.clamp(1, rate.largest_block()))
    }

    /// Takes a block in, and out of it the write that it was asked for.
    fn add(&mut self, (block, full_at): (u64, DateTime<Utc>), now: DateTime<Utc>) {
        *self =
            Self { spare: block.saturating_sub(1), block, taken_at: now, full_at, asked_at: now };
    }

    fn standing(&self, rate: Rate, now: DateTime<Utc>) -> Standing {
        let spare = if self.has_lapsed(now) { 0 } else { self.spare };
        rate.standing((self.full_at, spare), now)
    }

    fn has_lapsed(&self, now: DateTime<Utc>) -> bool {
        now - self.taken_at >= LAPSE
    }
}

fn refuse(team: &Team, standing: Standing) -> Error {
    count_refusal(team, Quota::WritesPerSecond);
    Refusal::OverRate { rate: standing.rate.per_second(), retry_after_s: standing.reset_s }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::milliseconds(ms)
    }

    /// Asks `share` for a write and grants what it asks for; returns the size of the block, if any.
    fn write(share: &mut Share, rate: Rate, now: DateTime<Utc>) -> Option<u64> {
        match share.step(rate, now) {
            Move::Pass => None,
            Move::Refuse => panic!("the bucket is not empty"),
            Move::Ask(block) => {
                share.add((block, DateTime::UNIX_EPOCH), now);
                Some(block)
            }
        }
    }

    #[test]
    fn blocks_grow_while_they_are_used_up_quickly_and_shrink_when_they_lapse() {
        let (rate, mut share) = (Rate::new(100), Share::default());
        let blocks: Vec<_> = (0..40).filter_map(|_| write(&mut share, rate, at(5_000))).collect();
        assert_eq!(blocks, [1, 2, 4, 8, 10, 10, 10], "as far as a tenth of a second");
        assert_eq!(share.spare, 5);
        assert_eq!(write(&mut share, rate, at(5_999)), None);
        assert_eq!(write(&mut share, rate, at(6_000)), Some(6), "as many as were used");
        assert_eq!(write(&mut share, rate, at(7_000)), Some(1));
        assert_eq!(write(&mut share, rate, at(7_100)), Some(1), "used up in its time");
    }

    #[test]
    fn nobody_is_asked_while_the_bucket_was_found_empty_just_now() {
        let rate = Rate::new(10);
        let mut share = Share { full_at: at(5_000), asked_at: at(3_500), ..Share::default() };
        assert_eq!(share.step(rate, at(4_099)), Move::Refuse);
        share.asked_at = at(3_000);
        assert_eq!(share.step(rate, at(4_099)), Move::Ask(1), "the rate may be another by now");
        assert_eq!(share.step(rate, at(4_100)), Move::Ask(1));
        share.add((3, at(4_200)), at(4_100));
        assert_eq!((share.spend(5, at(4_100)), share.spare), (3, 0), "three are owed");
    }
}
