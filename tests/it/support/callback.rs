//! Posts callbacks and heartbeats the way a target does. It must not know whether an answer is
//! right: it hands back status and body, and the test judges.

use std::sync::OnceLock;
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use serde_json::Value;

/// What came back: the status and the body as JSON. An empty body is `Null`; a body that is not
/// JSON is a JSON string of its text.
pub type Reply = (u16, Value);

/// A test does not wait longer than this for one answer.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Posts `body` to the URL that a call carried in `Axle-Callback-Url`.
pub async fn post(callback_url: &str, body: &Value) -> Reply {
    try_post(callback_url, body).await.expect("the callback is answered")
}

/// As [`post`], for a receiver that may be down.
pub async fn try_post(url: &str, body: &Value) -> reqwest::Result<Reply> {
    let answer = client().post(url).json(body).send().await?;
    let status = answer.status().as_u16();
    let text = answer.text().await?;
    let json = match text.as_str() {
        "" => Value::Null,
        text => serde_json::from_str(text).unwrap_or_else(|_| Value::from(text)),
    };
    Ok((status, json))
}

/// Posts a heartbeat of the run whose callback URL this is: the same URL and token, with the path
/// segment `heartbeat` in the place of `callback`.
pub async fn heartbeat(callback_url: &str, body: &Value) -> Reply {
    let mut url = Url::parse(callback_url).expect("a callback URL is a URL");
    let path = url.path().replace("/callback", "/heartbeat");
    url.set_path(&path);
    try_post(url.as_str(), body).await.expect("the heartbeat is answered")
}

/// The plain HTTP client of the tests: no redirects, no proxy, no trust roots.
///
/// It keeps no connection for reuse: a kept connection belongs to the runtime that opened it, and
/// every test has its own.
pub fn client() -> &'static Client {
    static CLIENT: OnceLock<Client> = OnceLock::new();
    CLIENT.get_or_init(|| {
        // Somebody else in this process may have been first, with the same provider.
        drop(rustls::crypto::ring::default_provider().install_default());
        Client::builder()
            .no_proxy()
            .tls_certs_only([])
            .redirect(Policy::none())
            .pool_max_idle_per_host(0)
            .timeout(TIMEOUT)
            .build()
            .expect("a client without special wishes is built")
    })
}
