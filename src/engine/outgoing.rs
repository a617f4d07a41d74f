//! What is sent: a job's request, with what Axle says of the run and what its owner has kept secret.
//! It is all ready before the clock of the call starts, and nothing is sent here.

use std::error::Error as StdError;
use std::mem;
use std::time::Duration;

use bytes::Bytes;
use chrono::{DateTime, SecondsFormat, Utc};
use http_body_util::Full;
use hyper::header::{
    ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, InvalidHeaderValue,
    PROXY_AUTHORIZATION, USER_AGENT,
};
use hyper::{Method, Request, Uri};
use url::Url;

use super::invoke::{Invoker, chain, forbidden};
use super::{Ctx, clock, run_token, signers};
use crate::domain::headers::check_one;
use crate::domain::job::SecretHeader;
use crate::domain::run::RunError;
use crate::domain::signature::{ID, TIMESTAMP};
use crate::domain::target_url;
use crate::domain::verdict::Outcome;
use crate::store::live::Claimed;
use crate::store::runs;

static WEBHOOK_ID: HeaderName = HeaderName::from_static(ID);
static WEBHOOK_TIMESTAMP: HeaderName = HeaderName::from_static(TIMESTAMP);
static JOB_ID: HeaderName = HeaderName::from_static("axle-job-id");
static RUN_ID: HeaderName = HeaderName::from_static("axle-run-id");
static ATTEMPT: HeaderName = HeaderName::from_static("axle-attempt");
static MAX_ATTEMPTS: HeaderName = HeaderName::from_static("axle-max-attempts");
static FENCE: HeaderName = HeaderName::from_static("axle-fence");
static DUE_AT: HeaderName = HeaderName::from_static("axle-due-at");
static DEADLINE: HeaderName = HeaderName::from_static("axle-deadline");
static CALLBACK_URL: HeaderName = HeaderName::from_static("axle-callback-url");
static SCHEDULE_ID: HeaderName = HeaderName::from_static("axle-schedule-id");
static FIRE_AT: HeaderName = HeaderName::from_static("axle-fire-at");
static PREVIOUS_STATUS: HeaderName = HeaderName::from_static("axle-previous-status");
static PREVIOUS_ERROR: HeaderName = HeaderName::from_static("axle-previous-error");

/// What a request has at most beside its target's headers: the above, the protocol's, signatures.
const HEADERS: usize = 20;

/// What is sent. It was checked when the job was registered; what does not pass now, or cannot be
/// sent, never will. The job's payload moves into it.
pub(super) async fn request(
    ctx: &Ctx,
    invoker: &Invoker,
    job: &mut Claimed,
) -> Result<Request<Full<Bytes>>, (Outcome, RunError)> {
    let spec = &job.spec;
    let url = target_url::parse(&spec.target.url).map_err(|flaw| unfit(flaw.detail))?;
    invoker.guard.admit(&url).map_err(|refusal| forbidden(&refusal))?;
    let method = Method::from_bytes(spec.target.method.as_bytes()).map_err(|e| wrong(&e))?;
    let mut headers = HeaderMap::with_capacity(spec.target.headers.len() + HEADERS);
    for (name, value) in &spec.target.headers {
        check_one(name, value).map_err(|(_, detail)| unfit(detail))?;
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|e| wrong(&e))?;
        headers.append(name, HeaderValue::from_str(value).map_err(|e| wrong(&e))?);
    }
    // What is missing here (a key, the database) may be there at the next call.
    let later = |error: RunError| (Outcome::Unreached, error);
    secret_headers(ctx, job, &mut headers).map_err(later)?;
    let now = ctx.clock.now();
    // Never unsigned because the secrets could not be read: the target would take it for a forgery.
    let signed = signers::headers(ctx, job, now).await;
    let signed = signed.map_err(|error| later(RunError::new("signing", error.to_string())))?;
    for (name, value) in signed {
        headers.insert(name, HeaderValue::try_from(value).map_err(|e| wrong(&e))?);
    }
    ours(ctx, job, now, &mut headers).map_err(|e| wrong(&e))?;
    if job.run.fence > 1 {
        previous(ctx, job, &mut headers).await.map_err(|e| wrong(&e))?;
    }
    let uri = uri(&url)?;
    headers.insert(USER_AGENT, invoker.agent.clone());
    headers.entry(ACCEPT).or_insert(HeaderValue::from_static("*/*"));
    if let Some(authorization) = invoker.proxy_authorization(&uri) {
        headers.insert(PROXY_AUTHORIZATION, authorization.clone());
    }
    let mut request = Request::new(Full::new(mem::take(&mut job.payload).into()));
    *request.method_mut() = method;
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    Ok(request)
}

