//! Teams, members and invitations over HTTP: who may make whom what, and what a suspended team may.

use axle::domain::principal::Role;
use reqwest::Method;
use serde_json::{Value, json};

use super::recipes::{PERSON, join};
use crate::support::api::{Api, Caller, Reply};

async fn invite(caller: &Caller<'_>, email: &str, role: &str) -> Reply {
    caller.post("/v1/teams/acme/invitations", &json!({"email": email, "role": role})).await
}

async fn accept(api: &Api, token: &Value, password: &str) -> Reply {
    let body = json!({"token": token, "name": "Kim", "password": password});
    api.as_nobody().post("/v1/invitations/accept", &body).await
}

fn member(user: &str) -> String {
    format!("/v1/teams/acme/members/{user}")
}

#[tokio::test]
async fn an_invitation_is_accepted_once_within_a_week() {
    let api = Api::start().await;
    let owner = api.as_team("acme").role(Role::Owner);
    let once = owner.clone().header("idempotency-key", "once");
    let invited = invite(&once, "kim@example.com", "operator").await;
    let again = invite(&once, "kim@example.com", "operator").await;
    assert_eq!((invited.status, again.status), (201, 201));
    assert!(again.json.get("token").is_none(), "{}", again.text);
    let token = &invited.json["token"];
    let row = api.engine.db.ask("SELECT string_agg(t::text, '') FROM invitations t").await;
    assert!(!row.get::<_, String>(0).contains(token.as_str().unwrap().trim_start_matches("axi_")));

    let joined = accept(&api, token, PERSON.1).await;
    assert_eq!((joined.status, &joined.json["team"]), (201, &json!("acme")));
    let reply = accept(&api, token, PERSON.1).await;
    assert_eq!((reply.status, reply.code()), (409, "invitation-ended"));
    let shown = owner.get(&member(joined.json["user"].as_str().unwrap())).await.json;
    assert_eq!((&shown["role"], &shown["email"]), (&json!("operator"), &json!("kim@example.com")));
    assert_eq!(owner.get("/v1/teams/acme/members").await.json["data"], json!([shown]));

    let late = invite(&owner, "late@example.com", "viewer").await.json["token"].clone();
    api.engine.pass(std::time::Duration::from_hours(24 * 7));
    assert_eq!(accept(&api, &late, PERSON.1).await.code(), "invitation-ended");
    let fault = |at: &str| (at.to_owned(), "out-of-range".to_owned());
    let reply = invite(&owner, "kim", "root").await;
    assert_eq!(reply.faults(), [fault("#/email"), fault("#/role")]);
    let reply = accept(&api, &json!("axi_0"), "short").await;
    assert_eq!(reply.faults(), [fault("#/password")]);
}

#[tokio::test]
async fn whoever_is_a_person_already_shows_their_own_password() {
    let api = Api::start().await;
    let user = join(&api, "Kim@example.com", Role::Viewer).await;
    let rival = api.as_team("rival").role(Role::Owner);
    let body = json!({"email": "kim@EXAMPLE.com", "role": "admin"});
    let invited = rival.post("/v1/teams/rival/invitations", &body).await.json;
    let reply = accept(&api, &invited["token"], "another password, long").await;
    assert_eq!((reply.status, reply.code()), (401, "login-failed"));
    let joined = accept(&api, &invited["token"], PERSON.1).await;
    assert_eq!((joined.status, joined.json["user"].as_str()), (201, Some(user.as_str())));
    // An invitation to a team that they are in makes them nothing else there.
    let owner = api.as_team("acme").role(Role::Owner);
    let invited = invite(&owner, "kim@example.com", "owner").await.json;
    assert_eq!(accept(&api, &invited["token"], PERSON.1).await.status, 201);
    assert_eq!(owner.get(&member(&user)).await.json["role"], "viewer");
}

#[tokio::test]
async fn owners_decide_about_owners_and_admins_and_one_stays() {
    let api = Api::start().await;
    let (owner, admin) = (api.as_team("acme").role(Role::Owner), api.as_team("acme"));
    let boss = join(&api, "boss@example.com", Role::Owner).await;
    let kim = join(&api, "kim@example.com", Role::Viewer).await;
    let put = async |caller: &Caller<'_>, user: &str, role: &str| {
        let reply = caller.put(&member(user), &json!({"role": role})).await;
        (reply.status, reply.code().to_owned())
    };
    let said = |status, code: &str| (status, code.to_owned());
    assert_eq!(put(&admin, &kim, "operator").await, said(200, ""));
    for role in ["admin", "owner"] {
        assert_eq!(put(&admin, &kim, role).await, said(403, "forbidden"));
        assert_eq!(invite(&admin, "new@example.com", role).await.status, 403);
    }
    assert_eq!(put(&admin, &boss, "viewer").await, said(403, "forbidden"));
    assert_eq!(admin.send(Method::DELETE, &member(&boss), "").await.status, 403);
    assert_eq!(put(&owner, &boss, "viewer").await, said(409, "last-owner"));
    let reply = owner.send(Method::DELETE, &member(&boss), "").await;
    assert_eq!((reply.status, reply.code()), (409, "last-owner"));
    assert_eq!(put(&owner, &kim, "owner").await, said(200, ""));
    // Two owners who leave at the same time: one of them stays.
    let leave = async |user: String| owner.send(Method::DELETE, &member(&user), "").await.status;
    let (one, other) = tokio::join!(leave(boss), leave(kim.clone()));
    let mut statuses = [one, other];
    statuses.sort_unstable();
    assert_eq!(statuses, [204, 409]);
    assert_eq!(put(&admin, "usr_01KB9YQ6Z4F0R8M3T1C5W7X2V0", "viewer").await.0, 404);
}

