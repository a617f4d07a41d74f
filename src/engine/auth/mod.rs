//! Who is asking: a bearer token becomes a `Principal`, or an error that says what to do.
//! Keys come from a secret, a PEM or a JWKS URL; the algorithm belongs to the key and never to the
//! token. Time is the `now` that is passed in. What a principal may do is not decided here (see
//! `domain/principal`), and nothing here knows HTTP status codes or configuration.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::domain::claim::ClaimNames;
use crate::domain::egress::Refusal;
use crate::domain::principal::{Principal, Team};
use crate::engine::guard::Guard;

mod cache;
mod claims;
mod jwks;
mod jws;
mod keys;
mod mint;
#[cfg(test)]
mod tests;

pub use claims::choose_team;
pub use keys::{KeyAlgorithm, MIN_SECRET_BYTES};
pub use mint::{MintClaims, MintError, Powers, mint, mint_with};

use cache::Cache;
use claims::Expected;
use jwks::Jwks;
use jws::Jws;
use keys::KeySet;

/// The longest token that is looked at, in bytes: web servers' usual limit for all headers.
pub const MAX_TOKEN_BYTES: usize = 8 * 1024;

/// Why a token was not taken. Every variant but `KeysUnavailable` is the caller's to mend; the
/// texts name the claim and the rule, never a value of the token or of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// No token at all.
    #[error("This needs a token. Send it as `Authorization: Bearer <token>`.")]
    Missing,
    /// Not a signed JWT as this server takes it; the text completes "the token …".
    #[error("The token {0}. Send a signed JWT, whole and unchanged.")]
    Malformed(&'static str),
    /// Signed by none of the keys.
    #[error(
        "The token's signature does not verify. Get a token from the issuer that this server trusts, and send it unchanged."
    )]
    BadSignature,
    /// It names a key that the issuer does not publish (any more, or not yet).
    #[error(
        "The token's `kid` is not among the issuer's published keys. Get a new token; a key published just now is known within a minute."
    )]
    UnknownKey,
    /// `exp` has passed.
    #[error("The token has expired. Get a new one.")]
    Expired,
    /// `nbf` is still to come.
    #[error(
        "The token is not valid yet (`nbf`). Wait until it is, or set the clock of the machine that issues tokens."
    )]
    NotYet,
    /// `iss` is another, or missing.
    #[error(
        "The token's `iss` is not the issuer that this server trusts. Get a token from that issuer."
    )]
    WrongIssuer,
    /// `aud` does not name this server; the text completes "the token's `aud` …".
    #[error("The token's `aud` {0}. Ask the issuer for a token made for this server.")]
    WrongAudience(&'static str),
    /// A claim is missing or not what it must be; the text completes "the token's claim …".
    #[error("The token's claim `{claim}` {reason}. Have the issuer put it right.")]
    BadClaim {
        /// The claim's name.
        claim: &'static str,
        /// The rule it breaks.
        reason: &'static str,
    },
    /// It is for several teams, and the request does not say in which of them it is made.
    #[error(
        "The token is for several teams. Say with Axle-Team: <slug> in which the request is made."
    )]
    ManyTeams,
    /// It is for several teams, and the request is made in none of them.
    #[error("Axle-Team names none of the teams that the token is for.")]
    NoneOfItsTeams,
    /// It was revoked by its `jti`.
    #[error("The token was revoked. Get a new one.")]
    Revoked,
    /// E-mail and password are not a person's. Which of them is wrong is not told.
    #[error("The e-mail address and the password do not match.")]
    BadLogin,
    /// A refresh token that is not its session's newest, or of a session that is over.
    #[error("The refresh token is not valid any more. Sign in again.")]
    BadRefresh,
    /// An API key that opens nothing. Whether it is unknown, has ended or was revoked is not told.
    #[error(
        "The API key is not known, has expired or was revoked. Send a valid one, whole and unchanged."
    )]
    BadKey,
    /// The issuer's keys could not be fetched, and none are kept from before: a fault of the
    /// server's surroundings, which may pass.
    #[error("The token issuer's keys cannot be fetched at the moment. Try again in some seconds.")]
    KeysUnavailable,
}

/// Why a verifier cannot be built: a fault in the settings, to be told at start-up.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// RFC 7518, section 3.2: an HS256 key has at least the 256 bits of its hash.
    #[error(
        "the token secret has {found} bytes and needs {MIN_SECRET_BYTES}: `openssl rand -base64 32` makes one"
    )]
    ShortSecret {
        /// How many bytes it has.
        found: usize,
    },
    /// The PEM is not a public key for the algorithm.
    #[error("the token key is no {algorithm} public key in PEM form: {reason}")]
    BadPem {
        /// What it was to be used for.
        algorithm: KeyAlgorithm,
        /// What is wrong.
        reason: &'static str,
    },
    /// The JWKS URL cannot be used.
    #[error("the URL of the token keys must begin with https:// (or http:// on a trusted network)")]
    BadUrl,
    /// The guard refuses the JWKS URL.
    #[error("the URL of the token keys may not be called: {0}")]
    Forbidden(Refusal),
    /// The HTTP client could not be made.
    #[error("the HTTP client for the token keys cannot be made")]
    Client(#[source] reqwest::Error),
}

