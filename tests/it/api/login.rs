//! Signing in: what is given for what, how often it may be tried, and what ends a session.

use std::time::Duration;

use axle::domain::person::Email;
use axle::domain::principal::Role;
use axle::engine::{Access, Ctx, Error, Refusal, login};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::recipes::{PERSON, join};
use crate::support::api::{Api, Reply};

const WRONG: &str = "not the password, but long";

async fn sign_in(api: &Api, email: &str, password: &str) -> Reply {
    api.as_nobody().post("/v1/login", &json!({"email": email, "password": password})).await
}

async fn refresh(api: &Api, token: &Value) -> Reply {
    api.as_nobody().post("/v1/login/refresh", &json!({"refresh_token": token})).await
}

/// What the bearer of an access token gets.
async fn status(api: &Api, signed_in: &Value) -> u16 {
    let bearer = format!("Bearer {}", signed_in["access_token"].as_str().unwrap());
    api.as_nobody().header("authorization", &bearer).get("/v1/jobs").await.status
}

#[tokio::test]
async fn whoever_signs_in_acts_in_their_team_for_a_quarter_of_an_hour() {
    let api = Api::start().await;
    let user = join(&api, PERSON.0, Role::Operator).await;
    let signed_in = sign_in(&api, "KIM@example.com", PERSON.1).await;
    assert_eq!(signed_in.status, 200, "{}", signed_in.text);
    let signed_in = signed_in.json;
    assert_eq!((&signed_in["team"], &signed_in["role"]), (&json!("acme"), &json!("operator")));
    let bearer = format!("Bearer {}", signed_in["access_token"].as_str().unwrap());
    let kim = api.as_nobody().header("authorization", &bearer);
    assert_eq!(kim.act("/v1/queues/mail/resume").await.status, 200);
    assert_eq!(kim.get("/v1/keys").await.status, 403);
    let teams = kim.get("/v1/teams").await.json;
    assert_eq!(teams["data"][0]["team"], "acme");
    let log = api.as_team("acme").get("/v1/audit?verb=resume").await.json;
    assert_eq!(log["data"][0]["actor"]["kind"], "user");
    assert_eq!(log["data"][0]["actor"]["subject"], json!(user));
    // The leeway for clocks is a minute.
    api.engine.pass(Duration::from_mins(16));
    assert_eq!(status(&api, &signed_in).await, 401);
    let again = refresh(&api, &signed_in["refresh_token"]).await;
    assert_eq!(status(&api, &again.json).await, 200);
}

#[tokio::test]
async fn a_wrong_password_and_an_unknown_address_look_the_same() {
    let api = Api::start().await;
    join(&api, PERSON.0, Role::Viewer).await;
    sign_in(&api, PERSON.0, PERSON.1).await;
    let mut times = Vec::new();
    let mut texts = Vec::new();
    for email in [PERSON.0, "nobody@example.com"] {
        let mut quickest = Duration::MAX;
        for _ in 0..4 {
            let began = Instant::now();
            let reply = sign_in(&api, email, WRONG).await;
            quickest = quickest.min(began.elapsed());
            assert_eq!((reply.status, reply.code()), (401, "login-failed"));
            let mut body = reply.json;
            body["request_id"] = Value::Null;
            texts.push(body);
        }
        times.push(quickest);
    }
    texts.dedup();
    assert_eq!(texts.len(), 1, "{texts:?}");
    println!("known {:?}, unknown {:?}", times[0], times[1]);
    assert!(times[1] * 2 > times[0] && times[0] * 2 > times[1], "{times:?}");
}

