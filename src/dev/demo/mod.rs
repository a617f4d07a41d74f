//! A small target to point jobs at: it echoes, fails, recovers, dawdles and calls back. It knows
//! only what the wire tells any target, so it is also an example of one.
//!
//! | address | answer |
//! |---|---|
//! | `/demo/echo` | 200 with the method, headers and body it got, as JSON |
//! | `/demo/fail?status=500` | that status, 400 to 599 |
//! | `/demo/flaky?fails=2` | 500 to that many calls of a job, then 200 |
//! | `/demo/slow?ms=1000` | 200 after that time |
//! | `/demo/callback?after_ms=1000&status=succeeded` | 202 now, the outcome by callback after that time |
//!
//! Every address answers every method, since a job may use any. A bad query value gets 400 and one
//! sentence.

mod callback;
mod flaky;
mod request;

use std::collections::BTreeMap;
use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

use request::{BadRequest, Query};

/// The longest body that is taken: well above any payload limit somebody may want to try.
const MAX_BODY_BYTES: usize = 16 * 1024 * 1024;
/// The longest wait that may be asked for, ten minutes.
const MAX_WAIT_MS: u64 = 600_000;
/// Waits this long when the address does not say.
const DEFAULT_WAIT_MS: u64 = 1_000;

/// Adds the demo target's addresses to an application.
pub fn routes(cfg: &mut web::ServiceConfig) {
    cfg.service(
        web::scope("/demo")
            .app_data(web::PayloadConfig::new(MAX_BODY_BYTES))
            .service(web::resource("/echo").to(echo))
            .service(web::resource("/fail").to(fail))
            .service(web::resource("/flaky").to(flaky::flaky))
            .service(web::resource("/slow").to(slow))
            .service(web::resource("/callback").to(callback::callback)),
    );
}

/// What `/demo/echo` got.
#[derive(Serialize)]
struct Echo {
    method: String,
    /// The `Axle-*` and `webhook-*` headers, names in lower case.
    headers: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<Body>,
    /// Instead of `body` when that is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    body_base64: Option<String>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Body {
    /// JSON, byte for byte.
    Json(Box<RawValue>),
    Text(String),
}

async fn echo(request: HttpRequest, body: web::Bytes) -> HttpResponse {
    let named = request.headers().iter().filter(|(name, _)| {
        name.as_str().starts_with("axle-") || name.as_str().starts_with("webhook-")
    });
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    let headers = named.map(|(name, value)| (name.to_string(), text(value.as_bytes()))).collect();
    let (body, body_base64) = match String::from_utf8(body.to_vec()) {
        Ok(text) => (Some(json_or_text(text)), None),
        Err(not_text) => (None, Some(BASE64.encode(not_text.as_bytes()))),
    };
    let method = request.method().to_string();
    HttpResponse::Ok().json(Echo { method, headers, body, body_base64 })
}

fn json_or_text(text: String) -> Body {
    match serde_json::from_str::<Box<RawValue>>(&text) {
        Ok(json) => Body::Json(json),
        Err(_) => Body::Text(text),
    }
}

async fn fail(request: HttpRequest) -> Result<HttpResponse, BadRequest> {
    let query = Query::of(&request, &["status"])?;
    let status = query.number("status", 500, 400..=599)?;
    // The range has no number that is not a status.
    let status = u16::try_from(status).ok().and_then(|status| StatusCode::from_u16(status).ok());
    let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let message = format!("this address answers {} to every call", status.as_u16());
    Ok(HttpResponse::build(status).json(json!({ "error": message })))
}

async fn slow(request: HttpRequest) -> Result<HttpResponse, BadRequest> {
    let query = Query::of(&request, &["ms"])?;
    let waited_ms = query.number("ms", DEFAULT_WAIT_MS, 0..=MAX_WAIT_MS)?;
    tokio::time::sleep(Duration::from_millis(waited_ms)).await;
    Ok(HttpResponse::Ok().json(json!({ "waited_ms": waited_ms })))
}
