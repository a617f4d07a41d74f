//! The link of an invitation, and the page behind it: its own script accepts, run by Node with as much
//! of a browser around it as it touches.

use std::process::Command;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::callback::client;
use crate::support::db::Db;
use crate::support::process::Server;

/// Opens the page's script at an address, fills the form in, and prints what the page says then.
const BROWSER: &str = r#"
const [script, base, hash, name, password] = process.argv.slice(2);
const told = {}, button = {};
let submit;
const form = {
  hidden: true,
  elements: { name: { value: name }, password: { value: password } },
  querySelector: () => button,
  addEventListener: (_, listener) => { submit = listener; },
};
globalThis.document = { getElementById: (id) => (id === "told" ? told : form) };
globalThis.location = { hash, pathname: "/invitation" };
let shown = "/invitation" + hash;
globalThis.history = { replaceState: (_state, _title, path) => { shown = path; } };
const ask = fetch;
globalThis.fetch = (path, options) => ask(new URL(path, base + "/invitation"), options);
(0, eval)(require("node:fs").readFileSync(script, "utf8"));
const first = told.textContent, offered = !form.hidden;
const done = offered ? submit({ preventDefault() {} }) : Promise.resolve();
done.then(() => console.log(JSON.stringify({ first, offered, last: told.textContent, shown })));
"#;

async fn get(server: &Server, path: &str) -> String {
    let answer = client().get(format!("http://{}{path}", server.address())).send().await.unwrap();
    assert_eq!(answer.status(), 200, "{path}");
    answer.text().await.unwrap()
}

async fn invite(server: &Server) -> Value {
    let body = json!({"email": "kim@example.com", "role": "viewer"});
    let (status, made) = server.api().post("/v1/teams/acme/invitations", &body).await;
    assert_eq!(status, 201, "{made}");
    made
}

/// What the page says when it is opened with this fragment and filled in.
async fn open(server: &Server, fragment: &str, password: &str) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let (browser, script) = (folder.path().join("browser.js"), folder.path().join("page.js"));
    std::fs::write(&browser, BROWSER).unwrap();
    std::fs::write(&script, get(server, "/invitation.js").await).unwrap();
    let base = format!("http://{}", server.address());
    let words = [&base, fragment, "Kim", password];
    let ended = Command::new("node").arg(&browser).arg(&script).args(words).output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
    serde_json::from_slice(&ended.stdout).unwrap()
}

#[tokio::test]
async fn the_link_opens_a_page_that_accepts() {
    let db = Db::new().await;
    let base = "https://jobs.example/axle";
    let server = Server::start(&db.url, "api", &[("AXLE_PUBLIC_URL", base)]).await;
    let made = invite(&server).await;
    let (link, token) = (made["url"].as_str().unwrap(), made["token"].as_str().unwrap());
    assert_eq!(link, format!("{base}/invitation#{token}"));
    let html = get(&server, "/invitation").await;
    assert!(html.contains("<script src=\"invitation.js\"></script>"), "beside the page: {html}");
    assert_eq!(html.matches("<script").count(), 1, "and none inside, which its policy forbids");

    let fragment = format!("#{token}");
    let short = open(&server, &fragment, "short").await;
    assert!(short["last"].as_str().unwrap().contains("password"), "{short}");
    let done = open(&server, &fragment, "correct horse battery").await;
    assert_eq!(done["last"], "kim@example.com is a member of the team acme. You can sign in now.");
    assert_eq!(done["shown"], "/invitation", "the address shows the token no more");
    let again = open(&server, &fragment, "correct horse battery").await;
    assert!(again["last"].as_str().unwrap().contains("not open"), "{again}");
    for wrong in ["", "#", "#axk_x", "#<img src=x>"] {
        let seen = open(&server, wrong, "correct horse battery").await;
        assert_eq!(seen["offered"], false, "{wrong}: {seen}");
    }
    let members = server.api().get("/v1/teams/acme/members").await;
    assert_eq!(members["data"][0]["email"], "kim@example.com", "{members}");
}

#[tokio::test]
async fn without_a_public_url_and_for_a_repeat_there_is_no_link() {
    let db = Db::new().await;
    let server = Server::start(&db.url, "api", &[]).await;
    let made = invite(&server).await;
    assert!(made["token"].is_string() && made["url"].is_null(), "{made}");
    drop(server);
    let base = [("AXLE_PUBLIC_URL", "http://127.0.0.1:8080")];
    let server = Server::start(&db.url, "api", &base).await;
    let ask = || async {
        let body = json!({"email": "lee@example.com", "role": "viewer"});
        let request = server.api().request(Method::POST, "/v1/teams/acme/invitations").json(&body);
        let answer = request.header("idempotency-key", "invite-1").send().await.unwrap();
        answer.json::<Value>().await.unwrap()
    };
    let (first, again) = (ask().await, ask().await);
    assert!(first["url"].is_string(), "{first}");
    assert!(again["url"].is_null() && again["token"].is_null(), "{again}");
}
