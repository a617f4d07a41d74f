//! How fast calls end: what a puller may claim ahead of its permits. Targets that answer within
//! milliseconds free permits while a claim is under way, and small claims cost more than one larger;
//! targets that take their time free few, and nothing is claimed that would only wait.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// What is claimed ahead is what ends within so much time, at the pace of late: about a claim's time.
const AHEAD: Duration = Duration::from_millis(5);
/// The pace is that of at least so much time.
const WINDOW: Duration = Duration::from_millis(20);

/// Counts calls that end.
#[derive(Debug)]
pub struct Pace(Mutex<Seen>);

#[derive(Debug)]
struct Seen {
    since: Instant,
    count: u32,
    ahead: usize,
}

impl Default for Pace {
    fn default() -> Self {
        Self(Mutex::new(Seen { since: Instant::now(), count: 0, ahead: 0 }))
    }
}

impl Pace {
    /// Counts one.
    pub fn count(&self) {
        self.seen().count += 1;
    }

    /// How many will have ended in a moment.
    pub fn ahead(&self) -> usize {
        self.ahead_at(Instant::now())
    }

    fn ahead_at(&self, now: Instant) -> usize {
        let mut seen = self.seen();
        let took = now.saturating_duration_since(seen.since);
        if took >= WINDOW {
            let ahead = AHEAD * seen.count;
            let ahead = ahead.as_nanos() / took.as_nanos();
            *seen = Seen { since: now, count: 0, ahead: usize::try_from(ahead).unwrap_or(0) };
        }
        seen.ahead
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_claimed_ahead_follows_the_pace_of_late() {
        let pace = Pace::default();
        let start = pace.seen().since;
        let ahead_after = |ms| pace.ahead_at(start + Duration::from_millis(ms));
        (0..400).for_each(|_| pace.count());
        assert_eq!(ahead_after(10), 0, "nothing is known yet");
        assert_eq!(ahead_after(40), 50, "ten a millisecond");
        (0..3).for_each(|_| pace.count());
        assert_eq!(ahead_after(59), 50, "still by the last window");
        assert_eq!(ahead_after(1_040), 0, "three in a second");
    }
}
