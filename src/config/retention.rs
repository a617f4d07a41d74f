//! The row of the table of settings that says how long history is kept.

use std::time::Duration;

use super::kind::Kind;
use super::parse::parse_duration;
use super::settings::Setting;
use crate::domain::retention::{LEAST_MS, MOST_MS};

/// What nobody has said otherwise: a month of history.
pub(super) const DEFAULT: Option<Duration> = Some(Duration::from_hours(30 * 24));

pub(super) const RETENTION: Setting = Setting {
    key: "retention",
    env: "AXLE_RETENTION",
    flag: Some("retention"),
    default: Some("30d"),
    secret: false,
    meaning: "How long finished jobs are kept at least, with their runs, of teams that say nothing else; \
              they are gone ten days later at most",
    kind: Kind::Own {
        name: "DURATION",
        form: "a duration from 1d to 3650d, or `off` to keep them for ever",
        set: |config, text| {
            config.retention = read(text)?;
            Ok(())
        },
    },
};

fn read(text: &str) -> Result<Option<Duration>, String> {
    if text == "off" {
        return Ok(None);
    }
    let span = parse_duration(text).map_err(|error| error.to_string())?;
    match span {
        _ if span < Duration::from_millis(LEAST_MS) => Err("it is too small".to_owned()),
        _ if span > Duration::from_millis(MOST_MS) => Err("it is too large".to_owned()),
        _ => Ok(Some(span)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retention_is_a_day_to_ten_years_or_off() {
        assert_eq!(read("30d"), Ok(DEFAULT));
        assert_eq!(read("off"), Ok(None));
        assert_eq!(read("1d"), Ok(Some(Duration::from_millis(LEAST_MS))));
        assert_eq!(read("3650d"), Ok(Some(Duration::from_millis(MOST_MS))));
        for bad in ["0d", "23h", "3651d", "30", "never", ""] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
