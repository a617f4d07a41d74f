//! Refusals that belong to no operation, and what every answer has around it.

use axle::http::problem::KINDS;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::api::{Api, job};
use crate::support::contract::operations;
use crate::support::db::Db;

#[tokio::test]
async fn every_kind_of_problem_has_a_page() {
    let api = Api::start().await;
    for kind in KINDS {
        let page = api.as_nobody().get(&format!("/problems/{}", kind.code)).await;
        assert_eq!(page.status, 200, "{}", kind.code);
        assert!(page.header("content-type").unwrap().starts_with("text/html"));
        for part in [kind.code, kind.title, &kind.status.to_string()] {
            let part = part.replace('&', "&amp;").replace('<', "&lt;");
            assert!(page.text.contains(&part), "{}: {}", kind.code, page.text);
        }
    }
    let unknown = api.as_nobody().get("/problems/bad-luck").await;
    assert_eq!((unknown.status, unknown.code()), (404, "not-found"));
}

#[tokio::test]
async fn where_there_is_nothing_there_is_a_404() {
    let api = Api::start().await;
    for path in [
        "/v1",
        "/v1/",
        "/v1/jobs/",
        "/v1//jobs",
        "/v1/jobs/x/y/z",
        "/v2/jobs",
        "/V1/JOBS",
        "/%2e%2e/etc/passwd",
        "/docs/nothing.js",
        "/docs/..%2f..%2fCargo.toml",
        "/metrics",
        "/%ff%00",
    ] {
        let reply = api.as_team("acme").get(path).await;
        assert_eq!((reply.status, reply.code()), (404, "not-found"), "{path}: {}", reply.text);
    }
}

#[tokio::test]
async fn a_method_that_an_address_does_not_have_is_a_405_that_names_those_it_has() {
    let api = Api::start().await;
    let known = operations();
    for operation in &known {
        let path: Vec<_> =
            operation.path.split('/').map(|p| if p.starts_with('{') { "x" } else { p }).collect();
        // `/v1/jobs/batch` is also a `/v1/jobs/{id}`.
        let fits = |pattern: &str| {
            let parts: Vec<_> = pattern.split('/').collect();
            parts.len() == path.len()
                && parts.iter().zip(&path).all(|(p, have)| p == have || p.starts_with('{'))
        };
        let allowed =
            |method: &Method| known.iter().any(|op| op.method == *method && fits(&op.path));
        for method in [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
            let path = path.join("/");
            if !allowed(&method) {
                let reply = api.as_team("acme").send(method.clone(), &path, "").await;
                assert_eq!(reply.status, 405, "{method} {path}");
                let named = reply.header("allow").unwrap();
                assert!(named.contains(operation.method.as_str()), "{method} {path}: {named}");
                assert!(!named.contains(method.as_str()), "{method} {path}: {named}");
            }
        }
    }
    for path in ["/", "/docs", "/openapi.json", "/problems/internal", "/robots.txt"] {
        let reply = api.as_nobody().send(Method::DELETE, path, "").await;
        assert_eq!((reply.status, reply.header("allow")), (405, Some("GET")), "{path}");
    }
}

#[tokio::test]
async fn a_request_id_is_echoed_or_made() {
    let api = Api::start().await;
    let with = async |id: &str| {
        let reply = api.as_team("acme").header("x-request-id", id).get("/v1/jobs/none").await;
        // The contract has compared the header with the problem's own field.
        reply.header("x-request-id").unwrap().to_owned()
    };
    for good in ["a", "req-7", "!~", &"x".repeat(128)] {
        assert_eq!(with(good).await, good);
    }
    let made = |id: &str| id.starts_with("req_") && id.len() == 20;
    for bad in ["", "a b", "a\tb", "ä", &"x".repeat(129)] {
        let id = with(bad).await;
        assert!(made(&id), "{bad:?} became {id}");
    }
    let [first, second] =
        [api.as_nobody().get("/v1/version").await, api.as_nobody().get("/").await]
            .map(|reply| reply.header("x-request-id").unwrap().to_owned());
    assert!(made(&first) && made(&second) && first != second, "{first} {second}");
}

#[tokio::test]
async fn every_answer_forbids_caching_sniffing_and_referring() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    for reply in [acme.get("/v1/jobs").await, acme.get("/nothing").await, acme.act("/docs").await] {
        assert_eq!(reply.header("cache-control"), Some("no-store"));
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(reply.header("referrer-policy"), Some("same-origin"));
    }
}

#[tokio::test]
async fn a_database_that_is_away_is_a_503_that_says_when_to_come_back() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let id = acme.enqueue(Value::Null).await;
    let question = "SELECT current_database()";
    let name: String = api.engine.db.ask(question).await.get(0);
    // From the outside, as an operator would: nobody can connect, and nobody is left.
    let elsewhere = api.engine.db.url.replace(&name, "postgres");
    let admin = Db::at(elsewhere).connect().await;
    admin
        .batch_execute(&format!(
            "ALTER DATABASE {name} ALLOW_CONNECTIONS false; \
             SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity \
             WHERE datname = '{name}'"
        ))
        .await
        .unwrap();
    let path = format!("/v1/jobs/{id}");
    for reply in [
        acme.get(&path).await,
        acme.get("/v1/jobs").await,
        acme.post("/v1/jobs", &job(Value::Null)).await,
        acme.clone().header("idempotency-key", "k").post("/v1/jobs", &job(Value::Null)).await,
        acme.patch(&path, "*", &json!({"priority": 1})).await,
    ] {
        assert_eq!((reply.status, reply.code()), (503, "database-unavailable"), "{}", reply.text);
        assert_eq!(reply.header("retry-after"), Some("1"));
        assert_eq!(reply.json["retryable"], true);
        assert!(!reply.text.contains(&name) && !reply.text.contains("terminat"), "{}", reply.text);
    }
    admin.batch_execute(&format!("ALTER DATABASE {name} ALLOW_CONNECTIONS true")).await.unwrap();
    assert_eq!(acme.get(&path).await.status, 200);
}
