//! Bytes become typed: who asks, what for, under which key. Each extractor answers with a problem,
//! so a handler sees only what is right.

use std::future::{Ready, ready};
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use actix_web::http::header::{
    AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, FORWARDED, HeaderMap, IF_MATCH,
    X_FORWARDED_FOR,
};
use actix_web::{FromRequest, HttpRequest, dev, web};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use serde_json::value::RawValue;
use tokio::time::timeout;

use super::problem::Problem;
use super::server::Edge;
use super::{envelope, rate};
use crate::domain::key::KEY_PREFIX;
use crate::domain::principal::{Principal, Team, Via};
use crate::domain::schedule::ical;
use crate::engine::auth::{AuthError, Verifier};
use crate::engine::once::{self, Key, Request};
use crate::engine::{Ctx, Error, access};

/// How callers are known.
#[derive(Clone)]
pub enum Auth {
    /// By their tokens.
    Tokens(Arc<Verifier>),
    /// `axle dev`: a caller from this machine is this principal and is asked for nothing.
    Loopback(Principal),
}

/// What the handlers share.
#[derive(Clone)]
pub struct Api {
    /// The engine.
    pub ctx: Ctx,
    /// How callers are known.
    pub auth: Auth,
    /// Whether creating needs an Idempotency-Key.
    pub require_key: bool,
    /// How the listener meets those who connect.
    pub edge: Arc<Edge>,
}

/// A known caller, and the engine it may ask.
pub struct Caller {
    /// The engine.
    pub ctx: Ctx,
    /// Who asks.
    pub who: Principal,
    request: HttpRequest,
    require_key: bool,
}

impl FromRequest for Caller {
    type Error = Problem;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Problem>>>>;

    fn from_request(request: &HttpRequest, _: &mut dev::Payload) -> Self::Future {
        let request = request.clone();
        Box::pin(async move {
            let api = api(&request)?;
            let looks = request.method().is_safe();
            let intent = if looks { access::Intent::Look } else { access::Intent::Act };
            let team = wanted_team(request.headers())?;
            let team = team.as_ref();
            let mut who = match &api.auth {
                Auth::Tokens(verifier) => {
                    let token = bearer(request.headers())?;
                    access::authenticate(&api.ctx, Some(verifier), token, intent, team).await?
                }
                Auth::Loopback(developer) if is_own_caller(&request) => {
                    match bearer(request.headers()) {
                        // Whoever tries a key out means it.
                        Ok(key) if key.starts_with(KEY_PREFIX) => {
                            access::authenticate(&api.ctx, None, key, intent, team).await?
                        }
                        Ok(_) | Err(_) => access::in_team(developer.clone(), team)?,
                    }
                }
                Auth::Loopback(_) => return Err(Error::from(AuthError::Missing).into()),
            };
            rate::count(&api.ctx, &who, &request).await?;
            who.via.address = client_address(&request);
            who.via.request_id = envelope::id_of(&request);
            let (ctx, require_key) = (api.ctx.clone(), api.require_key);
            Ok(Self { ctx, who, request, require_key })
        })
    }
}

impl Caller {
    /// The idempotency key of this request, if it came with one.
    pub fn key(&self, body: &[u8]) -> Result<Option<Key>, Problem> {
        let Some(value) = self.request.headers().get("idempotency-key") else {
            return if self.require_key { Err(Error::KeyMissing.into()) } else { Ok(None) };
        };
        let text = value.to_str().ok().and_then(unquote).ok_or_else(|| {
            let detail =
                "Idempotency-Key must be 1 to 255 visible ASCII characters, quoted or bare";
            Problem::new("malformed-request", detail)
        })?;
        let pattern = self.request.match_pattern().unwrap_or_default();
        let route = format!("{} {pattern}", self.request.method());
        let request = Request { route: &route, path: self.request.path(), body };
        Ok(Some(once::key(&self.ctx, &self.who, request, &text)))
    }

    /// The `ETag` that a change is conditional on: none for `*`.
    pub fn condition(&self) -> Result<Option<String>, Problem> {
        let given = self.request.headers().get(IF_MATCH).and_then(|value| value.to_str().ok());
        match given.map(str::trim) {
            None => Err(Error::ConditionMissing.into()),
            Some("*") => Ok(None),
            Some(etag) => Ok(Some(etag.to_owned())),
        }
    }

