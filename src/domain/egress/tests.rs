//! Verdicts on URLs and addresses, case by case of group E of the known bugs.

use super::*;
use crate::domain::target_url;

fn patterns(text: &str) -> Vec<Pattern> {
    text.split_whitespace().map(|text| text.parse().unwrap()).collect()
}

/// Closed but for these.
fn allowing(text: &str) -> Egress {
    Egress { allow: patterns(text), ..Egress::default() }
}

fn open() -> Egress {
    Egress { allow_private: true, ..Egress::default() }
}

fn verdict(egress: &Egress, url: &str) -> Result<(), String> {
    let url = target_url::parse(url).unwrap_or_else(|flaw| panic!("{url}: {flaw:?}"));
    egress.check_url(&url).map_err(|refusal| refusal.to_string())
}

/// Each is refused by default, with this in the sentence; `never`: also where private is allowed.
fn refused(urls: &[&str], word: &str, never: bool) {
    for url in urls {
        let closed = verdict(&Egress::default(), url).expect_err(url);
        assert!(closed.contains(word), "{url}: {closed}");
        assert_eq!(verdict(&open(), url).is_err(), never, "{url}");
        assert_eq!(closed.contains("AXLE_TARGET_ALLOW="), !never, "{url}: {closed}");
    }
}

#[test]
fn b113_ipv4_mapped_ipv6() {
    refused(&["http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]:8080"], "loopback", false);
    refused(&["http://[::ffff:169.254.169.254]/"], "credentials", true);
    refused(&["http://[::ffff:0.0.0.0]/"], "this host", true);
    assert_eq!(verdict(&Egress::default(), "http://[::ffff:1.1.1.1]/"), Ok(()));
}

#[test]
fn b114_other_spellings_of_ipv4() {
    let loopback = [
        "http://2130706433/",
        "http://0x7f000001/",
        "http://017700000001/",
        "http://0177.0.0.1/",
        "http://127.1/",
        "http://127.0.1/",
        "http://0x7f.1/",
        "http://0X7F.0.0.1/",
        "http://127.0.0.1./",
        "http://１２７.０.０.１/",
        "http://①②⑦.0.0.1/",
        "http://127。0。0。1/",
        "http://127%2e0%2e0%2e1/",
        "http://0x7f.0x0.0x0.0x1:8080/",
    ];
    refused(&loopback, "127.0.0.1 is not called from here: loopback (RFC 1122", false);
    let metadata = [
        "http://2852039166/",
        "http://0251.0376.0251.0376/",
        "http://169.254.43518/",
        "http://0xa9fea9fe/",
        "http://0xA9.0xFE.0xA9.0xFE/",
        "http://169.16689662/",
    ];
    refused(&metadata, "169.254.169.254 is not called from here: credentials", true);
}

#[test]
fn b115_ipv4_compatible_ipv6() {
    refused(
        &["http://[::127.0.0.1]/", "http://[::169.254.169.254]/", "http://[::7f00:1]/"],
        "IPv4-compatible",
        true,
    );
}

#[test]
fn b116_nat64_6to4_teredo() {
    refused(&["http://[64:ff9b::a9fe:a9fe]/"], "credentials", true);
    refused(&["http://[64:ff9b::127.0.0.1]/", "http://[64:ff9b::7f00:1]/"], "loopback", false);
    refused(&["http://[64:ff9b:1::7f00:1]/", "http://[64:ff9b:1:a9fe:a9:fe00::]/"], "NAT64", true);
    refused(&["http://[2002:7f00:1::]/", "http://[2002:a9fe:a9fe::1]/"], "6to4", true);
    refused(&["http://[2001:0:7f00:1::]/", "http://[2001::1]/"], "Teredo", true);
    refused(&["http://[::ffff:0:127.0.0.1]/"], "reserved", true);
    assert_eq!(verdict(&Egress::default(), "http://[64:ff9b::1.1.1.1]/"), Ok(()), "DNS64");
}

#[test]
fn b117_the_unspecified_address() {
    refused(&["http://0/", "http://0.0.0.0/", "http://0x0/", "http://0.1.2.3/"], "this host", true);
    refused(&["http://[::]/"], "unspecified", true);
}

#[test]
fn b118_each_answer_of_a_name_is_judged() {
    let egress = Egress::default();
    let judge = |ip: &str| egress.check_address("a.example", ip.parse().unwrap(), 443);
    assert_eq!(judge("93.184.216.34"), Ok(()));
    for ip in ["::1", "127.0.0.1", "10.0.0.1", "::ffff:10.0.0.1", "fd00::1", "169.254.169.254"] {
        let refusal = judge(ip).expect_err(ip).to_string();
        assert!(refusal.starts_with("a.example is not called from here: "), "{refusal}");
        assert!(!refusal.contains(ip), "the address is not told: {refusal}");
    }
}

