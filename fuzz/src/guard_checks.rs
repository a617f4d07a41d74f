//! What must hold of targets whatever somebody writes; as `checks.rs`, for the guard of URLs and the
//! guard of headers. The lists here are written down once more, so that a slip in the domain's own
//! does not excuse itself.

use std::net::IpAddr;

use url::Host;

use crate::domain::egress::{Egress, Pattern, is_denied_port};
use crate::domain::headers;
use crate::domain::invalid::Invalid;
use crate::domain::target_url;

/// Reads a target URL, and asks whether it may be called: by default, and where private is allowed.
pub fn target(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let url = match target_url::parse(text) {
        Ok(url) => url,
        Err(flaw) => {
            assert!(["malformed", "out-of-range"].contains(&flaw.code) && !flaw.detail.is_empty());
            return;
        }
    };
    assert!(matches!(url.scheme(), "http" | "https"), "{text:?}");
    assert!(url.username().is_empty() && url.password().is_none(), "{text:?}");
    let verdict = |egress: &Egress| egress.check_url(&url).map_err(|refusal| refusal.to_string());
    let (closed, open) = (Egress::default(), Egress { allow_private: true, ..Egress::default() });
    // What is shown and stored means the same when it is read again.
    let again = target_url::parse(url.as_str()).map(|again| closed.check_url(&again).is_ok());
    assert_eq!(again, Ok(verdict(&closed).is_ok()), "{text:?} is {url}");
    assert!(verdict(&closed).is_err() || verdict(&open).is_ok(), "open allows more: {url}");
    if let Err(words) = verdict(&closed) {
        assert!(words.contains(" is not called from here: ") && words.len() < 2_000, "{words}");
        return;
    }
    assert!(!url.port_or_known_default().is_some_and(is_denied_port), "{url}");
    match url.host() {
        Some(Host::Ipv4(ip)) => assert!(is_public(ip.into()), "{url}"),
        Some(Host::Ipv6(ip)) => assert!(is_public(ip.into()), "{url}"),
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            // No resolver may read it as an address that was not judged.
            assert!(name.parse::<IpAddr>().is_err(), "{url}");
            let last = name.rsplit('.').next().unwrap_or_default();
            assert!(
                !["localhost", "local", "internal"].contains(&last)
                    || name == "local"
                    || name == "internal",
                "{url}"
            );
        }
        None => panic!("{url} has no host"),
    }
    let denied = Egress { deny: url.host_str().and_then(pattern).into_iter().collect(), ..open };
    assert!(denied.deny.is_empty() || denied.check_url(&url).is_err(), "{url} is denied by name");
}

fn pattern(host: &str) -> Option<Pattern> {
    host.parse().ok()
}

/// By the first bytes alone: what is left of the address space when the blocks are taken out.
fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => !matches!(
            ip.octets(),
            [0 | 10 | 127 | 224.., ..]
                | [100, 64..=127, ..]
                | [168, 63, 129, 16]
                | [169, 254, ..]
                | [172, 16..=31, ..]
                | [192, 0, 0 | 2, _]
                | [192, 88, 99, _]
                | [192, 168, ..]
                | [198, 18 | 19, ..]
                | [198, 51, 100, _]
                | [203, 0, 113, _]
        ),
        IpAddr::V6(v6) => match v6.segments() {
            [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => {
                let [.., a, b, c, d] = v6.octets();
                is_public([a, b, c, d].into())
            }
            [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x2002, ..] | [0x3fff, 0..=0xfff, ..] => false,
            [first, ..] => (0x2000..0x4000).contains(&first),
        },
    }
}

/// Reads headers, one a line as `name: value`, as a caller may send them along: whatever the guard
/// lets pass is one line each, and none of those that are ours.
pub fn header(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let pairs: Vec<(String, String)> = text
        .split('\n')
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_owned(), value.replace("\\n", "\n").replace("\\0", "\0")))
        .collect();
    let mut faults = Invalid::default();
    headers::check(&mut faults, "#/target/headers", &pairs);
    let told =
        |pointer: &str, detail: &str| pointer.starts_with("#/target/headers") && !detail.is_empty();
    assert!(faults.0.iter().all(|fault| told(&fault.pointer, &fault.detail)), "{faults:?}");
    if !faults.0.is_empty() {
        return;
    }
    assert!(pairs.len() <= 50, "{pairs:?}");
    let mut size = 0;
    for (name, value) in &pairs {
        let lower = name.to_lowercase();
        size += name.len() + value.len();
        let line = format!("{name}: {value}");
        assert!(line.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{line:?}");
        assert!(!name.is_empty() && !name.contains([' ', ':', '(', '"', '/', ',']), "{line:?}");
        assert!(!lower.starts_with("axle-") && !lower.starts_with("webhook-"), "{line:?}");
        let framing = [
            "host",
            "content-length",
            "transfer-encoding",
            "connection",
            "te",
            "trailer",
            "upgrade",
            "keep-alive",
            "expect",
            "content-type",
        ];
        assert!(!framing.contains(&lower.as_str()) && !lower.starts_with("proxy-"), "{line:?}");
        let same = pairs.iter().filter(|(other, _)| other.to_lowercase() == lower).count();
        assert_eq!(same, 1, "{line:?} is there once");
    }
    assert!(size <= 8 * 1_024, "{size}");
}
