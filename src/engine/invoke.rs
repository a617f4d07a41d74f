//! Calling a target. Whatever happens is news of the run, never an error of ours: a refused
//! connection and a 500 are facts about the target. What the guard refuses is not called.
//!
//! One timeout covers connect to last byte; of the answer a bounded part is kept and the rest is
//! not read; redirects are not followed; nothing is decompressed. So a target that hangs, drips or
//! never ends costs one permit for one timeout, and no memory.

use std::error::Error as StdError;
use std::io;
use std::iter;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use chrono::{DateTime, Utc};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::{HeaderMap, HeaderValue};
use hyper::http::uri::Scheme;
use hyper::{Request, Uri};
use hyper_util::client::legacy;

use super::dial::{self, Dialer, Failure};
use super::guard::Guard;
use super::outgoing::request;
use super::settle::{News, Report};
use super::{Ctx, clock};
use crate::domain::egress::Refusal;
use crate::domain::job::Completion;
use crate::domain::retry::retry_after;
use crate::domain::run::{Response, RunError};
use crate::domain::verdict::Outcome;
use crate::store::live::{Acceptance, Claimed};
use crate::telemetry::metrics as names;

/// How much of an answer's body is kept.
pub const BODY_LIMIT: usize = 64 * 1024;
/// How many of its headers, and how long each.
const HEADER_COUNT: usize = 64;
const HEADER_LIMIT: usize = 1_024;
/// In callback mode the answer only says "accepted": it may not hold a permit for longer, however
/// long the run may take.
const ACCEPT_TIMEOUT: Duration = Duration::from_secs(30);
/// How long the body of an answer that only says "accepted" is waited for.
const BODY_PATIENCE: Duration = Duration::from_secs(1);
/// How often a request is sent again that an HTTP/2 target says it has not looked at.
const REPEATS: usize = 2;

/// What targets are called with. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Invoker {
    pub(super) guard: Guard,
    /// Who calls: `User-Agent`.
    pub(super) agent: HeaderValue,
    dialer: Dialer,
    client: dial::Client,
}

impl Invoker {
    /// Calls what the guard lets through.
    pub fn new(public_url: &str, guard: &Guard) -> Result<Self, super::Error> {
        let agent = format!("Axle/{} (+{public_url})", env!("CARGO_PKG_VERSION"));
        let agent = HeaderValue::try_from(agent)
            .map_err(|error| super::Error::Broken(format!("no HTTP client: {error}")))?;
        let dialer = Dialer::new(guard, &agent)?;
        let client = dial::client(dialer.clone());
        Ok(Self { guard: guard.clone(), agent, dialer, client })
    }

    /// What a request to this URL tells the operator's proxy, if that reads it and wants to know.
    pub(super) fn proxy_authorization(&self, to: &Uri) -> Option<&HeaderValue> {
        self.dialer.proxy_authorization(to)
    }
}

/// Calls the target of a claimed job and tells how it went.
pub async fn invoke(ctx: &Ctx, invoker: &Invoker, mut job: Claimed) -> News {
    let completion = job.spec.completion;
    let limit = Duration::from_millis(job.spec.timeout_ms);
    let limit = match completion {
        Completion::Response => limit,
        Completion::Callback => limit.min(ACCEPT_TIMEOUT),
    };
    let request = match request(ctx, invoker, &mut job).await {
        Ok(request) => request,
        Err((outcome, error)) => return ended(&job, Report::bare(outcome, Some(error))),
    };
    let sent_at = ctx.clock.now();
    let call = tokio::time::timeout(limit, call(&invoker.client, request, completion)).await;
    let now = ctx.clock.now();
    metrics::histogram!(names::DISPATCH_DURATION, "target_kind" => "http")
        .record(clock::until(sent_at, now).as_secs_f64());
    let mut report = match call {
        Ok(Ok(Answer::Accepted(status))) => {
            return News::Accepted(acceptance(&job, status, (sent_at, now)));
        }
        Ok(Ok(Answer::Whole(status, headers, response))) => {
            answered(status, &headers, response, now)
        }
        Ok(Err(error)) => broken(&*error),
        Err(_elapsed) => {
            let message = format!("no complete answer within {} ms", limit.as_millis());
            Report::bare(Outcome::TimedOut, Some(RunError::new("timeout", message)))
        }
    };
    // What could not reach the target was never sent.
    let unsent = matches!(report.outcome, Outcome::Unreached | Outcome::Forbidden);
    report.sent_at = (!unsent).then_some(sent_at);
    ended(&job, report)
}

