//! The published keys of an issuer: fetched when first needed, kept, and fetched again hourly or
//! when a token names an unknown key. A fetch is bounded in time, size and frequency, and one that
//! fails leaves the keys as they were. No token is looked at here.

use std::sync::{Arc, PoisonError, RwLock};

use chrono::{DateTime, TimeDelta, Utc};
use reqwest::{Client, StatusCode, header};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio_util::task::TaskTracker;
use url::Url;

use super::{
    SetupError,
    keys::{KeyAlgorithm, KeySet},
};
use crate::engine::guard::Guard;

/// From the first byte of the connection to the last of the answer.
const TIMEOUT: std::time::Duration = std::time::Duration::from_secs(5);

/// The largest answer: 64 RSA keys with certificate chains fit in a quarter of it.
const MAX_BODY_BYTES: usize = 256 * 1024;

/// How old keys may grow before the issuer is asked again: the longest that a withdrawn key lives
/// on, as long as the issuer answers.
const MAX_AGE: TimeDelta = TimeDelta::hours(1);

/// The shortest time between two fetches, whatever tokens claim.
const PAUSE: TimeDelta = TimeDelta::seconds(30);

/// The same while there are no keys at all and nobody can be let in.
const PAUSE_WITHOUT_KEYS: TimeDelta = TimeDelta::seconds(5);

/// One issuer's keys.
pub(super) struct Jwks {
    url: Url,
    only: Option<KeyAlgorithm>,
    client: Client,
    kept: RwLock<Option<Kept>>,
    /// Held during a fetch, so that there is one at a time; inside, when the last one began.
    gate: Arc<Mutex<Option<DateTime<Utc>>>>,
    tasks: TaskTracker,
}

#[derive(Clone)]
struct Kept {
    keys: Arc<KeySet>,
    fetched_at: DateTime<Utc>,
}

#[derive(Debug, thiserror::Error)]
enum FetchError {
    #[error("the request failed")]
    Request(#[from] reqwest::Error),
    #[error("the answer was {0}, not 200")]
    Status(StatusCode),
    #[error("the answer is longer than 256 KiB")]
    TooLong,
    #[error("the answer cannot be used: {0}")]
    Unusable(&'static str),
}

impl Jwks {
    /// Prepares to fetch, within what the guard allows for a setting; needs the TLS provider
    /// installed. The URL never changes, so it is admitted once.
    pub(super) fn new(
        url: Url,
        only: Option<KeyAlgorithm>,
        guard: &Guard,
    ) -> Result<Self, SetupError> {
        match url.scheme() {
            "https" => {}
            "http" => tracing::warn!(
                host = url.host_str(),
                "token keys are fetched without TLS: whoever can alter that answer can sign tokens"
            ),
            _ => return Err(SetupError::BadUrl),
        }
        let guard = guard.for_setting();
        guard.admit(&url).map_err(SetupError::Forbidden)?;
        let port = url.port_or_known_default().ok_or(SetupError::BadUrl)?;
        let client = guard
            .client(port)
            .map_err(SetupError::Client)?
            .timeout(TIMEOUT)
            .pool_max_idle_per_host(0)
            .user_agent(concat!("axle/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(SetupError::Client)?;
        Ok(Self {
            url,
            only,
            client,
            kept: RwLock::new(None),
            gate: Arc::default(),
            tasks: TaskTracker::new(),
        })
    }

    /// The keys, if there are any. When they are old, one caller fetches them anew and the others
    /// go on with what is there.
    pub(super) async fn keys(self: &Arc<Self>, now: DateTime<Utc>) -> Option<Arc<KeySet>> {
        match self.kept() {
            Some(kept) if within(MAX_AGE, kept.fetched_at, now) => return Some(kept.keys),
            Some(_) => {
                if let Ok(gate) = Arc::clone(&self.gate).try_lock_owned() {
                    self.fetch_through(gate, now).await;
                }
            }
            None => return self.refresh(now).await,
        }
        self.kept().map(|kept| kept.keys)
    }

    /// The keys after a fetch, unless one was made just now. Whoever comes during a fetch waits
    /// for its outcome at the gate and makes none of its own.
    pub(super) async fn refresh(self: &Arc<Self>, now: DateTime<Utc>) -> Option<Arc<KeySet>> {
        let gate = Arc::clone(&self.gate).lock_owned().await;
        self.fetch_through(gate, now).await;
        self.kept().map(|kept| kept.keys)
    }

    /// Fetches, if the last time is long enough ago. The fetch is a task of its own, which takes
    /// the gate along: a caller that hangs up in the middle would otherwise use up the one fetch
    /// of the half minute without bringing keys, and could do so for ever.
    async fn fetch_through(
        self: &Arc<Self>,
        mut gate: OwnedMutexGuard<Option<DateTime<Utc>>>,
        now: DateTime<Utc>,
    ) {
        let pause = if self.kept().is_some() { PAUSE } else { PAUSE_WITHOUT_KEYS };
        if gate.is_some_and(|last| within(pause, last, now)) {
            return;
        }
        *gate = Some(now);
        let this = Arc::clone(self);
        let fetch = self.tasks.spawn(async move {
            this.fetch_and_keep(now).await;
            drop(gate);
        });
        if let Err(error) = fetch.await {
            tracing::error!(%error, "fetching the token keys broke off");
        }
    }

    async fn fetch_and_keep(&self, now: DateTime<Utc>) {
        let host = self.url.host_str();
        match self.fetch().await {
            Ok(keys) => {
                tracing::debug!(host, "fetched the token keys");
                let kept = Kept { keys: Arc::new(keys), fetched_at: now };
                *self.kept.write().unwrap_or_else(PoisonError::into_inner) = Some(kept);
            }
            // Debug, since Display hides a request's cause; without the URL, which may hold a
            // secret.
            Err(error) => tracing::warn!(host, ?error, "cannot fetch the token keys"),
        }
    }

    async fn fetch(&self) -> Result<KeySet, FetchError> {
        let body = self.body().await?;
        KeySet::jwks(&body, self.only).map_err(FetchError::Unusable)
    }

    async fn body(&self) -> Result<Vec<u8>, FetchError> {
        let request = self
            .client
            .get(self.url.clone())
            .header(header::ACCEPT, "application/jwk-set+json, application/json");
        let mut response = request.send().await.map_err(reqwest::Error::without_url)?;
        if response.status() != StatusCode::OK {
            return Err(FetchError::Status(response.status()));
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(reqwest::Error::without_url)? {
            // Checked before it is kept, whatever Content-Length said.
            if body.len() + chunk.len() > MAX_BODY_BYTES {
                return Err(FetchError::TooLong);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    fn kept(&self) -> Option<Kept> {
        self.kept.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Whether two instants are less than `span` apart, in either order: a clock set back must not
/// stop fetching until it has caught up.
fn within(span: TimeDelta, then: DateTime<Utc>, now: DateTime<Utc>) -> bool {
    now.signed_duration_since(then).abs() < span
}