#[tokio::test]
async fn guessing_ends_after_ten_tries_per_address_and_begins_anew_later() {
    let api = Api::start().await;
    join(&api, PERSON.0, Role::Viewer).await;
    for _ in 0..10 {
        assert_eq!(sign_in(&api, PERSON.0, WRONG).await.status, 401);
    }
    // Not even the right one is looked at, in whatever case the address is written.
    for email in [PERSON.0, "KIM@EXAMPLE.COM"] {
        let reply = sign_in(&api, email, PERSON.1).await;
        assert_eq!((reply.status, reply.code()), (429, "too-many-tries"), "{}", reply.text);
        let wait: u64 = reply.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=900).contains(&wait), "{wait}");
    }
    let body = json!({"email": PERSON.0, "password": PERSON.1, "new_password": PERSON.1});
    assert_eq!(api.as_nobody().post("/v1/password", &body).await.status, 429);
    api.engine.pass(Duration::from_mins(15));
    assert_eq!(sign_in(&api, PERSON.0, PERSON.1).await.status, 200);
    // Sixty from one network address, whoever they say that they are.
    api.engine.pass(Duration::from_mins(15));
    let mut refused = 0;
    for n in 0..62 {
        let reply = sign_in(&api, &format!("n{n}@example.com"), WRONG).await;
        refused += usize::from(reply.status == 429);
    }
    assert_eq!(refused, 2);
    let rows = api.engine.db.ask("SELECT count(*) FROM tries").await.get::<_, i64>(0);
    assert!(rows < 70, "{rows}");
}

#[tokio::test]
async fn a_refresh_token_that_comes_back_ends_the_session() {
    let api = Api::start().await;
    join(&api, PERSON.0, Role::Viewer).await;
    let first = sign_in(&api, PERSON.0, PERSON.1).await.json;
    let other = sign_in(&api, PERSON.0, PERSON.1).await.json;
    let second = refresh(&api, &first["refresh_token"]).await;
    assert_eq!(second.status, 200, "{}", second.text);
    assert_ne!(second.json["refresh_token"], first["refresh_token"]);
    assert_eq!(status(&api, &second.json).await, 200);
    let reused = refresh(&api, &first["refresh_token"]).await;
    assert_eq!((reused.status, reused.code()), (401, "login-failed"));
    assert_eq!(refresh(&api, &second.json["refresh_token"]).await.status, 401);
    for access in [&first, &second.json] {
        assert_eq!(status(&api, access).await, 401);
    }
    assert_eq!(status(&api, &other).await, 200);
    assert_eq!(refresh(&api, &other["refresh_token"]).await.status, 200);
    let row = api.engine.db.ask("SELECT string_agg(s::text, '') FROM sessions s").await;
    let secret = other["refresh_token"].as_str().unwrap().rsplit_once('_').unwrap().1;
    assert!(!row.get::<_, String>(0).contains(secret));
    for none in [json!("axr_0"), json!(""), json!("axk_12345678_x")] {
        assert_eq!(refresh(&api, &none).await.status, 401);
    }
}

#[tokio::test]
async fn a_session_that_nobody_refreshes_ends_after_a_month() {
    let api = Api::start().await;
    join(&api, PERSON.0, Role::Viewer).await;
    let first = sign_in(&api, PERSON.0, PERSON.1).await.json;
    api.engine.pass(Duration::from_hours(24 * 29));
    let second = refresh(&api, &first["refresh_token"]).await.json;
    api.engine.pass(Duration::from_hours(24 * 30));
    assert_eq!(refresh(&api, &second["refresh_token"]).await.status, 401);
}

#[tokio::test]
async fn signing_out_ends_one_session_and_a_new_password_the_others() {
    let api = Api::start().await;
    join(&api, PERSON.0, Role::Viewer).await;
    let mut sessions = Vec::new();
    for _ in 0..3 {
        sessions.push(sign_in(&api, PERSON.0, PERSON.1).await.json);
    }
    let body = json!({"refresh_token": sessions[0]["refresh_token"]});
    for _ in 0..2 {
        assert_eq!(api.as_nobody().post("/v1/logout", &body).await.status, 204);
    }
    assert_eq!(refresh(&api, &sessions[0]["refresh_token"]).await.status, 401);
    let new = "a whole new password";
    let body = json!({
        "email": PERSON.0, "password": PERSON.1, "new_password": new,
        "refresh_token": sessions[2]["refresh_token"],
    });
    assert_eq!(api.as_nobody().post("/v1/password", &body).await.status, 204);
    let mut statuses = Vec::new();
    for session in &sessions {
        statuses.push(status(&api, session).await);
    }
    assert_eq!(statuses, [401, 401, 200]);
    assert_eq!(sign_in(&api, PERSON.0, PERSON.1).await.status, 401);
    assert_eq!(sign_in(&api, PERSON.0, new).await.status, 200);
    let short = json!({"email": PERSON.0, "password": new, "new_password": "short"});
    let reply = api.as_nobody().post("/v1/password", &short).await;
    assert_eq!(reply.faults(), [("#/new_password".to_owned(), "out-of-range".to_owned())]);
}

