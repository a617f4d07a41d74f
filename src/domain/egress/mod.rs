//! Which targets an installation calls: the operator's rules over the table of special addresses.
//!
//! Two questions, both without looking anything up. [`Egress::check_url`] says what is known from a
//! URL alone; [`Egress::check_address`] judges one address that a host name led to. Whoever calls
//! asks both, and connects to the very address that was judged. `AXLE_TARGET_DENY` wins over
//! everything; what is not allowed by a rule and is special is refused.

mod pattern;
mod ports;
#[cfg(test)]
mod seeds;
#[cfg(test)]
mod tests;

pub use pattern::Pattern;
pub use ports::is_denied_port;

use std::net::{IpAddr, SocketAddr};

use url::{Host, Url};

use super::address::{Scope, Special, special, unwrapped};
use super::target_url::plain;

/// What the operator has decided. The default is closed: only the internet may be called.
#[derive(Clone, Debug)]
pub struct Egress {
    /// `AXLE_TARGET_ALLOW`: may be called although special. An address or block of them opens
    /// whatever it names; a host name opens the private addresses that it leads to; with a port, the
    /// port too, where it is one of those that [`is_denied_port`] names.
    pub allow: Vec<Pattern>,
    /// `AXLE_TARGET_DENY`: is never called.
    pub deny: Vec<Pattern>,
    /// `AXLE_ALLOW_PRIVATE_TARGETS`: [`Scope::Private`] addresses may be called by everybody.
    pub allow_private: bool,
    /// Where this process itself listens: only an allowed address with that port opens it.
    pub own: Vec<SocketAddr>,
    /// Whether an address is one of this machine's: a listener on all interfaces is met there.
    pub is_here: fn(IpAddr) -> bool,
}

impl Default for Egress {
    fn default() -> Self {
        let (allow, deny, own) = (Vec::new(), Vec::new(), Vec::new());
        Self { allow, deny, allow_private: false, own, is_here: |ip| ip.is_loopback() }
    }
}

/// Why a target is not called, as a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{subject} is not called from here: {why}{}", hint(.allow.as_deref()))]
pub struct Refusal {
    /// The host as the caller wrote it, normalized; never an address that a name led to, since who
    /// may register a job need not know the operator's network.
    subject: String,
    why: String,
    /// What `AXLE_TARGET_ALLOW` would need, where anything helps.
    allow: Option<String>,
}

fn hint(allow: Option<&str>) -> String {
    let setting = |allow| format!("; the operator can allow it: AXLE_TARGET_ALLOW={allow}");
    allow.map(setting).unwrap_or_default()
}

/// Host names that never lead into the internet, whatever a name server says: endings, with a dot,
/// and whole names. Names that do not stand here are judged by what they lead to (bug B120).
const PRIVATE_NAMES: &[(&str, &str)] = &[
    ("localhost", "loopback (RFC 6761)"),
    (".localhost", "loopback (RFC 6761)"),
    (".localdomain", "a private name"),
    (".local", "a name of the local link (RFC 6762)"),
    (".internal", "a private name (reserved by ICANN)"),
    (".home.arpa", "a private name (RFC 8375)"),
];

/// Names under which clouds serve credentials of the machine.
const CREDENTIAL_NAMES: &[&str] = &[
    "metadata",
    "metadata.google.internal",
    "metadata.goog",
    "instance-data",
    "instance-data.ec2.internal",
    "metadata.tencentyun.com",
    "metadata.platformequinix.com",
];

impl Egress {
    /// What can be said of a URL without looking up its host; of one whose host is an address, all.
    pub fn check_url(&self, url: &Url) -> Result<(), Refusal> {
        let port = url.port_or_known_default();
        match url.host() {
            Some(Host::Ipv4(ip)) => self.check_literal(IpAddr::V4(ip), port),
            Some(Host::Ipv6(ip)) => self.check_literal(IpAddr::V6(ip), port),
            Some(Host::Domain(name)) => self.check_name(plain(name), port),
            None => Err(refusal("the URL", "it names no host", None)),
        }
    }

    /// Whether `host`, a name, may be called at an address that it led to, and this port.
    pub fn check_address(&self, host: &str, ip: IpAddr, port: u16) -> Result<(), Refusal> {
        let (host, port) = (plain(host), Some(port));
        let by_name = self.allow.iter().any(|pattern| pattern.names(host, port));
        self.judge(host, (ip, port), by_name)
    }