    /// The same where a condition may be absent; `*` is given as it is.
    pub fn condition_if_any(&self) -> Result<Option<String>, Problem> {
        let given = self.request.headers().get(IF_MATCH).map(|value| value.to_str());
        let odd = Problem::new("malformed-request", "If-Match must be visible ASCII characters");
        let given = given.transpose().or(Err(odd))?;
        Ok(given.map(|etag| etag.trim().to_owned()))
    }

    /// The query's parameters, decoded, in their order.
    pub fn query(&self) -> Vec<(String, String)> {
        url::form_urlencoded::parse(self.request.query_string().as_bytes()).into_owned().collect()
    }
}

/// Somebody whom nothing is known of yet, but where they are: whoever signs in.
pub struct Stranger {
    /// The engine.
    pub ctx: Ctx,
    /// By which way they come.
    pub via: Via,
}

impl FromRequest for Stranger {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut dev::Payload) -> Self::Future {
        let via = Via {
            address: client_address(request),
            request_id: envelope::id_of(request),
            ..Via::default()
        };
        ready(api(request).map(|api| Self { ctx: api.ctx.clone(), via }))
    }
}

/// A JSON body, in full and as it came.
pub struct Body(Bytes);

impl FromRequest for Body {
    type Error = Problem;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Problem>>>>;

    fn from_request(request: &HttpRequest, payload: &mut dev::Payload) -> Self::Future {
        let request = request.clone();
        let payload = payload.take();
        Box::pin(async move {
            check_media_type(request.headers())?;
            check_encoding(request.headers())?;
            let limit = body_limit(&request)?;
            check_length(request.headers(), limit)?;
            let within = api(&request)?.edge.bounds.body;
            let Ok(body) = timeout(within, read(payload, limit)).await else {
                let detail = format!("The body took longer than {} s.", within.as_secs_f32());
                return Err(Problem::new("malformed-request", detail));
            };
            Ok(Self(body?))
        })
    }
}

impl Body {
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The one JSON value that it holds.
    pub fn json(&self) -> Result<&RawValue, Problem> {
        serde_json::from_slice(&self.0).map_err(|error| {
            Problem::new("invalid-json", format!("The body is not JSON: {error}."))
        })
    }

    /// The same, or an empty object for an empty body.
    pub fn json_or_empty(&self) -> Result<&RawValue, Problem> {
        const EMPTY: &str = "{}";
        if self.0.is_empty() {
            let empty = serde_json::from_str(EMPTY);
            return empty.or(Err(Problem::new("internal", "An empty object is JSON.")));
        }
        self.json()
    }
}

/// The engine, for who needs no token of ours: targets, which have their run's.
pub struct Engine(pub Ctx);

impl FromRequest for Engine {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut dev::Payload) -> Self::Future {
        ready(api(request).map(|api| Self(api.ctx.clone())))
    }
}

pub(super) fn api(request: &HttpRequest) -> Result<&Api, Problem> {
    let missing = || Problem::new("internal", "The API is not set up.");
    request.app_data::<web::Data<Api>>().map(|data| data.as_ref()).ok_or_else(missing)
}

/// How the listener meets those who connect; none where there is no API.
pub(super) fn edge(request: &HttpRequest) -> Option<&Edge> {
    request.app_data::<web::Data<Api>>().map(|api| api.edge.as_ref())
}

/// The address of who asks: of the connection or, behind a trusted proxy, what that says.
pub fn client_address(request: &HttpRequest) -> Option<IpAddr> {
    let peer = request.peer_addr()?.ip();
    let values = |name| -> Vec<&str> {
        // What is no text is no address either, and hides what stands to its left.
        request.headers().get_all(name).map(|value| value.to_str().unwrap_or_default()).collect()
    };
    let proxies = &edge(request)?.proxies;
    Some(proxies.client(peer, &values(FORWARDED), &values(X_FORWARDED_FOR)))
}

fn bearer(headers: &HeaderMap) -> Result<&str, Error> {
    let value = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let (scheme, token) = value.and_then(|v| v.split_once(' ')).ok_or(AuthError::Missing)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(AuthError::Missing.into());
    }
    Ok(token.trim())
}

/// The team in which the caller says that the request is made.
fn wanted_team(headers: &HeaderMap) -> Result<Option<Team>, Problem> {
    let mut given = headers.get_all("axle-team");
    let Some(value) = given.next() else { return Ok(None) };
    let team = value.to_str().ok().and_then(|text| Team::parse(text.trim()).ok());
    if team.is_none() || given.next().is_some() {
        let detail = "Axle-Team must be the slug of one team, given once.";
        return Err(Problem::new("malformed-request", detail));
    }
    Ok(team)
}