#[tokio::test]
async fn a_team_is_described_changed_and_listed() {
    let api = Api::start().await;
    let admin = api.as_team("acme").installation_admin();
    let made = admin.post("/v1/teams", &json!({"team": "shop", "name": "The shop"})).await;
    assert_eq!((made.status, made.header("location")), (201, Some("/v1/teams/shop")));
    let reply = admin.post("/v1/teams", &json!({"team": "shop"})).await;
    assert_eq!((reply.status, reply.code()), (409, "team-exists"));
    let reply = admin.post("/v1/teams", &json!({"team": "Shop!", "name": ""})).await;
    assert_eq!(reply.faults().len(), 2, "{}", reply.text);

    let owner = api.as_team("shop").role(Role::Owner);
    let shown = owner.get("/v1/teams/shop").await;
    let etag = shown.header("etag").unwrap();
    let settings =
        json!({"settings": {"default_time_zone": "Europe/Berlin", "retention_ms": 86_400_000}});
    let changed = owner.patch("/v1/teams/shop", etag, &settings).await;
    assert_eq!(changed.status, 200, "{}", changed.text);
    let (shown, asked) = (&changed.json["settings"], &settings["settings"]);
    for setting in ["default_time_zone", "retention_ms"] {
        assert_eq!(shown[setting], asked[setting]);
    }
    let reply = owner.patch("/v1/teams/shop", etag, &json!({"name": "x"})).await;
    assert_eq!((reply.status, reply.code()), (412, "version-conflict"));
    let unset = json!({"settings": {"retention_ms": null}});
    let changed = owner.patch("/v1/teams/shop", "*", &unset).await.json;
    let expected = json!({"default_time_zone": "Europe/Berlin", "retention_ms": null,
                          "redact": [], "viewers_see_payloads": true});
    assert_eq!((&changed["settings"], &changed["name"]), (&expected, &json!("The shop")));
    let odd =
        json!({"settings": {"default_time_zone": "Mars/Base", "retention_ms": 1, "colour": 1}});
    assert_eq!(owner.patch("/v1/teams/shop", "*", &odd).await.faults().len(), 3);
    assert_eq!(api.as_team("shop").patch("/v1/teams/shop", "*", &json!({})).await.status, 403);

    // A team that nobody has described has the defaults.
    let plain = api.as_team("plain").get("/v1/teams/plain").await.json;
    assert_eq!((&plain["name"], &plain["version"]), (&json!("plain"), &json!(0)));
    let slugs = async |caller: &Caller<'_>| {
        let list = caller.get("/v1/teams").await.json;
        let data = list["data"].as_array().unwrap().iter();
        data.map(|team| team["team"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    admin.post("/v1/teams", &json!({"team": "bakery"})).await;
    assert_eq!(slugs(&admin).await, ["bakery", "shop"]);
    assert_eq!(slugs(&api.as_team("plain")).await, ["plain"]);
    let first = admin.get("/v1/teams?limit=1").await.json;
    let cursor = first["next_cursor"].as_str().unwrap();
    let second = admin.get(&format!("/v1/teams?limit=1&cursor={cursor}")).await.json;
    assert_eq!(
        (&second["data"][0]["team"], &second["next_cursor"]),
        (&json!("shop"), &Value::Null)
    );
}

#[tokio::test]
async fn a_suspended_team_may_only_be_looked_at_by_its_owners() {
    let api = Api::start().await;
    let (acme, rival) = (api.as_team("acme"), api.as_team("rival"));
    let admin = rival.clone().installation_admin();
    let key = acme.post("/v1/keys", &json!({"name": "n", "role": "viewer"})).await.json;
    let bearer = format!("Bearer {}", key["key"].as_str().unwrap());
    let holder = api.as_nobody().header("authorization", &bearer);
    let suspended = admin.post("/v1/teams/acme/suspend", &json!({"reason": "unpaid"})).await;
    assert_eq!((suspended.status, &suspended.json["suspend_reason"]), (200, &json!("unpaid")));
    for reply in [
        acme.get("/v1/jobs").await,
        holder.get("/v1/jobs").await,
        acme.clone().role(Role::Owner).act("/v1/queues/mail/resume").await,
    ] {
        assert_eq!((reply.status, reply.code()), (403, "team-suspended"), "{}", reply.text);
        assert!(reply.json["detail"].as_str().unwrap().contains("unpaid"));
    }
    assert_eq!(acme.clone().role(Role::Owner).get("/v1/jobs").await.status, 200);
    assert_eq!(rival.get("/v1/jobs").await.status, 200);
    assert_eq!(admin.act("/v1/teams/acme/unsuspend").await.status, 200);
    assert_eq!(acme.get("/v1/jobs").await.status, 200);
    // It stands in the log of the team that it was done to.
    let log = acme.get("/v1/audit?object=teams/acme").await.json;
    let verbs: Vec<_> = log["data"].as_array().unwrap().iter().map(|e| &e["verb"]).collect();
    assert_eq!(verbs, ["unsuspend", "suspend"]);
    assert_eq!(log["data"][1]["reason"], "unpaid");
}
