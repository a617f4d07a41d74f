//! Whose request it is behind reverse proxies: networks, and when a forwarding header is believed.
//! It must never give an address that a client could choose for itself.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The addresses that begin with the same bits (CIDR, RFC 4632).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Network {
    base: IpAddr,
    prefix: u8,
}

impl Network {
    /// Reads `10.0.0.0/8`, `2001:db8::/32`, or one address.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let base: IpAddr =
            address.parse().map_err(|_wrong| format!("{address:?} is not an IP address"))?;
        let most = if base.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            None => most,
            Some(digits) => digits
                .parse()
                .ok()
                .filter(|prefix| *prefix <= most && digits.bytes().all(|b| b.is_ascii_digit()))
                .ok_or_else(|| format!("{digits:?} is not a prefix from 0 to {most}"))?,
        };
        // A bit beyond the prefix is a slip: 10.1.2.3/8 for 10.1.2.3, or for 10.0.0.0/8.
        if bits(base).checked_shl(u32::from(prefix)).is_some_and(|rest| rest != 0) {
            return Err(format!("{text} has bits beyond its prefix"));
        }
        Ok(Self { base, prefix })
    }

    /// Whether the address is one of these. An IPv4 address that is written as an IPv6 one counts
    /// as what it is.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let differing = bits(address) ^ bits(self.base);
        address.is_ipv4() == self.base.is_ipv4()
            && differing.leading_zeros() >= u32::from(self.prefix)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.base, self.prefix)
    }
}

/// The address's bits, from the top.
fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u128::from(v4.to_bits()) << 96,
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

/// The reverse proxies whose word is taken; none by default.
#[derive(Clone, Debug, Default)]
pub struct Proxies(Vec<Network>);

impl Proxies {
    /// Reads networks between commas.
    pub fn parse(text: &str) -> Result<Self, String> {
        text.split(',')
            .map(|network| Network::parse(network.trim()))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    fn trusts(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(address))
    }

    /// Who asks: the connection's peer or, if that is a proxy of ours, the nearest address to the
    /// right of its `Forwarded` (RFC 7239) or `X-Forwarded-For` that is none. What stands to the
    /// left of it was written by whoever it belongs to, and may be invented.
    ///
    /// A proxy writes one of the two headers and may let the other pass as it came. So where both
    /// are there and differ, neither is believed.
    pub fn client(&self, peer: IpAddr, forwarded: &[&str], x_forwarded_for: &[&str]) -> IpAddr {
        let peer = peer.to_canonical();
        if !self.trusts(peer) {
            return peer;
        }
        let listed = |values: &[&str], address: fn(&str) -> Option<IpAddr>| {
            let entries = values.iter().flat_map(|value| value.split(','));
            self.nearest(peer, entries.map(|entry| address(entry.trim())).collect())
        };
        match (forwarded, x_forwarded_for) {
            ([], values) => listed(values, node),
            (values, []) => listed(values, forwarded_for),
            (new, old) => {
                let (new, old) = (listed(new, forwarded_for), listed(old, node));
                if new == old { new } else { peer }
            }
        }
    }

    /// From the right, past the proxies; an entry that is no address ends what is known.
    fn nearest(&self, peer: IpAddr, entries: Vec<Option<IpAddr>>) -> IpAddr {
        let mut nearest = peer;
        for entry in entries.into_iter().rev() {
            let Some(address) = entry else { break };
            nearest = address;
            if !self.trusts(address) {
                break;
            }
        }
        nearest
    }
}

/// The `for` of one element of `Forwarded`. Quoted strings hold no comma in any address, so an
/// element that was cut inside one is no address.
fn forwarded_for(element: &str) -> Option<IpAddr> {
    let mut pairs = element.split(';').filter_map(|pair| pair.trim().split_once('='));
    let (_, value) = pairs.find(|(name, _)| name.trim().eq_ignore_ascii_case("for"))?;
    let value = value.trim();
    let bare = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    node(bare.unwrap_or(value))
}

