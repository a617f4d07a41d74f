//! Saying when something is due in the wall clock, and measuring how late it comes by the monotonic
//! one.

use std::time::Duration;

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use tokio::time::Instant;

/// How often the two clocks are read together: a process can lose its CPU between two readings.
const READINGS: usize = 10;

/// One instant on two clocks: this host's wall clock, which is PostgreSQL's too, in which the due
/// times are said; and the monotonic one, by which the arrivals are noted.
pub(super) struct Origin {
    wall: DateTime<Utc>,
    /// By the monotonic clock.
    pub(super) monotonic: Instant,
}

impl Origin {
    /// To the millisecond, as slots of schedules are. The monotonic clock is read last: whatever passes
    /// between the two readings makes a job look earlier than it was, never later. So the pair is
    /// taken between which the least passed.
    #[expect(
        clippy::disallowed_methods,
        reason = "due times are said in the database's wall clock"
    )]
    pub(super) fn now() -> Self {
        let read = || {
            let before = Instant::now();
            let wall = Utc::now();
            let monotonic = Instant::now();
            (monotonic - before, Self { wall, monotonic })
        };
        let tighter = |best: (Duration, Self), next: (Duration, Self)| {
            if next.0 < best.0 { next } else { best }
        };
        let (_, mut origin) = (1..READINGS).map(|_| read()).fold(read(), tighter);
        let whole = DateTime::from_timestamp_millis(origin.wall.timestamp_millis());
        let whole = whole.unwrap_or(origin.wall);
        origin.monotonic -= (origin.wall - whole).to_std().unwrap_or_default();
        origin.wall = whole;
        origin
    }

    /// An instant after it, in RFC 3339.
    pub(super) fn instant(&self, after: Duration) -> String {
        let after = TimeDelta::from_std(after).unwrap_or_default();
        (self.wall + after).to_rfc3339_opts(SecondsFormat::Micros, true)
    }
}
