//! Calling a target. Whatever happens is news of the run, never an error of ours: a refused
//! connection and a 500 are facts about the target. What the guard refuses is not called.
//!
//! One timeout covers connect to last byte; of the answer a bounded part is kept and the rest is
//! not read; redirects are not followed; nothing is decompressed. So a target that hangs, drips or
//! never ends costs one permit for one timeout, and no memory.

use std::collections::BTreeMap;
use std::error::Error as StdError;
use std::io;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use chrono::{DateTime, SecondsFormat, Utc};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method};
use url::Url;

use super::guard::{Guard, refusal_in};
use super::run_token;
use super::settle::{News, Report};
use super::{Ctx, clock, signers};
use crate::domain::egress::Refusal;
use crate::domain::headers::check_one;
use crate::domain::job::{Completion, SecretHeader};
use crate::domain::retry::retry_after;
use crate::domain::run::{Response, RunError};
use crate::domain::target_url;
use crate::domain::verdict::Outcome;
use crate::store::live::{Acceptance, Claimed};
use crate::store::runs;
use crate::telemetry::metrics as names;

/// How much of an answer's body is kept.
pub const BODY_LIMIT: usize = 64 * 1024;
/// How many of its headers, and how long each.
const HEADER_COUNT: usize = 64;
const HEADER_LIMIT: usize = 1_024;
/// A target that cannot be connected to within this time counts as not reached.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// In callback mode the answer only says "accepted": it may not hold a permit for longer, however
/// long the run may take.
const ACCEPT_TIMEOUT: Duration = Duration::from_secs(30);
/// How long the body of an answer that only says "accepted" is waited for.
const BODY_PATIENCE: Duration = Duration::from_secs(1);
/// Idle connections kept per host, and for how long: less than common servers keep theirs, so that
/// few are found closed.
const IDLE_PER_HOST: usize = 128;
const IDLE_TIMEOUT: Duration = Duration::from_secs(20);

/// The HTTP clients that targets are called with.
#[derive(Clone, Debug)]
pub struct Invoker {
    guard: Guard,
    client: Client,
    /// For the ports that rules of the guard name.
    by_port: BTreeMap<u16, Client>,
}

impl Invoker {
    /// Clients of the guard, which follow no redirect and decompress nothing.
    pub fn new(public_url: &str, guard: &Guard) -> Result<Self, super::Error> {
        super::auth::install_crypto();
        let agent = format!("Axle/{} (+{public_url})", env!("CARGO_PKG_VERSION"));
        let client = |port| {
            let client = guard
                .client(port)?
                .user_agent(&agent)
                .connect_timeout(CONNECT_TIMEOUT)
                .pool_max_idle_per_host(IDLE_PER_HOST)
                .pool_idle_timeout(IDLE_TIMEOUT)
                .tcp_nodelay(true)
                .http2_keep_alive_interval(Duration::from_secs(20))
                .http2_keep_alive_timeout(Duration::from_secs(10));
            client.build()
        };
        let all = || -> Result<_, reqwest::Error> {
            let by_port = guard.ports().into_iter().map(|port| Ok((port, client(Some(port))?)));
            Ok((client(None)?, by_port.collect::<Result<_, _>>()?))
        };
        let (client, by_port) =
            all().map_err(|error| super::Error::Broken(format!("no HTTP client: {error}")))?;
        Ok(Self { guard: guard.clone(), client, by_port })
    }

    /// The client for a URL that may be called.
    fn client_of(&self, url: &Url) -> Result<&Client, Refusal> {
        self.guard.admit(url)?;
        let own = url.port_or_known_default().and_then(|port| self.by_port.get(&port));
        Ok(own.unwrap_or(&self.client))
    }
}

