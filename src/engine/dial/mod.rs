//! Connections to targets: an address that the guard has judged, TCP, the operator's proxy, TLS. The
//! client that is made here keeps them and speaks HTTP/1.1 on them, or HTTP/2 where a target in TLS
//! offers it.
//!
//! Nothing is connected to but what the guard returned for the host and the port of the very URL:
//! the check is the pin (bug B119). A request that fails here was never sent.

mod line;
mod proxy;

use std::convert::Infallible;
use std::error::Error as StdError;
use std::fmt;
use std::future::{Ready, ready};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use std::vec;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::HeaderValue;
use hyper::http::uri::{Scheme, Uri};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tower_service::Service;

use super::Error;
use super::guard::{Guard, Nowhere};
use crate::domain::egress::Refusal;
use line::{HTTP_1_1, HTTP_2, Line};
use proxy::Proxy;

/// A target that cannot be connected to within this time counts as not reached.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Idle connections kept per host, and for how long: less than common servers keep theirs, so that
/// few are found closed.
const IDLE_PER_HOST: usize = 128;
const IDLE_TIMEOUT: Duration = Duration::from_secs(20);
/// A connection in use that is silent for so long is probed, and again three times.
const KEEPALIVE: Duration = Duration::from_secs(15);
/// And how long what was sent on it may stay unacknowledged (RFC 5482).
#[cfg(target_os = "linux")]
const UNACKNOWLEDGED: Duration = Duration::from_secs(30);
/// The same in HTTP/2, and how long its answer is waited for.
const PING: Duration = Duration::from_secs(20);
const PONG: Duration = Duration::from_secs(10);
/// The longest head of an answer in HTTP/1.1; in HTTP/2 the library's 16 KiB stand.
const HEAD_LIMIT: usize = 64 * 1024;
/// How much of an answer a target may send ahead in HTTP/2: twice what is kept of one.
const STREAM_WINDOW: u32 = 128 * 1024;

/// Calls targets, and keeps the connections.
pub(super) type Client = legacy::Client<Dialer, Full<Bytes>>;

/// A client for calls that were admitted. It follows no redirect, decompresses nothing, takes no
/// proxy from the environment, and sends a request again only if nothing of it was written.
pub(super) fn client(dialer: Dialer) -> Client {
    legacy::Client::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_max_idle_per_host(IDLE_PER_HOST)
        .pool_idle_timeout(IDLE_TIMEOUT)
        .http1_max_buf_size(HEAD_LIMIT)
        .http2_initial_stream_window_size(STREAM_WINDOW)
        .http2_keep_alive_interval(PING)
        .http2_keep_alive_timeout(PONG)
        .build(dialer)
}

/// Why there is no connection. No text of it holds a URL, which may hold a secret.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// The guard refuses every address.
    #[error(transparent)]
    Forbidden(Refusal),
    /// The name leads nowhere.
    #[error("dns error")]
    Unknown(#[source] io::Error),
    /// Nobody answers, or the proxy leads to nobody.
    #[error("no connection")]
    Unconnected(#[source] BoxError),
    /// Somebody answers, but not in TLS, or is not who it should be.
    #[error("no TLS")]
    Insecure(#[source] io::Error),
    /// All that took too long.
    #[error("no connection within {CONNECT_TIMEOUT:?}")]
    Slow,
}

type BoxError = Box<dyn StdError + Send + Sync>;

impl From<Nowhere> for Failure {
    fn from(nowhere: Nowhere) -> Self {
        match nowhere {
            Nowhere::Forbidden(refusal) => Self::Forbidden(refusal),
            Nowhere::Unknown(error) => Self::Unknown(error),
        }
    }
}

/// Makes connections; cheap to clone.
#[derive(Clone)]
pub(super) struct Dialer(Arc<Inner>);

struct Inner {
    guard: Guard,
    proxy: Option<Proxy>,
    agent: HeaderValue,
    to_target: TlsConnector,
    to_proxy: TlsConnector,
}

impl Dialer {
    /// For what the guard lets through; `agent` tells a proxy who asks.
    pub(super) fn new(guard: &Guard, agent: &HeaderValue) -> Result<Self, Error> {
        let unusable = || Error::Broken("the proxy's URL cannot be used".into());
        let proxy = guard.proxy().map(|url| Proxy::parse(url).ok_or_else(unusable)).transpose()?;
        let tls =
            |protocols: &[&[u8]]| Ok::<_, Error>(TlsConnector::from(Arc::new(config(protocols)?)));
        Ok(Self(Arc::new(Inner {
            guard: guard.clone(),
            proxy,
            agent: agent.clone(),
            to_target: tls(&[HTTP_2, HTTP_1_1])?,
            // A proxy is asked in HTTP/1.1.
            to_proxy: tls(&[])?,
        })))
    }

    /// What a request in plain HTTP tells the proxy that reads it; one in TLS goes through a tunnel.
    pub(super) fn proxy_authorization(&self, to: &Uri) -> Option<&HeaderValue> {
        self.0.proxy.as_ref().filter(|_| !is_tls(to))?.authorization.as_ref()
    }

    async fn dial(&self, to: Uri) -> Result<Line, Failure> {
        let Inner { guard, proxy, agent, to_target, to_proxy } = &*self.0;
        let (host, port) = place(&to);
        let line = match proxy {
            None => tcp(to.clone(), guard.addresses(host, port).await?).await?,
            Some(proxy) => {
                let (name, port) = place(&proxy.url);
                let addresses = guard.addresses_of_proxy(name, port).await?;
                let mut line = tcp(proxy.url.clone(), addresses).await?;
                if is_tls(&proxy.url) {
                    line = secured(to_proxy, line, name).await?;
                }
                if !is_tls(&to) {
                    return Ok(line.asking_proxy());
                }
                proxy.tunnel(line, to.clone(), agent).await?
            }
        };
        if is_tls(&to) { secured(to_target, line, host).await } else { Ok(line) }
    }
}

impl fmt::Debug for Dialer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Dialer").field(&self.0.guard).field(&self.0.proxy).finish()
    }
}

