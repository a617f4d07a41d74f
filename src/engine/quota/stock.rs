//! What teams have stored of a kind that is counted now and then: unfinished jobs, and the bytes of
//! their payloads. Between two counts a process adds what it stores itself, before it is stored, so
//! that its own requests never go over a limit; of several processes each does not see for a second
//! what the others add. The jobs that schedules make are counted and never refused.
//!
//! A count that fails leaves the one before it standing: the database refuses what it cannot do by
//! itself, and nobody is locked out by a slow count.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use tokio::time::Instant;

use super::count_refusal;
use crate::domain::principal::{Principal, Team};
use crate::domain::quota::{Quota, Quotas};
use crate::engine::once::Key;
use crate::engine::{Ctx, Error, Refusal, place};
use crate::store::{idempotency, live, quotas};

/// What is counted here.
const COUNTED: [Quota; 2] = [Quota::UnfinishedJobs, Quota::PayloadBytes];
/// How long a count is believed, at least.
const FRESH: TimeDelta = TimeDelta::seconds(1);
/// The pause between two counts is at least so many times as long as one takes: many jobs make them
/// dear, and so they never take more than a twentieth of a connection.
const PAUSE: i32 = 20;
/// Jobs are counted as far as this where no limit lies beyond it.
const SHOWN: u64 = 100_000;
/// How many teams are remembered; beyond them those that nobody stores for just now are forgotten.
const MOST: usize = 10_000;

#[derive(Default)]
pub(super) struct Stocks(Mutex<HashMap<Team, Arc<Slot>>>);

/// One team's.
#[derive(Default)]
struct Slot {
    /// Held by whoever counts.
    counting: tokio::sync::Mutex<()>,
    tallies: Mutex<Tallies>,
}

#[derive(Debug, Default)]
struct Tallies {
    jobs: Tally,
    bytes: Tally,
}

/// What is known of one stock.
#[derive(Debug, Default)]
struct Tally {
    /// The last count, and when it began.
    counted: Option<(u64, DateTime<Utc>)>,
    /// How long it took.
    took: TimeDelta,
    /// What this process is about to store.
    coming: u64,
    /// What it has stored since the last count began.
    stored: u64,
    /// What it had stored before the count that is going on began.
    before: u64,
}

/// Room for what a request is about to store: taken before it is stored, given back if it is not.
pub struct Room {
    /// None if the team has no limit.
    taken: Option<Taken>,
}

struct Taken {
    slot: Arc<Slot>,
    team: Team,
    limits: Quotas,
    /// Jobs and bytes.
    amount: [u64; 2],
    is_kept: bool,
}

impl Stocks {
    /// Room in which nothing is taken yet.
    pub(super) async fn room(&self, ctx: &Ctx, (team, limits): (&Team, Quotas)) -> Room {
        let slot = self.slot(team);
        let wanted: Vec<_> =
            COUNTED.into_iter().filter(|quota| limits.get(*quota).is_some()).collect();
        slot.count(ctx, (team, &limits), &wanted).await;
        let taken = Taken { slot, team: team.clone(), limits, amount: [0; 2], is_kept: false };
        Room { taken: Some(taken) }
    }

    /// How much a team has of each, by a count that is as fresh as counts are.
    pub(super) async fn used(&self, ctx: &Ctx, team: &Team, limits: &Quotas) -> [(Quota, u64); 2] {
        let slot = self.slot(team);
        slot.count(ctx, (team, limits), &COUNTED).await;
        let mut tallies = slot.tallies();
        COUNTED.map(|quota| (quota, tallies.of(quota).used()))
    }

    fn slot(&self, team: &Team) -> Arc<Slot> {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if slots.len() >= MOST && !slots.contains_key(team) {
            slots.retain(|_, slot| Arc::strong_count(slot) > 1);
        }
        Arc::clone(slots.entry(team.clone()).or_default())
    }
}

