//! Replays the inputs of `fuzz/seeds` through the very functions that the fuzz targets call, so that
//! what was found once stays found without a nightly compiler; and random ones beside them.

use std::path::Path;

use proptest::prelude::*;

#[expect(unreachable_pub, reason = "public for the fuzz targets, whose library it is a part of")]
#[path = "../../../fuzz/src/guard_checks.rs"]
mod guard_checks;

fn replay(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds").join(target);
    let mut seeds = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        println!("{}", path.display()); // shown if it panics
        check(&std::fs::read(&path).unwrap());
        seeds += 1;
    }
    assert!(seeds >= 20, "{seeds} seeds of {target}");
}

#[test]
fn b113_b123_seeds_of_target_urls() {
    replay("target", guard_checks::target);
}

#[test]
fn b126_b127_seeds_of_headers() {
    replay("header", guard_checks::header);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn b123_whatever_stands_for_a_host(
        host in "(\\[[0-9a-f:.]{2,30}\\]|[0-9a-fx.]{1,16}|[a-z0-9.\\-%@\\\\/]{1,24}|.{1,12})",
        port in prop::option::of(any::<u16>()),
    ) {
        let port = port.map(|port| format!(":{port}")).unwrap_or_default();
        guard_checks::target(format!("http://{host}{port}/").as_bytes());
    }

    #[test]
    fn b123_any_address_as_a_host(v4: u32, v6: u128) {
        let v6 = std::net::Ipv6Addr::from(v6);
        for host in [v4.to_string(), format!("0x{v4:x}"), format!("[{v6}]")] {
            guard_checks::target(format!("http://{host}/").as_bytes());
        }
    }

    #[test]
    fn b126_whatever_stands_for_headers(text in "((x-)?[a-zA-Z-]{1,12}: [ -~]{0,20}\n|.{0,20}){0,6}") {
        guard_checks::header(text.as_bytes());
    }
}
