//! Tokens over HTTP, and the mode without them. What a verifier takes is tested beside it; here it
//! is shown that the API asks it, and answers as RFC 6750 says.

use std::time::Duration;

use axle::domain::claim::{ClaimNames, ClaimPath, RoleMap};
use axle::domain::principal::{Role, Subject, Team};
use axle::engine::auth::{MintClaims, mint};
use serde_json::{Value, json};

use crate::support::api::{Api, Reply, SECRET, Setup, job};

fn token(api: &Api, secret: &[u8], change: impl FnOnce(&mut MintClaims)) -> String {
    let mut claims = MintClaims {
        team: Team::parse("acme").unwrap(),
        role: Role::Viewer,
        subject: Subject::parse("kim").unwrap(),
        ttl: Duration::from_mins(1),
        issuer: None,
        audience: None,
    };
    change(&mut claims);
    mint(secret, &claims, api.engine.clock.now()).unwrap()
}

async fn ask(api: &Api, authorization: &str) -> Reply {
    api.as_nobody().header("authorization", authorization).get("/v1/jobs").await
}

fn assert_refused(reply: &Reply, what: &str) {
    assert_eq!((reply.status, reply.code()), (401, "unauthenticated"), "{what}: {}", reply.text);
    let challenge = reply.header("www-authenticate");
    assert_eq!(challenge, Some("Bearer error=\"invalid_token\""), "{what}");
}

#[tokio::test]
async fn a_token_is_taken_until_it_expires() {
    let api = Api::start().await;
    let bearer = format!("Bearer {}", token(&api, SECRET, |_| ()));
    assert_eq!(ask(&api, &bearer).await.status, 200);
    assert_eq!(ask(&api, &bearer.replace("Bearer", "bEARER")).await.status, 200);
    // Longer than any leeway for clocks that differ.
    api.engine.pass(Duration::from_mins(10));
    let reply = ask(&api, &bearer).await;
    assert_refused(&reply, "expired");
    assert!(reply.json["detail"].as_str().unwrap().contains("expired"), "{}", reply.text);
}

#[tokio::test]
async fn what_is_no_token_of_this_server_is_a_401() {
    let api = Api::start().await;
    let good = token(&api, SECRET, |_| ());
    let (head, signature) = good.rsplit_once('.').unwrap();
    let (_, payload) = head.split_once('.').unwrap();
    let stolen = token(&api, b"the secret of somebody else, long", |_| ());
    let foreign = token(&api, SECRET, |claims| claims.audience = Some("elsewhere".into()));
    // {"alg":"none","typ":"JWT"}
    let unsigned = format!("eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.{payload}.");
    for (what, value) in [
        ("no scheme", good.clone()),
        ("another scheme", format!("Basic {good}")),
        ("no token", "Bearer ".to_owned()),
        ("only a word", "Bearer".to_owned()),
        ("another secret", format!("Bearer {stolen}")),
        ("made for somebody else", format!("Bearer {foreign}")),
        ("alg none", format!("Bearer {unsigned}")),
        ("no signature", format!("Bearer {head}.")),
        ("a cut signature", format!("Bearer {head}.{}", signature.split_at(1).1)),
        ("something behind it", format!("Bearer {good}x")),
        ("a list", format!("Bearer {good},{good}")),
        ("too long", format!("Bearer {}", "a".repeat(9_000))),
        ("no API key", "Bearer axk_12345678_secret".to_owned()),
    ] {
        assert_refused(&ask(&api, &value).await, what);
    }
}

#[tokio::test]
async fn a_token_in_the_query_is_not_looked_at() {
    let api = Api::start().await;
    let token = token(&api, SECRET, |_| ());
    for query in ["access_token", "token"] {
        assert_refused(&api.as_nobody().get(&format!("/v1/jobs?{query}={token}")).await, query);
    }
}

#[tokio::test]
async fn nobody_is_told_what_is_wrong_with_a_body_before_being_known() {
    let api = Api::start().await;
    let reply = api.as_nobody().send(reqwest::Method::POST, "/v1/jobs", "{").await;
    assert_refused(&reply, "a broken body");
}

