//! Whose turn it is: the order in which a puller with more to do than permits visits teams and
//! shards.
//!
//! Inside a shard the claim itself gives every team its share. Between shards this does: a backlog
//! makes every shard due, and a team with one job would wait until its shard's turn comes. So while
//! there is a backlog the puller looks now and then who has something due, and the team that was
//! served least recently goes first. What is seen only orders the [`Agenda`]; it adds nothing to it.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};

use super::claim::Agenda;
use crate::domain::id::Shard;
use crate::domain::principal::Team;
use crate::engine::wake::Dues;

/// The agenda, and the order of the teams in it.
#[derive(Debug, Default)]
pub struct Rounds {
    agenda: Agenda,
    lanes: BTreeMap<Team, Lane>,
    /// Counts claims.
    turn: u64,
    /// The last turn of the agenda's own order: it takes its turn like a team, so that what no look
    /// has seen is visited too.
    unseen: u64,
    /// Whether the last look saw every team that waits.
    is_whole: bool,
}

/// The shards in which a team was seen to have something due.
#[derive(Debug, Default)]
struct Lane {
    shards: BTreeSet<Shard>,
    /// Where its last turn was, so that no shard is always first.
    last: Option<Shard>,
    /// The last turn in which it was given anything.
    served: u64,
}

impl Rounds {
    /// Takes hints in.
    pub fn merge(&mut self, hints: Dues) {
        self.agenda.merge(hints);
    }

    /// Corrects the picture after a claim: when the shard is next worth one, if ever.
    pub fn set(&mut self, shard: Shard, due_at: Option<DateTime<Utc>>) {
        self.agenda.set(shard, due_at);
    }

    /// Leaves a shard alone until then: what is due there is not to be had now.
    pub fn rest(&mut self, shard: Shard, until: DateTime<Utc>) {
        self.agenda.rest(shard, until);
    }

    /// The shards that have something due, each with a time before which nothing in it is.
    pub fn due(&self, now: DateTime<Utc>) -> Vec<(Shard, DateTime<Utc>)> {
        self.agenda.due(now)
    }

    /// A time before which nothing that waits in this shard is due.
    pub fn floor(&self, shard: Shard) -> DateTime<Utc> {
        self.agenda.floor(shard)
    }

    /// When anything is next due.
    pub fn earliest(&self) -> Option<DateTime<Utc>> {
        self.agenda.earliest()
    }

    /// What a look has found takes the place of what the one before had; teams that are no longer
    /// seen are forgotten. `is_whole`: no team was left for the next look.
    pub fn saw(&mut self, due: Vec<(Shard, Team)>, is_whole: bool) {
        self.is_whole = is_whole;
        let mut before = std::mem::take(&mut self.lanes);
        for (shard, team) in due {
            let lane = self.lanes.entry(team).or_insert_with_key(|team| {
                let known = before.remove(team).unwrap_or_default();
                Lane { shards: BTreeSet::new(), ..known }
            });
            lane.shards.insert(shard);
        }
    }

    /// The next shard to claim from, and the team to begin with there, if one is known.
    pub fn next(&mut self, now: DateTime<Utc>) -> Option<(Shard, Option<Team>)> {
        while let Some((team, lane)) = self.lanes.iter_mut().min_by_key(|(_, lane)| lane.served)
            && lane.served <= self.unseen
        {
            match lane.take() {
                Some(shard) if self.agenda.is_due(shard, now) => {
                    let team = team.clone();
                    return Some((shard, Some(team)));
                }
                Some(_) => {}
                None => {
                    let team = team.clone();
                    self.lanes.remove(&team);
                }
            }
        }
        self.unseen = self.turn + 1;
        let shard = self.agenda.next_shard(now)?;
        // Wherever a claim begins it meets all of a few teams; to ask whose job is due longest is for
        // when there are too many.
        let lanes = self.lanes.iter().filter(|_| self.is_whole);
        let start = lanes.min_by_key(|(_, lane)| lane.served).map(|(team, _)| team.clone());
        Some((shard, start))
    }

