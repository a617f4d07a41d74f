//! What `mint` makes, `verify` takes.

use std::time::Duration;

use super::*;
use crate::domain::principal::Subject;

fn wish(ttl: Duration) -> MintClaims {
    MintClaims {
        team: Team::parse("shop").unwrap(),
        role: Role::Operator,
        subject: Subject::parse("kim").unwrap(),
        ttl,
        issuer: Some("axle token".to_owned()),
        audience: Some("axle".to_owned()),
    }
}

#[tokio::test]
async fn a_minted_token_holds_for_its_time() {
    let verifier = Verifier::new(AuthSettings {
        keys: KeySource::Secret(SECRET.to_vec()),
        issuer: Some("axle token".to_owned()),
        audience: Some("axle".to_owned()),
        claims: ClaimNames::default(),
    })
    .ok()
    .unwrap();
    let token = mint(SECRET, &wish(Duration::from_hours(1)), now()).unwrap();
    let who = verifier.verify(&token, now()).await.unwrap();
    assert_eq!((who.team.as_str(), who.role), ("shop", Role::Operator));
    assert!(verifier.verify(&token, after(3659)).await.is_ok());
    assert_eq!(verifier.verify(&token, after(3660)).await, Err(AuthError::Expired));
    let again = mint(SECRET, &wish(Duration::from_hours(1)), now()).unwrap();
    assert_ne!(token, again, "each has its own jti");
}

#[test]
fn what_no_server_would_take_is_not_minted() {
    let hour = Duration::from_hours(1);
    let short = mint(&SECRET[..31], &wish(hour), now());
    assert!(matches!(short, Err(MintError::ShortSecret { found: 31 })));
    for ttl in [Duration::ZERO, Duration::from_millis(999), Duration::MAX] {
        assert!(matches!(mint(SECRET, &wish(ttl), now()), Err(MintError::BadTtl)), "{ttl:?}");
    }
    let centuries = Duration::from_hours(8_000 * 366 * 24);
    assert!(matches!(mint(SECRET, &wish(centuries), now()), Err(MintError::BadTtl)));
    let long = MintClaims { issuer: Some("x".repeat(8_000)), ..wish(hour) };
    assert!(matches!(mint(SECRET, &long, now()), Err(MintError::TooLong)));
}
