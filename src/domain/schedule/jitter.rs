//! A delay that spreads schedules of the same minute, the same for a slot whoever computes it.

use std::time::Duration;

use chrono::{DateTime, Utc};
use sha2::{Digest, Sha256};

/// The delay of a slot: at least zero, less than `spread_ms`, and less than the distance to the
/// `next` slot, so that a slot never leaves its place (bug B055). It depends on the schedule's id
/// and the slot alone.
pub fn jitter(
    schedule: &[u8],
    slot: DateTime<Utc>,
    next: Option<DateTime<Utc>>,
    spread_ms: u64,
) -> Duration {
    let room = next.map(|next| u64::try_from((next - slot).num_milliseconds()).unwrap_or(0));
    let width = room.map_or(spread_ms, |room| room.min(spread_ms));
    let mut hash = Sha256::new();
    hash.update(schedule);
    hash.update(slot.timestamp_millis().to_be_bytes());
    let hash = hash.finalize();
    let head = hash.first_chunk::<8>().map_or(0, |head| u64::from_be_bytes(*head));
    // A fraction of the width: multiply and shift is even where a remainder would not be.
    let millis = (u128::from(head) * u128::from(width)) >> 64;
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}
