//! The arithmetic of a rate: a bucket of one second's worth that fills at the rate, kept as the one
//! instant at which it will be full (the generic cell rate algorithm). What is taken moves that
//! instant on. Whoever finds at least one write in the bucket gets all that it asks for, and the
//! bucket may so come to owe; nobody else gets anything until the debt is paid. So a batch of any
//! size can be decided, and over time no more than the rate goes through.

use chrono::{DateTime, TimeDelta, Utc};

/// How many writes a second; at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate(u64);

/// What is known of a bucket, as callers are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The rate.
    pub rate: Rate,
    /// Writes that are left now, by what this process knows.
    pub left: u64,
    /// In how many seconds the bucket is full; with none left, in how many there is one again.
    pub reset_s: u64,
}

/// The seconds in which a full bucket fills, and which the rate is told for.
pub const WINDOW_S: u64 = 1;
const WINDOW: TimeDelta = TimeDelta::seconds(1);
const SECOND_US: u64 = 1_000_000;
/// No process asks for a block more often than so many times a second, once its blocks have grown.
const BLOCKS_PER_SECOND: u64 = 10;

impl Rate {
    /// So many writes a second; less than one is one.
    pub const fn new(writes: u64) -> Self {
        Self(if writes == 0 { 1 } else { writes })
    }

    /// Writes per second.
    pub const fn per_second(self) -> u64 {
        self.0
    }

    /// The largest block that a process takes in advance.
    pub fn largest_block(self) -> u64 {
        (self.0 / BLOCKS_PER_SECOND).max(1)
    }

    /// How far so many writes move the instant on at which the bucket is full.
    pub fn cost(self, writes: u64) -> TimeDelta {
        let micros = writes.saturating_mul(SECOND_US).div_ceil(self.0);
        TimeDelta::microseconds(i64::try_from(micros).unwrap_or(i64::MAX))
    }

    /// The latest instant of fullness with which there is still one write in the bucket at `now`.
    pub fn horizon(self, now: DateTime<Utc>) -> DateTime<Utc> {
        now + WINDOW - self.cost(1)
    }

    /// When a bucket that will be full at `full_at` has one write.
    pub fn opens_at(self, full_at: DateTime<Utc>) -> DateTime<Utc> {
        full_at - WINDOW + self.cost(1)
    }

    /// Whole writes in the bucket at `now`.
    pub fn left(self, full_at: DateTime<Utc>, now: DateTime<Utc>) -> u64 {
        let filled = (now + WINDOW - full_at).num_microseconds().unwrap_or(0).max(0);
        let writes = u128::from(filled.unsigned_abs()) * u128::from(self.0);
        let writes = writes / u128::from(SECOND_US);
        u64::try_from(writes).unwrap_or(u64::MAX).min(self.0)
    }

    /// How a bucket stands of which the process has `spare` writes in hand.
    pub fn standing(self, (full_at, spare): (DateTime<Utc>, u64), now: DateTime<Utc>) -> Standing {
        let left = self.left(full_at, now).saturating_add(spare).min(self.0);
        let until = if left == 0 { self.opens_at(full_at) } else { full_at };
        Standing { rate: self, left, reset_s: seconds(until - now) }
    }
}

/// Whole seconds, at least one: never too early.
fn seconds(span: TimeDelta) -> u64 {
    let micros = span.num_microseconds().unwrap_or(i64::MAX).max(1);
    micros.unsigned_abs().div_ceil(SECOND_US)
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: DateTime<Utc> = DateTime::UNIX_EPOCH;

    fn at(ms: i64) -> DateTime<Utc> {
        START + TimeDelta::milliseconds(ms)
    }

    /// As the statement in the database does it.
    fn take(rate: Rate, full_at: &mut DateTime<Utc>, writes: u64, now: DateTime<Utc>) -> bool {
        let open = *full_at <= rate.horizon(now);
        if open {
            *full_at = (*full_at).max(now) + rate.cost(writes);
        }
        open
    }

    #[test]
    fn a_full_bucket_holds_one_second_and_fills_at_the_rate() {
        for writes in [1, 3, 7, 10, 1_000, 999_983] {
            let (rate, mut full_at) = (Rate::new(writes), START);
            assert_eq!(rate.left(full_at, START), writes);
            let taken = (0..writes + 5).filter(|_| take(rate, &mut full_at, 1, START)).count();
            // Costs are rounded up to the microsecond, so at high rates the last few do not fit.
            let taken = u64::try_from(taken).unwrap();
            assert!(taken <= writes && taken * 10 >= writes * 5, "{taken} of {writes}");
            assert_eq!(rate.left(full_at, START), 0);
            assert!(rate.opens_at(full_at) > START);
            let opens_at = rate.opens_at(full_at);
            assert!(take(rate, &mut full_at, 1, opens_at));
        }
        assert_eq!(Rate::new(0), Rate::new(1));
    }

    #[test]
    fn whoever_finds_one_write_gets_all_it_asks_for_and_the_debt_is_paid_first() {
        let (rate, mut full_at) = (Rate::new(10), START);
        assert!(take(rate, &mut full_at, 1_000, START), "a batch");
        assert_eq!(
            (rate.left(full_at, START), rate.standing((full_at, 0), START).reset_s),
            (0, 100)
        );
        assert!(!take(rate, &mut full_at, 1, at(99_099)));
        assert!(take(rate, &mut full_at, 1, at(99_100)), "990 writes are paid, and one is there");
        assert!(!take(rate, &mut full_at, 1, at(99_100)));
    }

    #[test]
    fn in_the_long_run_no_more_than_the_rate_goes_through() {
        for (writes, batch) in [(10, 1), (10, 7), (100, 10), (3, 1_000)] {
            let (rate, mut full_at, mut through) = (Rate::new(writes), START, 0);
            for ms in 0..60_000 {
                through += u64::from(take(rate, &mut full_at, batch, at(ms))) * batch;
            }
            let most = writes * 61 + batch;
            assert!((writes * 59..=most).contains(&through), "{through} of {most}");
        }
    }

    #[test]
    fn what_callers_are_told_is_never_too_good() {
        let rate = Rate::new(10);
        let standing = rate.standing((at(300), 0), START);
        assert_eq!((standing.left, standing.reset_s), (7, 1));
        assert_eq!(rate.standing((at(300), 2), START).left, 9);
        assert_eq!(rate.standing((START, 5), START).left, 10, "no more than the rate");
        let none = rate.standing((at(2_500), 0), START);
        assert_eq!((none.left, none.reset_s), (0, 2), "1.6 s, rounded up");
    }

    #[test]
    fn blocks_are_a_tenth_of_a_second() {
        let blocks = [1, 9, 10, 100, 12_345].map(|rate| Rate::new(rate).largest_block());
        assert_eq!(blocks, [1, 1, 1, 10, 1_234]);
    }
}
