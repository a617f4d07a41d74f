//! The table against the list of blocks written down once more, as text, and another arithmetic.

use proptest::prelude::*;

use super::*;

/// What must be refused, from the registries and from group E of the known bugs; not read off the
/// table.
const REFUSED: &[&str] = &[
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "168.63.129.16/32",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "2001::/23",
    "2001:db8::/32",
    "2002::/16",
    "3fff::/20",
    // All of IPv6 but 2000::/3.
    "::/3",
    "4000::/2",
    "8000::/1",
];

/// Those of them that are refused even where private addresses are allowed.
const NEVER: &[&str] = &[
    "0.0.0.0/8",
    "100.100.100.200/32",
    "168.63.129.16/32",
    "169.254.0.0/16",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "fd00:ec2::/32",
    "fd20:ce::254/128",
    "fd00:c1::a9fe:a9fe/128",
    "fe80::/10",
    "ff00::/8",
    "5f00::/16",
    "2001::/23",
    "2001:db8::/32",
    "2002::/16",
    "3fff::/20",
];

/// The bits of an address, the first one first: the other arithmetic.
fn bits(ip: IpAddr) -> Vec<bool> {
    let octets = match ip {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let of_byte = |byte: u8| (0..8).rev().map(move |bit| byte & (1 << bit) != 0);
    octets.into_iter().flat_map(of_byte).collect()
}

fn within(block: &str, ip: IpAddr) -> bool {
    let (first, len) = block.split_once('/').unwrap();
    let (first, len): (IpAddr, usize) = (first.parse().unwrap(), len.parse().unwrap());
    first.is_ipv4() == ip.is_ipv4() && bits(first)[..len] == bits(ip)[..len]
}

/// What the kernel or a translator would reach instead.
fn other_spelling(ip: IpAddr) -> IpAddr {
    if !within("::ffff:0:0/96", ip) && !within("64:ff9b::/96", ip) {
        return ip;
    }
    let low = bits(ip).into_iter().skip(96);
    let low = low.fold(0_u32, |low, bit| low << 1 | u32::from(bit));
    Ipv4Addr::from_bits(low).into()
}

fn agrees(ip: IpAddr) -> Result<(), TestCaseError> {
    let inner = other_spelling(ip);
    prop_assert_eq!(unwrapped(ip), inner);
    let found = special(unwrapped(ip));
    let refused = REFUSED.iter().any(|block| within(block, inner));
    prop_assert_eq!(found.is_some(), refused, "{} is {:?}", ip, found);
    let never = NEVER.iter().any(|block| within(block, inner));
    if never {
        prop_assert_eq!(found.map(|row| row.scope), Some(Scope::Never), "{}", ip);
    }
    Ok(())
}

/// An address in or near a block of either list: random ones hardly ever meet a small block.
fn near_a_block() -> impl Strategy<Value = IpAddr> {
    let all: Vec<&str> = REFUSED.iter().chain(NEVER).copied().collect();
    (prop::sample::select(all), any::<u128>(), 0_u32..128, any::<bool>()).prop_map(
        |(block, noise, keep, flip)| {
            let (first, len) = block.split_once('/').unwrap();
            let (first, len): (IpAddr, u32) = (first.parse().unwrap(), len.parse().unwrap());
            let keep = if flip { keep.min(len) } else { len };
            match first {
                IpAddr::V4(ip) => {
                    let noise = u32::try_from(noise >> 96).unwrap();
                    let mask = u32::MAX.checked_shr(keep).unwrap_or(0);
                    Ipv4Addr::from(ip.to_bits() ^ (noise & mask)).into()
                }
                IpAddr::V6(ip) => {
                    let mask = u128::MAX.checked_shr(keep).unwrap_or(0);
                    Ipv6Addr::from(ip.to_bits() ^ (noise & mask)).into()
                }
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn b122_any_ipv4_address_is_judged_as_by_the_list(ip: u32) {
        agrees(Ipv4Addr::from(ip).into())?;
    }

    #[test]
    fn b122_any_ipv6_address_is_judged_as_by_the_list(ip: u128) {
        agrees(Ipv6Addr::from(ip).into())?;
    }

    #[test]
    fn b122_addresses_near_the_blocks_are_judged_as_by_the_list(ip in near_a_block()) {
        agrees(ip)?;
        if let IpAddr::V4(ip) = ip {
            // The same address in every spelling that IPv6 has for it.
            agrees(ip.to_ipv6_mapped().into())?;
            agrees(ip.to_ipv6_compatible().into())?;
            let [high, low] = [ip.to_bits() >> 16, ip.to_bits() & 0xffff];
            let [high, low] = [high, low].map(|half| u16::try_from(half).unwrap());
            for form in [
                [0x64, 0xff9b, 0, 0, 0, 0, high, low],
                [0x64, 0xff9b, 1, 0, 0, 0, high, low],
                [0x2002, high, low, 0, 0, 0, 0, 1],
                [0x2001, 0, high, low, 0, 0, 0, 0],
                [0, 0, 0, 0, 0xffff, 0, high, low],
            ] {
                agrees(Ipv6Addr::from(form).into())?;
            }
        }
    }
}

#[test]
fn b122_the_edges_of_every_block() {
    for block in REFUSED.iter().chain(NEVER) {
        let (first, len) = block.split_once('/').unwrap();
        let len: u32 = len.parse().unwrap();
        let (first, last) = match first.parse().unwrap() {
            IpAddr::V4(ip) => {
                let rest = u128::from(u32::MAX.checked_shr(len).unwrap_or(0));
                (u128::from(ip.to_bits()), u128::from(ip.to_bits()) + rest)
            }
            IpAddr::V6(ip) => {
                (ip.to_bits(), ip.to_bits() | u128::MAX.checked_shr(len).unwrap_or(0))
            }
        };
        let is_v4 = !block.contains(':');
        for number in [Some(first), Some(last), first.checked_sub(1), last.checked_add(1)] {
            let ip: Option<IpAddr> = number.and_then(|number| match u32::try_from(number) {
                Ok(number) if is_v4 => Some(Ipv4Addr::from(number).into()),
                _ if is_v4 => None,
                _ => Some(Ipv6Addr::from(number).into()),
            });
            if let Some(ip) = ip {
                agrees(ip).unwrap_or_else(|error| panic!("{block}: {ip}: {error}"));
            }
        }
    }
}

#[test]
fn every_row_is_the_first_one_for_some_address() {
    for row in SPECIAL {
        let met = SPECIAL.iter().take_while(|other| *other != row);
        let (Some(first), true) = (first_of(row), !row.source.is_empty()) else {
            panic!("{row:?}")
        };
        let hidden = met.filter(|other| other.block.contains(first)).count();
        // Only rows that reach beyond a smaller one may begin inside it.
        assert!(
            hidden == 0 || ["IETF protocol assignments", "IPv4-compatible"].contains(&row.name)
        );
    }
}

fn first_of(row: &Special) -> Option<IpAddr> {
    row.block.to_string().split('/').next()?.parse().ok()
}