    /// Whether an address that somebody wrote as the host may be called.
    pub fn check_literal(&self, ip: IpAddr, port: Option<u16>) -> Result<(), Refusal> {
        let shown = shown(ip);
        if port.is_some_and(is_denied_port) && !self.opens(ip, port, true) {
            return Err(denied_port(&shown, port));
        }
        self.judge(&shown, (ip, port), false)
    }

    fn check_name(&self, name: &str, port: Option<u16>) -> Result<(), Refusal> {
        if self.deny.iter().any(|pattern| pattern.names(name, port)) {
            return Err(denied(name));
        }
        if CREDENTIAL_NAMES.contains(&name) {
            return Err(refusal(name, "it serves credentials of the machine", None));
        }
        let allowed = |exactly: bool| {
            let fits = |pattern: &Pattern| pattern.port().is_some() || !exactly;
            self.allow.iter().any(|pattern| fits(pattern) && pattern.names(name, port))
        };
        if port.is_some_and(is_denied_port) && !allowed(true) {
            return Err(denied_port(name, port));
        }
        let private = PRIVATE_NAMES.iter().find(|(private, _)| {
            name == *private || (private.starts_with('.') && name.ends_with(private))
        });
        match private {
            Some((_, why)) if !self.allow_private && !allowed(false) => {
                Err(refusal(name, why, Some(with_port(name, port))))
            }
            _ => Ok(()),
        }
    }

    /// Judges an address. `by_name`: its host name is allowed.
    fn judge(
        &self,
        subject: &str,
        (ip, port): (IpAddr, Option<u16>),
        by_name: bool,
    ) -> Result<(), Refusal> {
        let inner = unwrapped(ip);
        let covers = |pattern: &Pattern| pattern.covers(ip, port) || pattern.covers(inner, port);
        let host_denied = |pattern: &Pattern| pattern.names(subject, port);
        if self.deny.iter().any(|pattern| covers(pattern) || host_denied(pattern)) {
            return Err(denied(subject));
        }
        if self.is_own(inner, port) && !self.opens(ip, port, true) {
            let why = "it is a listener of Axle itself";
            return Err(refusal(subject, why, Some(with_port(&shown(inner), port))));
        }
        if self.opens(ip, port, false) {
            return Ok(());
        }
        match special(inner) {
            None => Ok(()),
            Some(row) if row.scope == Scope::Private && (self.allow_private || by_name) => Ok(()),
            Some(row) => {
                // A hint is given for what somebody may mean to call.
                let allow = (row.scope == Scope::Private).then(|| with_port(subject, port));
                Err(refusal(subject, &words(row), allow))
            }
        }
    }

    /// Whether a rule allows the address; `exactly`: one that names the port as well.
    fn opens(&self, ip: IpAddr, port: Option<u16>, exactly: bool) -> bool {
        self.allow.iter().any(|pattern| {
            (pattern.port().is_some() || !exactly)
                && (pattern.covers(ip, port) || pattern.covers(unwrapped(ip), port))
        })
    }

    fn is_own(&self, ip: IpAddr, port: Option<u16>) -> bool {
        self.own.iter().any(|own| {
            let here = own.ip().is_unspecified() && (self.is_here)(ip);
            port == Some(own.port()) && (here || ip.is_unspecified() || unwrapped(own.ip()) == ip)
        })
    }
}

fn refusal(subject: &str, why: &str, allow: Option<String>) -> Refusal {
    Refusal { subject: subject.to_owned(), why: why.to_owned(), allow }
}

fn denied(subject: &str) -> Refusal {
    refusal(subject, "the operator denies it (AXLE_TARGET_DENY)", None)
}

fn denied_port(subject: &str, port: Option<u16>) -> Refusal {
    let allow = with_port(subject, port);
    let port = port.map(|port| port.to_string()).unwrap_or_default();
    let why = format!("port {port} belongs to another protocol or a control plane");
    refusal(subject, &why, Some(allow))
}

fn words(row: &Special) -> String {
    format!("{} ({})", row.name, row.source)
}

/// An address as a URL and a rule spell it.
fn shown(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    }
}

fn with_port(host: &str, port: Option<u16>) -> String {
    port.map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}
