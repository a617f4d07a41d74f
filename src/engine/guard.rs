//! The guard on every call out: what `domain/egress` refuses is never connected to.
//!
//! What is known of a URL alone is asked before each request ([`Guard::admit`]), since a connection may
//! be there from before. Who connects gets the addresses from the guard, which drops every one that is
//! refused: those that were judged are those that are connected to, so an answer that changes between
//! a check and the call (bug B119) finds no gap. Without a good address, or without an answer, nothing
//! is connected to (bug B125).

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _, UdpSocket};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, ClientBuilder, Proxy, redirect};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use url::Url;

use crate::domain::egress::{Egress, Refusal};
use crate::domain::invalid::Invalid;
use crate::domain::job::Target;
use crate::domain::target_url;

/// How long a look-up may take, the wait for its turn included: longer than the 5 s after which the
/// system's resolver asks a second name server (`resolv.conf(5)`).
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(8);
/// Look-ups at a time. Each holds a thread of the runtime's pool of 512 until the system's resolver
/// gives up, however long ago we have; nothing else of weight uses that pool.
const LOOKUPS: usize = 256;

/// Looks up the addresses of a name.
pub type Lookup = Arc<dyn Fn(String) -> Answer + Send + Sync>;
/// What a look-up comes to.
pub type Answer = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Decides what may be called. Cheap to clone.
#[derive(Clone)]
pub struct Guard(Arc<Inner>);

struct Inner {
    egress: Egress,
    /// All calls go through it; names are looked up there.
    proxy: Option<String>,
    lookup: Lookup,
}

impl Guard {
    /// By these rules, with the system's resolver. With a `proxy`, an http URL, everything is called
    /// through it: then names are resolved there, where the guard cannot see to what.
    pub fn new(egress: Egress, proxy: Option<String>) -> Self {
        let egress = Egress { is_here, ..egress };
        Self(Arc::new(Inner { egress, proxy, lookup: system_lookup() }))
    }

    /// The same with a resolver of the caller's.
    pub fn with_lookup(egress: Egress, lookup: Lookup) -> Self {
        let egress = Egress { is_here, ..egress };
        Self(Arc::new(Inner { egress, proxy: None, lookup }))
    }

    /// The guard for a URL that is a setting: naming it there allows a private address, and a listener
    /// of our own. What is denied, and what is never called, is not.
    #[must_use]
    pub fn for_setting(&self) -> Self {
        let (egress, proxy) = (self.0.egress.clone(), self.0.proxy.clone());
        let egress = Egress { allow_private: true, own: Vec::new(), ..egress };
        Self(Arc::new(Inner { egress, proxy, lookup: Arc::clone(&self.0.lookup) }))
    }

    /// Whether everybody may call private addresses.
    pub fn is_open(&self) -> bool {
        self.0.egress.allow_private
    }

    /// Goes on only if the URL may be called, as far as that is known without looking up a name.
    pub fn admit(&self, url: &Url) -> Result<(), Refusal> {
        self.0.egress.check_url(url)
    }

    /// The same for the target that a request brings at `at` (`#`, `#/job`, `#/jobs/3`). The form of
    /// its URL is not judged here.
    pub fn admit_target(&self, target: &Target, at: &str) -> Result<(), Invalid> {
        self.admit_url(&target.url, at)
    }

    /// The same for the text of its URL.
    pub fn admit_url(&self, url: &str, at: &str) -> Result<(), Invalid> {
        let Ok(url) = target_url::parse(url) else { return Ok(()) };
        let fault = |refusal: Refusal| {
            Invalid::one(format!("{at}/target/url"), "target-forbidden", refusal.to_string())
        };
        self.admit(&url).map_err(fault)
    }

    /// The beginning of a client of the operator's own URLs with this port, each of which was admitted:
    /// it follows no redirect, takes no proxy from the environment, and connects only to addresses that
    /// are allowed.
    pub fn client(&self, port: u16) -> Result<ClientBuilder, reqwest::Error> {
        let client = Client::builder().redirect(redirect::Policy::none()).no_proxy();
        Ok(match &self.0.proxy {
            // The only name that is ever looked up here is the proxy's, which is the operator's.
            Some(proxy) => client.proxy(Proxy::all(proxy)?),
            None => client.dns_resolver(Resolver { guard: self.clone(), port }),
        })
    }