/// Calls the target of a claimed job and tells how it went.
pub async fn invoke(ctx: &Ctx, invoker: &Invoker, job: Claimed) -> News {
    let spec = &job.spec;
    let limit = Duration::from_millis(spec.timeout_ms);
    let limit = match spec.completion {
        Completion::Response => limit,
        Completion::Callback => limit.min(ACCEPT_TIMEOUT),
    };
    let (client, request) = match request(ctx, invoker, &job).await {
        Ok(request) => request,
        Err((outcome, error)) => return ended(&job, Report::bare(outcome, Some(error))),
    };
    let sent_at = ctx.clock.now();
    let call = tokio::time::timeout(limit, call(client, request, spec.completion)).await;
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
        Ok(Err(error)) => broken(&error),
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

/// What is sent and by which client, all ready before the clock of the call starts. It was checked
/// when the job was registered; what does not pass now, or cannot be sent, never will.
async fn request<'a>(
    ctx: &Ctx,
    invoker: &'a Invoker,
    job: &Claimed,
) -> Result<(&'a Client, reqwest::Request), (Outcome, RunError)> {
    let never = Outcome::Failed { retryable: false, retry_after: None };
    let unfit = |text: String| (never, RunError::new("request", text));
    let wrong = |error: &dyn StdError| unfit(chain(error));
    let spec = &job.spec;
    let url = target_url::parse(&spec.target.url).map_err(|flaw| unfit(flaw.detail))?;
    let client = invoker.client_of(&url).map_err(|refusal| forbidden(&refusal))?;
    let method = Method::from_bytes(spec.target.method.as_bytes()).map_err(|e| wrong(&e))?;
    let mut headers = HeaderMap::with_capacity(spec.target.headers.len() + 12);
    for (name, value) in &spec.target.headers {
        check_one(name, value).map_err(|(_, detail)| unfit(detail))?;
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|e| wrong(&e))?;
        headers.append(name, HeaderValue::from_str(value).map_err(|e| wrong(&e))?);
    }
    // What is missing here (a key, the database) may be there at the next call.
    let later = |error: RunError| (Outcome::Unreached, error);
    for (name, value) in secret_headers(ctx, job).map_err(later)? {
        headers.append(name, value);
    }
    let now = ctx.clock.now();
    // Never unsigned because the secrets could not be read: the target would take it for a forgery.
    let signed = signers::headers(ctx, job, now).await;
    let signed = signed.map_err(|error| later(RunError::new("signing", error.to_string())))?;
    for (name, value) in ours(ctx, job, now).await.into_iter().chain(signed) {
        headers.insert(name, HeaderValue::from_str(&value).map_err(|e| wrong(&e))?);
    }
    let request = client.request(method, url).headers(headers).body(job.payload.clone()).build();
    Ok((client, request.map_err(|e| wrong(&e))?))
}

fn forbidden(refusal: &Refusal) -> (Outcome, RunError) {
    (Outcome::Forbidden, RunError::new("target_forbidden", refusal.to_string()))
}

/// The headers whose values are secret, opened here and nowhere else.
fn secret_headers(ctx: &Ctx, job: &Claimed) -> Result<Vec<(HeaderName, HeaderValue)>, RunError> {
    let target = &job.spec.target;
    let origin = target.origin().unwrap_or_default();
    let open = |header: &SecretHeader| {
        let SecretHeader::Sealed { name, sealed, .. } = header else {
            return Err("it is not sealed".to_owned());
        };
        let vault = ctx.limits.vault.as_ref().ok_or("AXLE_SECRET_KEY is not set")?;
        let opened = vault.header(&job.team, &origin, (name, sealed));
        let value = opened.map_err(|why| why.to_string())?;
        let unfit = "it is no header";
        let mut value = HeaderValue::from_str(value.expose()).or(Err(unfit))?;
        value.set_sensitive(true);
        Ok((HeaderName::from_bytes(name.as_bytes()).or(Err(unfit))?, value))
    };
    let named = |header: &SecretHeader| {
        let told = |why| format!("the secret header {} cannot be sent: {why}", header.name());
        open(header).map_err(|why| RunError::new("secret", told(why)))
    };
    target.secret_headers.iter().map(named).collect()
}

/// The headers of conventions 2.6 that every call has.
async fn ours(ctx: &Ctx, job: &Claimed, now: DateTime<Utc>) -> Vec<(HeaderName, String)> {
    let instant = |at: DateTime<Utc>| at.to_rfc3339_opts(SecondsFormat::Micros, true);
    let name = HeaderName::from_static;
    let bodiless = matches!(job.spec.target.method.as_str(), "GET" | "HEAD");
    let framing = match job.payload.is_empty() {
        true if bodiless => None,
        // Said, because servers that read by it are common; the client leaves it out.
        true => Some((name("content-length"), "0".to_owned())),
        false => Some((name("content-type"), job.spec.content_type.clone())),
    };
    let mut headers = vec![
        (name("webhook-id"), job.run.job.to_string()),
        (name("webhook-timestamp"), now.timestamp().to_string()),
        (name("axle-job-id"), job.run.job.to_string()),
        (name("axle-run-id"), job.run.to_string()),
        (name("axle-attempt"), job.spent.attempt.to_string()),
        (name("axle-max-attempts"), job.spec.retry.max_attempts().to_string()),
        (name("axle-fence"), job.run.fence.to_string()),
        (name("axle-due-at"), instant(job.first_due_at)),
        (
            name("axle-deadline"),
            instant(clock::after(now, Duration::from_millis(job.spec.timeout_ms))),
        ),
        (name("axle-callback-url"), run_token::callback_url(ctx, job.run)),
    ];
    headers.extend(framing);
    if let Some((schedule, fire_at)) = job.fire {
        headers.push((name("axle-schedule-id"), schedule.to_string()));
        headers.push((name("axle-fire-at"), instant(fire_at)));
    }
    if job.run.fence > 1 {
        match runs::previous(&ctx.store, job.run.job).await {
            Ok(Some((status, error))) => {
                headers.extend(status.map(|s| (name("axle-previous-status"), s.to_string())));
                headers.extend(error.map(|e| (name("axle-previous-error"), ascii(&e.message))));
            }
            Ok(None) => {}
            // They are a courtesy; the call is not.
            Err(error) => tracing::debug!(%error, run = %job.run, "no previous outcome"),
        }
    }
    headers
}