impl Service<Uri> for Dialer {
    type Response = Line;
    type Error = Failure;
    type Future = Pin<Box<dyn Future<Output = Result<Line, Failure>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let dialer = self.clone();
        Box::pin(async move {
            timeout(CONNECT_TIMEOUT, dialer.dial(to)).await.unwrap_or(Err(Failure::Slow))
        })
    }
}

/// The roots that the operating system trusts, the same as for PostgreSQL.
fn config(protocols: &[&[u8]]) -> Result<ClientConfig, Error> {
    let broken = |error: rustls::Error| Error::Broken(format!("TLS cannot be set up: {error}"));
    let provider = rustls::crypto::ring::default_provider();
    let mut config = ClientConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()
        .map_err(broken)?
        .with_platform_verifier()
        .map_err(broken)?
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    Ok(config)
}

/// To the first of these addresses that answers. Those of the second family are tried beside those
/// of the first after 300 ms (RFC 8305), and each has its share of the time.
async fn tcp(to: Uri, addresses: Vec<SocketAddr>) -> Result<Line, Failure> {
    let mut connector = HttpConnector::new_with_resolver(Judged(addresses));
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
    connector.set_keepalive(Some(KEEPALIVE));
    connector.set_keepalive_interval(Some(KEEPALIVE));
    connector.set_keepalive_retries(Some(3));
    #[cfg(target_os = "linux")]
    connector.set_tcp_user_timeout(Some(UNACKNOWLEDGED));
    let stream = connector.call(to).await;
    Ok(Line::tcp(stream.map_err(|error| Failure::Unconnected(error.into()))?))
}

async fn secured(tls: &TlsConnector, line: Line, host: &str) -> Result<Line, Failure> {
    let name = ServerName::try_from(host.to_owned());
    let name = name.map_err(|error| Failure::Insecure(io::Error::other(error)))?;
    let stream = tls.connect(name, TokioIo::new(line)).await.map_err(Failure::Insecure)?;
    Ok(Line::tls(stream))
}

fn is_tls(uri: &Uri) -> bool {
    uri.scheme() == Some(&Scheme::HTTPS)
}

/// The host, an IPv6 address without its brackets, and the port.
fn place(uri: &Uri) -> (&str, u16) {
    let host = uri.host().unwrap_or_default();
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    (bare.unwrap_or(host), uri.port_u16().unwrap_or(if is_tls(uri) { 443 } else { 80 }))
}

/// A resolver that knows one answer: what the guard has judged.
#[derive(Clone)]
struct Judged(Vec<SocketAddr>);

impl Service<Name> for Judged {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _name: Name) -> Self::Future {
        ready(Ok(self.0.clone().into_iter()))
    }
}
