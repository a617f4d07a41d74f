//! Which shards to claim from, and when: the puller's picture of what is due.
//!
//! The picture is made of hints, of what each claim saw, and of a look at every shard now and then.
//! It may be wrong either way: too early costs an empty claim, too late lasts until the next look.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::domain::id::Shard;
use crate::engine::wake::{Dues, LONG_DUE};

/// When each shard is next worth a claim. Shards that are not in it have nothing that we know of.
#[derive(Debug, Default)]
pub struct Agenda {
    dues: BTreeMap<Shard, Next>,
    /// Where the last turn ended, so that no shard is always first.
    last: Option<Shard>,
}

/// What is next in a shard.
#[derive(Clone, Copy, Debug)]
struct Next {
    /// When it is worth a claim.
    at: DateTime<Utc>,
    /// Nothing that waits is due before this.
    floor: DateTime<Utc>,
}

impl Agenda {
    /// Takes hints in; the earlier of two stays.
    pub fn merge(&mut self, hints: Dues) {
        for (shard, at) in hints {
            let known = self.dues.entry(shard).or_insert(Next { at, floor: at });
            *known = Next { at: at.min(known.at), floor: at.min(known.floor) };
        }
    }

    /// The next shard that has something due, in turn.
    pub fn next_shard(&mut self, now: DateTime<Utc>) -> Option<Shard> {
        let is_due = |entry: &(&Shard, &Next)| entry.1.at <= now;
        let after = self.last.map_or(i32::MIN, |last| last.0.saturating_add(1));
        let next = self.dues.range(Shard(after)..).find(is_due);
        let found = next.or_else(|| self.dues.iter().find(is_due)).map(|(shard, _)| *shard);
        self.last = found.or(self.last);
        found
    }

    /// Whether we know of something due in this shard.
    pub fn is_due(&self, shard: Shard, now: DateTime<Utc>) -> bool {
        self.dues.get(&shard).is_some_and(|next| next.at <= now)
    }

    /// A time before which nothing that waits in this shard is due: claims need not look there. A job
    /// without a hint may be due earlier; the next look at every shard brings it up.
    pub fn floor(&self, shard: Shard) -> DateTime<Utc> {
        self.dues.get(&shard).map_or(LONG_DUE, |next| next.floor)
    }

    /// The shards that have something due, each with its floor.
    pub fn due(&self, now: DateTime<Utc>) -> Vec<(Shard, DateTime<Utc>)> {
        let due = self.dues.iter().filter(|(_, next)| next.at <= now);
        due.map(|(shard, next)| (*shard, next.floor)).collect()
    }

    /// Takes out every shard that has something due.
    pub fn take_due(&mut self, now: DateTime<Utc>) -> Vec<Shard> {
        std::iter::from_fn(|| {
            let shard = self.next_shard(now)?;
            self.set(shard, None);
            Some(shard)
        })
        .collect()
    }

    /// Corrects the picture after a claim: when the shard is next worth one, if ever.
    pub fn set(&mut self, shard: Shard, due_at: Option<DateTime<Utc>>) {
        match due_at {
            Some(at) => _ = self.dues.insert(shard, Next { at, floor: at }),
            None => _ = self.dues.remove(&shard),
        }
    }

    /// Leaves a shard alone until then: what is due there is not to be had now.
    pub fn rest(&mut self, shard: Shard, until: DateTime<Utc>) {
        if let Some(next) = self.dues.get_mut(&shard) {
            next.at = until;
        }
    }

    /// When anything is next due.
    pub fn earliest(&self) -> Option<DateTime<Utc>> {
        self.dues.values().map(|next| next.at).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(secs, 0).unwrap()
    }

    #[test]
    fn shards_take_turns_and_the_future_waits() {
        let mut agenda = Agenda::default();
        let hints = [(3, 5), (1, 5), (2, 50)];
        agenda.merge(hints.map(|(shard, due)| (Shard(shard), at(due))).into());
        let turn = |agenda: &mut Agenda| agenda.next_shard(at(10)).map(|shard| shard.0);
        assert_eq!([(); 3].map(|()| turn(&mut agenda)), [Some(1), Some(3), Some(1)]);
        agenda.set(Shard(1), None);
        agenda.set(Shard(3), Some(at(40)));
        assert_eq!(turn(&mut agenda), None);
        assert_eq!(agenda.earliest(), Some(at(40)));
        agenda.merge([(Shard(3), at(45)), (Shard(2), at(10))].into());
        assert_eq!(turn(&mut agenda), Some(2));
        assert_eq!(agenda.next_shard(at(40)), Some(Shard(3)));
    }

    #[test]
    fn a_floor_is_the_earliest_that_is_known_of_however_long_the_shard_rests() {
        let mut agenda = Agenda::default();
        assert_eq!(agenda.floor(Shard(1)), LONG_DUE, "nothing is known");
        agenda.merge([(Shard(1), at(5))].into());
        agenda.rest(Shard(1), at(20));
        assert_eq!(agenda.due(at(10)), [], "it rests");
        assert_eq!(agenda.due(at(20)), [(Shard(1), at(5))]);
        agenda.merge([(Shard(1), at(3))].into());
        assert_eq!(agenda.due(at(10)), [(Shard(1), at(3))], "a hint ends the rest");
        agenda.set(Shard(1), Some(at(8)));
        agenda.merge([(Shard(1), at(9))].into());
        assert_eq!(agenda.floor(Shard(1)), at(8));
        agenda.merge([(Shard(1), LONG_DUE)].into());
        assert_eq!(agenda.floor(Shard(1)), LONG_DUE);
    }
}