/// Where the keys come from.
pub enum KeySource {
    /// HS256: whoever can verify can also mint. At least [`MIN_SECRET_BYTES`].
    Secret(Vec<u8>),
    /// One public key.
    PublicPem {
        /// The key: `PUBLIC KEY` (SPKI) or, for RSA, `RSA PUBLIC KEY`.
        pem: String,
        /// The only algorithm it is used for.
        algorithm: KeyAlgorithm,
    },
    /// The published key set of an issuer (RFC 7517).
    Jwks {
        /// Where it stands; `http` or `https`.
        url: url::Url,
        /// The only algorithm to take; without it, each key's own.
        algorithm: Option<KeyAlgorithm>,
        /// What may be called; that the URL is a setting allows a private address.
        guard: Guard,
    },
}

/// What a [`Verifier`] is built from.
pub struct AuthSettings {
    /// Where the keys come from.
    pub keys: KeySource,
    /// What `iss` must be, if it matters.
    pub issuer: Option<String>,
    /// What `aud` must name. Without it, a token that carries `aud` is made for somebody else.
    pub audience: Option<String>,
    /// Where tokens say team and role.
    pub claims: ClaimNames,
}

/// Verifies tokens. One per process, shared by all requests.
pub struct Verifier {
    source: Source,
    expected: Expected,
    cache: Cache,
}

enum Source {
    Fixed(Arc<KeySet>),
    Jwks(Arc<Jwks>),
}

impl Verifier {
    /// Checks the settings; fetches nothing yet.
    pub fn new(settings: AuthSettings) -> Result<Self, SetupError> {
        install_crypto();
        let own = matches!(settings.keys, KeySource::Secret(_));
        let source = match settings.keys {
            KeySource::Secret(secret) => Source::Fixed(Arc::new(KeySet::secret(&secret)?)),
            KeySource::PublicPem { pem, algorithm } => {
                Source::Fixed(Arc::new(KeySet::pem(&pem, algorithm)?))
            }
            KeySource::Jwks { url, algorithm, guard } => {
                Source::Jwks(Arc::new(Jwks::new(url, algorithm, &guard)?))
            }
        };
        let AuthSettings { issuer, audience, claims, .. } = settings;
        let expected = Expected { own, issuer, audience, claims };
        Ok(Self { source, expected, cache: Cache::default() })
    }

    /// Who bears this token at this instant, if it is for one team; see [`Verifier::verify_in`].
    pub async fn verify(&self, token: &str, now: DateTime<Utc>) -> Result<Principal, AuthError> {
        self.verify_in(token, None, now).await
    }

    /// Who bears this token at this instant. The signature is checked before any claim is read, so
    /// that an error about a claim tells a forger nothing. `wanted` is the team in which the request
    /// says that it is made; it chooses among several, and says nothing of a token that is for one.
    pub async fn verify_in(
        &self,
        token: &str,
        wanted: Option<&Team>,
        now: DateTime<Utc>,
    ) -> Result<Principal, AuthError> {
        if token.is_empty() {
            return Err(AuthError::Missing);
        }
        if token.len() > MAX_TOKEN_BYTES {
            return Err(AuthError::Malformed("is longer than 8 KiB"));
        }
        // The keys come before the cache: a token is known only together with the keys that
        // verified it, so a key withdrawn by the issuer takes its tokens with it.
        let mut keys = self.keys(now).await?;
        if let Some(known) = self.cache.get(&keys.fingerprint(token)) {
            known.window.check(now)?;
            return known.bearer(wanted);
        }
        let jws = Jws::parse(token)?;
        if keys.misses(&jws.header) {
            keys = self.refreshed(keys, now).await;
        }
        keys.find(&jws.header)?.verify(&jws)?;
        let verified = self.expected.read(jws.payload)?;
        verified.window.check(now)?;
        self.cache.put(keys.fingerprint(token), verified.clone());
        verified.bearer(wanted)
    }

    async fn keys(&self, now: DateTime<Utc>) -> Result<Arc<KeySet>, AuthError> {
        match &self.source {
            Source::Fixed(keys) => Ok(Arc::clone(keys)),
            Source::Jwks(jwks) => jwks.keys(now).await.ok_or(AuthError::KeysUnavailable),
        }
    }

    async fn refreshed(&self, keys: Arc<KeySet>, now: DateTime<Utc>) -> Arc<KeySet> {
        match &self.source {
            Source::Fixed(_) => keys,
            Source::Jwks(jwks) => jwks.refresh(now).await.unwrap_or(keys),
        }
    }
}

/// Chooses the process's cryptography: `RustCrypto` for tokens, ring for TLS. Both crates would
/// panic at first use if another build feature made the choice ambiguous. Call it as often as you
/// like, from anywhere; the first call counts.
pub fn install_crypto() {
    if jsonwebtoken::crypto::rust_crypto::DEFAULT_PROVIDER.install_default().is_err() {
        tracing::trace!("the provider for tokens was installed before");
    }
    if rustls::crypto::ring::default_provider().install_default().is_err() {
        tracing::trace!("the provider for TLS was installed before");
    }
}
