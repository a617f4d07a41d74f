//! One entry of `AXLE_TARGET_ALLOW` or `AXLE_TARGET_DENY`.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use url::Host;

use crate::domain::block::Block;
use crate::domain::target_url::plain;

/// Addresses or a host name, at any port or at one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    place: Place,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Addresses(Block),
    /// The name itself.
    Name(String),
    /// Every name under this one, which begins with a dot.
    Under(String),
}

impl Pattern {
    /// The port, if it names one.
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// Whether it means this address, at this port.
    pub fn covers(&self, ip: IpAddr, port: Option<u16>) -> bool {
        let here = match &self.place {
            Place::Addresses(block) => block.contains(ip),
            Place::Name(_) | Place::Under(_) => false,
        };
        here && self.fits(port)
    }

    /// Whether it means this host by its name (in lower case, without a final dot), at this port.
    pub fn names(&self, host: &str, port: Option<u16>) -> bool {
        let here = match &self.place {
            Place::Addresses(_) => false,
            Place::Name(name) => host == name,
            Place::Under(ending) => host.ends_with(ending.as_str()),
        };
        here && self.fits(port)
    }

    fn fits(&self, port: Option<u16>) -> bool {
        self.port.is_none_or(|own| port == Some(own))
    }
}

/// Reads `10.0.0.0/8`, `10.0.0.7`, `10.0.0.7:8080`, `[fd00::1]:8080`, `billing.internal`,
/// `*.corp.example` or `billing.internal:8080`.
impl FromStr for Pattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.contains('/') {
            return Ok(Self { place: Place::Addresses(text.parse()?), port: None });
        }
        if let Ok(ip) = text.parse::<IpAddr>() {
            return Ok(Self { place: Place::Addresses(ip.into()), port: None });
        }
        // A colon inside brackets belongs to the address.
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, Some(read_port(port)?)),
            _ => (text, None),
        };
        Ok(Self { place: read_host(host)?, port })
    }
}

fn read_port(text: &str) -> Result<u16, String> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let port = text.parse().ok().filter(|port| digits && *port != 0);
    port.ok_or_else(|| format!("{text:?} is not a port"))
}

/// The host as a URL would have it, so that both are compared in the same spelling.
fn read_host(text: &str) -> Result<Place, String> {
    let no_host = || format!("{text:?} is not an address, a block of them, or a host name");
    let (ending, name) = match text.strip_prefix("*.") {
        Some(name) => (true, name),
        None => (false, text),
    };
    match Host::parse(name) {
        Ok(Host::Domain(name)) if is_host_name(&name) => {
            let name = plain(&name);
            Ok(if ending { Place::Under(format!(".{name}")) } else { Place::Name(name.to_owned()) })
        }
        Ok(Host::Ipv4(ip)) if !ending => Ok(Place::Addresses(IpAddr::V4(ip).into())),
        Ok(Host::Ipv6(ip)) if !ending => Ok(Place::Addresses(IpAddr::V6(ip).into())),
        Ok(_) | Err(_) => Err(no_host()),
    }
}

/// Stricter than a URL: what is no name here is a slip of the pen.
fn is_host_name(name: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    plain(name).split('.').all(|label| !label.is_empty() && label.bytes().all(letter))
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.place, self.port) {
            (Place::Addresses(block), Some(port)) if block.to_string().contains(':') => {
                write!(f, "[{block}]:{port}")
            }
            (Place::Addresses(block), Some(port)) => write!(f, "{block}:{port}"),
            (Place::Addresses(block), None) => block.fmt(f),
            (Place::Name(name), None) => f.write_str(name),
            (Place::Name(name), Some(port)) => write!(f, "{name}:{port}"),
            (Place::Under(ending), None) => write!(f, "*{ending}"),
            (Place::Under(ending), Some(port)) => write!(f, "*{ending}:{port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_read_as_urls_are_and_written_back() {
        for (text, spelt) in [
            ("10.0.0.0/8", "10.0.0.0/8"),
            ("fd00::/8", "fd00::/8"),
            ("10.0.0.7", "10.0.0.7"),
            ("10.0.0.7:8080", "10.0.0.7:8080"),
            ("0x7f.1:80", "127.0.0.1:80"),
            ("::1", "::1"),
            ("[::1]", "::1"),
            ("[fd00::1]:8080", "[fd00::1]:8080"),
            ("Billing.Internal.", "billing.internal"),
            ("billing.internal:8080", "billing.internal:8080"),
            ("*.corp.example", "*.corp.example"),
            ("*.corp.example:443", "*.corp.example:443"),
            ("bücher.example", "xn--bcher-kva.example"),
        ] {
            let pattern: Pattern = text.parse().unwrap();
            assert_eq!(pattern.to_string(), spelt);
            assert_eq!(spelt.parse(), Ok(pattern));
        }
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for text in [
            "",
            "*",
            "*.",
            ".",
            "a b",
            "http://a",
            "a:",
            "a:0",
            "a:65536",
            "a:+80",
            "10.0.0.0/8:80",
            "10.0.0.1/8",
            "*.10.0.0.1",
            "a.*.b",
            "**.a",
            "[::1",
            "[::1]:x",
            "[fe80::1%eth0]",
            "a,b",
        ] {
            assert!(text.parse::<Pattern>().is_err(), "{text:?}");
        }
    }
}
