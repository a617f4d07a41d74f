//! A client of our own API: for the command line, the bench and the tests. Jobs are typed; any other
//! document goes through [`Client::call`] as the JSON that it is.

use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, ETAG, IF_MATCH, RETRY_AFTER};
use reqwest::{Client as Http, Method, Response, StatusCode};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::sleep;

use crate::wire::job::JobBrief;
use crate::wire::problem::ProblemView;
use crate::wire::request::JobRequest;

/// Why a call did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server said so.
    #[error("{} ({}): {}", .0.title, .0.code, .0.detail)]
    Problem(Box<ProblemView>),
    /// There was no usable answer.
    #[error("no usable answer: {0}")]
    Transport(String),
}

impl From<reqwest::Error> for Error {
    fn from(error: reqwest::Error) -> Self {
        // The innermost cause says what a person can act upon: refused, no such host, no trust.
        let first: &dyn std::error::Error = &error;
        let causes = std::iter::successors(Some(first), |error| error.source());
        Self::Transport(causes.map(ToString::to_string).collect::<Vec<_>>().join(": "))
    }
}

/// One call of the API.
#[derive(Clone, Debug)]
pub struct Ask {
    method: Method,
    path: String,
    json: Option<String>,
    if_match: Option<String>,
}

impl Ask {
    /// Reads what is at `path`, which holds the query if there is one.
    pub fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path)
    }

    /// Creates or acts; repeated by [`Client::call`] it still takes effect once.
    pub fn post(path: impl Into<String>, json: impl Into<String>) -> Self {
        Self { json: Some(json.into()), ..Self::new(Method::POST, path) }
    }

    /// Puts a whole document.
    pub fn put(path: impl Into<String>, json: impl Into<String>) -> Self {
        Self { json: Some(json.into()), ..Self::new(Method::PUT, path) }
    }

    /// Merges a patch (RFC 7396) into the version that `etag` names.
    pub fn patch(path: impl Into<String>, json: impl Into<String>, etag: &str) -> Self {
        let ask = Self { json: Some(json.into()), ..Self::new(Method::PATCH, path) };
        Self { if_match: Some(etag.to_owned()), ..ask }
    }

    /// Deletes what is at `path`.
    pub fn delete(path: impl Into<String>) -> Self {
        Self::new(Method::DELETE, path)
    }

    fn new(method: Method, path: impl Into<String>) -> Self {
        Self { method, path: path.into(), json: None, if_match: None }
    }
}

/// A successful answer.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The status code, 200 to 299.
    pub status: u16,
    /// The version of the object, as `If-Match` wants it.
    pub etag: Option<String>,
    /// The body as it came; empty for 204.
    pub text: String,
}

impl Reply {
    /// The body as JSON. Numbers beyond 64 bits lose digits here; [`Reply::text`] has them.
    pub fn json(&self) -> Result<Value, Error> {
        serde_json::from_str(&self.text)
            .map_err(|error| Error::Transport(format!("the body is not JSON: {error}")))
    }
}

/// A client of one server.
#[derive(Clone, Debug)]
pub struct Client {
    http: Http,
    base: String,
    token: Option<String>,
}

/// Every call ends by then.
const LIMIT: Duration = Duration::from_secs(30);
/// The waits before a call that could not be served is made again.
const PAUSES: [Duration; 3] =
    [Duration::from_millis(200), Duration::from_millis(600), Duration::from_millis(1_800)];
/// A server that asks for more patience than this is not waited for.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

impl Client {
    /// A client of the server at `base` (`http://host:port`), with a token if it asks for one.
    pub fn new(base: &str, token: Option<String>) -> Result<Self, Error> {
        // reqwest panics without a provider; whether somebody else set it does not matter.
        let _already = rustls::crypto::ring::default_provider().install_default();
        let http = Http::builder().no_proxy().timeout(LIMIT).build()?;
        Ok(Self { http, base: base.trim_end_matches('/').to_owned(), token })
    }

    /// Registers a job.
    pub async fn create_job(&self, job: &JobRequest) -> Result<JobBrief, Error> {
        let request = self.request(Method::POST, "/v1/jobs").json(job);
        read(request.send().await?).await
    }

    /// Reads a job.
    pub async fn job(&self, id: &str) -> Result<JobBrief, Error> {
        read(self.request(Method::GET, &format!("/v1/jobs/{id}")).send().await?).await
    }

    /// Makes a call; again, a few times, while no connection comes about or the server answers 503.
    /// All tries of a POST carry one `Idempotency-Key`, so that an answer that was lost on the way
    /// does not lead to a second effect; what else is repeated says the same twice.
    pub async fn call(&self, ask: &Ask) -> Result<Reply, Error> {
        let key = (ask.method == Method::POST).then(new_key).transpose()?;
        let mut pauses = PAUSES.iter();
        loop {
            let sent = self.prepare(ask, key.as_deref()).send().await;
            let Some(least) = pauses.next() else { return finish(sent?).await };
            let pause = match &sent {
                Ok(answer) if answer.status() == StatusCode::SERVICE_UNAVAILABLE => {
                    retry_after(answer).unwrap_or_default().max(*least)
                }
                Err(error) if error.is_connect() => *least,
                Ok(_) | Err(_) => return finish(sent?).await,
            };
            if pause > LONGEST_PAUSE {
                return finish(sent?).await;
            }
            sleep(pause).await;
        }
    }

    /// A request of the API, with the token.
    pub fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.base));
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    fn prepare(&self, ask: &Ask, key: Option<&str>) -> reqwest::RequestBuilder {
        let mut request = self.request(ask.method.clone(), &ask.path);
        if let Some(key) = key {
            request = request.header("Idempotency-Key", format!("\"{key}\""));
        }
        if let Some(etag) = &ask.if_match {
            request = request.header(IF_MATCH, etag);
        }
        match &ask.json {
            Some(json) => request.header(CONTENT_TYPE, media_type(&ask.method)).body(json.clone()),
            None => request,
        }
    }
}

fn media_type(method: &Method) -> &'static str {
    if *method == Method::PATCH { "application/merge-patch+json" } else { "application/json" }
}

fn new_key() -> Result<String, Error> {
    let half = || getrandom::u64().map_err(|error| Error::Transport(error.to_string()));
    Ok(format!("axle-{:016x}{:016x}", half()?, half()?))
}

/// Seconds only: the other form, a date, is not used by our server.
fn retry_after(answer: &Response) -> Option<Duration> {
    let seconds = answer.headers().get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

async fn finish(answer: Response) -> Result<Reply, Error> {
    if !answer.status().is_success() {
        return Err(refusal(answer).await);
    }
    let etag = answer.headers().get(ETAG).and_then(|etag| etag.to_str().ok()).map(str::to_owned);
    let status = answer.status().as_u16();
    Ok(Reply { status, etag, text: answer.text().await? })
}

async fn read<T: DeserializeOwned>(response: Response) -> Result<T, Error> {
    if response.status().is_success() {
        return Ok(response.json().await?);
    }
    Err(refusal(response).await)
}

async fn refusal(response: Response) -> Error {
    let status = response.status();
    match response.json().await {
        Ok(problem) => Error::Problem(Box::new(problem)),
        Err(_) => Error::Transport(format!("the server answered {status}")),
    }
}
