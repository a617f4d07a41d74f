//! Blocks of IP addresses, such as `10.0.0.0/8` and `fc00::/7`. What a block means is not said here.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// All addresses of one family that begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    first: IpAddr,
    /// How many leading bits are common: 0 to 32, or to 128.
    len: u32,
}

impl Block {
    /// Of the addresses that share the first `len` bits with `octets`.
    pub const fn v4(octets: [u8; 4], len: u32) -> Self {
        Self { first: IpAddr::V4(Ipv4Addr::from_octets(octets)), len }
    }

    /// Of the addresses that share the first `len` bits with `segments`.
    pub const fn v6(segments: [u16; 8], len: u32) -> Self {
        Self { first: IpAddr::V6(Ipv6Addr::from_segments(segments)), len }
    }

    /// Whether the address is one of them. An IPv4 address is in no block of IPv6, and the reverse.
    pub const fn contains(&self, ip: IpAddr) -> bool {
        match (self.first, ip) {
            (IpAddr::V4(first), IpAddr::V4(ip)) => {
                (first.to_bits() ^ ip.to_bits()).leading_zeros() >= self.len
            }
            (IpAddr::V6(first), IpAddr::V6(ip)) => {
                (first.to_bits() ^ ip.to_bits()).leading_zeros() >= self.len
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

impl From<IpAddr> for Block {
    fn from(ip: IpAddr) -> Self {
        Self { first: ip, len: if ip.is_ipv4() { 32 } else { 128 } }
    }
}

/// Reads `10.0.0.0/8`, or a single address. Bits after the prefix must be zero: one who writes
/// `10.1.2.3/8` may mean either.
impl FromStr for Block {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let no_address = || format!("{text:?} is not a block of addresses such as 10.0.0.0/8");
        let Some((address, len)) = text.split_once('/') else {
            return text.parse().map(IpAddr::into).or(Err(no_address()));
        };
        let first: IpAddr = address.parse().or(Err(no_address()))?;
        let most = Self::from(first).len;
        let digits = !len.is_empty() && len.bytes().all(|byte| byte.is_ascii_digit());
        let len = len.parse().ok().filter(|len| digits && *len <= most).ok_or_else(no_address)?;
        let used = match first {
            IpAddr::V4(ip) => 32 - ip.to_bits().trailing_zeros(),
            IpAddr::V6(ip) => 128 - ip.to_bits().trailing_zeros(),
        };
        if used > len {
            return Err(format!("{text:?} has bits set beyond its /{len}"));
        }
        Ok(Self { first, len })
    }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::from(self.first) {
            return self.first.fmt(f);
        }
        write!(f, "{}/{}", self.first, self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_read_strictly_and_written_back() {
        for text in ["10.0.0.0/8", "0.0.0.0/0", "::/0", "fc00::/7", "10.1.2.3", "::1"] {
            assert_eq!(text.parse::<Block>().unwrap().to_string(), text);
        }
        assert_eq!("10.1.2.3/32".parse::<Block>().unwrap().to_string(), "10.1.2.3");
        for text in [
            "",
            "/",
            "10.0.0.0/",
            "10.0.0.0/33",
            "10.0.0.0/+8",
            "10.0.0.0/8/8",
            "10.0.0.1/8",
            "10/8",
            "010.0.0.0/8",
            "0x0a.0.0.0/8",
            "fc00::1/7",
            "::/129",
            "[::1]",
            "a/8",
            " ::1",
        ] {
            assert!(text.parse::<Block>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_block_holds_its_own_family_only() {
        let holds =
            |block: &str, ip: &str| block.parse::<Block>().unwrap().contains(ip.parse().unwrap());
        assert!(holds("0.0.0.0/0", "255.255.255.255") && !holds("0.0.0.0/0", "::1"));
        assert!(holds("::/0", "ffff::") && !holds("::/0", "1.2.3.4"));
        assert!(holds("10.0.0.0/8", "10.255.255.255") && !holds("10.0.0.0/8", "11.0.0.0"));
        assert!(holds("::1", "::1") && !holds("::1", "::2"));
    }
}