/// What a target answered.
enum Answer {
    /// It has taken the run and will call back.
    Accepted(u16),
    /// Everything that it had to say.
    Whole(u16, HeaderMap, Response),
}

async fn call(
    client: &Client,
    request: reqwest::Request,
    completion: Completion,
) -> Result<Answer, reqwest::Error> {
    let mut response = client.execute(request).await?;
    let status = response.status().as_u16();
    let headers = response.headers().clone();
    // A target that runs longer than an answer may take says so by itself.
    let asks = status == 202 && is(&headers, "axle-completion", "callback");
    if (200..300).contains(&status) && (completion == Completion::Callback || asks) {
        // It is accepted whatever becomes of the body; reading a short one keeps the connection.
        _ = tokio::time::timeout(BODY_PATIENCE, read(&mut response)).await;
        return Ok(Answer::Accepted(status));
    }
    let (body, truncated) = read(&mut response).await?;
    let kept = Response { headers: kept_headers(&headers), body, truncated };
    Ok(Answer::Whole(status, headers, kept))
}

/// The first part of a body, and whether there was more; then the rest is not read.
async fn read(response: &mut reqwest::Response) -> Result<(Bytes, bool), reqwest::Error> {
    let mut body = BytesMut::new();
    while let Some(chunk) = response.chunk().await? {
        let room = BODY_LIMIT - body.len();
        body.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
        if chunk.len() > room {
            return Ok((body.freeze(), true));
        }
    }
    Ok((body.freeze(), false))
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
fn broken(error: &reqwest::Error) -> Report {
    if let Some(refusal) = refusal_in(error) {
        let (outcome, error) = forbidden(refusal);
        return Report::bare(outcome, Some(error));
    }
    let text = chain(error);
    let reached = !error.is_connect();
    let class = if reached {
        match io_kind(error) {
            Some(io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe) => "reset",
            Some(_) | None => "protocol",
        }
    } else if error.is_dns() {
        "dns"
    } else if error.is_timeout() {
        "connect_timeout"
    } else if is_tls(error) {
        "tls"
    } else {
        "connect"
    };
    let outcome = if reached {
        Outcome::Failed { retryable: true, retry_after: None }
    } else {
        Outcome::Unreached
    };
    Report::bare(outcome, Some(RunError::new(class, text)))
}

/// Whether the connection was there and TLS on it was not. An I/O error hides what it wraps from
/// `source`, and the error of TLS comes wrapped in one or two of them.
fn is_tls(error: &dyn StdError) -> bool {
    let mut cause = error.source();
    while let Some(this) = cause {
        if this.is::<rustls::Error>() {
            return true;
        }
        let wrapped = this.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        cause = match wrapped {
            Some(wrapped) => Some(wrapped),
            None => this.source(),
        };
    }
    false
}

fn io_kind(error: &dyn StdError) -> Option<io::ErrorKind> {
    let mut cause = error.source();
    while let Some(this) = cause {
        if let Some(io) = this.downcast_ref::<io::Error>() {
            return Some(io.kind());
        }
        cause = this.source();
    }
    None
}

/// An error and its causes. URLs are left out: they may hold a secret.
fn chain(error: &dyn StdError) -> String {
    let mut causes = Vec::new();
    let mut cause = error.source();
    while let Some(this) = cause {
        causes.push(this.to_string());
        cause = this.source();
    }
    // The outermost text of the client repeats the URL; its causes say what happened.
    if causes.is_empty() { error.to_string() } else { causes.join(": ") }
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

/// Text as a header can carry it.
fn ascii(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_graphic() { c } else { ' ' };
    text.chars().take(300).map(plain).collect::<String>().trim().to_owned()
}
