//! From text to values: durations, sizes, addresses, URLs. Strict: no bare numbers, no unknown
//! unit, nothing cut off in silence. Pure; ranges are the table's affair.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use thiserror::Error;
use url::Url;

/// The units of a duration and their milliseconds, from large to small.
const UNITS: &[(&str, u64)] =
    &[("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// The units of a size and their bytes. `KB` and `MB` are left out: people differ on what they mean.
const SIZES: &[(&str, usize)] = &[("B", 1), ("KiB", 1024), ("MiB", 1024 * 1024)];

/// Why a text is not a duration.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum DurationError {
    /// There is no text.
    #[error("a duration is missing")]
    Empty,
    /// A bare number: seconds to one reader, milliseconds to the next.
    #[error("the number {0} has no unit (d, h, m, s or ms)")]
    NoUnit(String),
    /// Something else stands where a whole number must stand.
    #[error("a whole number must stand before {0:?}")]
    NoNumber(String),
    /// The unit is none of ours.
    #[error("{0:?} is not a unit (d, h, m, s or ms)")]
    UnknownUnit(String),
    /// `30m1h` or `1m1m`: more likely a slip than a meaning.
    #[error("units must go from large to small, each once")]
    Order,
    /// More milliseconds than 64 bits hold.
    #[error("it is too long")]
    TooLong,
}

/// Reads a duration such as `90s`, `1h30m`, `500ms` or `7d`: whole numbers with the units d, h, m,
/// s and ms, from large to small.
pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    if text.is_empty() {
        return Err(DurationError::Empty);
    }
    let mut rest = text;
    let mut allowed = UNITS;
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let (digits, tail) = split_where(rest, |c| !c.is_ascii_digit());
        let (unit, tail) = split_where(tail, |c| c.is_ascii_digit());
        if digits.is_empty() {
            return Err(DurationError::NoNumber(unit.to_owned()));
        }
        if unit.is_empty() {
            return Err(DurationError::NoUnit(digits.to_owned()));
        }
        let mut smaller = allowed.iter();
        let Some((_, factor)) = smaller.find(|(name, _)| *name == unit) else {
            let known = UNITS.iter().any(|(name, _)| *name == unit);
            let unknown = || DurationError::UnknownUnit(unit.to_owned());
            return Err(if known { DurationError::Order } else { unknown() });
        };
        let number: Option<u64> = digits.parse().ok();
        total = number
            .and_then(|n| n.checked_mul(*factor))
            .and_then(|part| total.checked_add(part))
            .ok_or(DurationError::TooLong)?;
        allowed = smaller.as_slice();
        rest = tail;
    }
    Ok(Duration::from_millis(total))
}

/// A duration as `parse_duration` reads it; what is finer than a millisecond is left out.
pub(super) fn spell_duration(duration: Duration) -> String {
    let mut rest = duration.as_millis();
    let mut parts = Vec::new();
    for (unit, factor) in UNITS {
        let factor = u128::from(*factor);
        if rest >= factor {
            parts.push(format!("{}{unit}", rest / factor));
            rest %= factor;
        }
    }
    if parts.is_empty() { "0s".to_owned() } else { parts.concat() }
}

/// Reads a number of bytes such as `512B`, `256KiB` or `1MiB`.
pub(super) fn parse_size(text: &str) -> Result<usize, String> {
    let (digits, unit) = split_where(text, |c| !c.is_ascii_digit());
    if digits.is_empty() {
        return Err("it does not begin with a whole number".to_owned());
    }
    let Some((_, factor)) = SIZES.iter().find(|(name, _)| *name == unit) else {
        return Err(match unit {
            "" => format!("the number {digits} has no unit (B, KiB or MiB)"),
            _ => format!("{unit:?} is not a unit (B, KiB or MiB)"),
        });
    };
    let number: Option<usize> = digits.parse().ok();
    number.and_then(|n| n.checked_mul(*factor)).ok_or_else(|| "it is too large".to_owned())
}

/// A size as `parse_size` reads it, in the largest unit that divides it.
pub(super) fn spell_size(bytes: usize) -> String {
    let unit = SIZES.iter().rev().find(|(_, factor)| bytes.is_multiple_of(*factor));
    let (name, factor) = unit.unwrap_or(&("B", 1));
    format!("{}{name}", bytes / factor)
}