#[tokio::test]
async fn what_a_member_is_holds_for_their_tokens_at_once() {
    let api = Api::start().await;
    let owner = api.as_team("acme").role(Role::Owner);
    let user = join(&api, PERSON.0, Role::Operator).await;
    let member = format!("/v1/teams/acme/members/{user}");
    let first = sign_in(&api, PERSON.0, PERSON.1).await.json;
    assert_eq!(owner.put(&member, &json!({"role": "viewer"})).await.status, 200);
    assert_eq!(status(&api, &first).await, 401);
    let second = refresh(&api, &first["refresh_token"]).await.json;
    assert_eq!((&second["role"], status(&api, &second).await), (&json!("viewer"), 200));
    // Whoever is a member may leave.
    let bearer = format!("Bearer {}", second["access_token"].as_str().unwrap());
    let kim = api.as_nobody().header("authorization", &bearer);
    assert_eq!(kim.send(Method::DELETE, &member, "").await.status, 204);
    assert_eq!(status(&api, &second).await, 401);
    assert_eq!(refresh(&api, &second["refresh_token"]).await.status, 401);
    let reply = sign_in(&api, PERSON.0, PERSON.1).await;
    assert_eq!(reply.faults(), [("#/team".to_owned(), "no-team".to_owned())]);
}

#[tokio::test]
async fn a_person_of_several_teams_names_one() {
    let api = Api::start().await;
    join(&api, PERSON.0, Role::Viewer).await;
    let rival = api.as_team("rival").role(Role::Owner);
    let body = json!({"email": PERSON.0, "role": "admin"});
    let invited = rival.post("/v1/teams/rival/invitations", &body).await.json;
    let body = json!({"token": invited["token"], "name": "Kim", "password": PERSON.1});
    assert_eq!(api.as_nobody().post("/v1/invitations/accept", &body).await.status, 201);
    let reply = sign_in(&api, PERSON.0, PERSON.1).await;
    assert_eq!(reply.faults(), [("#/team".to_owned(), "required".to_owned())]);
    assert!(reply.text.contains("acme, rival"), "{}", reply.text);
    for (team, role) in [("acme", "viewer"), ("rival", "admin")] {
        let body = json!({"email": PERSON.0, "password": PERSON.1, "team": team});
        let signed_in = api.as_nobody().post("/v1/login", &body).await.json;
        assert_eq!((&signed_in["team"], &signed_in["role"]), (&json!(team), &json!(role)));
    }
    let body = json!({"email": PERSON.0, "password": PERSON.1, "team": "other"});
    let reply = api.as_nobody().post("/v1/login", &body).await;
    assert_eq!(reply.faults(), [("#/team".to_owned(), "required".to_owned())]);
}

#[tokio::test]
async fn a_server_that_signs_no_tokens_says_so() {
    let api = Api::start().await;
    let ctx = Ctx { access: Access::default(), ..api.engine.ctx.clone() };
    let email = Email::parse(PERSON.0).unwrap();
    let refused = login::login(&ctx, (&email, PERSON.1), None, None).await;
    assert!(matches!(refused, Err(Error::Against(Refusal::LoginUnavailable))));
    let refused = login::refresh(&ctx, "axr_0").await;
    assert!(matches!(refused, Err(Error::Against(Refusal::LoginUnavailable))));
}

#[tokio::test]
async fn a_fault_repeats_no_secret() {
    let api = Api::start().await;
    let secret = json!({"s3cret": "s3cret"});
    for (path, body) in [
        ("/v1/login", json!({"email": PERSON.0, "password": secret})),
        ("/v1/login/refresh", json!({"refresh_token": secret})),
        ("/v1/logout", json!({"refresh_token": secret})),
        ("/v1/password", json!({"email": PERSON.0, "password": secret, "new_password": secret})),
        ("/v1/invitations/accept", json!({"token": secret, "name": "n", "password": secret})),
    ] {
        let reply = api.as_nobody().post(path, &body).await;
        assert_eq!(reply.status, 422, "{path}: {}", reply.text);
        assert!(!reply.text.contains("s3cret"), "{path}: {}", reply.text);
    }
}