    /// The URL of the proxy that all calls go through.
    pub(super) fn proxy(&self) -> Option<&str> {
        self.0.proxy.as_deref()
    }

    /// Where a host may be called at this port: an address itself, or the allowed ones of a name.
    pub(super) async fn addresses(
        &self,
        host: &str,
        port: u16,
    ) -> Result<Vec<SocketAddr>, Nowhere> {
        if let Ok(ip) = host.parse() {
            self.0.egress.check_literal(ip, Some(port))?;
            return Ok(vec![SocketAddr::new(ip, port)]);
        }
        let (mut allowed, mut refused) = (Vec::new(), None);
        for ip in self.look_up(host).await? {
            match self.0.egress.check_address(host, ip, port) {
                Ok(()) => allowed.push(SocketAddr::new(ip, port)),
                Err(refusal) => {
                    // For the operator; the job's owner is not told the address.
                    tracing::info!(host, address = %ip, %refusal, "an address is not called");
                    refused = Some(refusal);
                }
            }
        }
        match refused {
            Some(refusal) if allowed.is_empty() => Err(refusal.into()),
            Some(_) | None => Ok(allowed),
        }
    }

    /// Where the proxy is: its name is the operator's, and is not judged.
    pub(super) async fn addresses_of_proxy(
        &self,
        host: &str,
        port: u16,
    ) -> Result<Vec<SocketAddr>, Nowhere> {
        let found = self.look_up(host).await?;
        Ok(found.into_iter().map(|ip| SocketAddr::new(ip, port)).collect())
    }

    /// All addresses of a name, which has one at least.
    async fn look_up(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let Ok(found) = timeout(LOOKUP_TIMEOUT, (self.0.lookup)(name.to_owned())).await else {
            let words = format!("no answer for the name within {LOOKUP_TIMEOUT:?}");
            return Err(io::Error::new(io::ErrorKind::TimedOut, words));
        };
        let found = found?;
        if found.is_empty() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the name has no addresses"));
        }
        Ok(found)
    }
}

/// Closed, as by default: only the internet may be called.
impl Default for Guard {
    fn default() -> Self {
        Self::new(Egress::default(), None)
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Guard").field(&self.0.egress).field(&self.0.proxy).finish()
    }
}

/// Why a host has no address that may be called.
#[derive(Debug, thiserror::Error)]
pub(super) enum Nowhere {
    /// It has addresses, all of them refused.
    #[error(transparent)]
    Forbidden(#[from] Refusal),
    /// It has none, or nobody can tell.
    #[error(transparent)]
    Unknown(#[from] io::Error),
}

struct Resolver {
    guard: Guard,
    port: u16,
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (guard, port) = (self.guard.clone(), self.port);
        Box::pin(async move {
            let allowed = guard.addresses(name.as_str(), port).await?;
            let addresses: Addrs = Box::new(allowed.into_iter());
            Ok(addresses)
        })
    }
}

/// The system's resolver, on a thread of the blocking pool.
fn system_lookup() -> Lookup {
    let turns = Arc::new(Semaphore::new(LOOKUPS));
    Arc::new(move |name| {
        let turns = Arc::clone(&turns);
        Box::pin(async move {
            let turn = turns.acquire_owned().await.map_err(io::Error::other)?;
            let look = move || {
                let found = (name.as_str(), 0).to_socket_addrs();
                // Only now: the thread is in use until the system has answered.
                drop(turn);
                found.map(|found| found.map(|address| address.ip()).collect())
            };
            tokio::task::spawn_blocking(look).await.map_err(io::Error::other)?
        })
    })
}

/// Whether an address is one of this machine's: then a socket can be bound to it. An error that says
/// something else counts as yes.
fn is_here(ip: IpAddr) -> bool {
    match UdpSocket::bind((ip, 0)) {
        Ok(_) => true,
        Err(error) => error.kind() != io::ErrorKind::AddrNotAvailable,
    }
}