fn ended(job: &Claimed, report: Report) -> News {
    News::Ended { run: job.run, policy: job.spec.retry.clone(), report: Box::new(report) }
}

/// What the guard refuses.
pub(super) fn forbidden(refusal: &Refusal) -> (Outcome, RunError) {
    (Outcome::Forbidden, RunError::new("target_forbidden", refusal.to_string()))
}

/// What a target answered.
enum Answer {
    /// It has taken the run and will call back.
    Accepted(u16),
    /// Everything that it had to say.
    Whole(u16, HeaderMap, Response),
}

type BoxError = Box<dyn StdError + Send + Sync>;

async fn call(
    client: &dial::Client,
    request: Request<Full<Bytes>>,
    completion: Completion,
) -> Result<Answer, BoxError> {
    let (head, mut body) = send(client, request).await?.into_parts();
    let status = head.status.as_u16();
    // A target that runs longer than an answer may take says so by itself.
    let asks = status == 202 && is(&head.headers, "axle-completion", "callback");
    if (200..300).contains(&status) && (completion == Completion::Callback || asks) {
        // It is accepted whatever becomes of the body; reading a short one keeps the connection.
        _ = tokio::time::timeout(BODY_PATIENCE, read(&mut body)).await;
        return Ok(Answer::Accepted(status));
    }
    let (body, truncated) = read(&mut body).await?;
    let kept = Response { headers: kept_headers(&head.headers), body, truncated };
    Ok(Answer::Whole(status, head.headers, kept))
}

/// Sends a request, once: again only if the target has said that it has not looked at it, which
/// HTTP/2 alone can (RFC 9113 section 8.7), and which a server that closes says to whoever was late.
async fn send(
    client: &dial::Client,
    request: Request<Full<Bytes>>,
) -> Result<hyper::Response<Incoming>, legacy::Error> {
    if request.uri().scheme() == Some(&Scheme::HTTPS) {
        for _ in 0..REPEATS {
            match client.request(request.clone()).await {
                Err(error) if is_unseen(&error) => {}
                answer => return answer,
            }
        }
    }
    client.request(request).await
}

fn is_unseen(error: &legacy::Error) -> bool {
    let told = causes(error).find_map(|cause| cause.downcast_ref::<h2::Error>());
    told.filter(|error| error.is_remote()).is_some_and(|error| {
        let reason = error.reason();
        (error.is_go_away() && reason == Some(h2::Reason::NO_ERROR))
            || (error.is_reset() && reason == Some(h2::Reason::REFUSED_STREAM))
    })
}

/// The first part of a body, and whether there was more; then the rest is not read.
async fn read(body: &mut Incoming) -> Result<(Bytes, bool), hyper::Error> {
    let mut kept = BytesMut::new();
    while let Some(frame) = body.frame().await {
        // What is not data are trailers.
        let Ok(data) = frame?.into_data() else { continue };
        let room = BODY_LIMIT - kept.len();
        kept.extend_from_slice(data.get(..room).unwrap_or(&data));
        if data.len() > room {
            return Ok((kept.freeze(), true));
        }
    }
    Ok((kept.freeze(), false))
}

fn acceptance(
    job: &Claimed,
    status: u16,
    (sent_at, now): (DateTime<Utc>, DateTime<Utc>),
) -> Acceptance {
    let deadline_at = clock::after(now, Duration::from_millis(job.spec.timeout_ms));
    Acceptance {
        run: job.run,
        sent_at,
        http_status: i32::from(status),
        deadline_at,
        lease_until: lease_until(now, deadline_at, job.spec.heartbeat_timeout_ms),
    }
}

