//! "Something is due in shard s at t": hints from whoever makes jobs to whoever pulls them.
//!
//! A hint may be lost, doubled or wrong; the puller's own look at the database is the truth. Inside
//! a process a hint is a map entry and a wake-up; between processes `hint` passes it on.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, Utc};
use tokio::sync::Notify;

use crate::domain::id::Shard;

/// The earliest due time hinted at, by shard.
pub type Dues = BTreeMap<Shard, DateTime<Utc>>;

/// A mailbox of hints; cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Wake(Arc<Boxes>);

#[derive(Debug, Default)]
struct Boxes {
    here: Mailbox,
    elsewhere: Mailbox,
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
    /// Tells the puller of this process, and those of the others.
    pub fn due(&self, shard: Shard, due_at: DateTime<Utc>) {
        self.0.here.put(shard, due_at);
        self.0.elsewhere.put(shard, due_at);
    }

    /// Tells the puller of this process only.
    pub fn due_here(&self, shard: Shard, due_at: DateTime<Utc>) {
        self.0.here.put(shard, due_at);
    }

    /// What the puller of this process reads.
    pub fn here(&self) -> &Mailbox {
        &self.0.here
    }

    /// What is passed on to other processes.
    pub fn elsewhere(&self) -> &Mailbox {
        &self.0.elsewhere
    }
}
