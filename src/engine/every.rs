//! The one loop: run a step, wait for a hint, a period or the stop, run it again.
//!
//! A step takes no input, is idempotent, and says when it wants to come back; hint and period do
//! the same work. An error is logged and slows the loop down; it never ends it (bug B077). A stop
//! never cuts a step short: what a claim has taken must be told to somebody.

use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::{Error, random};

/// The longest wait after errors.
const SLOWEST: Duration = Duration::from_secs(5);
/// The wait after the first error.
const FIRST: Duration = Duration::from_millis(50);

/// Runs `step` until `stop`. `hint` resolves when there may be news; it is asked for before the step
/// looks, so none is lost in between.
pub async fn every<H, S>(
    name: &'static str,
    stop: CancellationToken,
    mut hint: impl FnMut() -> H,
    mut step: impl FnMut() -> S,
) where
    H: Future<Output = ()>,
    S: Future<Output = Result<Duration, Error>>,
{
    let mut errors = 0_u32;
    while !stop.is_cancelled() {
        match step().await {
            Ok(wait) => {
                errors = 0;
                tokio::select! {
                    biased;
                    () = stop.cancelled() => {}
                    () = hint() => {}
                    () = sleep(wait) => {}
                }
            }
            Err(error) => {
                errors = errors.saturating_add(1);
                let wait = back_off(errors);
                tracing::warn!(step = name, %error, errors, ?wait, "a step failed");
                tokio::select! {
                    () = stop.cancelled() => {}
                    () = sleep(wait) => {}
                }
            }
        }
    }
}

/// The hint of a loop that has only its period.
pub fn never() -> std::future::Pending<()> {
    std::future::pending()
}

/// Doubling, capped, and spread so that processes do not come back together.
pub fn back_off(errors: u32) -> Duration {
    let doubled = FIRST.saturating_mul(1 << errors.saturating_sub(1).min(10)).min(SLOWEST);
    doubled.mul_f64(0.5 + random::unit() / 2.0)
}
