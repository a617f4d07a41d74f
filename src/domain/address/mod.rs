//! Which IP addresses are not simply somewhere in the internet: one table, each row with its source.
//!
//! The standard library's and other libraries' "is private" is not "is safe to call" (bug B122), so
//! the table is our own: the special-purpose registries of IANA
//! (<https://www.iana.org/assignments/iana-ipv4-special-registry>, `iana-ipv6-special-registry`), and
//! the places where clouds hand out credentials. Of IPv6, whatever is not global unicast is refused.
//! Whether a row may be called all the same is not decided here (see `egress`).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::block::Block;

/// One row of the table.
#[derive(Debug, PartialEq, Eq)]
pub struct Special {
    /// What the addresses are, in words.
    pub name: &'static str,
    /// Who says so.
    pub source: &'static str,
    /// Whether somebody may run a service there.
    pub scope: Scope,
    block: Block,
}

/// What can be behind a special address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Services of the operator: this machine, or a network that only some can reach.
    Private,
    /// Nothing that a job has to do with: credentials of the machine, groups of hosts, addresses
    /// that stand for others, or none at all.
    Never,
}

/// The row of an address, if it is special; ask for the [`unwrapped`] one.
pub fn special(ip: IpAddr) -> Option<&'static Special> {
    let row = SPECIAL.iter().find(|row| row.block.contains(ip));
    row.or_else(|| (ip.is_ipv6() && !GLOBAL_UNICAST.contains(ip)).then_some(&OUTSIDE))
}

/// The IPv4 address that an IPv6 address of these forms is another spelling of, for the kernel
/// (IPv4-mapped, bug B113) or for a translator (NAT64, bug B116); any other address as it is.
///
/// NAT64 is not refused as such: where hosts have IPv6 alone, DNS64 gives every IPv4 target such an
/// address. Forms that no translator of today needs stand in the table.
pub fn unwrapped(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V6(v6) if NAT64.contains(ip) => IpAddr::V4(low_bits(v6)),
        IpAddr::V4(_) | IpAddr::V6(_) => ip.to_canonical(),
    }
}

fn low_bits(ip: Ipv6Addr) -> Ipv4Addr {
    let [.., a, b, c, d] = ip.octets();
    Ipv4Addr::new(a, b, c, d)
}

/// RFC 6052, section 2.1: the IPv4 address is the last 32 bits.
const NAT64: Block = Block::v6([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96);

/// RFC 4291, section 2.4, and IANA's registry of the IPv6 address space: all else is reserved.
const GLOBAL_UNICAST: Block = Block::v6([0x2000, 0, 0, 0, 0, 0, 0, 0], 3);

const OUTSIDE: Special = Special {
    name: "reserved",
    source: "RFC 4291 section 2.4",
    scope: Scope::Never,
    block: Block::v6([0; 8], 0),
};

const fn v4(
    octets: [u8; 4],
    len: u32,
    scope: Scope,
    name: &'static str,
    source: &'static str,
) -> Special {
    Special { name, source, scope, block: Block::v4(octets, len) }
}

const fn v6(
    segments: [u16; 8],
    len: u32,
    scope: Scope,
    name: &'static str,
    source: &'static str,
) -> Special {
    Special { name, source, scope, block: Block::v6(segments, len) }
}

use Scope::{Never, Private};

const CREDENTIALS: &str = "credentials of the machine";

/// Where rows overlap the first one counts. The registries' rows that are globally reachable (AS112,
/// AMT) are left out: there is nothing behind them that is not in the internet.
const SPECIAL: &[Special] = &[
    v4([0, 0, 0, 0], 8, Never, "this host", "RFC 791 section 3.2"), // Linux: loopback (B117)
    v4([10, 0, 0, 0], 8, Private, "private network", "RFC 1918"),
    v4([100, 100, 100, 200], 32, Never, CREDENTIALS, "Alibaba Cloud, instance metadata"),
    v4([100, 64, 0, 0], 10, Private, "carrier-grade NAT", "RFC 6598"),
    v4([127, 0, 0, 0], 8, Private, "loopback", "RFC 1122 section 3.2.1.3"),
    v4([168, 63, 129, 16], 32, Never, CREDENTIALS, "Azure, WireServer"),
    v4([169, 254, 169, 254], 32, Never, CREDENTIALS, "AWS, Azure, Google Cloud and others"),
    v4([169, 254, 0, 0], 16, Never, "link-local", "RFC 3927"), // ECS and EKS: 170.2, 170.23
    v4([172, 16, 0, 0], 12, Private, "private network", "RFC 1918"),
    v4([192, 0, 0, 192], 32, Never, CREDENTIALS, "Oracle Cloud, instance metadata"),
    v4([192, 0, 0, 0], 24, Never, "IETF protocol assignments", "RFC 6890 section 2.1"),
    v4([192, 0, 2, 0], 24, Never, "documentation", "RFC 5737"),
    v4([192, 88, 99, 0], 24, Never, "6to4 relay", "RFC 7526"),
    v4([192, 168, 0, 0], 16, Private, "private network", "RFC 1918"),
    v4([198, 18, 0, 0], 15, Private, "benchmarking", "RFC 2544"),
    v4([198, 51, 100, 0], 24, Never, "documentation", "RFC 5737"),
    v4([203, 0, 113, 0], 24, Never, "documentation", "RFC 5737"),
    v4([224, 0, 0, 0], 4, Never, "multicast", "RFC 5771"),
    v4([255, 255, 255, 255], 32, Never, "broadcast", "RFC 919 section 7"),
    v4([240, 0, 0, 0], 4, Never, "reserved", "RFC 1112 section 4"),
    v6([0; 8], 128, Never, "unspecified", "RFC 4291 section 2.5.2"),
    v6([0, 0, 0, 0, 0, 0, 0, 1], 128, Private, "loopback", "RFC 4291 section 2.5.3"),
    v6([0; 8], 96, Never, "IPv4-compatible", "RFC 4291 section 2.5.5.1"), // B115
    v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48, Never, "local NAT64", "RFC 8215"),
    v6([0x100, 0, 0, 0, 0, 0, 0, 0], 64, Never, "discard-only", "RFC 6666"),
    v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 32, Never, "Teredo", "RFC 4380"),
    v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23, Never, "IETF protocol assignments", "RFC 2928"),
    v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32, Never, "documentation", "RFC 3849"),
    v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16, Never, "6to4", "RFC 7526"),
    v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20, Never, "documentation", "RFC 9637"),
    v6([0x5f00, 0, 0, 0, 0, 0, 0, 0], 16, Never, "segment routing", "RFC 9602"),
    v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0], 32, Never, CREDENTIALS, "AWS, instance metadata"),
    v6([0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254], 128, Never, CREDENTIALS, "Google Cloud, metadata"),
    v6([0xfd00, 0xc1, 0, 0, 0, 0, 0xa9fe, 0xa9fe], 128, Never, CREDENTIALS, "Oracle Cloud"),
    v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7, Private, "private network", "RFC 4193"),
    v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10, Never, "link-local", "RFC 4291 section 2.5.6"),
    v6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10, Private, "site-local", "RFC 3879"),
    v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8, Never, "multicast", "RFC 4291 section 2.7"),
];

#[cfg(test)]
mod tests;