/// Until when an accepted run may stay silent.
pub(super) fn lease_until(
    now: DateTime<Utc>,
    deadline_at: DateTime<Utc>,
    heartbeat_timeout_ms: Option<u64>,
) -> DateTime<Utc> {
    heartbeat_timeout_ms.map_or(deadline_at, |silence| {
        clock::after(now, Duration::from_millis(silence)).min(deadline_at)
    })
}

fn answered(status: u16, headers: &HeaderMap, response: Response, now: DateTime<Utc>) -> Report {
    let (outcome, error) = if (200..300).contains(&status) {
        (Outcome::Succeeded, None)
    } else {
        let refused = is(headers, "axle-no-retry", "true")
            || is(headers, "webhook-delivery", "abort-message")
            || status == 410;
        let asked = headers.get("retry-after").and_then(|value| value.to_str().ok());
        let outcome = Outcome::Failed {
            retryable: !refused,
            retry_after: asked.and_then(|value| retry_after(value, now)),
        };
        let message = format!("the target answered {status}");
        (outcome, Some(RunError::new("http_status", message)))
    };
    let http_status = Some(i32::from(status));
    Report { outcome, sent_at: None, http_status, error, response: Some(response), result: None }
}

/// A call that broke: before the target had the request it is charged to the dispatch budget.
fn broken(error: &(dyn StdError + 'static)) -> Report {
    let is_connect = |cause: &legacy::Error| cause.is_connect();
    let unsent = causes(error).any(|cause| cause.downcast_ref().is_some_and(is_connect));
    let (outcome, error) = match causes(error).find_map(|cause| cause.downcast_ref()) {
        Some(Failure::Forbidden(refusal)) => forbidden(refusal),
        Some(failure) => (Outcome::Unreached, RunError::new(class(failure), chain(failure))),
        None if unsent => (Outcome::Unreached, RunError::new("connect", chain(error))),
        None => {
            let class = match io_kind(error) {
                Some(io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe) => "reset",
                Some(_) | None => "protocol",
            };
            let outcome = Outcome::Failed { retryable: true, retry_after: None };
            (outcome, RunError::new(class, chain(error)))
        }
    };
    Report::bare(outcome, Some(error))
}

/// Why there was no connection, in a word.
fn class(failure: &Failure) -> &'static str {
    match failure {
        Failure::Forbidden(_) => "target_forbidden",
        Failure::Unknown(_) => "dns",
        Failure::Insecure(_) => "tls",
        Failure::Slow => "connect_timeout",
        Failure::Unconnected(_) if io_kind(failure) == Some(io::ErrorKind::TimedOut) => {
            "connect_timeout"
        }
        Failure::Unconnected(_) => "connect",
    }
}

fn io_kind(error: &(dyn StdError + 'static)) -> Option<io::ErrorKind> {
    causes(error).find_map(|cause| cause.downcast_ref()).map(io::Error::kind)
}

/// An error and its causes, in words. None of the errors that come here repeats the URL, which may
/// hold a secret.
pub(super) fn chain(error: &(dyn StdError + 'static)) -> String {
    causes(error).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

fn causes<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    iter::successors(Some(error), |cause| (*cause).source())
}

fn kept_headers(headers: &HeaderMap) -> std::collections::BTreeMap<String, String> {
    headers
        .iter()
        .take(HEADER_COUNT)
        .map(|(name, value)| {
            let mut text = String::from_utf8_lossy(value.as_bytes()).into_owned();
            text.truncate(text.floor_char_boundary(HEADER_LIMIT));
            (name.as_str().to_owned(), text)
        })
        .collect()
}

fn is(headers: &HeaderMap, name: &str, value: &str) -> bool {
    headers.get(name).is_some_and(|v| v.as_bytes().eq_ignore_ascii_case(value.as_bytes()))
}
