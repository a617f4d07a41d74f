//! What one process revokes, another refuses within a second; and an idle API asks its database
//! little.

use std::time::Duration;

use axle::domain::principal::{Role, Subject, Team};
use axle::engine::auth::{MintClaims, mint};
use axle::engine::clock::system_now;
use reqwest::Method;
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::support::db::Db;
use crate::support::process::{Api, SECRET, Server};
use crate::support::program::{axle, eventually};

/// What the mission promises of a revocation.
const PROMISED: Duration = Duration::from_secs(1);

async fn status(api: &Api) -> u16 {
    api.try_ask(Method::GET, "/v1/jobs", None).await.expect("it answers").0
}

/// Waits until `api`'s token is refused, while it is used all the time; returns how long that took.
async fn refused(api: &Api) -> Duration {
    let since = Instant::now();
    eventually("the caller is refused", Duration::from_secs(10), async || {
        (status(api).await == 401).then_some(())
    })
    .await;
    since.elapsed()
}

#[tokio::test]
async fn what_one_process_revokes_another_refuses_within_a_second() {
    let db = Db::new().await;
    let (one, other) =
        tokio::join!(Server::start(&db.url, "api", &[]), Server::start(&db.url, "api", &[]));
    let admin = one.api();
    let mut slowest = Duration::ZERO;
    for _ in 0..5 {
        let body = json!({"name": "n", "role": "viewer"});
        let (_, made) = admin.post("/v1/keys", &body).await;
        let holder = other.api().with_token(made["key"].as_str().expect("it is shown"));
        assert_eq!(status(&holder).await, 200);
        let path = format!("/v1/keys/{}", made["id"].as_str().expect("it has an id"));
        let revoked = admin.try_ask(Method::DELETE, &path, None).await;
        assert_eq!(revoked.expect("it answers").0, 204);
        slowest = slowest.max(refused(&holder).await);
    }
    for n in 0..5 {
        let claims = MintClaims {
            team: Team::parse("acme").unwrap(),
            role: Role::Viewer,
            subject: Subject::parse(&format!("kim {n}")).unwrap(),
            ttl: Duration::from_hours(1),
            issuer: None,
            audience: None,
        };
        let token = mint(SECRET.as_bytes(), &claims, system_now()).unwrap();
        let holder = other.api().with_token(&token);
        assert_eq!(status(&holder).await, 200);
        let body = json!({"jti": jti(&token), "expires_at": system_now() + claims.ttl});
        let revoked = admin.try_ask(Method::POST, "/v1/tokens/revoke", Some(&body)).await;
        assert_eq!(revoked.expect("it answers").0, 204);
        slowest = slowest.max(refused(&holder).await);
    }
    println!("the slowest refusal came after {slowest:?}");
    assert!(slowest < PROMISED, "{slowest:?}");

    // A process that starts later knows what was revoked before.
    let (_, made) = admin.post("/v1/keys", &json!({"name": "n", "role": "viewer"})).await;
    let path = format!("/v1/keys/{}", made["id"].as_str().unwrap());
    admin.try_ask(Method::DELETE, &path, None).await;
    let late = Server::start(&db.url, "api", &[]).await;
    assert_eq!(status(&late.api().with_token(made["key"].as_str().unwrap())).await, 401);
}

#[tokio::test]
async fn the_first_person_is_made_from_the_command_line_and_signs_in() {
    let db = Db::new().await;
    let server = Server::start(&db.url, "api", &[]).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("password");
    let password = "correct horse battery";
    std::fs::write(&file, format!("{password}\n")).unwrap();
    let words = ["admin", "create", "--email", "boss@example.com", "--team", "shop"];
    let url = ("AXLE_DATABASE_URL", db.url.as_str());
    let named = ("AXLE_ADMIN_PASSWORD_FILE", file.to_str().unwrap());
    // Without one there is nothing on standard input.
    let none = axle(&words, &[url]).await;
    assert_eq!(none.code, Some(1), "{none:?}");
    assert!(none.err.contains("12 to 256 characters"), "{none:?}");
    let made = axle(&words, &[url, named]).await;
    assert_eq!(made.code, Some(0), "{made:?}");
    assert!(made.out.contains("usr_") && !made.err.contains("AXLE_ADMIN"), "{made:?}");
    let again = axle(&words, &[url, named]).await;
    assert_eq!(again.code, Some(1), "{again:?}");
    for ended in [&none, &made, &again] {
        assert!(!format!("{ended:?}").contains(password), "{ended:?}");
    }

    let body = json!({"email": "boss@example.com", "password": password});
    let (status, signed_in) = server.api().post("/v1/login", &body).await;
    assert_eq!((status, &signed_in["role"]), (200, &json!("owner")), "{signed_in}");
    let boss = server.api().with_token(signed_in["access_token"].as_str().unwrap());
    let (status, made) = boss.post("/v1/teams", &json!({"team": "bakery"})).await;
    assert_eq!(status, 201, "{made}");
    // What one process suspends, another refuses within a second.
    let other = Server::start(&db.url, "api", &[]).await;
    let (_, made) = server.api().post("/v1/keys", &json!({"name": "n", "role": "viewer"})).await;
    let holder = other.api().with_token(made["key"].as_str().unwrap());
    assert_eq!(self::status(&holder).await, 200);
    let (status, answer) = boss.post("/v1/teams/acme/suspend", &json!({"reason": "unpaid"})).await;
    assert_eq!(status, 200, "{answer}");
    let since = Instant::now();
    eventually("the team is refused", Duration::from_secs(10), async || {
        (self::status(&holder).await == 403).then_some(())
    })
    .await;
    println!("the suspension was known after {:?}", since.elapsed());
    assert!(since.elapsed() < 2 * PROMISED);
}

#[tokio::test]
async fn an_idle_api_asks_its_database_little() {
    const WATCHED: u32 = 6;
    const MOST: f64 = 5.0;
    let db = Db::new().await;
    let server = Server::start(&db.url, "api", &[("AXLE_LOG", "warn")]).await;
    let question = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()";
    let committed = async || db.ask(question).await.get::<_, i64>(0);
    // What it did at its start is told late: a connection reports its statistics when it is idle.
    let rate = eventually("few transactions in some seconds", Duration::from_mins(1), async || {
        let before = committed().await;
        sleep(Duration::from_secs(1) * WATCHED).await;
        let count = i32::try_from(committed().await - before).unwrap();
        let rate = f64::from(count) / f64::from(WATCHED);
        (rate < MOST).then_some(rate)
    })
    .await;
    println!("{rate:.1} transactions a second");
    drop(server);
}

fn jti(token: &str) -> String {
    use base64::Engine as _;
    let claims = token.split('.').nth(1).expect("a JWT has claims");
    let claims = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(claims).unwrap();
    let claims: serde_json::Value = serde_json::from_slice(&claims).unwrap();
    claims["jti"].as_str().expect("it has a name").to_owned()
}
