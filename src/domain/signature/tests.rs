//! Signatures against known values, and every reason why one does not fit.

use proptest::prelude::*;

use super::verify::{Captured, Freshness, TOLERANCE, Why, verify};
use super::*;

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const OTHER: &str = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
const AT: i64 = 1_796_004_000;

fn secret(text: &str) -> SigningSecret {
    SigningSecret::parse(text).unwrap()
}

fn message<'a>(stamp: &'a str, body: &'a [u8]) -> Message<'a> {
    Message { job: "job_1", run: "run_1_2", fence: "2", timestamp: stamp, body }
}

/// The headers of a call signed with these secrets.
fn headers(at: i64, body: &[u8], secrets: &[SigningSecret]) -> Vec<(String, String)> {
    let stamp = at.to_string();
    let message = message(&stamp, body);
    [
        ("Webhook-Id", "job_1".to_owned()),
        ("webhook-timestamp", stamp.clone()),
        ("webhook-signature", message.signature(secrets)),
        ("Axle-Signature", message.run_signature(secrets)),
        ("Axle-Job-Id", "job_1".to_owned()),
        ("Axle-Run-Id", "run_1_2".to_owned()),
        ("axle-fence", "2".to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}

const NOW: Freshness = Freshness { now: AT, tolerance: TOLERANCE };

fn why(headers: &[(String, String)], body: &[u8], sent: Option<&[u8]>) -> Vec<Why> {
    verify(Captured { headers, body, sent }, &[secret(SECRET)], NOW).1
}

fn set(headers: &mut [(String, String)], name: &str, value: &str) {
    let found = headers.iter_mut().find(|(key, _)| key.eq_ignore_ascii_case(name));
    found.unwrap().1 = value.to_owned();
}

/// The example of the Standard Webhooks libraries.
#[test]
fn a_signature_is_that_of_standard_webhooks() {
    let message = Message {
        job: "msg_p5jXN8AQM9LWM0D4loKWxJek",
        run: "",
        fence: "",
        timestamp: "1614265330",
        body: br#"{"test": 2432232314}"#,
    };
    let expected = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
    assert_eq!(message.signature(&[secret(SECRET)]), expected);
    let both = message.signature(&[secret(OTHER), secret(SECRET)]);
    assert!(both.ends_with(&format!(" {expected}")) && both.starts_with("v1,"), "{both}");
    assert_eq!(message.signature(&[]), "");
}

#[test]
fn secrets_have_24_to_64_bytes_and_print_stars() {
    for bytes in [vec![7; 24], vec![0; 32], vec![255; 64]] {
        let secret = SigningSecret::from_bytes(SigningKind::Hmac, &bytes).unwrap();
        let text = secret.text().unwrap();
        assert_eq!(SigningSecret::parse(text.expose()), Ok(secret.clone()));
        assert_eq!(format!("{secret:?} {text:?}"), "*** ***");
    }
    for bad in [
        "",
        "whsec_",
        "whsec_AAAA",
        "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw=",
    ] {
        assert_eq!(SigningSecret::parse(bad), Err(BadSecret), "{bad}");
    }
    assert_eq!(SigningSecret::from_bytes(SigningKind::Hmac, &[0; 23]), Err(BadSecret));
    assert_eq!(SigningSecret::from_bytes(SigningKind::Hmac, &[0; 65]), Err(BadSecret));
}

#[test]
fn a_call_verifies_with_any_secret_of_its_set() {
    let body = b"{}";
    let secrets = [secret(OTHER), secret(SECRET)];
    let headers = headers(AT, body, &secrets);
    let call = Captured { headers: &headers, body, sent: None };
    for known in &secrets {
        assert_eq!(verify(call, std::slice::from_ref(known), NOW), (Some(0), vec![]));
    }
}

#[test]
fn b129_b130_the_window_is_five_minutes_back_and_one_ahead() {
    for (offset, expected) in [
        (0, vec![]),
        (-299, vec![]),
        (-300, vec![]),
        (-301, vec![Why::Stale(301)]),
        (-3_600, vec![Why::Stale(3_600)]),
        (29, vec![]),
        (60, vec![]),
        (61, vec![Why::Ahead(61)]),
        (300, vec![Why::Ahead(300)]),
    ] {
        let headers = headers(AT + offset, b"{}", &[secret(SECRET)]);
        assert_eq!(why(&headers, b"{}", None), expected, "{offset} s");
    }
    // A narrower window is narrower on both sides.
    let headers = headers(AT + 30, b"{}", &[secret(SECRET)]);
    let call = Captured { headers: &headers, body: b"{}", sent: None };
    let narrow = Freshness { now: AT, tolerance: 10 };
    assert_eq!(verify(call, &[secret(SECRET)], narrow).1, [Why::Ahead(30)]);
}

#[test]
fn b131_a_fresh_stamp_on_an_old_signature_does_not_verify() {
    let mut old = headers(AT - 3_600, b"{}", &[secret(SECRET)]);
    set(&mut old, TIMESTAMP, &AT.to_string());
    assert_eq!(why(&old, b"{}", None), [Why::NoMatch]);
    assert_eq!(why(&old, b"{}", Some(b"{}")), [Why::WrongSecret]);
    for wrong in ["", "NaN", "-1", "+1796004000", "1796004000.0", "1e9", "0x1", "soon", "９"] {
        set(&mut old, TIMESTAMP, wrong);
        let [Why::Malformed(TIMESTAMP, _)] = why(&old, b"{}", None)[..] else {
            panic!("{wrong}: {:?}", why(&old, b"{}", None));
        };
    }
    set(&mut old, TIMESTAMP, "99999999999999999999");
    assert!(matches!(why(&old, b"{}", None)[..], [Why::Malformed(TIMESTAMP, _)]));
    old.retain(|(name, _)| name != TIMESTAMP);
    assert_eq!(why(&old, b"{}", None), [Why::Missing(TIMESTAMP)]);
}

#[test]
fn what_was_altered_is_told() {
    let sent = br#"{"b":1,"a":[1.0,"\u00e9\\u00e9",true]}"#;
    let good = headers(AT, sent, &[secret(SECRET)]);
    assert_eq!(why(&good, sent, None), []);
    assert_eq!(why(&good, b"{\"b\":2}", Some(sent)), [Why::ChangedBody]);
    assert_eq!(why(&good, b"{\"b\":2}", None), [Why::NoMatch]);
    let other =
        verify(Captured { headers: &good, body: sent, sent: Some(sent) }, &[secret(OTHER)], NOW);
    assert_eq!(other, (None, vec![Why::WrongSecret]));
    for (name, value) in [("Axle-Run-Id", "run_1_3"), ("Axle-Fence", "3"), ("Axle-Job-Id", "job_2")]
    {
        let mut altered = good.clone();
        set(&mut altered, name, value);
        assert_eq!(why(&altered, sent, None), [Why::RunHeaders], "{name}");
    }
    let mut bare = good.clone();
    bare.retain(|(name, _)| name != "Axle-Signature");
    assert_eq!(why(&bare, sent, None), [Why::Missing(RUN_SIGNATURE)]);
    let mut twice = good.clone();
    twice.push(("WEBHOOK-ID".to_owned(), "job_2".to_owned()));
    assert!(matches!(why(&twice, sent, None)[..], [Why::Malformed(ID, _)]));
    assert_eq!(
        why(&[], sent, None),
        [Why::Missing(ID), Why::Missing(TIMESTAMP), Why::Missing(SIGNATURE)]
    );
}

#[test]
fn a_body_that_was_written_again_is_told() {
    let cases: [(&str, &str); 8] = [
        // What was sent, and what somebody verifies who has parsed it.
        (r#"{"b":1,"a":"é"}"#, r#"{ "b": 1, "a": "é" }"#),
        (r#"{"b": 1, "a": [2, "x: y, z"]}"#, r#"{"b":1,"a":[2,"x: y, z"]}"#),
        (r#"{"a":"é😀"}"#, r#"{"a": "\u00e9\ud83d\ude00"}"#),
        (r#"{"a":"\u00e9\ud83d\ude00\\u00e9\n"}"#, r#"{"a":"é😀\\u00e9\n"}"#),
        (r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#),
        ("{\n  \"a\": 1,\n  \"b\": 2\n}", r#"{"b":2,"a":1}"#),
        ("{\"a\":1}", "{\"a\":1}\r\n"),
        ("any text", "any text\n"),
    ];
    for (sent, seen) in cases {
        let headers = headers(AT, sent.as_bytes(), &[secret(SECRET)]);
        let why = why(&headers, seen.as_bytes(), None);
        assert!(matches!(why[..], [Why::Rewritten(_)]), "{sent} {seen}: {why:?}");
    }
    // What no guess finds, the body that was sent tells.
    let (sent, seen) = (br#"{"a":1.0,  "b":2}"#, br#"{"b":2,"a":1.0}"#);
    let headers = headers(AT, sent, &[secret(SECRET)]);
    assert_eq!(why(&headers, seen, Some(sent)), [Why::Rewritten("as it was sent")]);
}

#[test]
fn other_versions_and_junk_stand_beside_a_signature() {
    let mut good = headers(AT, b"{}", &[secret(SECRET)]);
    let own = message(&AT.to_string(), b"{}").signature(&[secret(SECRET)]);
    for value in
        [format!("v1a,AAAA {own}"), format!("  {own}  v2,x"), format!("v1,AAAA v1, , v1 {own}")]
    {
        set(&mut good, SIGNATURE, &value);
        assert_eq!(why(&good, b"{}", None), [], "{value}");
    }
    let bare = own.trim_start_matches("v1,").to_owned();
    for value in ["", " ", "v1", "v1,", "v1,AAAA", &bare, &own.replace("v1,", "v1a,")] {
        set(&mut good, SIGNATURE, value);
        let why = why(&good, b"{}", None);
        assert!(matches!(why[..], [Why::Malformed(SIGNATURE, _)]), "{value:?}: {why:?}");
    }
}

/// The first key pair of RFC 8032, section 7.1.
const SEED: &str = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
const PUBLIC: &str = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

fn bytes(hex: &str) -> Vec<u8> {
    let digit = |c: u8| char::from(c).to_digit(16).unwrap();
    let byte = |pair: &[u8]| u8::try_from(digit(pair[0]) * 16 + digit(pair[1])).unwrap();
    hex.as_bytes().chunks(2).map(byte).collect()
}

#[test]
fn a_pair_s_public_key_is_that_of_rfc_8032_and_checks_what_the_pair_signs() {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    let pair = SigningSecret::from_bytes(SigningKind::Ed25519, &bytes(SEED)).unwrap();
    let public = pair.public().unwrap();
    assert_eq!(public.to_string(), format!("whpk_{}", STANDARD.encode(bytes(PUBLIC))));
    assert_eq!(public.x(), "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", "as in RFC 8037");
    assert_eq!((pair.text(), format!("{pair:?}")), (None, "***".to_owned()));

    let key = secret(&public.to_string());
    let both = [secret(SECRET), pair.clone()];
    let good = headers(AT, b"{}", &both);
    let signatures = &good[2].1;
    assert!(signatures.starts_with("v1,") && signatures.contains(" v1a,"), "{signatures}");
    for known in [secret(SECRET), pair.clone(), key.clone()] {
        let call = Captured { headers: &good, body: b"{}", sent: None };
        assert_eq!(verify(call, &[known], NOW), (Some(0), vec![]));
    }
    let alone = headers(AT, b"{}", std::slice::from_ref(&pair));
    let ask = |headers: &[(String, String)], body: &[u8], sent: Option<&[u8]>| {
        verify(Captured { headers, body, sent }, std::slice::from_ref(&key), NOW).1
    };
    assert_eq!(ask(&alone, b"{}", None), []);
    assert_eq!(ask(&alone, b"{}\n", None), [Why::Rewritten("without the white space at its end")]);
    assert_eq!(ask(&alone, b"[]", Some(b"{}")), [Why::ChangedBody]);
    assert_eq!(why(&alone, b"{}", Some(b"{}")), [Why::WrongSecret], "a shared secret made none");
    let mut altered = alone.clone();
    set(&mut altered, "Axle-Fence", "3");
    assert_eq!(ask(&altered, b"{}", None), [Why::RunHeaders]);
    // Neither kind's signature passes for the other's.
    set(&mut altered, SIGNATURE, &alone[2].1.replace("v1a,", "v1,"));
    assert!(matches!(ask(&altered, b"{}", None)[..], [Why::Malformed(SIGNATURE, _)]));
    // A public key signs nothing.
    assert_eq!(message("1", b"").signature(&[key]), "");
}

#[test]
fn what_is_no_public_key_or_seed_is_refused() {
    for bad in ["whpk_", "whpk_AAAA", "whpk_!", &format!("whsk_{}", "A".repeat(44))] {
        assert_eq!(SigningSecret::parse(bad), Err(BadSecret), "{bad}");
    }
    for length in [0, 31, 33, 64] {
        let made = SigningSecret::from_bytes(SigningKind::Ed25519, &vec![7; length]);
        assert_eq!(made, Err(BadSecret), "{length}");
    }
}

#[test]
fn every_reason_has_a_code_and_words() {
    let all = [
        Why::Missing(ID),
        Why::Malformed(ID, "is there twice"),
        Why::Stale(301),
        Why::Ahead(61),
        Why::WrongSecret,
        Why::ChangedBody,
        Why::Rewritten("indented"),
        Why::NoMatch,
        Why::RunHeaders,
    ];
    let codes: std::collections::BTreeSet<_> = all.iter().map(Why::code).collect();
    assert_eq!(codes.len(), all.len());
    assert!(all.iter().all(|why| !why.detail().is_empty()));
}

proptest! {
    #[test]
    fn b128_any_bytes_verify_as_sent_and_no_others(
        body: Vec<u8>, bit in 0_usize..8, place: prop::sample::Index,
    ) {
        let headers = headers(AT, &body, &[secret(SECRET)]);
        prop_assert_eq!(why(&headers, &body, None), vec![]);
        if !body.is_empty() {
            let mut altered = body.clone();
            altered[place.index(body.len())] ^= 1 << bit;
            prop_assert_ne!(why(&headers, &altered, None), vec![]);
        }
    }

    #[test]
    fn any_headers_are_judged(id: String, stamp: String, signature: String, body: Vec<u8>) {
        let headers = [(ID, id), (TIMESTAMP, stamp), (SIGNATURE, signature)]
            .map(|(name, value)| (name.to_owned(), value));
        prop_assert_ne!(why(&headers, &body, None), vec![]);
    }
}
