//! Group commit: single registrations that arrive while others are being committed share the next
//! transaction, so that a busy API pays a few statements and one commit for many of them, and an idle
//! one makes nobody wait.
//!
//! Each is complete before it joins: its id, its rows, its answer. It is answered after the commit.
//! Whatever stands against one of them (its Idempotency-Key or its unique key is taken, a row that the
//! database refuses) costs its neighbours nothing but a transaction each: who is left out goes alone.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};

use super::{Error, Wake};
use crate::domain::id::{JobId, Shard};
use crate::domain::job::NewJob;
use crate::domain::principal::Team;
use crate::store::entries::{self, Row, Rows};
use crate::store::idempotency::{self, Kept, Key};
use crate::store::{self, Bounds, Session, Store};

/// Registrations, and bytes of payload, in one transaction at most.
const MOST: usize = 500;
const MOST_BYTES: usize = 4 * 1024 * 1024;
/// Transactions at a time: fewer and larger ones cost less (docs/performance.md).
const AT_ONCE: usize = 1;
/// Somebody who has waited for so long does not wait for a transaction that hangs, such as one whose
/// connection died without a word; so many at a time may do so.
const STALLED: Duration = Duration::from_millis(250);
const AT_MOST: usize = 4;
/// How long one shard is the one of those without a key: they are claimed and settled shard by shard, the
/// more together the cheaper.
const STAY: Duration = Duration::from_millis(4);
/// How long a transaction of many waits for a lock: whoever meets one that is held for longer waits
/// for it alone.
const PATIENCE: Duration = Duration::from_millis(100);

/// A registration that lacks nothing but its commit.
#[derive(Debug)]
pub struct Joining {
    /// Its id, which says its shard.
    pub id: JobId,
    /// Whose it is.
    pub team: Team,
    /// What was asked.
    pub new: NewJob,
    /// When it is due.
    pub due_at: DateTime<Utc>,
    /// When it was registered.
    pub at: DateTime<Utc>,
    /// Under which key.
    pub key: Option<Key>,
    /// What its caller is answered; kept under the key.
    pub kept: Kept,
}

/// What became of it.
#[derive(Debug)]
pub enum Joined {
    /// It is durable.
    Committed(Joining),
    /// Nothing of it is there: it goes alone.
    LeftOut(Joining),
}

/// Where registrations meet; cheap to clone.
#[derive(Clone)]
pub struct Group(Arc<Inner>);

struct Inner {
    store: Store,
    wake: Wake,
    /// Not that of an HTTP worker, which other requests wait for.
    runtime: Handle,
    waiting: Mutex<Waiting>,
    /// Which shard it is for those without a key, which share one as they share a transaction.
    turn: AtomicUsize,
}

#[derive(Default)]
struct Waiting {
    seats: VecDeque<Seat>,
    under_way: usize,
    /// When the shard changed last.
    turned_at: Option<Instant>,
}

struct Seat {
    joining: Joining,
    tell: oneshot::Sender<Result<Joined, Error>>,
}

impl Group {
    /// A group whose transactions run where this is called. Pullers are told of what it commits, also
    /// where the caller has gone away.
    pub fn new(store: Store, wake: Wake) -> Self {
        let (runtime, waiting) = (Handle::current(), Mutex::default());
        // Processes that start together begin at different shards.
        let turn = AtomicUsize::new(usize::try_from(std::process::id()).unwrap_or_default());
        Self(Arc::new(Inner { store, wake, runtime, waiting, turn }))
    }

    /// The shard of a registration that may go to any.
    pub fn shard(&self, shards: &[Shard]) -> Shard {
        let turn = self.0.turn.load(Ordering::Relaxed);
        shards.get(turn % shards.len().max(1)).copied().unwrap_or(Shard(0))
    }

    /// Commits it, together with whatever else is waiting. A caller that goes away meanwhile takes
    /// nothing back.
    pub async fn join(&self, joining: Joining) -> Result<Joined, Error> {
        let (tell, mut told) = oneshot::channel();
        self.waiting().seats.push_back(Seat { joining, tell });
        self.start_below(AT_ONCE);
        loop {
            match timeout(STALLED, &mut told).await {
                Ok(Ok(answer)) => return answer,
                Ok(Err(_gone)) => return Err(Error::Busy("the registration was given up".into())),
                Err(_elapsed) => self.start_below(AT_MOST),
            }
        }
    }

    /// Starts a transaction if somebody waits for one and fewer are under way.
    fn start_below(&self, limit: usize) {
        let mut waiting = self.waiting();
        if !waiting.seats.is_empty() && waiting.under_way < limit {
            waiting.under_way += 1;
            drop(waiting);
            self.start();
        }
    }

