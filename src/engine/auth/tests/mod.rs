//! Tokens, good and bad, against all kinds of keys. Published key sets are in `jwks`.

mod jwks;
mod keys;
mod mint;
mod names;
mod odd;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use chrono::TimeDelta;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};

use super::*;
use crate::domain::principal::{Kind, Role};

const SECRET: &[u8] = b"a test secret of more than 32 bytes";

/// 2026-11-30T00:00:00Z.
const NOW: i64 = 1_795_996_800;

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(NOW, 0).unwrap()
}

fn after(seconds: i64) -> DateTime<Utc> {
    now() + TimeDelta::seconds(seconds)
}

fn settings(keys: KeySource) -> AuthSettings {
    AuthSettings { keys, issuer: None, audience: None, claims: ClaimNames::default() }
}

fn by_secret() -> Verifier {
    Verifier::new(settings(KeySource::Secret(SECRET.to_vec()))).ok().unwrap()
}

fn by_pem(pem: &str, algorithm: KeyAlgorithm) -> Result<Verifier, SetupError> {
    Verifier::new(settings(KeySource::PublicPem { pem: pem.to_owned(), algorithm }))
}

/// The claims of a good token, with some of them changed; `null` takes one away.
fn claims(changes: Value) -> Value {
    let mut claims = json!({
        "team": "shop", "sub": "kim", "role": "writer", "exp": NOW + 3600
    });
    for (name, value) in changes.as_object().unwrap() {
        if value.is_null() {
            claims.as_object_mut().unwrap().remove(name);
        } else {
            claims[name] = value.clone();
        }
    }
    claims
}

fn part(text: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(text)
}

/// A token of any header and any payload, signed with HS256 and `secret` whatever they say.
fn forge(header: &str, payload: &str, secret: &[u8]) -> String {
    install_crypto();
    let message = format!("{}.{}", part(header), part(payload));
    let key = EncodingKey::from_secret(secret).unwrap();
    let signature = jsonwebtoken::crypto::sign(message.as_bytes(), &key, Algorithm::HS256).unwrap();
    format!("{message}.{signature}")
}