impl Slot {
    fn tallies(&self) -> MutexGuard<'_, Tallies> {
        self.tallies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts what was counted too long ago. One request does; those beside it go on with the last
    /// count, or wait for the first.
    async fn count(&self, ctx: &Ctx, (team, limits): (&Team, &Quotas), wanted: &[Quota]) {
        let now = ctx.clock.now();
        let (mut is_due, mut is_first) = (false, false);
        for quota in wanted {
            let mut tallies = self.tallies();
            let tally = tallies.of(*quota);
            is_due |= tally.is_due(now);
            is_first |= tally.counted.is_none();
        }
        let turn = match (is_due, is_first) {
            (false, _) => return,
            (true, true) => self.counting.lock().await,
            (true, false) => match self.counting.try_lock() {
                Ok(turn) => turn,
                Err(_busy) => return,
            },
        };
        for quota in wanted {
            let begun = self.tallies().of(*quota).begin(ctx.clock.now());
            let Some(begun) = begun else { continue };
            let started = Instant::now();
            match counted(ctx, team, (*quota, limits)).await {
                Ok(used) => self.tallies().of(*quota).end((used, begun), started.elapsed()),
                Err(error) => {
                    tracing::warn!(%team, quota = quota.as_str(), %error, "a count failed");
                }
            }
        }
        drop(turn);
    }
}

async fn counted(ctx: &Ctx, team: &Team, (quota, limits): (Quota, &Quotas)) -> Result<u64, Error> {
    if quota == Quota::PayloadBytes {
        return Ok(quotas::bytes(&ctx.store, team).await?);
    }
    let most = limits.get(quota).unwrap_or_default().max(SHOWN).saturating_add(1);
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    Ok(quotas::jobs(&ctx.store, team, most).await?)
}

impl Tallies {
    fn of(&mut self, quota: Quota) -> &mut Tally {
        if quota == Quota::PayloadBytes { &mut self.bytes } else { &mut self.jobs }
    }
}

impl Tally {
    fn used(&self) -> u64 {
        let counted = self.counted.map_or(0, |(used, _)| used);
        counted.saturating_add(self.coming).saturating_add(self.stored).saturating_add(self.before)
    }

    fn is_due(&self, now: DateTime<Utc>) -> bool {
        let pause = FRESH.max(self.took * PAUSE);
        self.counted.is_none_or(|(_, at)| now - at >= pause)
    }

    /// Begins a count, if one is due: what is stored from now on may be in it or not, and is added to
    /// it.
    fn begin(&mut self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        if !self.is_due(now) {
            return None;
        }
        self.before = self.before.saturating_add(std::mem::take(&mut self.stored));
        Some(now)
    }

    fn end(&mut self, (used, begun): (u64, DateTime<Utc>), took: Duration) {
        self.counted = Some((used, begun));
        self.took = TimeDelta::from_std(took).unwrap_or(FRESH);
        self.before = 0;
    }

    /// Takes room for `more`, or says how much is used.
    fn take(&mut self, more: u64, limit: Option<u64>) -> Result<(), u64> {
        let used = self.used();
        if more > 0 && limit.is_some_and(|limit| used.saturating_add(more) > limit) {
            return Err(used);
        }
        self.coming = self.coming.saturating_add(more);
        Ok(())
    }

    /// What was coming has come, or has not.
    fn settle(&mut self, amount: u64, is_kept: bool) {
        self.coming = self.coming.saturating_sub(amount);
        if is_kept {
            self.stored = self.stored.saturating_add(amount);
        }
    }
}

impl Room {
    /// Of a team that has no limit.
    pub fn unlimited() -> Self {
        Self { taken: None }
    }

    /// Takes room for some jobs with payloads of so many bytes together, or refuses.
    pub fn take(&mut self, jobs: usize, bytes: usize) -> Result<(), Error> {
        self.fit(jobs, bytes).map_err(|refusal| self.refused(refusal))
    }

    fn refused(&self, refusal: Refusal) -> Error {
        if let (Some(taken), Refusal::OverQuota { quota, .. }) = (&self.taken, &refusal) {
            count_refusal(&taken.team, *quota);
        }
        refusal.into()
    }

