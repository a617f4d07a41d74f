//! Which pages of other sites may call the API from a browser: those of the origins that the
//! operator named, byte for byte. There are no credentials in it (a page brings its own token), and
//! without a named origin there is nothing of it at all.

use actix_web::http::Method;
use actix_web::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD,
    HeaderMap, HeaderValue, ORIGIN, VARY,
};
use actix_web::{HttpRequest, HttpResponse};

const METHODS: &str = "GET, POST, PUT, PATCH, DELETE";
/// What a call may bring (conventions 2.1 to 2.3).
const TAKEN: &str = "Accept, Authorization, Axle-Team, Content-Type, Idempotency-Key, If-Match, \
                     If-None-Match, Prefer, X-Request-Id, traceparent, tracestate";
/// What a page may read of an answer beyond the few headers that it always may.
const SHOWN: &str = "Axle-Deduplicated, Deprecation, ETag, Idempotent-Replayed, Link, Location, \
                     Preference-Applied, RateLimit, RateLimit-Policy, Retry-After, Sunset, \
                     WWW-Authenticate, X-Request-Id";
/// How long a browser remembers a preflight: ten minutes, the most that all of them grant.
const REMEMBERED_S: &str = "600";

/// The answer to a preflight, before anybody is asked for a token: a browser sends none with it.
/// Whether the page may go on, the headers say.
pub(super) fn preflight(request: &HttpRequest, origins: &[String]) -> Option<HttpResponse> {
    let headers = request.headers();
    let asks = headers.contains_key(ORIGIN) && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
    if origins.is_empty() || request.method() != Method::OPTIONS || !asks {
        return None;
    }
    let mut answer = HttpResponse::NoContent();
    if allowed(headers, origins).is_some() {
        answer
            .insert_header((ACCESS_CONTROL_ALLOW_METHODS, METHODS))
            .insert_header((ACCESS_CONTROL_ALLOW_HEADERS, TAKEN))
            .insert_header((ACCESS_CONTROL_MAX_AGE, REMEMBERED_S));
    }
    Some(answer.finish())
}

/// Lets the page read the answer, if its origin is one of these. Where there are any, caches learn
/// that the answer depends on who asks.
pub(super) fn share(asked: &HeaderMap, answer: &mut HeaderMap, origins: &[String]) {
    if origins.is_empty() {
        return;
    }
    answer.append(VARY, HeaderValue::from_static("Origin"));
    if let Some(origin) = allowed(asked, origins) {
        answer.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        answer.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(SHOWN));
    }
}

fn allowed<'a>(asked: &'a HeaderMap, origins: &[String]) -> Option<&'a HeaderValue> {
    let mut given = asked.get_all(ORIGIN);
    let origin = given.next()?;
    let is_known = origins.iter().any(|known| known.as_bytes() == origin.as_bytes());
    (is_known && given.next().is_none()).then_some(origin)
}
