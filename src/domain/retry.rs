//! When to try again: two budgets, each with its own back-off.
//!
//! The business budget counts attempts that the target had; the dispatch budget counts calls that
//! failed before the target had the request. Delays are computed in milliseconds as `f64`, which is
//! exact far beyond any cap, and never overflow (bug B075).

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// How often and after which waits a job is tried again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// Attempts after the first one; 0 to 1,000.
    pub max_retries: u32,
    /// The wait before the first retry, in milliseconds.
    pub base_ms: u64,
    /// By how much each wait grows over the one before; at least 1.
    pub factor: f64,
    /// No wait is longer, jitter included, in milliseconds.
    pub cap_ms: u64,
    /// The wait is spread by ± this share of it; 0 to 1.
    pub jitter: f64,
    /// Further calls after one that could not reach the target; 0 to 1,000.
    pub max_dispatch_retries: u32,
}

impl Default for RetryPolicy {
    /// The mission's defaults: 30 s · 2ⁿ capped at an hour, three retries.
    fn default() -> Self {
        Self {
            max_retries: 3,
            base_ms: 30_000,
            factor: 2.0,
            cap_ms: 3_600_000,
            jitter: 0.2,
            max_dispatch_retries: 10,
        }
    }
}

/// The wait after the first call that could not reach its target.
const DISPATCH_BASE_MS: f64 = 1_000.0;
/// The longest wait between such calls.
const DISPATCH_CAP_MS: f64 = 60_000.0;
/// Their spread, so that a target that comes back is not met by everybody at once.
const DISPATCH_JITTER: f64 = 0.2;

impl RetryPolicy {
    /// The wait after attempt number `attempt` (from 1): `min(cap, base · factorⁿ⁻¹ ± jitter)`.
    /// `random` is uniform in 0..1.
    pub fn delay(&self, attempt: u32, random: f64) -> Duration {
        let [base, cap] = [self.base_ms, self.cap_ms].map(to_f64);
        back_off(base, self.factor, cap, attempt, spread(self.jitter, random))
    }

    /// The wait after the `failures`-th call (from 1) that could not reach the target.
    pub fn dispatch_delay(&self, failures: u32, random: f64) -> Duration {
        let factor = spread(DISPATCH_JITTER, random);
        back_off(DISPATCH_BASE_MS, 2.0, DISPATCH_CAP_MS, failures, factor)
    }

    /// The wait that a target asked for, bounded by the cap: a target may slow us down, but not
    /// make a job disappear for a year.
    pub fn asked(&self, retry_after: Duration) -> Duration {
        retry_after.min(Duration::from_millis(self.cap_ms))
    }

    /// Attempts in all, the first one included: what a target reads as `Axle-Max-Attempts`.
    pub fn max_attempts(&self) -> u32 {
        self.max_retries.saturating_add(1)
    }
}

/// Reads `Retry-After` (RFC 9110 section 10.2.3): whole seconds, or an HTTP date.
pub fn retry_after(value: &str, now: DateTime<Utc>) -> Option<Duration> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) {
        // More digits than fit mean "very long"; the cap bounds it.
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::from(u32::MAX))));
    }
    let at = DateTime::<Utc>::from(httpdate::parse_http_date(value).ok()?);
    Some((at - now).to_std().unwrap_or(Duration::ZERO))
}

fn back_off(base: f64, factor: f64, cap: f64, nth: u32, spread: f64) -> Duration {
    let exponent = i32::try_from(nth.saturating_sub(1)).unwrap_or(i32::MAX);
    let millis = (base * factor.powi(exponent)).min(cap) * spread;
    // `min` also turns the NaN of 0 · ∞ into the cap.
    Duration::try_from_secs_f64(millis.min(cap).max(0.0) / 1_000.0)
        .unwrap_or(Duration::from_hours(1))
}

/// 1 ± jitter.
fn spread(jitter: f64, random: f64) -> f64 {
    1.0 + jitter * (2.0 * random - 1.0)
}

fn to_f64(millis: u64) -> f64 {
    Duration::from_millis(millis).as_secs_f64() * 1_000.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_defaults_are_the_missions() {
        let policy = RetryPolicy { jitter: 0.0, ..RetryPolicy::default() };
        let waits: Vec<_> = (1..=9).map(|n| policy.delay(n, 0.5).as_secs()).collect();
        assert_eq!(waits, [30, 60, 120, 240, 480, 960, 1920, 3600, 3600]);
    }

    #[test]
    fn a_call_that_could_not_reach_the_target_is_repeated_soon() {
        let waits: Vec<_> =
            (1..=8).map(|n| RetryPolicy::default().dispatch_delay(n, 0.5).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
    }

    #[test]
    fn retry_after_is_read_in_both_forms() {
        let now = DateTime::parse_from_rfc3339("2026-11-30T02:00:00Z").unwrap().to_utc();
        let read = |value| retry_after(value, now).map(|wait| wait.as_secs());
        assert_eq!(read("120"), Some(120));
        assert_eq!(read(" 0 "), Some(0));
        assert_eq!(read("99999999999999999999"), Some(u64::from(u32::MAX)));
        assert_eq!(read("Mon, 30 Nov 2026 02:01:30 GMT"), Some(90));
        assert_eq!(read("Mon, 30 Nov 2026 01:00:00 GMT"), Some(0));
        for wrong in ["", "-1", "1.5", "soon", "2026-11-30T02:01:30Z"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn the_cap_is_a_cap_for_any_policy(
            base_ms: u64, factor in 1.0_f64..1e9, cap_ms in 0_u64..=31_536_000_000,
            jitter in 0.0_f64..=1.0, attempt: u32, random in 0.0_f64..1.0,
        ) {
            let policy = RetryPolicy { base_ms, factor, cap_ms, jitter, ..RetryPolicy::default() };
            let cap = Duration::from_millis(cap_ms) + Duration::from_micros(1);
            prop_assert!(policy.delay(attempt, random) <= cap);
        }
    }
}