/// A token that an outside issuer might make, with these claims beside those of every token.
fn issued(api: &Api, more: Value) -> String {
    use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
    axle::engine::auth::install_crypto();
    let expires = api.engine.clock.now().timestamp() + 60;
    let mut claims = json!({"sub": "kim", "exp": expires});
    if let (Value::Object(claims), Value::Object(more)) = (&mut claims, more) {
        claims.extend(more);
    }
    let key = EncodingKey::from_secret(SECRET).unwrap();
    format!("Bearer {}", encode(&Header::new(Algorithm::HS256), &claims, &key).unwrap())
}

#[tokio::test]
async fn an_issuers_own_names_of_claims_and_roles_are_understood() {
    let claims = ClaimNames {
        team: ClaimPath::parse("org.teams").unwrap(),
        role: ClaimPath::parse("realm_access.roles").unwrap(),
        roles: RoleMap::parse("axle-read=viewer,axle-write=writer").unwrap(),
    };
    let api = Api::with(Setup { claims, ..Setup::default() }).await;
    let write = async |teams: Value, roles: Value| {
        let more = json!({"org": {"teams": teams}, "realm_access": {"roles": roles}});
        let caller = api.as_nobody().header("authorization", &issued(&api, more));
        caller.post("/v1/jobs", &job(Value::Null)).await
    };
    let made = write(json!("acme"), json!(["offline_access", "axle-read", "axle-write"])).await;
    assert_eq!((made.status, &made.json["team"]), (201, &json!("acme")), "{}", made.text);
    assert_eq!(write(json!(["acme"]), json!("axle-write")).await.status, 201);
    assert_eq!(write(json!("acme"), json!(["axle-read"])).await.status, 403);
    let many = write(json!(["acme", "rival"]), json!(["axle-write"])).await;
    assert_eq!((many.status, many.code()), (403, "team-not-chosen"), "{}", many.text);
    assert!(many.json["hint"].as_str().unwrap().contains("Axle-Team"), "{}", many.text);
    for (teams, roles) in [
        (json!(7), json!("axle-write")),
        (json!({"acme": true}), json!("axle-write")),
        (json!(["acme", null]), json!("axle-write")),
        (json!([]), json!("axle-write")),
        (json!("acme"), json!({"axle-write": true})),
        (json!("acme"), json!(["axle-write", 7])),
        (json!("acme"), json!("writer")),
        (json!("acme"), json!([])),
        (json!("acme"), Value::Null),
    ] {
        assert_refused(&write(teams.clone(), roles.clone()).await, &format!("{teams} {roles}"));
    }
}

#[tokio::test]
async fn loopback_mode_asks_for_nothing_and_is_the_developers_team() {
    let api = Api::with(Setup { loopback: true, ..Setup::default() }).await;
    let made = api.as_nobody().post("/v1/jobs", &job(Value::Null)).await;
    assert_eq!((made.status, &made.json["team"]), (201, &Value::from("acme")));
    let host = format!("localhost:{}", api.address().port());
    for (name, value) in [
        ("host", host.clone()),
        ("origin", format!("http://{}", api.address())),
        ("authorization", "Bearer whatever".to_owned()),
    ] {
        let reply = api.as_nobody().header(name, &value).get("/v1/jobs").await;
        assert_eq!(reply.status, 200, "{name}: {value}");
    }
}

#[tokio::test]
async fn loopback_mode_refuses_pages_of_other_sites_and_names_that_they_made() {
    let api = Api::with(Setup { loopback: true, ..Setup::default() }).await;
    let port = api.address().port();
    for (name, value) in [
        ("host", "evil.example".to_owned()),
        ("host", format!("evil.example:{port}")),
        ("host", format!("127.0.0.1.evil.example:{port}")),
        ("host", format!("10.0.0.1:{port}")),
        ("origin", "http://evil.example".to_owned()),
        ("origin", "null".to_owned()),
        ("origin", format!("https://127.0.0.1:{port}")),
        ("origin", format!("http://localhost:{port}")),
        ("origin", format!("http://127.0.0.1:{}", port.wrapping_add(1))),
    ] {
        for path in ["/v1/jobs", "/v1/queues/default"] {
            let reply = api.as_nobody().header(name, &value).get(path).await;
            assert_refused(&reply, &format!("{name}: {value}"));
        }
    }
    let without_host = api.raw(b"GET /v1/jobs HTTP/1.0\r\n\r\n").await;
    assert!(without_host.starts_with("HTTP/1.0 401 "), "{without_host}");
}