#[test]
fn b120_names_are_judged_by_what_they_lead_to() {
    for url in
        ["http://127.0.0.1.nip.io/", "http://localtest.me/", "http://db/", "http://internal/"]
    {
        assert_eq!(verdict(&Egress::default(), url), Ok(()), "{url}: known at the call only");
    }
    let local = [
        "http://localhost/",
        "http://LOCALHOST:8080",
        "http://localhost./",
        "http://a.localhost/",
        "http://x.y.internal/",
        "http://printer.local/",
        "http://ｌocalhost/",
    ];
    refused(&local, "is not called from here", false);
    let metadata = [
        "http://metadata.google.internal/",
        "http://metadata/",
        "http://METADATA.google.internal./",
        "http://instance-data/latest/",
    ];
    refused(&metadata, "credentials", true);
    for url in
        ["http://notlocalhost/", "http://localhost.example/", "http://local/", "http://xinternal/"]
    {
        assert_eq!(verdict(&Egress::default(), url), Ok(()), "{url}");
    }
}

#[test]
fn b121_carrier_grade_nat() {
    refused(&["http://100.64.0.1/", "http://100.127.255.255/"], "carrier-grade", false);
    refused(&["http://100.100.100.200/"], "credentials", true);
}

#[test]
fn b122_what_libraries_take_for_global() {
    refused(&["http://192.0.0.192/"], "credentials", true);
    refused(&["http://192.0.0.1/"], "IETF", true);
    refused(&["http://224.0.0.1/", "http://[ff02::1]/"], "multicast", true);
    refused(&["http://[fec0::1]/"], "site-local", false);
    refused(&["http://[5f00::1]/"], "segment routing", true);
    refused(&["http://255.255.255.255/"], "broadcast", true);
    refused(&["http://[4000::1]/", "http://[200::1]/"], "reserved", true);
    refused(
        &["http://192.0.2.1/", "http://[2001:db8::1]/", "http://[3fff::1]/"],
        "documentation",
        true,
    );
    refused(&["http://[fd00:ec2::254]/", "http://168.63.129.16/"], "credentials", true);
    for url in
        ["http://1.1.1.1/", "http://[2606:4700::1111]/", "http://172.15.0.1/", "http://172.32.0.1/"]
    {
        assert_eq!(verdict(&Egress::default(), url), Ok(()), "{url}");
    }
}

#[test]
fn b123_what_hides_the_host_from_a_reader() {
    let tricks = [
        "http://127.0.0.1\\@1.1.1.1/",
        "http:/\\127.0.0.1/",
        "http://%31%32%37.0.0.1/",
        "http:127.0.0.1/",
        "http:\\\\127.0.0.1",
        "http://127.0.0.1#@1.1.1.1/",
        "http://127.0.0.1?@1.1.1.1/",
    ];
    refused(&tricks, "127.0.0.1 is not called", false);
    for (url, code) in [
        ("http://1.1.1.1@127.0.0.1/", "out-of-range"),
        ("http://u:p@a/", "out-of-range"),
        ("http://@a/", ""),
        ("file:///etc/passwd", "out-of-range"),
        ("gopher://127.0.0.1:6379/_x", "out-of-range"),
        ("ftp://a/", "out-of-range"),
        ("javascript:alert(1)", "out-of-range"),
        ("http://[fe80::1%25eth0]/", "malformed"),
        ("http://[::1", "malformed"),
        ("http://a..b/", "malformed"),
        ("http://./", "malformed"),
        ("http://a:0/", "out-of-range"),
        ("http://a:65536/", "malformed"),
        ("http://a b/", "malformed"),
        ("http://a\r\nb/", "malformed"),
        ("http://", "malformed"),
        ("//a/", "malformed"),
        ("/a", "malformed"),
        ("", "malformed"),
        ("http://256.0.0.1/", "malformed"),
        ("http://1.2.3.4.5/", "malformed"),
    ] {
        let found = target_url::parse(url).err().map_or("", |flaw| flaw.code);
        assert_eq!(found, code, "{url}");
    }
    let encoded = format!("http://a/{}", "ä".repeat(1_000));
    assert_eq!(target_url::parse(&encoded).unwrap_err().code, "out-of-range", "as it is sent");
}

#[test]
fn b123_ports_of_other_protocols() {
    for port in
        [22, 25, 53, 110, 143, 389, 465, 587, 993, 995, 3306, 5432, 6379, 9200, 11211, 27017]
    {
        for host in ["a.example", "1.1.1.1", "[2606:4700::1111]"] {
            let url = format!("http://{host}:{port}/");
            let words = verdict(&Egress::default(), &url).expect_err(&url);
            assert!(words.contains(&format!("port {port} ")), "{words}");
            assert!(words.ends_with(&format!("AXLE_TARGET_ALLOW={host}:{port}")), "{words}");
            assert!(verdict(&open(), &url).is_err(), "{url}");
            assert_eq!(verdict(&allowing(&format!("{host}:{port}")), &url), Ok(()), "{url}");
            let without_port = host.trim_matches(['[', ']']);
            assert!(
                verdict(&allowing(without_port), &url).is_err(),
                "{url}: the port is not named"
            );
        }
    }
    for port in [80, 443, 1, 8080, 8443, 3000, 9090] {
        assert_eq!(verdict(&Egress::default(), &format!("http://a.example:{port}/")), Ok(()));
    }
    assert!(ports::DENIED_PORTS.is_sorted());
}

