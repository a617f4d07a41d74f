//! How many runs a team may have at the same time, over all pullers: the quota `concurrent_runs`.
//!
//! A claim may take more of a team than it may have, since pullers claim side by side. So whoever has
//! claimed jobs of such a team counts its runs after its claim is committed and before it calls
//! anybody, and gives back, uncharged, what is too many. Of the runs that are kept, the one whose
//! claim was committed last was counted with all the others: there is never a call too many, and
//! nothing is locked. Two pullers may each give back for the other's sake; a look brings the jobs up
//! again.
//!
//! Teams that have as many as they may are passed over by claims, and looked at when a run has ended
//! here, and every tenth of a second. Teams without the quota cost nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::time::Instant;

use super::wake::{Dues, LONG_DUE};
use super::{Ctx, Error, random};
use crate::domain::id::Shard;
use crate::domain::principal::Team;
use crate::store::live::Claimed;
use crate::store::{quotas, rounds};
use crate::telemetry::metrics as names;

/// What a puller knows of the teams that have the quota and something to do.
#[derive(Debug, Default)]
pub struct Ceilings(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    rooms: BTreeMap<Team, Room>,
    /// When to look at the teams that are full; sooner once a run has ended.
    look_at: Option<Instant>,
    /// The last shard that was told of, so that none is always first.
    turn: Option<Shard>,
    /// The last team that was looked at, for the same reason.
    last: Option<Team>,
}

/// How many more runs a team may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Room {
    left: u64,
    seen_at: Instant,
}

/// How long room that was seen is believed; a team without any is full until a look says otherwise.
const FRESH: Duration = Duration::from_secs(1);
/// How often teams that are full are looked at.
const PERIOD: Duration = Duration::from_millis(100);
/// The same once a run of this puller has ended: it may have been theirs.
const AFTER_NEWS: Duration = Duration::from_millis(20);
/// So many teams are looked at together: claims wait meanwhile. If more are full, the next look comes
/// soon.
const LOOKED_AT: usize = 16;

impl Ceilings {
    /// The teams that a claim must know of, and how many of their jobs it may take: none of most.
    pub fn rooms(&self) -> Vec<(Team, u64)> {
        let mut known = self.known();
        let now = Instant::now();
        known.rooms.retain(|_, room| room.left == 0 || now - room.seen_at < FRESH);
        known.rooms.iter().map(|(team, room)| (team.clone(), room.left)).collect()
    }

    /// Divides what a committed claim brought into what may be called, and what is given back because
    /// its team has too many runs.
    pub async fn divide(&self, ctx: &Ctx, claimed: Vec<Claimed>) -> (Vec<Claimed>, Vec<Claimed>) {
        let teams: BTreeSet<&Team> = claimed.iter().map(|job| &job.team).collect();
        let limit = |team: &&Team| {
            let limit = ctx.quotas.limits(team).concurrent_runs?;
            Some(((*team).clone(), limit))
        };
        let limits: BTreeMap<Team, u64> = teams.iter().filter_map(limit).collect();
        if limits.is_empty() {
            return (claimed, Vec::new());
        }
        let teams: Vec<&Team> = limits.keys().collect();
        let running = match quotas::running(&ctx.store, &teams).await {
            Ok(running) => running,
            Err(error) => {
                // Nobody knows whether they may be called.
                tracing::warn!(%error, "the runs of teams could not be counted");
                return claimed.into_iter().partition(|job| !limits.contains_key(&job.team));
            }
        };
        let over: BTreeMap<Team, u64> = limits
            .iter()
            .map(|(team, limit)| {
                let running = running.get(team).copied().unwrap_or_default();
                self.known().note(team, limit.saturating_sub(running));
                (team.clone(), running.saturating_sub(*limit))
            })
            .collect();
        let (kept, surplus) = split(claimed, over);
        let count = u64::try_from(surplus.len()).unwrap_or(u64::MAX);
        metrics::counter!(names::RUNS_DEFERRED, "reason" => "team_ceiling").increment(count);
        (kept, surplus)
    }

    /// A run of this puller has ended; returns whether anybody waits for that.
    pub fn freed(&self) -> bool {
        let mut known = self.known();
        let waits = known.is_any_full();
        if waits {
            let soon = Instant::now() + AFTER_NEWS;
            known.look_at = Some(known.look_at.map_or(soon, |at| at.min(soon)));
        }
        waits
    }

    /// Learns which teams have a ceiling, and looks at those that are full, each when it is time to;
    /// returns where those that are not any more have something due, in as many shards as they have
    /// room for runs.
    pub async fn look(&self, ctx: &Ctx, now: DateTime<Utc>) -> Result<Dues, Error> {
        ctx.roster.refresh(&ctx.store).await?;
        let full = self.known().take_full(Instant::now());
        let mut dues = Dues::new();
        if full.is_empty() {
            return Ok(dues);
        }
        let teams: Vec<&Team> = full.iter().collect();
        let running = quotas::running(&ctx.store, &teams).await?;
        for team in &full {
            let limit = ctx.quotas.limits(team).concurrent_runs.unwrap_or(u64::MAX);
            let left = limit.saturating_sub(running.get(team).copied().unwrap_or_default());
            if left > 0 {
                let shards = quotas::due_shards(&ctx.store, team, now).await?;
                let mut known = self.known();
                known.note(team, left);
                dues.extend(known.choose(&shards, left).into_iter().map(|shard| (shard, LONG_DUE)));
            }
        }
        Ok(dues)
    }

