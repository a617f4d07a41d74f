//! The operator's proxy: where it is, how it is asked for a way to a target, and who asks. What may
//! be called through it is not decided here.

use std::future::{Ready, ready};
use std::io;
use std::task::{Context, Poll};

use hyper::header::{HeaderMap, HeaderValue, USER_AGENT};
use hyper::http::uri::{Scheme, Uri};
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use tower_service::Service;

use super::Failure;
use super::line::Line;

/// A proxy that all calls go through.
#[derive(Clone, Debug)]
pub(super) struct Proxy {
    /// Without the credentials.
    pub(super) url: Uri,
    /// `Proxy-Authorization`, if its URL had a user.
    pub(super) authorization: Option<HeaderValue>,
}

impl Proxy {
    /// The proxy of an http or https URL; none if it cannot be read.
    pub(super) fn parse(url: &str) -> Option<Self> {
        // The reader of proxy settings knows them by what they are for: everything.
        let anything = Uri::from_static("http://target.invalid/");
        let found: Intercept = Matcher::builder().all(url).build().intercept(&anything)?;
        let url = found.uri().clone();
        let is_http = [Some(&Scheme::HTTP), Some(&Scheme::HTTPS)].contains(&url.scheme());
        is_http.then(|| Self { url, authorization: found.basic_auth().cloned() })
    }

    /// Has the proxy at the other end of `line` lead it on to the target (RFC 9110 section 9.3.6).
    pub(super) async fn tunnel(
        &self,
        line: Line,
        to: Uri,
        agent: &HeaderValue,
    ) -> Result<Line, Failure> {
        let said = HeaderMap::from_iter([(USER_AGENT, agent.clone())]);
        let mut tunnel = Tunnel::new(self.url.clone(), Made(Some(line))).with_headers(said);
        if let Some(authorization) = &self.authorization {
            tunnel = tunnel.with_auth(authorization.clone());
        }
        tunnel.call(to).await.map_err(|error| Failure::Unconnected(error.into()))
    }
}

/// Hands over a connection that was made before.
struct Made(Option<Line>);

impl Service<Uri> for Made {
    type Response = Line;
    type Error = io::Error;
    type Future = Ready<io::Result<Line>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _to: Uri) -> Self::Future {
        ready(self.0.take().ok_or_else(|| io::Error::other("it was handed over before")))
    }
}