    /// Notes who was given something in this turn, and whose turn it was.
    pub fn served<'a>(&mut self, teams: impl Iterator<Item = &'a Team>) {
        self.turn += 1;
        for team in teams {
            if let Some(lane) = self.lanes.get_mut(team) {
                lane.served = self.turn;
            }
        }
    }
}

impl Lane {
    /// The next of its shards, in turn.
    fn take(&mut self) -> Option<Shard> {
        let after = self.last.map_or(i32::MIN, |last| last.0.saturating_add(1));
        let next = self.shards.range(Shard(after)..).next().or_else(|| self.shards.first());
        let next = next.copied()?;
        self.last = Some(next);
        self.shards.take(&next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn team(name: &str) -> Team {
        Team::parse(name).unwrap()
    }

    fn now() -> DateTime<Utc> {
        DateTime::UNIX_EPOCH
    }

    /// Eight shards that are all due, with the lanes `seen`.
    fn rounds(seen: &[(i32, &str)]) -> Rounds {
        let mut rounds = Rounds::default();
        rounds.merge((0..8).map(|shard| (Shard(shard), now())).collect());
        rounds.saw(seen.iter().map(|(shard, name)| (Shard(*shard), team(name))).collect(), false);
        rounds
    }

    /// One claim that serves the team whose turn it is, or else `heavy`.
    fn claim(rounds: &mut Rounds) -> (i32, String) {
        let (shard, start) = rounds.next(now()).unwrap();
        let served = start.clone().unwrap_or_else(|| team("heavy"));
        rounds.served([&served, &team("heavy")].into_iter());
        (shard.0, start.map_or("-".to_owned(), |team| team.to_string()))
    }

    #[test]
    fn who_was_served_least_recently_comes_first() {
        let heavy: Vec<_> = (0..8).map(|shard| (shard, "heavy")).collect();
        let mut rounds = rounds(&heavy);
        for _ in 0..5 {
            claim(&mut rounds);
        }
        let mut seen: Vec<_> = heavy.iter().map(|(s, name)| (Shard(*s), team(name))).collect();
        seen.push((Shard(6), team("light")));
        rounds.saw(seen, false);
        assert_eq!(claim(&mut rounds), (6, "light".to_owned()), "a new team goes first");
        let turns: Vec<_> = (0..4).map(|_| claim(&mut rounds).1).collect();
        assert!(!turns.contains(&"light".to_owned()), "it has nothing else: {turns:?}");
        assert!(turns.contains(&"-".to_owned()), "what no look saw has its turns: {turns:?}");
        assert!(turns.contains(&"heavy".to_owned()), "{turns:?}");
    }

    #[test]
    fn teams_that_have_something_everywhere_take_turns() {
        let seen: Vec<_> =
            (0..8).flat_map(|shard| ["a", "b", "c"].map(|name| (shard, name))).collect();
        let mut rounds = rounds(&seen);
        let mut counts = BTreeMap::new();
        for _ in 0..16 {
            let (_, start) = rounds.next(now()).unwrap();
            rounds.served(start.iter());
            *counts.entry(start.map(|team| team.to_string())).or_insert(0) += 1;
        }
        assert!(counts.values().all(|count| *count == 4), "{counts:?}");
    }

    #[test]
    fn a_lane_of_a_shard_that_is_not_due_is_passed_over_and_none_is_for_ever() {
        let mut rounds = rounds(&[(2, "a"), (3, "a")]);
        for shard in 0..8 {
            rounds.set(Shard(shard), None);
        }
        assert_eq!(rounds.next(now()), None);
        rounds.set(Shard(5), Some(now()));
        assert_eq!(rounds.next(now()), Some((Shard(5), None)));
        rounds.saw(vec![(Shard(7), team("b"))], true);
        rounds.served([team("b")].iter());
        rounds.served([team("b")].iter());
        assert_eq!(rounds.next(now()), Some((Shard(5), Some(team("b")))), "any team will do");
    }
}