/// No call can be made of it, now or later.
fn unfit(text: String) -> (Outcome, RunError) {
    (Outcome::Failed { retryable: false, retry_after: None }, RunError::new("request", text))
}

fn wrong(error: &(dyn StdError + 'static)) -> (Outcome, RunError) {
    unfit(chain(error))
}

/// The URL as the client reads it, which must see the very host that the guard has judged (bug B123).
fn uri(url: &Url) -> Result<Uri, (Outcome, RunError)> {
    let uri = Uri::try_from(url.as_str()).map_err(|e| wrong(&e))?;
    if uri.host() != url.host_str() || uri.port_u16() != url.port() {
        return Err(unfit("the URL can be read in two ways".to_owned()));
    }
    Ok(uri)
}

/// The headers whose values are secret, opened here and nowhere else.
fn secret_headers(ctx: &Ctx, job: &Claimed, headers: &mut HeaderMap) -> Result<(), RunError> {
    let target = &job.spec.target;
    if target.secret_headers.is_empty() {
        return Ok(());
    }
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
    for header in &target.secret_headers {
        let told = |why| format!("the secret header {} cannot be sent: {why}", header.name());
        let (name, value) = open(header).map_err(|why| RunError::new("secret", told(why)))?;
        headers.append(name, value);
    }
    Ok(())
}

/// The headers of conventions 2.6 that every call has.
fn ours(
    ctx: &Ctx,
    job: &Claimed,
    now: DateTime<Utc>,
    headers: &mut HeaderMap,
) -> Result<(), InvalidHeaderValue> {
    let id = HeaderValue::try_from(job.run.job.to_string())?;
    let deadline = clock::after(now, Duration::from_millis(job.spec.timeout_ms));
    headers.insert(&WEBHOOK_ID, id.clone());
    headers.insert(&JOB_ID, id);
    headers.insert(&RUN_ID, HeaderValue::try_from(job.run.to_string())?);
    headers.insert(&WEBHOOK_TIMESTAMP, now.timestamp().into());
    headers.insert(&ATTEMPT, job.spent.attempt.into());
    headers.insert(&MAX_ATTEMPTS, job.spec.retry.max_attempts().into());
    headers.insert(&FENCE, job.run.fence.into());
    headers.insert(&DUE_AT, instant(job.first_due_at)?);
    headers.insert(&DEADLINE, instant(deadline)?);
    headers.insert(&CALLBACK_URL, run_token::callback_url(ctx, job.run).try_into()?);
    if !job.payload.is_empty() {
        headers.insert(CONTENT_TYPE, HeaderValue::from_str(&job.spec.content_type)?);
    } else if !matches!(job.spec.target.method.as_str(), "GET" | "HEAD") {
        // Said, because servers that read by it are common; the client leaves it out.
        headers.insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
    }
    if let Some((schedule, fire_at)) = job.fire {
        headers.insert(&SCHEDULE_ID, schedule.to_string().try_into()?);
        headers.insert(&FIRE_AT, instant(fire_at)?);
    }
    Ok(())
}

/// How the run before ended.
async fn previous(
    ctx: &Ctx,
    job: &Claimed,
    headers: &mut HeaderMap,
) -> Result<(), InvalidHeaderValue> {
    match runs::previous(&ctx.store, job.run.job).await {
        Ok(Some((status, error))) => {
            if let Some(status) = status {
                headers.insert(&PREVIOUS_STATUS, status.into());
            }
            if let Some(error) = error {
                headers.insert(&PREVIOUS_ERROR, ascii(&error.message).try_into()?);
            }
        }
        Ok(None) => {}
        // They are a courtesy; the call is not.
        Err(error) => tracing::debug!(%error, run = %job.run, "no previous outcome"),
    }
    Ok(())
}

fn instant(at: DateTime<Utc>) -> Result<HeaderValue, InvalidHeaderValue> {
    at.to_rfc3339_opts(SecondsFormat::Micros, true).try_into()
}

/// Text as a header can carry it.
fn ascii(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_graphic() { c } else { ' ' };
    text.chars().take(300).map(plain).collect::<String>().trim().to_owned()
}