/// Reads an address to listen on. `:8080` means port 8080 on all (IPv4) interfaces.
pub(super) fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let address = match text.strip_prefix(':') {
        Some(port) => port.parse().ok().map(|port: u16| (Ipv4Addr::UNSPECIFIED, port).into()),
        None => text.parse().ok(),
    };
    address.ok_or_else(|| "it is not an IP address and a port".to_owned())
}

/// Reads an http or https URL that others are appended to: no user, query or fragment; a trailing
/// slash is dropped.
pub(super) fn parse_http_url(text: &str) -> Result<String, String> {
    let url = Url::parse(text).map_err(|error| error.to_string())?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("its scheme is {:?}", url.scheme()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("it holds a user or a password".to_owned());
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("it holds a query or a fragment".to_owned());
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

/// Splits before the first character that `stops` names.
fn split_where(text: &str, stops: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(stops).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations_with_units_are_read_exactly() {
        for (text, millis) in [
            ("90s", 90_000),
            ("1h30m", 5_400_000),
            ("500ms", 500),
            ("7d", 604_800_000),
            ("1d2h3m4s5ms", 93_784_005),
            ("0s", 0),
            ("007s", 7_000),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn anything_doubtful_is_not_a_duration() {
        let unknown = |unit: &str| DurationError::UnknownUnit(unit.to_owned());
        let no_number = |rest: &str| DurationError::NoNumber(rest.to_owned());
        let no_unit = |number: &str| DurationError::NoUnit(number.to_owned());
        for (text, error) in [
            ("", DurationError::Empty),
            ("90", no_unit("90")),
            ("1h30", no_unit("30")),
            ("s", no_number("s")),
            ("-5s", no_number("-")),
            ("+5s", no_number("+")),
            (" 5s", no_number(" ")),
            ("5 s", unknown(" s")),
            ("5s ", unknown("s ")),
            ("5S", unknown("S")),
            ("5sec", unknown("sec")),
            ("1.5s", unknown(".")),
            ("1w", unknown("w")),
            ("5µs", unknown("µs")),
            ("1h 30m", unknown("h ")),
            ("30m1h", DurationError::Order),
            ("1m1m", DurationError::Order),
            ("18446744073709551616ms", DurationError::TooLong),
            ("18446744073709551615s", DurationError::TooLong),
            ("213503982334d99999999999999999ms", DurationError::TooLong),
        ] {
            assert_eq!(parse_duration(text), Err(error), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn a_spelt_duration_reads_back(millis in any::<u64>()) {
            let duration = Duration::from_millis(millis);
            prop_assert_eq!(parse_duration(&spell_duration(duration)), Ok(duration));
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in ".{0,20}") {
            let first = parse_duration(&text);
            prop_assert_eq!(first, parse_duration(&text));
        }
    }

    #[test]
    fn sizes_need_a_binary_unit() {
        assert_eq!(parse_size("512B"), Ok(512));
        assert_eq!(parse_size("256KiB"), Ok(262_144));
        assert_eq!(parse_size("1MiB"), Ok(1_048_576));
        for text in ["", "256", "KiB", "256KB", "256 KiB", "1GiB", "1.5MiB", "-1B"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
        assert!(parse_size("18446744073709551615MiB").is_err());
        assert_eq!(spell_size(262_144), "256KiB");
        assert_eq!(spell_size(1_000), "1000B");
    }

    #[test]
    fn an_address_may_leave_out_the_interface() {
        assert_eq!(parse_address("127.0.0.1:8080"), Ok(([127, 0, 0, 1], 8080).into()));
        assert_eq!(parse_address(":9090"), Ok(([0, 0, 0, 0], 9090).into()));
        assert_eq!(parse_address("[::1]:1").map(|a| a.is_ipv6()), Ok(true));
        for text in ["", ":", "8080", "127.0.0.1", "localhost:8080", ":65536", "::8080"] {
            assert!(parse_address(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_url_to_append_to_has_no_loose_ends() {
        assert_eq!(parse_http_url("https://axle.example/"), Ok("https://axle.example".to_owned()));
        assert_eq!(parse_http_url("http://a:1/x/"), Ok("http://a:1/x".to_owned()));
        for text in ["", "axle.example", "ftp://a", "http://u:p@a", "http://a?x", "http://a#x"] {
            assert!(parse_http_url(text).is_err(), "{text}");
        }
    }
}