#[test]
fn rules_open_what_they_name_and_no_more() {
    let egress =
        allowing("10.1.0.0/16 billing.internal *.corp.example db.internal:8000 169.254.169.254:80");
    let address =
        |host: &str, ip: &str, port| egress.check_address(host, ip.parse().unwrap(), port);
    assert_eq!(verdict(&egress, "http://10.1.2.3/"), Ok(()));
    assert!(verdict(&egress, "http://10.2.2.3/").is_err());
    assert_eq!(verdict(&egress, "http://[::ffff:10.1.2.3]/"), Ok(()), "the same address");
    assert!(verdict(&egress, "http://10.1.2.3:5432/").is_err(), "a block names no port");
    assert_eq!(verdict(&egress, "http://billing.internal./"), Ok(()));
    assert!(verdict(&egress, "http://x.billing.internal/").is_err());
    assert_eq!(address("billing.internal", "10.9.9.9", 443), Ok(()));
    assert!(address("other.internal", "10.9.9.9", 443).is_err());
    assert_eq!(address("a.b.corp.example.", "fd00::1", 443), Ok(()));
    assert!(address("corp.example", "fd00::1", 443).is_err(), "only names under it");
    assert!(address("billing.internal", "169.254.169.254", 443).is_err(), "no name opens that");
    assert!(address("billing.internal", "0.0.0.0", 443).is_err());
    assert_eq!(address("db.internal", "10.9.9.9", 8000), Ok(()));
    assert!(address("db.internal", "10.9.9.9", 8001).is_err());
    assert!(address("db.internal", "10.9.9.9", 443).is_err());
    assert_eq!(verdict(&egress, "http://169.254.169.254/"), Ok(()), "its address, said in full");
    assert!(verdict(&egress, "http://169.254.169.254:81/").is_err());
}

#[test]
fn denied_is_denied_whatever_is_allowed() {
    let deny = patterns("10.1.0.0/16 evil.example *.evil.example 93.184.216.34:8080 64:ff9b::/96");
    let egress = Egress { deny, ..allowing("0.0.0.0/0 ::/0 evil.example a.evil.example:22") };
    for url in [
        "http://10.1.2.3/",
        "http://[::ffff:10.1.2.3]/",
        "http://evil.example./",
        "http://a.EVIL.example:22/",
        "http://93.184.216.34:8080/",
        "http://[64:ff9b::1.1.1.1]/",
    ] {
        let words = verdict(&egress, url).expect_err(url);
        assert!(words.contains("AXLE_TARGET_DENY"), "{url}: {words}");
    }
    for url in ["http://10.2.2.3/", "http://93.184.216.34/", "http://169.254.169.254/"] {
        assert_eq!(verdict(&egress, url), Ok(()), "{url}");
    }
    assert!(egress.check_address("a.example", "10.1.2.3".parse().unwrap(), 443).is_err());
    assert!(egress.check_address("evil.example", "1.1.1.1".parse().unwrap(), 443).is_err());
}

#[test]
fn our_own_listeners_are_no_targets_unless_named_with_their_port() {
    let own = vec!["127.0.0.1:8080".parse().unwrap(), "0.0.0.0:9090".parse().unwrap()];
    let here: fn(IpAddr) -> bool = |ip| ip.is_loopback() || ip.to_string() == "10.0.0.5";
    let egress = |allow: &str| Egress {
        own: own.clone(),
        is_here: here,
        allow_private: true,
        ..allowing(allow)
    };
    let closed = egress("127.0.0.0/8");
    for url in [
        "http://127.0.0.1:8080/",
        "http://[::ffff:127.0.0.1]:8080/",
        "http://10.0.0.5:9090/metrics",
        "http://127.0.0.2:9090/",
        "http://[::1]:9090/",
    ] {
        let words = verdict(&closed, url).expect_err(url);
        assert!(words.contains("a listener of Axle itself"), "{url}: {words}");
    }
    let by_name = |port| closed.check_address("a.example", "10.0.0.5".parse().unwrap(), port);
    assert!(by_name(9090).is_err() && by_name(9091).is_ok());
    for url in ["http://127.0.0.1:8081/", "http://127.0.0.2:8080/", "http://10.0.0.6:9090/"] {
        assert_eq!(verdict(&closed, url), Ok(()), "{url}");
    }
    assert_eq!(verdict(&egress("127.0.0.1:8080"), "http://127.0.0.1:8080/"), Ok(()));
}
