//! The headers that every answer has, wherever it comes from.

use reqwest::header::HeaderMap;
use reqwest::{Client, Method};

use crate::api::recipes::{call, prepare};
use crate::support::api::Api;
use crate::support::callback::client;
use crate::support::contract::operations;
use crate::support::db::Db;
use crate::support::process::Server;

const CSP: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                   connect-src 'self'; font-src 'self'; frame-ancestors 'none'; base-uri 'none'; \
                   form-action 'self'";

fn assert_dressed(what: &str, headers: &HeaderMap) {
    let all = |name| {
        let values = headers.get_all(name).iter();
        values.map(|value| value.to_str().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(all("content-security-policy"), [CSP], "{what}");
    assert_eq!(all("x-content-type-options"), ["nosniff"], "{what}");
    assert_eq!(all("referrer-policy"), ["same-origin"], "{what}");
    let [caching] = all("cache-control")[..] else { panic!("{what}: {headers:?}") };
    let is_page =
        what.contains("/problems/") && headers["content-type"] != "application/problem+json";
    let expected = match what {
        _ if is_page => "no-cache",
        // What is public may be kept for a while.
        _ if what.contains("listPublicKeys") && what.ends_with("200") => "public, max-age=300",
        _ => "no-store",
    };
    assert_eq!(caching, expected, "{what}");
    assert!(!headers.contains_key("access-control-allow-origin"), "{what}");
    assert!(!headers.contains_key("server") && !headers.contains_key("x-powered-by"), "{what}");
}

#[tokio::test]
async fn every_operation_answers_with_the_security_headers_however_it_ends() {
    let api = Api::start().await;
    for operation in operations() {
        let path = prepare(&api, &operation).await;
        for caller in [api.as_nobody(), api.as_team("rival"), api.as_team("acme")] {
            let reply = call(&caller, &operation, &path).await;
            assert_dressed(&format!("{} {path} {}", operation.id, reply.status), &reply.headers);
        }
        let reply = api.as_team("acme").send(Method::DELETE, "/v1/version", "").await;
        assert_eq!(reply.status, 405);
        assert_dressed("405", &reply.headers);
    }
}

#[tokio::test]
async fn every_page_has_them_too() {
    let api = Api::start().await;
    for (path, status) in [
        ("/", 308),
        ("/docs", 308),
        ("/docs/", 200),
        ("/docs/swagger-ui.css", 200),
        ("/docs/nothing.js", 404),
        ("/openapi.json", 200),
        ("/problems/not-found", 200),
        ("/problems/nothing", 404),
        ("/robots.txt", 200),
        ("/invitation", 200),
        ("/invitation.js", 200),
        ("/nothing", 404),
    ] {
        let answer = page(&api, path).await;
        assert_eq!(answer.status(), status, "{path}");
        assert_dressed(path, answer.headers());
    }
}

async fn page(api: &Api, path: &str) -> reqwest::Response {
    let client = Client::builder().no_proxy().tls_certs_only([]);
    let client = client.redirect(reqwest::redirect::Policy::none()).build().unwrap();
    client.get(format!("http://{}{path}", api.address())).send().await.unwrap()
}

/// What its policy forbids, the page must not need: scripts and styles inside it, files of others.
#[tokio::test]
async fn the_reference_lives_under_its_own_policy() {
    let api = Api::start().await;
    let html = page(&api, "/docs/").await.text().await.unwrap();
    for forbidden in ["<style", "style=", "javascript:", "onload=", "http://", "https://", "<base"]
    {
        assert!(!html.contains(forbidden), "{forbidden} in {html}");
    }
    let scripts: Vec<_> = html.split("<script").skip(1).collect();
    assert!(scripts.len() >= 2, "{html}");
    for script in scripts {
        let (tag, rest) = script.split_once('>').unwrap();
        let inside = rest.split("</script").next().unwrap();
        assert!(tag.contains("src=") && inside.trim().is_empty(), "{script}");
    }
    let mut files = 0;
    for part in html.split("src=\"").skip(1).chain(html.split("href=\"").skip(1)) {
        let name = part.split('"').next().unwrap();
        let answer = page(&api, &format!("/docs/{}", name.trim_start_matches("./"))).await;
        assert_eq!(answer.status(), 200, "{name}");
        files += 1;
    }
    assert!(files >= 5, "{html}");
    let start = page(&api, "/docs/swagger-initializer.js").await.text().await.unwrap();
    assert!(start.contains("/openapi.json") && !start.contains("eval("), "{start}");
}

#[tokio::test]
async fn the_admin_listener_has_them() {
    let db = Db::new().await;
    let server = Server::start(&db.url, "api", &[]).await;
    for path in ["/livez", "/startupz", "/readyz", "/readyz?verbose", "/metrics", "/nothing"] {
        let url = format!("http://{}{path}", server.admin_address());
        let answer = client().get(url).send().await.unwrap();
        assert_dressed(path, answer.headers());
    }
}