    /// How long until the next look; none if there is nobody to look at.
    pub fn pause(&self) -> Option<Duration> {
        let known = self.known();
        let look_at = known.look_at.filter(|_| known.is_any_full())?;
        Some(look_at.saturating_duration_since(Instant::now()))
    }

    /// When something is due in a shard whose earliest job is one that a claim has passed over: that
    /// of the other teams, if any; at the latest at `rest`.
    pub async fn next_due(
        &self,
        ctx: &Ctx,
        shard: Shard,
        rest: DateTime<Utc>,
    ) -> Result<DateTime<Utc>, Error> {
        let full: Vec<Team> = {
            let known = self.known();
            known.full().cloned().collect()
        };
        if full.is_empty() {
            return Ok(rest);
        }
        let next = rounds::next_due_beside(&ctx.store, shard, &full).await?;
        Ok(next.filter(|due_at| *due_at > ctx.clock.now()).map_or(rest, |due_at| due_at.min(rest)))
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn note(&mut self, team: &Team, left: u64) {
        let seen_at = Instant::now();
        if left == 0 && self.look_at.is_none() {
            self.look_at = Some(seen_at + PERIOD);
        }
        self.rooms.insert(team.clone(), Room { left, seen_at });
    }

    fn full(&self) -> impl Iterator<Item = &Team> {
        self.rooms.iter().filter(|(_, room)| room.left == 0).map(|(team, _)| team)
    }

    fn is_any_full(&self) -> bool {
        self.full().next().is_some()
    }

    /// The teams that are full, if it is time to look at them; not in step with other pullers.
    fn take_full(&mut self, now: Instant) -> Vec<Team> {
        if self.look_at.is_none_or(|at| now < at) {
            return Vec::new();
        }
        let (before, after): (Vec<Team>, Vec<Team>) =
            self.full().cloned().partition(|team| self.last.as_ref().is_some_and(|l| team <= l));
        let mut full = [after, before].concat();
        let period = if full.len() > LOOKED_AT { AFTER_NEWS } else { PERIOD };
        let next = now + period.mul_f64(0.5 + random::unit() / 2.0);
        self.look_at = (!full.is_empty()).then_some(next);
        full.truncate(LOOKED_AT);
        self.last = full.last().cloned();
        full
    }

    /// As many of these shards as there is room, in turn.
    fn choose(&mut self, shards: &[Shard], left: u64) -> Vec<Shard> {
        let most = usize::try_from(left).unwrap_or(usize::MAX);
        let (before, after): (Vec<Shard>, Vec<Shard>) =
            shards.iter().partition(|shard| self.turn.is_some_and(|turn| **shard <= turn));
        let chosen: Vec<_> = after.into_iter().chain(before).take(most).collect();
        self.turn = chosen.last().copied().or(self.turn);
        chosen
    }
}

/// Takes so many jobs of each team out, those that come last.
fn split(claimed: Vec<Claimed>, mut over: BTreeMap<Team, u64>) -> (Vec<Claimed>, Vec<Claimed>) {
    let mut surplus = Vec::new();
    let mut kept = Vec::with_capacity(claimed.len());
    for job in claimed.into_iter().rev() {
        match over.get_mut(&job.team) {
            Some(left) if *left > 0 => {
                *left -= 1;
                surplus.push(job);
            }
            Some(_) | None => kept.push(job),
        }
    }
    kept.reverse();
    (kept, surplus)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn team(name: &str) -> Team {
        Team::parse(name).unwrap()
    }

    #[test]
    fn full_teams_are_looked_at_now_and_then_and_soon_after_a_run_has_ended() {
        let ceilings = Ceilings::default();
        assert_eq!((ceilings.pause(), ceilings.freed()), (None, false));
        ceilings.known().note(&team("a"), 0);
        ceilings.known().note(&team("b"), 2);
        let now = Instant::now();
        assert_eq!(ceilings.known().take_full(now), [], "not yet");
        assert!(ceilings.pause().unwrap() > AFTER_NEWS && ceilings.freed());
        assert!(ceilings.pause().unwrap() <= AFTER_NEWS);
        assert_eq!(ceilings.known().take_full(now + PERIOD), [team("a")]);
        let rooms = ceilings.rooms();
        assert_eq!(rooms, [(team("a"), 0), (team("b"), 2)]);
    }

    #[test]
    fn of_many_full_teams_some_are_looked_at_and_then_the_others() {
        let mut known = Known::default();
        for nth in 0..40 {
            known.note(&team(&format!("team-{nth:02}")), 0);
        }
        let (mut seen, mut now) = (BTreeSet::new(), Instant::now());
        for size in [16, 32, 40] {
            now += PERIOD;
            seen.extend(known.take_full(now));
            assert_eq!(seen.len(), size);
        }
    }

    #[test]
    fn shards_take_turns() {
        let mut known = Known::default();
        let shards = [1, 4, 7].map(Shard);
        assert_eq!(known.choose(&shards, 2), [1, 4].map(Shard));
        assert_eq!(known.choose(&shards, 2), [7, 1].map(Shard));
        assert_eq!(known.choose(&shards, 9), [4, 7, 1].map(Shard));
        assert_eq!(known.choose(&[], 9), []);
    }
}