/// A program on this machine, or a page that this server has served: not a page of another site,
/// whether it says so in `Origin` or came by a name that it made point here.
fn is_own_caller(request: &HttpRequest) -> bool {
    let here = |peer: SocketAddr| peer.ip().to_canonical().is_loopback();
    let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
    let host = header("host").unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let own_name = matches!(name, "127.0.0.1" | "localhost" | "[::1]" | "::1");
    let own_page = header("origin").is_none_or(|origin| origin == format!("http://{host}"));
    request.peer_addr().is_some_and(here) && own_name && own_page
}

/// A structured-field string (the draft's form) or the bare token that many clients send.
fn unquote(text: &str) -> Option<String> {
    let text = text.trim();
    let inner = match text.strip_prefix('"') {
        Some(rest) => rest.strip_suffix('"')?.replace("\\\"", "\"").replace("\\\\", "\\"),
        None => text.to_owned(),
    };
    let fits = (1..=255).contains(&inner.len()) && inner.bytes().all(|b| b.is_ascii_graphic());
    fits.then_some(inner)
}

/// A body without a type is taken for JSON; one that says it is something else is not.
fn check_media_type(headers: &HeaderMap) -> Result<(), Problem> {
    let Some(value) = headers.get(CONTENT_TYPE) else { return Ok(()) };
    let text = value.to_str().unwrap_or_default();
    let essence = text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if essence == "application/json"
        || (essence.starts_with("application/") && essence.ends_with("+json"))
    {
        return Ok(());
    }
    let detail = format!("The body is said to be {essence:?}; this takes application/json.");
    Err(Problem::new("unsupported-media-type", detail))
}

/// A compressed body could swell to anything (bug B141).
fn check_encoding(headers: &HeaderMap) -> Result<(), Problem> {
    let Some(value) = headers.get(CONTENT_ENCODING) else { return Ok(()) };
    if value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"identity") {
        return Ok(());
    }
    let detail = "The body has a Content-Encoding; this takes bodies as they are.";
    Err(Problem::new("unsupported-media-type", detail))
}

/// The JSON around a payload, base 64 included, or a batch of small ones.
fn body_limit(request: &HttpRequest) -> Result<usize, Problem> {
    const AROUND: usize = 64 * 1024;
    const BATCH: usize = 16 * 1024 * 1024;
    // An iCalendar file inside a JSON string.
    const CALENDAR: usize = 2 * ical::SIZE_LIMIT + AROUND;
    let payload = api(request)?.ctx.limits.max_payload;
    let one = payload.saturating_mul(2).saturating_add(AROUND);
    let path = request.path();
    let batch = if path.ends_with("/batch") { BATCH } else { 0 };
    let calendar = if path.starts_with("/v1/calendars/") { CALENDAR } else { 0 };
    Ok(one.max(batch).max(calendar))
}

/// What says that it is too long need not be read to be refused.
fn check_length(headers: &HeaderMap, limit: usize) -> Result<(), Problem> {
    let said = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if said.is_some_and(|said: u64| u64::try_from(limit).is_ok_and(|limit| said > limit)) {
        return Err(too_large(limit));
    }
    Ok(())
}

fn too_large(limit: usize) -> Problem {
    Problem::new("payload-too-large", format!("The body has more than {limit} bytes."))
}

async fn read(mut payload: dev::Payload, limit: usize) -> Result<Bytes, Problem> {
    let mut body = BytesMut::new();
    while let Some(chunk) = payload.next().await {
        let chunk = chunk.map_err(|error| {
            Problem::new("malformed-request", format!("The body broke off: {error}."))
        })?;
        if body.len() + chunk.len() > limit {
            return Err(too_large(limit));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_quoted_or_bare() {
        assert_eq!(unquote("abc"), Some("abc".into()));
        assert_eq!(unquote(r#""abc""#), Some("abc".into()));
        assert_eq!(unquote(r#""a\"b""#), Some("a\"b".into()));
        let long = "k".repeat(256);
        for bad in ["", "\"\"", "\"open", "a b", "ä", long.as_str()] {
            assert_eq!(unquote(bad), None, "{bad}");
        }
    }
}
