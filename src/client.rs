//! A typed client of our own API: for the command line, the bench and the tests.

use std::time::Duration;

use reqwest::{Client as Http, Method, Response};
use serde::de::DeserializeOwned;

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
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        Self::Transport(
            cause.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}")),
        )
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

    /// A request of the API, with the token.
    pub fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.base));
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }
}

async fn read<T: DeserializeOwned>(response: Response) -> Result<T, Error> {
    if response.status().is_success() {
        return Ok(response.json().await?);
    }
    let status = response.status();
    match response.json().await {
        Ok(problem) => Err(Error::Problem(Box::new(problem))),
        Err(_) => Err(Error::Transport(format!("the server answered {status}"))),
    }
}