/// A well-signed HS256 token with these claims.
fn token(claims: &Value) -> String {
    forge(r#"{"alg":"HS256","typ":"JWT"}"#, &claims.to_string(), SECRET)
}

/// A token of a private key that holds for a day.
fn signed(key: &EncodingKey, algorithm: Algorithm, kid: Option<&str>) -> String {
    install_crypto();
    let mut header = Header::new(algorithm);
    header.kid = kid.map(str::to_owned);
    jsonwebtoken::encode(&header, &claims(json!({ "exp": NOW + 86_400 })), key).unwrap()
}

fn private_keys() -> [(KeyAlgorithm, Algorithm, EncodingKey, &'static str); 3] {
    let rsa = EncodingKey::from_rsa_pem(keys::RSA_PRIVATE.as_bytes()).unwrap();
    let ec = EncodingKey::from_ec_pem(keys::EC_PRIVATE.as_bytes()).unwrap();
    let ed = EncodingKey::from_ed_pem(keys::ED_PRIVATE.as_bytes()).unwrap();
    [
        (KeyAlgorithm::Rs256, Algorithm::RS256, rsa, keys::RSA_PUBLIC),
        (KeyAlgorithm::Es256, Algorithm::ES256, ec, keys::EC_PUBLIC),
        (KeyAlgorithm::EdDsa, Algorithm::EdDSA, ed, keys::ED_PUBLIC),
    ]
}

#[tokio::test]
async fn a_good_token_is_its_bearer() {
    let verifier = by_secret();
    for _ in 0..2 {
        let who = verifier.verify(&token(&claims(json!({}))), now()).await.unwrap();
        assert_eq!(who.team.as_str(), "shop");
        assert_eq!(who.subject.as_str(), "kim");
        assert_eq!((who.role, who.kind), (Role::Writer, Kind::Token));
    }
    assert_eq!(verifier.cache.len(), 1);
}

#[tokio::test]
async fn every_public_key_algorithm_verifies_and_no_other_key_does() {
    for (algorithm, jws, key, pem) in &private_keys() {
        let verifier = by_pem(pem, *algorithm).unwrap();
        let token = signed(key, *jws, Some("any"));
        assert!(verifier.verify(&token, now()).await.is_ok(), "{algorithm}");

        let (message, signature) = token.rsplit_once('.').unwrap();
        let mut bytes = URL_SAFE_NO_PAD.decode(signature).unwrap();
        bytes[10] ^= 1;
        for bad in [part(&bytes), part(&bytes[1..]), String::new(), format!("{signature}=")] {
            let error = verifier.verify(&format!("{message}.{bad}"), now()).await;
            assert_eq!(error, Err(AuthError::BadSignature), "{algorithm} {bad}");
        }
        for (other, jws, key, _) in &private_keys() {
            if other != algorithm {
                let error = verifier.verify(&signed(key, *jws, None), now()).await.unwrap_err();
                assert!(matches!(error, AuthError::Malformed(_)), "{other} as {algorithm}");
            }
        }
    }
    let other = EncodingKey::from_ec_pem(keys::EC_OTHER_PRIVATE.as_bytes()).unwrap();
    let verifier = by_pem(keys::EC_PUBLIC, KeyAlgorithm::Es256).unwrap();
    let error = verifier.verify(&signed(&other, Algorithm::ES256, None), now()).await;
    assert_eq!(error, Err(AuthError::BadSignature));
}

/// bugs.md B148: the public key is public, so a server that took it as an HMAC secret would take
/// anybody's token.
#[tokio::test]
async fn a_public_key_is_no_secret() {
    for (algorithm, jws, _, pem) in &private_keys() {
        let verifier = by_pem(pem, *algorithm).unwrap();
        let der = pem::der(pem);
        for secret in [pem.as_bytes(), pem.trim_end().as_bytes(), &der] {
            let payload = claims(json!({})).to_string();
            let honest = forge(r#"{"alg":"HS256"}"#, &payload, secret);
            let error = verifier.verify(&honest, now()).await.unwrap_err();
            assert!(matches!(error, AuthError::Malformed(_)), "{algorithm}: {error}");
            let lying = forge(&json!({ "alg": jws }).to_string(), &payload, secret);
            let error = verifier.verify(&lying, now()).await;
            assert_eq!(error, Err(AuthError::BadSignature), "{algorithm}");
        }
    }
}

mod pem {
    use base64::{Engine as _, engine::general_purpose::STANDARD};

    pub(super) fn der(pem: &str) -> Vec<u8> {
        let body: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
        STANDARD.decode(body).unwrap()
    }
}

#[tokio::test]
async fn a_secret_serves_hs256_only() {
    let verifier = by_secret();
    let payload = claims(json!({})).to_string();
    for alg in ["none", "None", "NONE", "nOnE", "", "hs256", "HS384", "HS512", "RS256", "ES256"] {
        let forged = forge(&json!({ "alg": alg }).to_string(), &payload, SECRET);
        let (message, _) = forged.rsplit_once('.').unwrap();
        for token in [forged.as_str(), &format!("{message}.")] {
            let error = verifier.verify(token, now()).await.unwrap_err();
            assert!(matches!(error, AuthError::Malformed(_)), "{alg}: {error}");
        }
    }
    let other = forge(r#"{"alg":"HS256"}"#, &payload, b"another secret of 32 bytes or more");
    assert_eq!(verifier.verify(&other, now()).await, Err(AuthError::BadSignature));
}

#[tokio::test]
async fn what_is_no_jwt_is_malformed() {
    let verifier = by_secret();
    assert_eq!(verifier.verify("", now()).await, Err(AuthError::Missing));
    let payload = claims(json!({})).to_string();
    let good = token(&claims(json!({})));
    let longest = claims(json!({ "pad": "x".repeat(5_900) }));
    assert!(verifier.verify(&token(&longest), now()).await.is_ok());
    let bad = [
        "a".to_owned(),
        "..".to_owned(),
        "a.b".to_owned(),
        "axk_12345678_secret".to_owned(),
        format!("{good}.{good}"),
        format!(" {good}"),
        format!("Bearer {good}"),
        token(&claims(json!({ "pad": "x".repeat(6_200) }))),
        forge("[\"HS256\"]", &payload, SECRET),
        forge(r#"{"alg":"HS256","alg":"HS256"}"#, &payload, SECRET),
        forge(r#"{"alg":["HS256"]}"#, &payload, SECRET),
        forge(r#"{"alg":"HS256","kid":7}"#, &payload, SECRET),
        forge(r#"{"alg":"HS256","crit":["exp"]}"#, &payload, SECRET),
        forge(r#"{"alg":"HS256","b64":false}"#, &payload, SECRET),
        forge(r#"{"typ":"JWT"}"#, &payload, SECRET),
        forge("{", &payload, SECRET),
        forge(r#"{"alg":"HS256"}"#, "not json", SECRET),
        forge(r#"{"alg":"HS256"}"#, "[\"iss\",\"sub\"]", SECRET),
        forge(r#"{"alg":"HS256"}"#, &payload.replace('{', r#"{"team":"other","#), SECRET),
        forge(r#"{"alg":"HS256"}"#, &"[".repeat(4_000), SECRET),
    ];
    for token in &bad {
        let error = verifier.verify(token, now()).await.unwrap_err();
        let shown: String = token.chars().take(60).collect();
        assert!(matches!(error, AuthError::Malformed(_)), "{shown}: {error}");
    }
}

/// bugs.md B145, B148: a claim that is missing or of the wrong type is refused by name.
#[tokio::test]
async fn claims_must_be_there_and_right() {
    let verifier = by_secret();
    let long = "x".repeat(256);
    let cases = [
        ("exp", vec![json!(null), json!("never"), json!("1796000400"), json!(-1), json!(1e300)]),
        ("exp", vec![json!(u64::MAX), json!(253_402_300_800_i64), json!([NOW]), json!(true)]),
        ("nbf", vec![json!("99999999999"), json!(-5), json!(1e300), json!({}), json!(false)]),
        ("team", vec![json!(null), json!(7), json!(""), json!("Shop"), json!("../x"), json!([])]),
        ("team", vec![json!({}), json!(["shop", 7]), json!(["shop", "Shop"]), json!([null])]),
        ("sub", vec![json!(null), json!(7), json!(""), json!("a\nb"), json!(long)]),
        ("role", vec![json!(null), json!(7), json!("root"), json!("Admin"), json!({})]),
        ("role", vec![json!([]), json!(["Admin"]), json!(["admin", 7]), json!([["admin"]])]),
        ("queues", vec![json!("mail"), json!([]), json!([7]), json!(["Mail"])]),
    ];
    for (name, values) in &cases {
        for value in values {
            let token = token(&claims(json!({ *name: value })));
            let error = verifier.verify(&token, now()).await.unwrap_err();
            let AuthError::BadClaim { claim, .. } = error else {
                panic!("{name} {value}: {error}")
            };
            assert_eq!(claim, *name, "{value}");
        }
    }
    for name in ["exp", "nbf", "team", "sub", "role", "aud", "queues"] {
        let mut claims = claims(json!({}));
        claims[name] = Value::Null;
        let error = verifier.verify(&token(&claims), now()).await.unwrap_err();
        assert!(matches!(error, AuthError::BadClaim { claim, .. } if claim == name), "{error}");
    }
}

/// bugs.md B146, and the same through the cache: each use is checked against its own instant.
#[tokio::test]
async fn time_is_checked_with_a_minute_of_leeway() {
    let cases = [
        (json!({ "exp": NOW }), 59, Ok(())),
        (json!({ "exp": NOW }), 60, Err(AuthError::Expired)),
        (json!({ "exp": f64::from(1_795_996_800) + 0.9 }), 60, Err(AuthError::Expired)),
        (json!({ "exp": 0 }), 0, Err(AuthError::Expired)),
        (json!({ "nbf": NOW }), -60, Ok(())),
        (json!({ "nbf": NOW }), -61, Err(AuthError::NotYet)),
        (json!({ "nbf": NOW + 3600, "exp": NOW + 7200 }), 0, Err(AuthError::NotYet)),
        (json!({ "nbf": NOW + 30 }), 0, Ok(())),
    ];
    let warm = by_secret();
    for (changes, offset, expected) in &cases {
        let token = token(&claims(changes.clone()));
        let cold = by_secret().verify(&token, after(*offset)).await;
        assert_eq!(cold.map(|_| ()), *expected, "{changes} at {offset}");
        // Now with the token known from an instant when it held, if there was one.
        for instant in std::slice::from_ref(offset).iter().chain([&0, &-30]) {
            drop(warm.verify(&token, after(*instant)).await);
        }
        let cached = warm.verify(&token, after(*offset)).await;
        assert_eq!(cached.map(|_| ()), *expected, "{changes} at {offset}, warm");
    }
}

/// bugs.md B147.
#[tokio::test]
async fn issuer_and_audience_are_demanded_when_configured() {
    let strict = Verifier::new(AuthSettings {
        keys: KeySource::Secret(SECRET.to_vec()),
        issuer: Some("https://id.example".to_owned()),
        audience: Some("axle".to_owned()),
        claims: ClaimNames::default(),
    })
    .ok()
    .unwrap();
    let wrong = AuthError::WrongAudience("does not name this server");
    let cases = [
        (json!({}), Ok(())),
        (json!({ "aud": ["other", "axle"] }), Ok(())),
        (json!({ "iss": null }), Err(AuthError::WrongIssuer)),
        (json!({ "iss": "https://id.example/" }), Err(AuthError::WrongIssuer)),
        (json!({ "iss": "" }), Err(AuthError::WrongIssuer)),
        (json!({ "aud": null }), Err(AuthError::WrongAudience("is missing"))),
        (json!({ "aud": "other" }), Err(wrong.clone())),
        (json!({ "aud": "Axle" }), Err(wrong.clone())),
        (json!({ "aud": [] }), Err(wrong.clone())),
        (json!({ "aud": ["other"] }), Err(wrong)),
    ];
    for (changes, expected) in &cases {
        let mut all = json!({ "iss": "https://id.example", "aud": "axle" });
        for (name, value) in changes.as_object().unwrap() {
            all[name] = value.clone();
        }
        let answer = strict.verify(&token(&claims(all)), now()).await;
        assert_eq!(answer.map(|_| ()), *expected, "{changes}");
    }
    for (claim, value) in [("iss", json!(["https://id.example"])), ("aud", json!(["axle", 7]))] {
        let mut all = json!({ "iss": "https://id.example", "aud": "axle" });
        all[claim] = value;
        let error = strict.verify(&token(&claims(all)), now()).await.unwrap_err();
        assert!(matches!(error, AuthError::BadClaim { claim: found, .. } if found == claim));
    }
}

/// RFC 7519, section 4.1.3.
#[tokio::test]
async fn a_token_for_somebody_else_is_refused_without_a_configured_audience() {
    let open = by_secret();
    assert!(open.verify(&token(&claims(json!({ "iss": "whoever" }))), now()).await.is_ok());
    for aud in [json!("other"), json!(["other"]), json!([]), json!("")] {
        let error = open.verify(&token(&claims(json!({ "aud": aud }))), now()).await.unwrap_err();
        assert!(matches!(error, AuthError::WrongAudience(_)), "{error}");
    }
}

#[test]
fn unsound_keys_are_refused_at_the_start() {
    for secret in [&b""[..], &SECRET[..31]] {
        let error = Verifier::new(settings(KeySource::Secret(secret.to_vec()))).err();
        assert!(matches!(error, Some(SetupError::ShortSecret { .. })));
    }
    for (pem, algorithm) in [
        (keys::RSA_1024_PUBLIC, KeyAlgorithm::Rs256),
        (keys::RSA_PRIVATE, KeyAlgorithm::Rs256),
        (keys::EC_PUBLIC, KeyAlgorithm::Rs256),
        (keys::EC_384_PUBLIC, KeyAlgorithm::Es256),
        (keys::EC_PRIVATE, KeyAlgorithm::Es256),
        (keys::ED_PUBLIC, KeyAlgorithm::Es256),
        (keys::ED_PRIVATE, KeyAlgorithm::EdDsa),
        (keys::RSA_PUBLIC, KeyAlgorithm::EdDsa),
        ("", KeyAlgorithm::Rs256),
        ("-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n", KeyAlgorithm::EdDsa),
    ] {
        let error = by_pem(pem, algorithm).err();
        assert!(matches!(error, Some(SetupError::BadPem { .. })), "{algorithm} {pem}");
    }
    let url = "file:///etc/keys.json".parse().unwrap();
    let error =
        Verifier::new(settings(KeySource::Jwks { url, algorithm: None, guard: Guard::default() }))
            .err();
    assert!(matches!(error, Some(SetupError::BadUrl)));
}

#[tokio::test]
async fn the_cache_is_bounded_and_keeps_what_is_used() {
    let verifier = by_secret();
    let hot = token(&claims(json!({})));
    let keys = verifier.keys(now()).await.unwrap();
    verifier.verify(&hot, now()).await.unwrap();
    let known = verifier.cache.get(&keys.fingerprint(&hot)).unwrap();
    for i in 0..10_000_u32 {
        verifier.cache.put(keys.fingerprint(&i.to_string()), known.clone());
        assert!(verifier.cache.get(&keys.fingerprint(&hot)).is_some(), "{i}");
        assert!(verifier.cache.len() <= 4096, "{i}");
    }
    assert!(verifier.cache.get(&keys.fingerprint("0")).is_none());
}

#[test]
fn the_cryptography_may_be_installed_again_and_again() {
    install_crypto();
    install_crypto();
}

/// Nothing of the token, the settings or a URL: the texts are fixed.
#[test]
fn errors_are_sentences_that_say_what_to_do() {
    let claim = AuthError::BadClaim { claim: "team", reason: "is missing" };
    assert_eq!(
        claim.to_string(),
        "The token's claim `team` is missing. Have the issuer put it right."
    );
    let all = [
        AuthError::Missing,
        AuthError::Malformed("is longer than 8 KiB"),
        AuthError::BadSignature,
        AuthError::UnknownKey,
        AuthError::Expired,
        AuthError::NotYet,
        AuthError::WrongIssuer,
        AuthError::WrongAudience("is missing"),
        claim,
        AuthError::KeysUnavailable,
    ];
    for error in all {
        let text = error.to_string();
        assert!(text.ends_with('.') && text.contains(". "), "{text}");
    }
}
