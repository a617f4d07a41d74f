//! API keys and revoked tokens over HTTP: shown once, as much as their role, and nothing once they
//! have ended. That other processes know it too is in `processes/access`.

use std::time::Duration;

use axle::domain::principal::{Role, Subject, Team};
use axle::engine::auth::{MintClaims, mint};
use serde_json::{Value, json};

use crate::support::api::{Api, Reply, SECRET, job};

/// Makes a key, and returns its id and its text.
async fn make(api: &Api, role: &str, more: Value) -> (String, String) {
    let mut body = json!({"name": "billing", "role": role});
    if let (Value::Object(body), Value::Object(more)) = (&mut body, more) {
        body.extend(more);
    }
    let made = api.as_team("acme").post("/v1/keys", &body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let text = |field: &str| made.json[field].as_str().unwrap().to_owned();
    assert_eq!(made.header("location"), Some(format!("/v1/keys/{}", text("id")).as_str()));
    (text("id"), text("key"))
}

async fn ask(api: &Api, key: &str, path: &str) -> Reply {
    api.as_nobody().header("authorization", &format!("Bearer {key}")).get(path).await
}

/// As every refused key is answered: the same, to the byte, whatever is wrong with it.
fn assert_refused(reply: &Reply, what: &str) {
    assert_eq!((reply.status, reply.code()), (401, "unauthenticated"), "{what}: {}", reply.text);
    let detail = "The API key is not known, has expired or was revoked. Send a valid one, whole and \
                  unchanged.";
    assert_eq!(reply.json["detail"], detail, "{what}");
    assert_eq!(reply.header("www-authenticate"), Some("Bearer error=\"invalid_token\""));
}

#[tokio::test]
async fn a_key_is_shown_once_and_acts_in_its_team_with_its_role() {
    let api = Api::start().await;
    let (id, key) = make(&api, "writer", Value::Null).await;
    assert!(key.starts_with(&format!("axk_{}_", id.trim_start_matches("key_"))), "{id}");
    let holder = api.as_nobody().header("authorization", &format!("Bearer {key}"));
    let made = holder.post("/v1/jobs", &job(Value::Null)).await;
    assert_eq!((made.status, &made.json["team"]), (201, &json!("acme")));
    assert_eq!(holder.put("/v1/queues/mail", &json!({"description": "x"})).await.status, 403);
    assert_eq!(holder.get("/v1/keys").await.status, 403);

    let acme = api.as_team("acme");
    let shown = acme.get(&format!("/v1/keys/{id}")).await.json;
    assert_eq!(shown["created_by"], "tester");
    assert!(shown["last_used_at"].is_string());
    let list = acme.get("/v1/keys").await;
    assert_eq!(list.json["data"], json!([shown]));
    // Nothing that could open anything is kept, in whatever column.
    let secret = key.rsplit_once('_').unwrap().1;
    let row = api.engine.db.ask("SELECT string_agg(keys::text, '') FROM keys").await;
    assert!(!row.get::<_, String>(0).contains(secret));
    assert!(!list.text.contains(secret) && !shown.to_string().contains(secret));
}

#[tokio::test]
async fn a_repeat_gets_the_first_answer_without_the_key() {
    let api = Api::start().await;
    let acme = api.as_team("acme").header("idempotency-key", "once");
    let body = json!({"name": "billing", "role": "viewer"});
    let first = acme.post("/v1/keys", &body).await;
    let again = acme.post("/v1/keys", &body).await;
    assert_eq!((first.status, again.status), (201, 201));
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(first.json["id"], again.json["id"]);
    assert!(first.json["key"].is_string() && again.json.get("key").is_none(), "{}", again.text);
    let question =
        "SELECT count(*) FROM idempotency WHERE convert_from(body, 'UTF8') LIKE '%axk_%'";
    assert_eq!(api.engine.db.ask(question).await.get::<_, i64>(0), 0);
    assert_eq!(api.engine.db.ask("SELECT count(*) FROM keys").await.get::<_, i64>(0), 1);
}

#[tokio::test]
async fn whatever_is_wrong_with_a_key_the_answer_is_the_same() {
    let api = Api::start().await;
    let end = "2026-11-30T02:10:00Z";
    let (_, short) = make(&api, "viewer", json!({"expires_at": end})).await;
    let (id, revoked) = make(&api, "viewer", Value::Null).await;
    let (_, good) = make(&api, "viewer", Value::Null).await;
    assert_eq!(ask(&api, &good, "/v1/jobs").await.status, 200);
    assert_eq!(ask(&api, &short, "/v1/jobs").await.status, 200);
    let acme = api.as_team("acme");
    let path = format!("/v1/keys/{id}");
    for _ in 0..2 {
        assert_eq!(acme.send(reqwest::Method::DELETE, &path, "").await.status, 204);
    }
    assert!(acme.get(&path).await.json["revoked_at"].is_string());
    // Expired from its instant on: no leeway, since its end is by our clock.
    api.engine.pass(Duration::from_mins(10));
    let (head, secret) = good.rsplit_once('_').unwrap();
    let other = if secret.starts_with('0') { "1" } else { "0" };
    for (what, key) in [
        ("expired", short),
        ("revoked", revoked),
        ("unknown", format!("axk_00000000_{secret}")),
        ("another secret", format!("{head}_{other}{}", secret.split_at(1).1)),
        ("no secret", format!("{head}_")),
        ("only a prefix", "axk_".to_owned()),
        ("something behind it", format!("{good}0")),
        ("in capitals", good.to_uppercase().replacen("AXK_", "axk_", 1)),
    ] {
        assert_refused(&ask(&api, &key, "/v1/jobs").await, what);
    }
    assert_eq!(ask(&api, &good, "/v1/jobs").await.status, 200);
    // A holder is told no more by an address that is not there.
    assert_refused(&ask(&api, "axk_00000000_", "/v1/keys/key_00000000").await, "unknown");
}

#[tokio::test]
async fn nobody_makes_a_key_that_may_more_than_its_maker() {
    let api = Api::start().await;
    let admin = api.as_team("acme").role(Role::Admin);
    let reply = admin.post("/v1/keys", &json!({"name": "n", "role": "owner"})).await;
    assert_eq!((reply.status, reply.code()), (403, "role-too-high"));
    let owner = api.as_team("acme").role(Role::Owner);
    let made = owner.post("/v1/keys", &json!({"name": "n", "role": "owner"})).await;
    assert_eq!(made.status, 201, "{}", made.text);
    // Rolling would give its role away again.
    let path = format!("/v1/keys/{}/roll", made.json["id"].as_str().unwrap());
    let reply = admin.post(&path, &json!({"overlap_ms": 0})).await;
    assert_eq!((reply.status, reply.code()), (403, "role-too-high"));
}

#[tokio::test]
async fn a_rolled_key_holds_for_the_overlap() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let (id, old) = make(&api, "viewer", json!({"expires_at": "2026-12-31T00:00:00Z"})).await;
    let roll = format!("/v1/keys/{id}/roll");
    let rolled = acme.post(&roll, &json!({"overlap_ms": 60_000})).await;
    assert_eq!(rolled.status, 201, "{}", rolled.text);
    let (new, end) = (rolled.json["key"].as_str().unwrap(), &rolled.json["expires_at"]);
    assert_eq!(
        (&rolled.json["name"], end),
        (&json!("billing"), &json!("2026-12-31T00:00:00.000000Z"))
    );
    for key in [old.as_str(), new] {
        assert_eq!(ask(&api, key, "/v1/jobs").await.status, 200);
    }
    api.engine.pass(Duration::from_mins(1));
    assert_refused(&ask(&api, &old, "/v1/jobs").await, "rolled");
    assert_eq!(ask(&api, new, "/v1/jobs").await.status, 200);
    let reply = acme.post(&roll, &json!({"overlap_ms": 0})).await;
    assert_eq!((reply.status, reply.code()), (409, "key-ended"));
    let reply = acme.post(&roll, &json!({"overlap_ms": 2_592_000_001_u64})).await;
    assert_eq!(reply.faults(), [("#/overlap_ms".to_owned(), "out-of-range".to_owned())]);
}

