//! Pages of other sites: none may call the API unless the operator named its origin.

use reqwest::Method;
use reqwest::header::HeaderName;
use serde_json::Value;

use crate::support::api::{Api, Reply, Setup, job};

const FRIEND: &str = "https://console.example.com";
const STRANGER: &str = "https://evil.example";

async fn api_with_origins() -> Api {
    let mut setup = Setup::default();
    setup.edge.origins = vec![FRIEND.to_owned(), "http://localhost:5173".to_owned()];
    Api::with(setup).await
}

fn names(reply: &Reply) -> Vec<&str> {
    let names = reply.headers.keys().map(HeaderName::as_str);
    names.filter(|name| name.starts_with("access-control-")).collect()
}

async fn preflight(api: &Api, origin: &str, path: &str) -> Reply {
    let asks = api.as_nobody().header("origin", origin);
    let asks = asks.header("access-control-request-method", "POST");
    let asks = asks.header("access-control-request-headers", "authorization,content-type");
    asks.send(Method::OPTIONS, path, "").await
}

#[tokio::test]
async fn without_named_origins_there_is_no_cors() {
    let api = Api::start().await;
    let reply = preflight(&api, FRIEND, "/v1/jobs").await;
    assert_eq!((reply.status, reply.code()), (405, "method-not-allowed"));
    assert_eq!(names(&reply), [""; 0]);
    let reply = api.as_team("acme").header("origin", FRIEND).get("/v1/jobs").await;
    assert_eq!((reply.status, names(&reply).len()), (200, 0));
    assert_eq!(reply.header("vary"), None);
}

#[tokio::test]
async fn a_preflight_of_a_named_origin_is_answered_without_a_token() {
    let api = api_with_origins().await;
    for path in ["/v1/jobs", "/v1/jobs/job_01KB9YQ6Z4F0R8M3T1C5W7X2V0/cancel", "/v1/nothing"] {
        let reply = preflight(&api, FRIEND, path).await;
        assert_eq!((reply.status, reply.text.as_str()), (204, ""), "{path}");
        assert_eq!(reply.header("access-control-allow-origin"), Some(FRIEND));
        let methods = reply.header("access-control-allow-methods").unwrap();
        assert_eq!(methods, "GET, POST, PUT, PATCH, DELETE");
        let headers = reply.header("access-control-allow-headers").unwrap();
        for name in ["Authorization", "Content-Type", "Idempotency-Key", "If-Match"] {
            assert!(headers.contains(name), "{headers}");
        }
        assert_eq!(reply.header("access-control-allow-credentials"), None);
        assert_eq!(reply.header("vary"), Some("Origin"));
    }
}

#[tokio::test]
async fn an_origin_is_compared_byte_for_byte() {
    let api = api_with_origins().await;
    for origin in [
        STRANGER,
        "null",
        "",
        "*",
        "https://console.example.com.evil.example",
        "https://evil-console.example.com",
        "https://console.example.com:443",
        "https://CONSOLE.example.com",
        "http://console.example.com",
        "https://console.example.com/",
        "https://console.example.com, https://evil.example",
    ] {
        let reply = preflight(&api, origin, "/v1/jobs").await;
        assert_eq!((reply.status, names(&reply).len()), (204, 0), "{origin:?}");
        assert_eq!(reply.header("vary"), Some("Origin"), "{origin:?}");
        let reply = api.as_team("acme").header("origin", origin).get("/v1/jobs").await;
        assert_eq!((reply.status, names(&reply).len()), (200, 0), "{origin:?}");
    }
}

#[tokio::test]
async fn a_named_origin_may_read_answers_and_refusals() {
    let api = api_with_origins().await;
    let acme = api.as_team("acme").header("origin", FRIEND);
    let nobody = api.as_nobody().header("origin", FRIEND);
    let created = acme.post("/v1/jobs", &job(Value::Null)).await;
    assert_eq!(created.status, 201);
    let missing = acme.get("/v1/nothing").await;
    for reply in [created, missing, nobody.get("/v1/jobs").await] {
        assert_eq!(reply.header("access-control-allow-origin"), Some(FRIEND), "{reply:?}");
        let shown = reply.header("access-control-expose-headers").unwrap();
        assert!(shown.contains("Location") && shown.contains("X-Request-Id"), "{shown}");
    }
    // A request that is no page's gets no permission, but a cache must still tell them apart.
    let reply = api.as_team("acme").get("/v1/jobs").await;
    assert_eq!((names(&reply).len(), reply.header("vary")), (0, Some("Origin")));
}
