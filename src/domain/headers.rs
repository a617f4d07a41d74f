//! Which headers a job may send along: bounded, unable to split a request (bug B126), and none of
//! those that say whom it is for, how it is framed, or what Axle itself says (bug B127).

use std::collections::BTreeSet;

use super::check::escape;
use super::invalid::Invalid;

/// Most headers of one target.
pub const COUNT_LIMIT: usize = 50;
/// Longest name.
const NAME_LIMIT: usize = 255;
/// Longest value.
const VALUE_LIMIT: usize = 4_096;
/// All names and values of one target together: with ours beside them they stay below 16 KiB, which
/// is what common servers take in all.
pub const SIZE_LIMIT: usize = 8 * 1_024;

/// Headers that are ours to set, or that would change how the request is routed or framed (RFC 9110
/// sections 7.2, 7.6.1 and 8.6; RFC 9113 section 8.2.2; RFC 7540 section 3.2.1).
const RESERVED: [&str; 15] = [
    "host",
    "content-length",
    "content-type",
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "http2-settings",
    "expect",
    "user-agent",
];

/// Beginnings of names that are ours alone: Standard Webhooks', and Axle's.
const OURS: [&str; 2] = ["webhook-", "axle-"];

/// Finds what is wrong with the headers that stand at `at`.
pub fn check(faults: &mut Invalid, at: &str, headers: &[(String, String)]) {
    if headers.len() > COUNT_LIMIT {
        let detail = format!("at most {COUNT_LIMIT} headers, got {}", headers.len());
        faults.add(at, "too-many", detail);
    }
    let size: usize = headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    if size > SIZE_LIMIT {
        let detail = format!("at most {SIZE_LIMIT} bytes in all names and values, got {size}");
        faults.add(at, "out-of-range", detail);
    }
    let mut seen = BTreeSet::new();
    for (name, value) in headers {
        let pointer = format!("{at}/{}", escape(name));
        if let Err((code, detail)) = check_one(name, value) {
            faults.add(pointer, code, detail);
        } else if !seen.insert(name.to_ascii_lowercase()) {
            let detail = "is given twice: names of headers are the same in any case";
            faults.add(pointer, "duplicate-field", detail);
        }
    }
}

/// Whether one header may be sent; a code and a reason if not.
pub fn check_one(name: &str, value: &str) -> Result<(), (&'static str, String)> {
    if !is_token(name) || name.len() > NAME_LIMIT {
        let detail = "a header name must be a token (RFC 9110 section 5.6.2)";
        return Err(("malformed", detail.to_owned()));
    }
    let lower = name.to_ascii_lowercase();
    if RESERVED.contains(&lower.as_str()) || OURS.iter().any(|ours| lower.starts_with(ours)) {
        let hint = if lower == "content-type" { "; use content_type" } else { "" };
        return Err(("reserved", format!("{name} is set by Axle and cannot be given{hint}")));
    }
    if !is_value(value) || value.len() > VALUE_LIMIT {
        let detail = format!(
            "a header value must be at most {VALUE_LIMIT} visible ASCII characters or spaces"
        );
        return Err(("malformed", detail));
    }
    Ok(())
}

/// Visible ASCII, with spaces inside: no CR, LF or NUL, and nothing that a proxy may read otherwise.
pub fn is_value(value: &str) -> bool {
    !value.is_empty()
        && value.trim() == value
        && value.bytes().all(|b| b.is_ascii_graphic() || b == b' ')
}

/// A token (RFC 9110 section 5.6.2).
fn is_token(name: &str) -> bool {
    let special = b"!#$%&'*+-.^_`|~";
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || special.contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(headers: &[(&str, &str)]) -> Vec<(String, &'static str)> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let headers: Vec<_> = headers.iter().map(owned).collect();
        let mut faults = Invalid::default();
        check(&mut faults, "#/h", &headers);
        faults.0.into_iter().map(|fault| (fault.pointer, fault.code)).collect()
    }

    #[test]
    fn b126_nothing_that_could_end_a_line_is_a_header() {
        for value in ["a\r\nX: 1", "a\n", "\ra", "a\0b", "a\tb", "ä", " a", "a ", "", "a\u{7f}"] {
            assert_eq!(codes(&[("x-a", value)]), [("#/h/x-a".into(), "malformed")], "{value:?}");
        }
        for name in ["", "a b", "a:", ":authority", "a\r\nb", "ä", "a(b)", "\"a\""] {
            assert_eq!(codes(&[(name, "1")])[0].1, "malformed", "{name:?}");
        }
        assert_eq!(codes(&[("x-a", "a b"), ("!#$%&'*+-.^_`|~", "~")]), []);
    }

    #[test]
    fn b127_what_frames_or_routes_a_request_is_ours_in_any_case() {
        for name in RESERVED.iter().chain(&["webhook-signature", "axle-fence", "Axle-X", "hOsT"]) {
            for name in [(*name).to_owned(), name.to_ascii_uppercase()] {
                assert_eq!(codes(&[(&name, "1")])[0].1, "reserved", "{name}");
            }
        }
        for name in ["authorization", "x-host", "axles", "webhook", "hosts", "content-encoding"] {
            assert_eq!(codes(&[(name, "1")]), [], "{name}");
        }
        let twice = codes(&[("X-A", "1"), ("x-a", "2")]);
        assert_eq!(twice, [("#/h/x-a".into(), "duplicate-field")]);
    }

    #[test]
    fn b126_count_and_size_have_bounds() {
        let names: Vec<_> = (0..=COUNT_LIMIT).map(|n| format!("x-{n}")).collect();
        let many: Vec<_> = names.iter().map(|name| (name.as_str(), "1")).collect();
        assert_eq!(codes(&many[..COUNT_LIMIT]), []);
        assert_eq!(codes(&many), [("#/h".into(), "too-many")]);
        let long = "v".repeat(VALUE_LIMIT);
        assert_eq!(codes(&[("a", &long)]), []);
        assert_eq!(codes(&[("a", &format!("{long}v"))])[0].1, "malformed");
        let rest = "v".repeat(SIZE_LIMIT - VALUE_LIMIT - 2);
        assert_eq!(codes(&[("a", &long), ("b", &rest)]), []);
        let more = format!("{rest}v");
        assert_eq!(codes(&[("a", &long), ("b", &more)]), [("#/h".into(), "out-of-range")]);
    }
}