#[tokio::test]
async fn a_use_is_noted_once_a_minute() {
    let api = Api::start().await;
    let (_, key) = make(&api, "viewer", Value::Null).await;
    let noted = async || -> String {
        let row = api.engine.db.ask("SELECT last_used_at::text FROM keys").await;
        row.get::<_, Option<String>>(0).unwrap_or_default()
    };
    ask(&api, &key, "/v1/jobs").await;
    let first = noted().await;
    api.engine.pass(Duration::from_secs(59));
    ask(&api, &key, "/v1/jobs").await;
    assert_eq!(noted().await, first);
    api.engine.pass(Duration::from_secs(2));
    ask(&api, &key, "/v1/jobs").await;
    assert_ne!(noted().await, first);
}

#[tokio::test]
async fn keys_are_paged_and_belong_to_their_team() {
    let api = Api::start().await;
    let (acme, rival) = (api.as_team("acme"), api.as_team("rival"));
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(make(&api, "viewer", Value::Null).await.0);
    }
    let first = acme.get("/v1/keys?limit=2").await.json;
    let cursor = first["next_cursor"].as_str().unwrap();
    let second = acme.get(&format!("/v1/keys?limit=2&cursor={cursor}")).await.json;
    let pages = first["data"].as_array().unwrap().iter().chain(second["data"].as_array().unwrap());
    let mut seen: Vec<_> = pages.map(|key| key["id"].as_str().unwrap().to_owned()).collect();
    seen.sort();
    ids.sort();
    assert_eq!((seen, &second["next_cursor"]), (ids.clone(), &Value::Null));
    assert_eq!(rival.get("/v1/keys").await.json["data"], json!([]));
    let path = format!("/v1/keys/{}", ids[0]);
    assert_eq!(rival.send(reqwest::Method::DELETE, &path, "").await.status, 404);
    assert!(acme.get(&path).await.json["revoked_at"].is_null());
}

