//! Time zones: names, offsets, and where the clocks change.
//!
//! One table for everything, the one compiled in by chrono-tz; the host's and the database's own
//! copies decide nothing (bug B029). Instants are whole seconds since the epoch here.

use chrono::{DateTime, NaiveDateTime, Offset, TimeZone};
use chrono_tz::{TZ_VARIANTS, Tz};

use crate::domain::invalid::Invalid;

/// The release of the IANA table in this binary, such as `2025b`.
pub const TZDATA_VERSION: &str = chrono_tz::IANA_TZDB_VERSION;

/// Changes are looked for in steps of this length. A test holds that no zone changes twice within
/// one, from 1970 on; the closest pair is a summer time of seven days (Boa Vista, October 2000).
pub(super) const STEP: i64 = 3 * 24 * 3_600;

/// Longer than any repeated or missing stretch of local time (a day, where a date line moved).
pub(super) const LONGEST_SHIFT: i64 = 26 * 3_600;

/// Reads an IANA name, such as `Europe/Berlin`.
pub fn zone(name: &str, at: &str) -> Result<Tz, Invalid> {
    if let Ok(zone) = name.parse() {
        return Ok(zone);
    }
    let name = name.get(..64).unwrap_or(name);
    let called = |zone: &&Tz| {
        let known = zone.name();
        let city = known.rsplit('/').next().unwrap_or(known);
        let plain = name.trim().replace(' ', "_");
        known.eq_ignore_ascii_case(&plain) || city.eq_ignore_ascii_case(&plain)
    };
    let detail = if let Some(zone) = TZ_VARIANTS.iter().find(called) {
        format!("no time zone is called {name:?}; write {zone}")
    } else if name.starts_with(['+', '-', '0']) || name.starts_with("UTC+") {
        format!("{name:?} is an offset, not a zone; write a place such as Europe/Berlin, or UTC")
    } else {
        format!(
            "no time zone is called {name:?} in tzdata {TZDATA_VERSION}; write an IANA name such \
             as Europe/Berlin, or UTC"
        )
    };
    Err(Invalid::one(at, "unknown-zone", detail))
}

/// The zone's distance from UTC at an instant, in seconds, east positive.
pub(super) fn offset(zone: Tz, at: i64) -> i64 {
    let utc = civil(at, 0).unwrap_or_default();
    i64::from(zone.offset_from_utc_datetime(&utc).fix().local_minus_utc())
}

/// The local time that an instant has at an offset.
pub(super) fn civil(at: i64, offset: i64) -> Option<NaiveDateTime> {
    Some(DateTime::from_timestamp(at.checked_add(offset)?, 0)?.naive_utc())
}

/// The first instant in `(from, to]` at which the offset differs from that just before it.
pub(super) fn next_change(zone: Tz, from: i64, to: i64) -> Option<i64> {
    let mut low = from;
    let before = offset(zone, from);
    while low < to {
        let high = low.saturating_add(STEP).min(to);
        if offset(zone, high) != before {
            return Some(bisect(zone, low, high));
        }
        low = high;
    }
    None
}

/// A stretch of local time that comes twice, seen from the change that repeats it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fold {
    /// The instant of the change.
    pub(super) at: i64,
    /// The offset of the first pass.
    pub(super) first: i64,
    /// The offset of the second pass.
    pub(super) second: i64,
}

impl Fold {
    /// The fold that begins at the change at `at`, if clocks go back there.
    fn new(zone: Tz, at: i64) -> Option<Self> {
        let (first, second) = (offset(zone, at - 1), offset(zone, at));
        (second < first).then_some(Self { at, first, second })
    }

    /// The fold whose second pass holds `at`.
    pub(super) fn second_pass(zone: Tz, at: i64) -> Option<Self> {
        let change = next_change(zone, at - LONGEST_SHIFT, at)?;
        Self::new(zone, change).filter(|fold| at < fold.at + fold.first - fold.second)
    }

    /// The fold whose first pass holds `at`.
    pub(super) fn first_pass(zone: Tz, at: i64) -> Option<Self> {
        let change = next_change(zone, at, at + LONGEST_SHIFT)?;
        Self::new(zone, change).filter(|fold| at >= fold.at + fold.second - fold.first)
    }
}

/// The first second in `(low, high]` whose offset differs from that at `low`.
fn bisect(zone: Tz, low: i64, high: i64) -> i64 {
    let (mut low, mut high, before) = (low, high, offset(zone, low));
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if offset(zone, middle) == before {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}
