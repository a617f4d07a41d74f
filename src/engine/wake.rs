//! "Something is due in shard s at t": hints from whoever makes jobs to whoever pulls them, and from
//! whoever makes schedules to whoever fires them.
//!
//! A hint may be lost, doubled or wrong; the reader's own look at the database is the truth. Inside
//! a process a hint is a map entry and a wake-up; between processes `hint` passes it on.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, Utc};
use tokio::sync::Notify;

use crate::domain::id::Shard;

/// The earliest due time hinted at, by shard.
pub type Dues = BTreeMap<Shard, DateTime<Utc>>;

/// The hint for what is due nobody knows since when: the reader then leaves nothing out that is older
/// than what it knew of.
pub const LONG_DUE: DateTime<Utc> = DateTime::UNIX_EPOCH;

/// A mailbox of hints; cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Wake(Arc<Boxes>);

#[derive(Debug, Default)]
struct Boxes {
    jobs: Pair,
    slots: Pair,
}

/// Hints of one kind.
#[derive(Debug, Default)]
pub struct Pair {
    /// What this process reads.
    pub here: Mailbox,
    /// What is passed on to other processes.
    pub elsewhere: Mailbox,
}

/// Hints that nobody has taken yet.
#[derive(Debug, Default)]
pub struct Mailbox {
    dues: Mutex<Dues>,
    news: Notify,
}

impl Mailbox {
    /// Puts a hint in; the earlier of two for the same shard stays.
    pub fn put(&self, shard: Shard, due_at: DateTime<Utc>) {
        let mut dues = self.dues.lock().unwrap_or_else(PoisonError::into_inner);
        let earliest = dues.entry(shard).or_insert(due_at);
        *earliest = due_at.min(*earliest);
        drop(dues);
        self.news.notify_one();
    }

    /// Wakes the reader without a hint: it has something else to look at.
    pub fn nudge(&self) {
        self.news.notify_one();
    }

    /// Takes everything out.
    pub fn take(&self) -> Dues {
        std::mem::take(&mut *self.dues.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Resolves when there is something, or was since the last time it resolved: no hint between a
    /// look and the wait is lost.
    pub async fn news(&self) {
        self.news.notified().await;
    }
}

impl Wake {
    /// Tells the puller of this process, and those of the others, that a job is due.
    pub fn due(&self, shard: Shard, due_at: DateTime<Utc>) {
        self.0.jobs.tell(shard, due_at);
    }

    /// Tells whoever fires schedules, here and elsewhere, that one has a slot then.
    pub fn slot(&self, shard: Shard, slot_at: DateTime<Utc>) {
        self.0.slots.tell(shard, slot_at);
    }

    /// Hints about jobs.
    pub fn jobs(&self) -> &Pair {
        &self.0.jobs
    }

    /// Hints about slots of schedules.
    pub fn slots(&self) -> &Pair {
        &self.0.slots
    }
}

impl Pair {
    fn tell(&self, shard: Shard, at: DateTime<Utc>) {
        self.here.put(shard, at);
        self.elsewhere.put(shard, at);
    }
}