#[tokio::test]
async fn every_fault_of_a_key_is_named() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let reply = acme.post("/v1/keys", &json!({"role": "root", "queue": "mail"})).await;
    let fault = |at: &str, code: &str| (at.to_owned(), code.to_owned());
    let expected = [
        fault("#/name", "required"),
        fault("#/queue", "unknown-field"),
        fault("#/role", "out-of-range"),
    ];
    assert_eq!(reply.faults(), expected, "{}", reply.text);
    let past = json!({"name": "n", "role": "viewer", "expires_at": "2020-01-01T00:00:00Z"});
    let reply = acme.post("/v1/keys", &past).await;
    assert_eq!(reply.faults(), [fault("#/expires_at", "out-of-range")]);
    let reply = acme.post("/v1/tokens/revoke", &json!({"jti": ""})).await;
    assert_eq!(reply.faults(), [fault("#/expires_at", "required"), fault("#/jti", "out-of-range")]);
}

#[tokio::test]
async fn a_revoked_token_is_refused_in_its_team_only() {
    let api = Api::start().await;
    let (acme, rival) = (api.as_team("acme"), api.as_team("rival"));
    let token = |team: &str| {
        let claims = MintClaims {
            team: Team::parse(team).unwrap(),
            role: Role::Viewer,
            subject: Subject::parse("kim").unwrap(),
            ttl: Duration::from_hours(1),
            issuer: None,
            audience: None,
        };
        mint(SECRET, &claims, api.engine.clock.now()).unwrap()
    };
    let (first, second) = (token("acme"), token("acme"));
    let revocation = json!({"jti": jti(&first), "expires_at": "2026-11-30T03:00:00Z"});
    // Whoever manages another team cannot.
    assert_eq!(rival.post("/v1/tokens/revoke", &revocation).await.status, 204);
    assert_eq!(ask(&api, &first, "/v1/jobs").await.status, 200);
    for _ in 0..2 {
        assert_eq!(acme.post("/v1/tokens/revoke", &revocation).await.status, 204);
    }
    let reply = ask(&api, &first, "/v1/jobs").await;
    assert_eq!((reply.status, reply.code()), (401, "unauthenticated"));
    assert!(reply.text.contains("revoked"), "{}", reply.text);
    assert_eq!(ask(&api, &second, "/v1/jobs").await.status, 200);
}

/// A token's name, from its claims.
fn jti(token: &str) -> String {
    use base64::Engine as _;
    let claims = token.split('.').nth(1).unwrap();
    let claims = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(claims).unwrap();
    let claims: Value = serde_json::from_slice(&claims).unwrap();
    claims["jti"].as_str().unwrap().to_owned()
}
