//! The one clock. The database's wall clock decides what is due; a process asks it now and then and
//! adds its own monotonic clock in between, so a host whose wall clock is wrong changes nothing
//! (bug B107). Tests use the manual form and let a week pass in a microsecond.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::time::Instant;

use crate::store::{self, Store};

/// The time, to the microsecond, as PostgreSQL keeps it; never goes backwards within a process.
#[derive(Clone, Debug)]
pub struct Clock(Arc<Form>);

#[derive(Debug)]
enum Form {
    Synced(Synced),
    Manual(AtomicI64),
}

#[derive(Debug)]
struct Synced {
    origin: Instant,
    /// The database's microseconds since 1970 when `origin` was, by the newest answer.
    at_origin: AtomicI64,
    last: AtomicI64,
}

/// An answer that took longer says little about the present.
const USABLE_ROUND_TRIP: Duration = Duration::from_millis(200);
/// An answer that was quicker is as good as another.
const QUICK_ROUND_TRIP: Duration = Duration::from_micros(500);
/// How often the database is asked for one answer at most.
const ASKS: usize = 3;

impl Clock {
    /// A clock set by the database.
    pub async fn synced(store: &Store) -> Result<Self, store::Error> {
        let synced = Synced {
            origin: Instant::now(),
            at_origin: AtomicI64::new(0),
            last: AtomicI64::new(i64::MIN),
        };
        let (micros, _) = synced.ask(store).await?;
        synced.at_origin.store(micros, Ordering::Relaxed);
        Ok(Self(Arc::new(Form::Synced(synced))))
    }

    /// A clock that stands still until it is told.
    pub fn manual(at: DateTime<Utc>) -> Self {
        Self(Arc::new(Form::Manual(AtomicI64::new(at.timestamp_micros()))))
    }

    /// The present.
    pub fn now(&self) -> DateTime<Utc> {
        let micros = match &*self.0 {
            Form::Manual(at) => at.load(Ordering::Relaxed),
            Form::Synced(synced) => {
                let now =
                    synced.at_origin.load(Ordering::Relaxed) + micros(synced.origin.elapsed());
                synced.last.fetch_max(now, Ordering::Relaxed).max(now)
            }
        };
        DateTime::from_timestamp_micros(micros).unwrap_or(DateTime::UNIX_EPOCH)
    }

    /// Asks the database again. The manual form needs nobody.
    pub async fn sync(&self, store: &Store) -> Result<(), store::Error> {
        if let Form::Synced(synced) = &*self.0 {
            let (micros, round_trip) = synced.ask(store).await?;
            if round_trip < USABLE_ROUND_TRIP {
                synced.at_origin.store(micros, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// Moves the manual form on; the synced form follows the database only.
    pub fn advance(&self, by: Duration) {
        if let Form::Manual(at) = &*self.0 {
            at.fetch_add(micros(by), Ordering::Relaxed);
        }
    }
}

impl Synced {
    /// The database's time at `origin` by the first quick answer, or the quickest of a few, and how long
    /// that took.
    ///
    /// The database read its clock at some moment in between. The last one is assumed: so ours is
    /// never ahead, and a job may be late by that time but is never early.
    async fn ask(&self, store: &Store) -> Result<(i64, Duration), store::Error> {
        let session = store.session().await?;
        let mut best = (0, Duration::MAX);
        for _ in 0..ASKS {
            let asked = self.origin.elapsed();
            let (at, shift) = store::clock::now(&session).await?;
            let answered = self.origin.elapsed();
            let round_trip = answered.saturating_sub(asked);
            if round_trip < best.1 {
                best = (at.timestamp_micros() + shift - micros(answered), round_trip);
            }
            if round_trip < QUICK_ROUND_TRIP {
                break;
            }
        }
        Ok(best)
    }
}

/// The instant `wait` after `now`; the last instant there is if that lies beyond it.
pub fn after(now: DateTime<Utc>, wait: Duration) -> DateTime<Utc> {
    chrono::Duration::from_std(wait)
        .ok()
        .and_then(|wait| now.checked_add_signed(wait))
        .unwrap_or(DateTime::<Utc>::MAX_UTC)
}

/// How long from `now` to `then`; zero if that has passed.
pub fn until(now: DateTime<Utc>, then: DateTime<Utc>) -> Duration {
    (then - now).to_std().unwrap_or(Duration::ZERO)
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

/// This host's wall clock: for what no database is asked about, the lifetime of a token that is
/// being made.
#[expect(clippy::disallowed_methods, reason = "the one place that may")]
pub fn system_now() -> DateTime<Utc> {
    Utc::now()
}