    fn fit(&mut self, jobs: usize, bytes: usize) -> Result<(), Refusal> {
        let Some(taken) = &mut self.taken else { return Ok(()) };
        let more = [jobs, bytes].map(|count| u64::try_from(count).unwrap_or(u64::MAX));
        let mut tallies = taken.slot.tallies();
        for ((quota, more), amount) in COUNTED.into_iter().zip(more).zip(&mut taken.amount) {
            let limit = taken.limits.get(quota);
            if let Err(used) = tallies.of(quota).take(more, limit) {
                let limit = limit.unwrap_or_default();
                return Err(Refusal::OverQuota { quota, limit, used, more });
            }
            *amount = amount.saturating_add(more);
        }
        Ok(())
    }

    /// It has been stored.
    pub fn keep(mut self) {
        if let Some(taken) = &mut self.taken {
            taken.is_kept = true;
        }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let mut tallies = self.slot.tallies();
        for (quota, amount) in COUNTED.into_iter().zip(self.amount) {
            tallies.of(quota).settle(amount, self.is_kept);
        }
    }
}

/// Room for `jobs` with `bytes` of payload that a caller registers, or the refusal, before anything is
/// stored. What adds nothing is let through: a repeat under an idempotency key that has its answer,
/// and a unique key that an unfinished job has.
pub async fn admit(
    ctx: &Ctx,
    who: &Principal,
    (key, unique_key): (Option<&Key>, Option<&str>),
    (jobs, bytes): (usize, usize),
) -> Result<Room, Error> {
    let mut room = ctx.quotas.room(ctx, &who.team).await;
    let Err(refusal) = room.fit(jobs, bytes) else { return Ok(room) };
    let session = ctx.store.session().await?;
    let mut adds_nothing = false;
    if let Some(key) = key {
        adds_nothing = idempotency::get(&session, key).await?.is_some();
    }
    if let Some(unique) = unique_key.filter(|_| !adds_nothing) {
        let shard = place::by_key(ctx, &who.team, unique);
        let found = live::find_unique(&session, shard, &who.team, &[unique]).await?;
        adds_nothing = !found.is_empty();
    }
    if adds_nothing { Ok(Room::unlimited()) } else { Err(room.refused(refusal)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::milliseconds(ms)
    }

    const QUICK: Duration = Duration::from_millis(1);

    #[test]
    fn what_is_coming_counts_until_it_is_stored_or_given_up() {
        let mut tally = Tally::default();
        tally.end((7, at(0)), QUICK);
        assert_eq!(tally.take(3, Some(10)), Ok(()));
        assert_eq!(tally.take(1, Some(10)), Err(10), "another request of the same instant");
        assert_eq!((tally.take(1, None), tally.take(0, Some(1))), (Ok(()), Ok(())));
        tally.settle(1, false);
        tally.settle(3, true);
        assert_eq!(tally.used(), 10);
    }

    #[test]
    fn what_is_stored_during_a_count_is_added_to_it() {
        let mut tally = Tally::default();
        assert_eq!(tally.begin(at(0)), Some(at(0)));
        tally.end((0, at(0)), QUICK);
        tally.take(2, None).unwrap();
        tally.settle(2, true);
        assert_eq!(tally.begin(at(999)), None, "counted within the last second");
        tally.take(4, None).unwrap();
        let begun = tally.begin(at(1_000)).unwrap();
        assert_eq!(tally.used(), 6, "nothing is forgotten while it goes on");
        tally.settle(4, true);
        tally.end((2, begun), QUICK);
        assert_eq!(tally.used(), 6, "the four may have come too late for it");
        let begun = tally.begin(at(2_000)).unwrap();
        tally.end((6, begun), QUICK);
        assert_eq!(tally.used(), 6);
    }

    #[test]
    fn a_count_that_fails_leaves_the_last_one_and_a_slow_one_is_repeated_seldom() {
        let mut tally = Tally::default();
        tally.end((5, at(0)), Duration::from_millis(200));
        tally.take(1, None).unwrap();
        tally.settle(1, true);
        assert_eq!(tally.begin(at(3_999)), None);
        assert!(tally.begin(at(4_000)).is_some());
        assert_eq!((tally.used(), tally.is_due(at(4_000))), (6, true));
        let begun = tally.begin(at(4_001)).unwrap();
        tally.end((6, begun), QUICK);
        assert_eq!(tally.used(), 6);
    }
}
