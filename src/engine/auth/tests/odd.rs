//! Whatever comes as a token: an answer, never a panic, and nobody gets in who is not in it. In place of
//! a fuzz target, which would have to build the server around the verifier.

use futures_util::FutureExt as _;
use proptest::prelude::*;

use super::*;

/// Keys that are at hand make nobody wait.
fn verify(token: &str) -> Result<Principal, AuthError> {
    by_secret().verify(token, now()).now_or_never().expect("nothing to wait for")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn no_text_is_a_token(text in "(.{0,40}|[A-Za-z0-9_.\\-]{0,200}|(\\.|ey[A-Za-z0-9_\\-]{0,60}){0,5})") {
        prop_assert!(verify(&text).is_err());
    }

    #[test]
    fn no_bytes_in_three_parts_are_a_token(
        header in prop::collection::vec(any::<u8>(), 0..80),
        payload in prop::collection::vec(any::<u8>(), 0..80),
        signature in prop::collection::vec(any::<u8>(), 0..80),
    ) {
        let parts = [part(header), part(payload), part(signature)].join(".");
        prop_assert!(verify(&parts).is_err());
    }

    #[test]
    fn a_good_token_with_one_character_changed_is_none(
        place in any::<prop::sample::Index>(),
        other in "[A-Za-z0-9_.\\-=]",
    ) {
        let good = token(&claims(json!({})));
        let place = place.index(good.len());
        let mut bad = good.clone();
        bad.replace_range(place..=place, &other);
        // The last character of a part has bits that say nothing; they must be zero all the same.
        prop_assert_eq!(verify(&bad).is_ok(), bad == good);
    }

    #[test]
    fn what_is_signed_is_believed_only_as_far_as_it_is_right(
        name in "(team|role|sub|exp|nbf|iat|jti|aud|iss|sid|queues|installation_admin)",
        value in prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,70}".prop_map(Value::from),
            prop::collection::vec("[a-z\\-]{0,9}", 0..4).prop_map(Value::from),
            Just(json!({"a": {"b": []}})),
        ],
    ) {
        let mut claims = claims(json!({}));
        claims[&name] = value.clone();
        if let Ok(who) = verify(&token(&claims)) {
            let team = &claims["team"];
            let many = team.as_array().into_iter().flatten().filter_map(Value::as_str);
            let teams: Vec<_> = team.as_str().into_iter().chain(many).collect();
            prop_assert_eq!(teams, vec![who.team.as_str()]);
            prop_assert!(claims["exp"].as_f64().is_some_and(|exp| exp > 1e9));
        }
    }

    #[test]
    fn a_signature_over_anything_else_is_no_token(payload in "(.{0,60}|\\{.{0,60}\\}|\\[.{0,20}\\])") {
        let token = forge(r#"{"alg":"HS256"}"#, &payload, SECRET);
        prop_assert!(verify(&token).is_err());
    }
}