    fn start(&self) {
        let working = Working(self.clone());
        drop(self.0.runtime.spawn(async move { working.run().await }));
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Vec<Seat> {
        let mut waiting = self.waiting();
        let (mut taken, mut bytes) = (Vec::new(), 0);
        while taken.len() < MOST && bytes < MOST_BYTES {
            let Some(seat) = waiting.seats.pop_front() else { break };
            bytes += seat.joining.new.payload.len();
            taken.push(seat);
        }
        let now = Instant::now();
        if waiting.turned_at.is_none_or(|at| now - at >= STAY) {
            waiting.turned_at = Some(now);
            self.0.turn.fetch_add(1, Ordering::Relaxed);
        }
        taken
    }
}

/// One of the transactions at a time; whatever ends it, its place becomes free.
struct Working(Group);

impl Working {
    async fn run(self) {
        loop {
            let seats = self.0.take();
            if seats.is_empty() {
                return;
            }
            commit(&self.0.0, seats).await;
        }
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.0.waiting().under_way -= 1;
        // Whoever came between the last look and this.
        self.0.start_below(AT_ONCE);
    }
}

/// Why a transaction of many did not come about.
enum Failed {
    /// Nothing was written.
    Before(store::Error),
    /// Whether it was committed is not known.
    Unknown(store::Error),
}

async fn commit(Inner { store, wake, .. }: &Inner, seats: Vec<Seat>) {
    let written = {
        let joining: Vec<&Joining> = seats.iter().map(|seat| &seat.joining).collect();
        write(store, &joining).await
    };
    let committed = match written {
        Ok(committed) => committed,
        Err(Failed::Before(error)) => {
            tracing::debug!(%error, count = seats.len(), "registrations go alone");
            HashSet::new()
        }
        Err(Failed::Unknown(error)) => {
            let text = error.to_string();
            for seat in seats {
                tell(seat.tell, Err(Error::Busy(text.clone())));
            }
            return;
        }
    };
    for Seat { joining, tell: to } in seats {
        let is_in = committed.contains(&joining.id);
        if is_in {
            wake.due(joining.id.shard(), joining.due_at);
        }
        let joined = if is_in { Joined::Committed(joining) } else { Joined::LeftOut(joining) };
        tell(to, Ok(joined));
    }
}

/// Nobody may be listening any more; the job is there all the same.
fn tell(to: oneshot::Sender<Result<Joined, Error>>, what: Result<Joined, Error>) {
    drop(to.send(what));
}

/// Writes all that nothing stands against, in one transaction; says which those are.
async fn write(store: &Store, joining: &[&Joining]) -> Result<HashSet<JobId>, Failed> {
    let session = store.session().await.map_err(Failed::Before)?;
    let first = first_of_each_key(joining);
    let has_unique = first.iter().any(|joining| joining.new.unique_key.is_some());
    if !has_unique && first.iter().all(|joining| joining.key.is_none()) {
        return insert(&session, Bounds::Whole, Rows::Both, &first).await;
    }
    let mut free = take_keys(&session, first).await.map_err(Failed::Before)?;
    if has_unique {
        let rows = by_shard(&free);
        let live = entries::insert(&session, Bounds::Inside, Rows::Live, &rows).await;
        let live: HashSet<_> = live.map_err(Failed::Before)?.into_iter().collect();
        let (taken_in, kept_out) = free.into_iter().partition(|one| live.contains(&one.id));
        give_back(&session, kept_out).await.map_err(Failed::Before)?;
        free = taken_in;
    }
    let rows = if has_unique { Rows::Jobs } else { Rows::Both };
    insert(&session, Bounds::Commit, rows, &free).await
}

/// Two requests with one key: the second goes alone and finds the first one's answer.
fn first_of_each_key<'a>(joining: &[&'a Joining]) -> Vec<&'a Joining> {
    let mut seen = HashSet::new();
    let joining = joining.iter().copied();
    joining.filter(|one| one.key.as_ref().is_none_or(|key| seen.insert(&key.scope))).collect()
}

async fn take_keys<'a>(
    session: &Session,
    joining: Vec<&'a Joining>,
) -> Result<Vec<&'a Joining>, store::Error> {
    let mut shards: BTreeMap<Shard, Vec<(&Key, &Kept)>> = BTreeMap::new();
    for one in &joining {
        if let Some(key) = &one.key {
            shards.entry(key.shard).or_default().push((key, &one.kept));
        }
    }
    let now = joining.iter().map(|one| one.at).max().unwrap_or_default();
    let shards: Vec<_> = shards.into_iter().collect();
    let taken = idempotency::take_all(session, &shards, (PATIENCE, now)).await?;
    let is_free = |one: &&Joining| one.key.as_ref().is_none_or(|key| taken.contains(&key.scope));
    Ok(joining.into_iter().filter(is_free).collect())
}

/// Those that a unique key keeps out look what has it, each alone and under its own key.
async fn give_back(session: &Session, kept_out: Vec<&Joining>) -> Result<(), store::Error> {
    let mut shards: BTreeMap<Shard, Vec<&[u8]>> = BTreeMap::new();
    for key in kept_out.iter().filter_map(|one| one.key.as_ref()) {
        shards.entry(key.shard).or_default().push(&key.scope);
    }
    for (shard, scopes) in shards {
        idempotency::give_back(session, shard, &scopes).await?;
    }
    Ok(())
}

/// Writes the last rows, and commits.
async fn insert(
    session: &Session,
    bounds: Bounds,
    rows: Rows,
    joining: &[&Joining],
) -> Result<HashSet<JobId>, Failed> {
    let written = entries::insert(session, bounds, rows, &by_shard(joining)).await;
    written.map_err(|error| match error {
        // No answer, or none that says whether the COMMIT behind it was reached.
        store::Error::Busy(_) => Failed::Unknown(error),
        store::Error::Locked(_) | store::Error::Duplicate { .. } | store::Error::Broken(_) => {
            Failed::Before(error)
        }
    })?;
    Ok(joining.iter().map(|one| one.id).collect())
}

/// In the order of shards, and of unique keys within one: transactions that meet do not wait in a
/// ring.
fn by_shard<'a>(joining: &[&'a Joining]) -> Vec<(Shard, Vec<Row<'a>>)> {
    let mut shards: BTreeMap<Shard, Vec<Row<'a>>> = BTreeMap::new();
    for Joining { id, team, new, due_at, at, .. } in joining {
        let row = Row { id: *id, team, new, due_at: *due_at, at: *at };
        shards.entry(id.shard()).or_default().push(row);
    }
    let sorted = |(shard, mut rows): (Shard, Vec<Row<'a>>)| {
        rows.sort_by(|a, b| a.new.unique_key.cmp(&b.new.unique_key));
        (shard, rows)
    };
    shards.into_iter().map(sorted).collect()
}
