//! Team and role where an outside issuer says them.

use super::*;
use crate::domain::claim::{ClaimPath, RoleMap};

fn named(team: &str, role: &str, map: &str) -> Verifier {
    let path = |text| ClaimPath::parse(text).unwrap();
    let roles = if map.is_empty() { RoleMap::default() } else { RoleMap::parse(map).unwrap() };
    let claims = ClaimNames { team: path(team), role: path(role), roles };
    let keys = KeySource::Secret(SECRET.to_vec());
    Verifier::new(AuthSettings { claims, ..settings(keys) }).ok().unwrap()
}

fn team(slug: &str) -> Team {
    Team::parse(slug).unwrap()
}

async fn role_of(verifier: &Verifier, changes: Value) -> Result<Role, AuthError> {
    verifier.verify(&token(&claims(changes)), now()).await.map(|who| who.role)
}

#[tokio::test]
async fn names_are_found_where_the_settings_say() {
    let nested =
        named("org.team", "realm_access.roles", "axle-ops=operator,axle-all=owner,v=viewer");
    let good = json!({"team": null, "role": "owner", "org": {"team": "shop"},
                      "realm_access": {"roles": ["offline_access", "v", "axle-ops", "admin"]}});
    let who = nested.verify(&token(&claims(good.clone())), now()).await.unwrap();
    // The claims of our own names, and names that are not mapped, say nothing.
    assert_eq!((who.team, who.role), (team("shop"), Role::Operator));
    for (at, value, claim) in [
        ("org", json!(null), "team"),
        ("org", json!("shop"), "team"),
        ("org", json!({"team": {"a": "shop"}}), "team"),
        ("realm_access", json!(["axle-ops"]), "role"),
        ("realm_access", json!({"roles": {}}), "role"),
        ("realm_access", json!({"roles": ["admin", "owner"]}), "role"),
        ("realm_access", json!({"roles": "admin"}), "role"),
        ("realm_access", json!({"roles": ["axle-ops", 7]}), "role"),
    ] {
        let mut all = good.clone();
        all[at] = value.clone();
        let error = nested.verify(&token(&claims(all)), now()).await.unwrap_err();
        let found = matches!(error, AuthError::BadClaim { claim: found, .. } if found == claim);
        assert!(found, "{at} {value}: {error}");
    }
    let url = named("team", "/https:~1~1e.com~1role", "");
    assert_eq!(role_of(&url, json!({"https://e.com/role": "admin"})).await, Ok(Role::Admin));
}

#[tokio::test]
async fn the_widest_known_role_of_a_list_counts() {
    let plain = by_secret();
    let role = role_of(&plain, json!({"role": ["x", "viewer", "admin", "writer"]})).await;
    assert_eq!(role, Ok(Role::Admin));
    let mapped = named("team", "role", "a=writer,b=viewer");
    assert_eq!(role_of(&mapped, json!({"role": "a"})).await, Ok(Role::Writer));
    assert_eq!(role_of(&mapped, json!({"role": ["b", "a", "owner"]})).await, Ok(Role::Writer));
    assert!(role_of(&mapped, json!({"role": "writer"})).await.is_err());
}

#[tokio::test]
async fn of_several_teams_the_request_chooses_one() {
    let verifier = by_secret();
    let many = token(&claims(json!({"team": ["shop", "bakery", "shop"]})));
    // Twice: the second time from memory, which must not remember the first one's choice.
    for _ in 0..2 {
        let in_team = async |wanted: Option<&str>| {
            let wanted = wanted.map(team);
            let who = verifier.verify_in(&many, wanted.as_ref(), now()).await;
            who.map(|who| who.team.to_string())
        };
        assert_eq!(in_team(Some("bakery")).await, Ok("bakery".to_owned()));
        assert_eq!(in_team(Some("shop")).await, Ok("shop".to_owned()));
        assert_eq!(in_team(Some("rival")).await, Err(AuthError::NoneOfItsTeams));
        assert_eq!(in_team(None).await, Err(AuthError::ManyTeams));
    }
    let one = token(&claims(json!({"team": ["shop"]})));
    for wanted in [None, Some(team("bakery"))] {
        let who = verifier.verify_in(&one, wanted.as_ref(), now()).await.unwrap();
        assert_eq!(who.team, team("shop"));
    }
}

#[tokio::test]
async fn a_token_may_be_held_to_queues() {
    let verifier = by_secret();
    let held = token(&claims(json!({"role": "owner", "queues": ["mail", "high"]})));
    let who = verifier.verify(&held, now()).await.unwrap();
    assert_eq!(who.scope.queues(), Some(["high".to_owned(), "mail".to_owned()].as_slice()));
    assert!(who.may(crate::domain::principal::Act::Write));
    assert!(!who.may(crate::domain::principal::Act::Manage));
}

#[test]
fn one_team_is_chosen_whatever_is_wanted() {
    let (shop, bakery) = (team("shop"), team("bakery"));
    let one = std::slice::from_ref(&shop);
    assert_eq!(choose_team(one, None), Ok(&shop));
    assert_eq!(choose_team(one, Some(&bakery)), Ok(&shop));
    assert_eq!(choose_team(&[], None), Err(AuthError::ManyTeams));
}
