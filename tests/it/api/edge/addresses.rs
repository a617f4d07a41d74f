//! Addresses and methods that are written so that one reader takes them for another: each is the
//! right route or a 4xx.

use reqwest::Method;
use serde_json::json;

use super::{ask, statuses};
use crate::support::api::Api;

#[tokio::test]
async fn an_odd_address_is_the_right_route_or_nothing() {
    let api = Api::start().await;
    for (address, expected) in [
        ("/v1/version", 200),
        ("/v1/version?x=/../", 200),
        ("/v1/version?", 200),
        // RFC 9112, section 3.2.2: a server must take the absolute form.
        ("http://evil.example/v1/version", 200),
        // RFC 3986, section 6.2.2.2: the same address.
        ("/v1/versio%6e", 200),
        ("//v1/version", 404),
        ("///v1/version", 404),
        ("/v1//version", 404),
        ("/v1/./version", 404),
        ("/v1/../v1/version", 404),
        ("/x/../v1/version", 404),
        ("/v1/%2e%2e/v1/version", 404),
        ("/v1/%2E%2E%2Fv1/version", 404),
        ("/v1%2fversion", 404),
        ("/v1%5cversion", 404),
        ("/v1/version/", 404),
        ("/v1/version;x=1", 404),
        ("/v1/version%3bx", 404),
        ("/v1/version%00", 404),
        ("/v1/version%0d%0aX:y", 404),
        ("/v1/version%20", 404),
        ("/V1/VERSION", 404),
        ("/v1/%76ersion%2f", 404),
        ("/v1/version%252f", 404),
        ("/docs/../v1/version", 404),
        ("/docs/..%2f..%2fetc%2fpasswd", 404),
        ("/docs/%2e%2e/%2e%2e/etc/passwd", 404),
        ("/docs//etc/passwd", 404),
        ("/problems/..%2fopenapi.json", 404),
        ("/problems/%00", 404),
        ("*", 404),
        ("v1/version", 400),
        ("\\v1\\version", 400),
        ("/v1/ver\0sion", 400),
        ("/v1/ver sion", 400),
        ("/v1/version%", 404),
        ("http:///v1/version", 400),
    ] {
        let (statuses, answer) = ask(&api, &format!("GET {address}")).await;
        assert_eq!(statuses, [expected], "{address:?}: {answer}");
    }
}

#[tokio::test]
async fn no_spelling_of_an_address_goes_round_the_token() {
    let api = Api::start().await;
    api.as_team("acme").enqueue(json!({})).await;
    for address in [
        "/v1/jobs",
        "//v1/jobs",
        "/v1//jobs",
        "/v1/jobs/",
        "/v1/jobs/.",
        "/v1/version/../jobs",
        "/v1/version/..%2fjobs",
        "/docs/../v1/jobs",
        "/v1/jobs;/../version",
        "/v1/jobs%3f",
        "/v1/jobs%00",
        "/v1/JOBS",
        "/v1/%6aobs",
        "/%76%31/jobs",
        "http://127.0.0.1/v1/jobs",
        "http://localhost:9090/v1/jobs",
    ] {
        let (statuses, answer) = ask(&api, &format!("GET {address}")).await;
        assert!(matches!(statuses[..], [400 | 401 | 404]), "{address}: {answer}");
        assert!(!answer.contains("job_"), "{address}: {answer}");
    }
}

#[tokio::test]
async fn a_method_is_what_the_request_line_says() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let id = acme.enqueue(json!({"delay_ms": 60_000})).await;
    for name in ["x-http-method-override", "x-http-method", "x-method-override", "_method"] {
        let overriding = acme.clone().header(name, "DELETE");
        let reply = overriding.get(&format!("/v1/jobs/{id}?_method=DELETE")).await;
        assert_eq!((reply.status, &reply.json["state"]), (200, &json!("PENDING")), "{name}");
        let reply = overriding.send(Method::POST, "/v1/calendars/x", "").await;
        assert_eq!(reply.status, 405, "{name}");
    }
    for method in ["get", "Get", "TRACE", "TRACK", "OPTIONS", "DELETE", "PROPFIND", "G-T"] {
        let (statuses, answer) = ask(&api, &format!("{method} /v1/version")).await;
        assert_eq!(statuses, [405], "{method}: {answer}");
    }
    for line in ["CONNECT example.com:443", "CONNECT /v1/version", "PRI *", "G@T /v1/version"] {
        let (statuses, answer) = ask(&api, line).await;
        assert!(matches!(statuses[..], [400 | 404 | 405]), "{line}: {answer}");
    }
}

#[tokio::test]
async fn one_host_is_named_once() {
    let api = Api::start().await;
    let line = "GET /v1/version HTTP/1.1\r\n";
    let end = "Connection: close\r\n\r\n";
    for (hosts, expected) in [
        ("Host: h\r\n", 200),
        ("", 400),
        ("Host: a\r\nHost: b\r\n", 400),
        ("Host: a\r\nHost: a\r\n", 400),
        ("Host : a\r\n", 400),
        ("Host: a\0b\r\n", 400),
    ] {
        let answer = api.raw(format!("{line}{hosts}{end}").as_bytes()).await;
        assert_eq!(statuses(&answer), [expected], "{hosts:?}: {answer}");
    }
}
