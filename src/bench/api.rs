//! How an API is reached and asked: the bench's own one, or that of a server that runs already.

use std::net::SocketAddr;

use anyhow::ensure;
use serde::Serialize;

use super::bare::{self, Answer, Bare};
use crate::wire::request::{JobRequest, RetryRequest, TargetRequest};

/// An API, and who asks it.
#[derive(Clone, Debug)]
pub(super) struct Api {
    /// Where it listens.
    pub(super) address: SocketAddr,
    /// The same as the `Host` of a request.
    pub(super) host: String,
    /// What stands before every path; mostly nothing.
    pub(super) prefix: String,
    /// The bearer token.
    pub(super) token: Option<String>,
    /// The base of the sink's addresses, as pullers reach it: `http://host:port`.
    pub(super) target: String,
    /// Whether a call that fails is repeated, as is usual.
    pub(super) retries: bool,
}

/// Makes a job "an HTTP POST of about 200 bytes of JSON".
const PAYLOAD: &str = r#"{"event":"order.closed","order":4711,"customer":"c-90125","items":[{"sku":"A-1","n":2},{"sku":"B-7","n":1}],"total":{"amount":"129.90","currency":"EUR"},"note":"closed by the nightly run"}"#;

impl Api {
    /// A connection.
    pub(super) async fn connect(&self) -> anyhow::Result<Bare> {
        Bare::connect(self.address).await
    }

    /// So many connections.
    pub(super) async fn connect_all(&self, count: usize) -> anyhow::Result<Vec<Bare>> {
        let mut connections = Vec::with_capacity(count);
        for _ in 0..count {
            connections.push(self.connect().await?);
        }
        Ok(connections)
    }

    /// A request, ready to be sent, with the token.
    pub(super) fn post(&self, path: &str, body: &impl Serialize) -> anyhow::Result<Vec<u8>> {
        let body = serde_json::to_vec(body)?;
        let path = format!("{}{path}", self.prefix);
        Ok(bare::post(&self.host, &path, self.token.as_deref(), &body))
    }

    /// A read, ready to be sent, with the token.
    pub(super) fn get(&self, path: &str) -> Vec<u8> {
        bare::get(&self.host, &format!("{}{path}", self.prefix), self.token.as_deref())
    }

    /// A job that calls the sink, which knows it by its number.
    pub(super) fn job(&self, number: usize) -> anyhow::Result<JobRequest> {
        let url = format!("{}/{number}", self.target);
        let once = || RetryRequest {
            max_retries: Some(0),
            max_dispatch_retries: Some(0),
            ..RetryRequest::default()
        };
        Ok(JobRequest {
            retry: (!self.retries).then(once),
            queue: Some("bench".to_owned()),
            target: TargetRequest { url, ..TargetRequest::default() },
            payload: Some(serde_json::value::RawValue::from_string(PAYLOAD.to_owned())?),
            ..JobRequest::default()
        })
    }

    /// Fails if an answer is not that it was done.
    pub(super) fn check(answer: &Answer) -> anyhow::Result<()> {
        let text = String::from_utf8_lossy(&answer.body);
        ensure!((200..300).contains(&answer.status), "the API answered {}: {text}", answer.status);
        Ok(())
    }
}