/// An address as proxies write it: alone, with a port, in brackets.
fn node(text: &str) -> Option<IpAddr> {
    let bracketed = || text.strip_prefix('[')?.strip_suffix(']')?.parse::<Ipv6Addr>().ok();
    let alone = text.parse().ok();
    let with_port = || text.parse::<SocketAddr>().ok().map(|address| address.ip());
    let address = alone.or_else(with_port).or_else(|| bracketed().map(IpAddr::V6))?;
    Some(address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn networks_hold_what_begins_alike() {
        for (network, inside, outside) in [
            ("10.0.0.0/8", "10.255.0.1", "11.0.0.0"),
            ("192.0.2.128/25", "192.0.2.200", "192.0.2.127"),
            ("192.0.2.7", "192.0.2.7", "192.0.2.8"),
            ("192.0.2.7/32", "::ffff:192.0.2.7", "::192.0.2.7"),
            ("2001:db8::/32", "2001:db8:ffff::1", "2001:db9::"),
            ("::1", "::1", "::"),
            ("0.0.0.0/0", "255.255.255.255", "::"),
            ("::/0", "ffff::", "0.0.0.0"),
        ] {
            let network = Network::parse(network).unwrap();
            assert!(network.contains(ip(inside)), "{network} {inside}");
            assert!(!network.contains(ip(outside)), "{network} {outside}");
        }
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for wrong in [
            "",
            "x",
            "10.0.0.0/",
            "10.0.0.0/33",
            "10.0.0.0/-1",
            "10.0.0.0/+8",
            "10.0.0.0/8/8",
            "10.1.2.3/8",
            "::/129",
            "2001:db8::1/32",
            "010.0.0.0/8",
            "10.0.0/8",
            "fe80::1%eth0",
            "*",
            "10.0.0.0 /8",
        ] {
            assert!(Network::parse(wrong).is_err(), "{wrong}");
        }
        assert!(Proxies::parse("10.0.0.0/8, ::1").is_ok());
        assert!(Proxies::parse("10.0.0.0/8,").is_err());
    }

    #[test]
    fn a_stranger_is_who_connects_whatever_it_says() {
        let proxies = Proxies::parse("10.0.0.0/8").unwrap();
        for trusted in [&Proxies::default(), &proxies] {
            let client = trusted.client(ip("192.0.2.1"), &["for=198.51.100.9"], &["198.51.100.9"]);
            assert_eq!(client, ip("192.0.2.1"));
        }
        assert_eq!(proxies.client(ip("::ffff:192.0.2.1"), &[], &[]), ip("192.0.2.1"));
    }

    #[test]
    fn the_nearest_address_that_is_no_proxy_is_the_client() {
        let proxies = Proxies::parse("10.0.0.0/8,2001:db8::/32").unwrap();
        for (header, client) in [
            ("198.51.100.9", "198.51.100.9"),
            ("198.51.100.9:4711", "198.51.100.9"),
            ("192.0.2.1, 198.51.100.9", "198.51.100.9"),
            ("192.0.2.1, 198.51.100.9, 10.0.0.2", "198.51.100.9"),
            ("192.0.2.1,198.51.100.9 ,2001:db8::7", "198.51.100.9"),
            ("2a00::9", "2a00::9"),
            ("[2a00::9]", "2a00::9"),
            ("[2a00::9]:443", "2a00::9"),
            ("::ffff:198.51.100.9", "198.51.100.9"),
            // All of them are ours: the one that is farthest away.
            ("10.0.0.3, 10.0.0.2", "10.0.0.3"),
            // What is no address hides all to its left.
            ("192.0.2.1, unknown", "10.0.0.1"),
            ("192.0.2.1, unknown, 10.0.0.2", "10.0.0.2"),
            ("192.0.2.1,", "10.0.0.1"),
            ("", "10.0.0.1"),
            ("127.1", "10.0.0.1"),
            ("0x7f000001", "10.0.0.1"),
        ] {
            assert_eq!(proxies.client(ip("10.0.0.1"), &[], &[header]), ip(client), "{header}");
        }
        let several = ["192.0.2.1", "198.51.100.9", "10.0.0.2"];
        assert_eq!(proxies.client(ip("10.0.0.1"), &[], &several), ip("198.51.100.9"));
    }

    #[test]
    fn forwarded_is_read_as_rfc_7239_has_it() {
        let proxies = Proxies::parse("10.0.0.0/8").unwrap();
        for (header, client) in [
            ("for=198.51.100.9", "198.51.100.9"),
            ("For=\"198.51.100.9:80\";proto=https", "198.51.100.9"),
            ("proto=https;by=10.0.0.1; for=\"[2a00::9]:4711\"", "2a00::9"),
            ("for=192.0.2.1, for=198.51.100.9, for=10.0.0.2", "198.51.100.9"),
            ("for=192.0.2.1, for=_hidden", "10.0.0.1"),
            ("for=192.0.2.1, proto=http", "10.0.0.1"),
            ("for=192.0.2.1, for=\"198.51.100.9, x\"", "10.0.0.1"),
        ] {
            assert_eq!(proxies.client(ip("10.0.0.1"), &[header], &[]), ip(client), "{header}");
        }
    }

    #[test]
    fn two_headers_that_differ_are_both_disbelieved() {
        let proxies = Proxies::parse("10.0.0.0/8").unwrap();
        let client = |new, old| proxies.client(ip("10.0.0.1"), &[new], &[old]);
        assert_eq!(client("for=198.51.100.9", "198.51.100.9"), ip("198.51.100.9"));
        assert_eq!(client("for=192.0.2.66", "198.51.100.9"), ip("10.0.0.1"));
        assert_eq!(client("for=198.51.100.9", "192.0.2.66"), ip("10.0.0.1"));
    }
}
