//! Which shards to claim from, and when: the puller's picture of what is due.
//!
//! The picture is made of hints, of what each claim saw, and of a look at every shard now and then.
//! It may be wrong either way: too early costs an empty claim, too late lasts until the next look.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::domain::id::Shard;
use crate::engine::wake::Dues;

/// When each shard is next worth a claim. Shards that are not in it have nothing that we know of.
#[derive(Debug, Default)]
pub struct Agenda {
    dues: BTreeMap<Shard, DateTime<Utc>>,
    /// Where the last turn ended, so that no shard is always first.
    last: Option<Shard>,
}

impl Agenda {
    /// Takes hints in; the earlier of two stays.
    pub fn merge(&mut self, hints: Dues) {
        for (shard, due_at) in hints {
            let earliest = self.dues.entry(shard).or_insert(due_at);
            *earliest = due_at.min(*earliest);
        }
    }

    /// The next shard that has something due, in turn.
    pub fn next_shard(&mut self, now: DateTime<Utc>) -> Option<Shard> {
        let is_due = |entry: &(&Shard, &DateTime<Utc>)| *entry.1 <= now;
        let after = self.last.map_or(i32::MIN, |last| last.0.saturating_add(1));
        let next = self.dues.range(Shard(after)..).find(is_due);
        let found = next.or_else(|| self.dues.iter().find(is_due)).map(|(shard, _)| *shard);
        self.last = found.or(self.last);
        found
    }

    /// Whether we know of something due in this shard.
    pub fn is_due(&self, shard: Shard, now: DateTime<Utc>) -> bool {
        self.dues.get(&shard).is_some_and(|due_at| *due_at <= now)
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
            Some(due_at) => _ = self.dues.insert(shard, due_at),
            None => _ = self.dues.remove(&shard),
        }
    }

    /// When anything is next due.
    pub fn earliest(&self) -> Option<DateTime<Utc>> {
        self.dues.values().min().copied()
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
}
