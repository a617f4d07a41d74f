//! The form of a target's URL. It is read by the parser that the HTTP client uses too, so that both
//! see the same host in it (bug B123). Whether that host may be called is `egress`'s affair.

use url::{Host, Url};

/// Longest target URL; what common servers and proxies take.
pub const URL_LIMIT: usize = 2_048;

/// Longest host name and longest part of one (RFC 1035, section 2.3.4).
const NAME_LIMIT: usize = 253;
const LABEL_LIMIT: usize = 63;

/// What is wrong with a text that is no target URL: a code for machines, and words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// `malformed` or `out-of-range`.
    pub code: &'static str,
    /// What is wrong, and what would be right.
    pub detail: String,
}

/// Reads a target URL: absolute, http or https, with a host and without a user or password.
///
/// The parser writes every spelling of an IPv4 address (`0x7f.1`, `2130706433`, `0177.0.0.1`, full-width
/// digits) as four decimal numbers, and names in lower case and in ASCII (bug B114); it refuses zone
/// ids of IPv6 addresses.
pub fn parse(text: &str) -> Result<Url, Flaw> {
    let flaw = |code, detail: String| Err(Flaw { code, detail });
    let too_long = || flaw("out-of-range", format!("must have at most {URL_LIMIT} characters"));
    if text.len() > URL_LIMIT {
        return too_long();
    }
    // The parser would drop or escape them in silence, and call something else than what stands
    // there (bug B123).
    if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        let detail = "must not hold spaces or control characters; percent-encode them";
        return flaw("malformed", detail.to_owned());
    }
    let url = match Url::parse(text) {
        Ok(url) => url,
        Err(error) => {
            return flaw("malformed", format!("must be an absolute http or https URL: {error}"));
        }
    };
    // What is sent counts: percent-encoding makes six characters of an `ä`.
    if url.as_str().len() > URL_LIMIT {
        return too_long();
    }
    if !matches!(url.scheme(), "http" | "https") {
        let detail = format!("the scheme must be http or https, got {:?}", url.scheme());
        return flaw("out-of-range", detail);
    }
    if !url.username().is_empty() || url.password().is_some() {
        let detail = "must not carry a user or password; use a header of the target instead";
        return flaw("out-of-range", detail.to_owned());
    }
    if url.port() == Some(0) {
        return flaw("out-of-range", "the port must be 1 to 65535".to_owned());
    }
    match url.host() {
        Some(Host::Ipv4(_) | Host::Ipv6(_)) => Ok(url),
        Some(Host::Domain(name)) if is_host_name(name) => Ok(url),
        Some(Host::Domain(_)) | None => flaw("malformed", "the host is not a name".to_owned()),
    }
}

/// A name in the form in which it is compared: without the dot of a name that is complete (`a.b.`).
pub fn plain(name: &str) -> &str {
    name.strip_suffix('.').unwrap_or(name)
}

/// The parser leaves empty and overlong labels to the resolver, and resolvers differ.
fn is_host_name(name: &str) -> bool {
    let name = plain(name);
    name.len() <= NAME_LIMIT
        && name.split('.').all(|label| (1..=LABEL_LIMIT).contains(&label.len()))
}
