//! What every request and answer has around it: a request id, the headers of conventions 2.1, a
//! metric by route template, a log line, and one shape for every error, the framework's included.

use std::sync::Arc;
use std::time::Duration;

use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use actix_web::middleware::Next;
use actix_web::{HttpMessage as _, HttpRequest, HttpResponse};
use tokio::time::Instant;

use super::extract::{client_address, edge};
use super::problem::Problem;
use super::{cors, headers, rate, server, watch};
use crate::engine::random;
use crate::telemetry::metrics as names;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The id of a request, where its handler finds it.
struct RequestId(Arc<str>);

/// The id under which a request stands in its answer and in the log.
pub(super) fn id_of(request: &HttpRequest) -> Option<Arc<str>> {
    request.extensions().get::<RequestId>().map(|RequestId(id)| Arc::clone(id))
}

/// The middleware.
pub async fn envelope(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let started = Instant::now();
    let watch = watch::of(request.request());
    if let Some(watch) = &watch {
        watch.busy();
    }
    let id = request_id(request.request());
    request.extensions_mut().insert(RequestId(id.as_str().into()));
    let path = request.path().to_owned();
    let answer = match unasked(request.request()) {
        Some(answer) => request.into_response(answer),
        None => next.call(request).await?.map_into_boxed_body(),
    };
    let error = match answer.response().error() {
        Some(error) => Some(shaped(error, &path, &id)),
        None => bare(&answer).map(|problem| problem.respond(&path, &id)),
    };
    let mut answer = match error {
        Some(shaped) => answer.into_response(shaped),
        None => answer,
    };
    dress(&mut answer, &id);
    report(&answer, started.elapsed(), &id);
    // An answer that is still being made, such as a stream of events, keeps its connection.
    let is_whole = answer.response().body().size() != BodySize::Stream;
    if let Some(watch) = watch.filter(|_| is_whole) {
        watch.idle();
    }
    Ok(answer)
}

/// What needs no handler: a preflight, and what is too large to be looked at.
fn unasked(request: &HttpRequest) -> Option<HttpResponse> {
    let refused = server::check_head(request).err().map(HttpResponse::from_error);
    refused.or_else(|| cors::preflight(request, &edge(request)?.origins))
}

/// The caller's id if it is 1 to 128 visible ASCII characters, else a new one.
fn request_id(request: &HttpRequest) -> String {
    let given = request.headers().get(REQUEST_ID).and_then(|value| value.to_str().ok());
    given
        .filter(|id| (1..=128).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic()))
        .map_or_else(|| format!("req_{:016x}", random::bits()), str::to_owned)
}

fn shaped(error: &actix_web::Error, path: &str, id: &str) -> HttpResponse {
    if let Some(problem) = error.as_error::<Problem>() {
        return problem.respond(path, id);
    }
    let status = error.as_response_error().status_code();
    Problem::of_status(status, error.to_string()).respond(path, id)
}

/// The problem of a refusal that a service made by itself, without an error: a file that is not
/// among the assets of the reference.
fn bare(answer: &ServiceResponse<BoxBody>) -> Option<Problem> {
    let status = answer.status();
    let refused = status.is_client_error() || status.is_server_error();
    let has_body = answer.headers().contains_key(CONTENT_TYPE);
    (refused && !has_body).then(|| {
        let reason = status.canonical_reason().unwrap_or("Refused");
        Problem::of_status(status, format!("{reason}: {}.", answer.request().path()))
    })
}

fn dress(answer: &mut ServiceResponse<BoxBody>, id: &str) {
    let (request, answer) = (answer.request().clone(), answer.headers_mut());
    if let Ok(id) = HeaderValue::from_str(id) {
        answer.insert(REQUEST_ID, id);
    }
    if !answer.contains_key(CACHE_CONTROL) {
        answer.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    rate::tell(&request, answer);
    headers::secure(answer);
    if let Some(edge) = edge(&request) {
        cors::share(request.headers(), answer, &edge.origins);
    }
}

fn report(answer: &ServiceResponse<BoxBody>, took: Duration, id: &str) {
    let status = answer.status().as_u16();
    let request = answer.request();
    let route = request.match_pattern().unwrap_or_else(|| "unmatched".into());
    let method = request.method().as_str().to_owned();
    let class = format!("{}xx", status / 100);
    metrics::histogram!(names::HTTP_REQUEST_DURATION,
        "method" => method, "route" => route, "status_class" => class)
    .record(took.as_secs_f64());
    // The query is left out: a callback's holds its token.
    let (method, path) = (request.method(), request.path());
    let client = || client_address(request).map(tracing::field::display);
    if status >= 500 {
        tracing::warn!(request_id = id, %method, path, status, client = client(), ?took, "request");
    } else {
        tracing::debug!(request_id = id, %method, path, status, client = client(), ?took, "request");
    }
}
