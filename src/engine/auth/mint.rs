//! Makes HS256 tokens: for `axle token`, and for people who sign in to this installation.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use chrono::{DateTime, TimeDelta, Utc};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde::Serialize;

use super::{MAX_TOKEN_BYTES, MIN_SECRET_BYTES, claims::LAST_SECOND, install_crypto};
use crate::domain::principal::{Role, Subject, Team};

/// What a new token says.
#[derive(Clone, Debug)]
pub struct MintClaims {
    /// The team it acts in.
    pub team: Team,
    /// The role it has there.
    pub role: Role,
    /// Who bears it.
    pub subject: Subject,
    /// How long it holds from now on; at least a second, whose fraction is dropped.
    pub ttl: Duration,
    /// `iss`, as the server demands it.
    pub issuer: Option<String>,
    /// `aud`, as the server demands it.
    pub audience: Option<String>,
}

/// What only this installation's own tokens may say.
#[derive(Clone, Copy, Debug, Default)]
pub struct Powers<'a> {
    /// The session that the token belongs to, and ends with.
    pub session: Option<&'a str>,
    /// Whether the bearer manages the installation's teams.
    pub installation_admin: bool,
}

/// Why no token was made.
#[derive(Debug, thiserror::Error)]
pub enum MintError {
    /// The secret is one that no server takes.
    #[error("the token secret has {found} bytes and needs {MIN_SECRET_BYTES}")]
    ShortSecret {
        /// How many bytes it has.
        found: usize,
    },
    /// The token would never hold, or end after the year 9999.
    #[error("a token holds for at least one second and not beyond the year 9999")]
    BadTtl,
    /// Issuer or audience make it longer than a server takes.
    #[error("the token would be longer than 8 KiB: shorten the issuer or the audience")]
    TooLong,
    /// The system gave no random bytes for `jti`.
    #[error("the system has no random bytes")]
    Random(#[source] getrandom::Error),
    /// The claims could not be signed.
    #[error("the token could not be signed")]
    Sign(#[source] jsonwebtoken::errors::Error),
}

#[derive(Serialize)]
struct Claims<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    iss: Option<&'a str>,
    sub: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    aud: Option<&'a str>,
    exp: i64,
    iat: i64,
    jti: String,
    team: &'a str,
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    sid: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    installation_admin: bool,
}

/// Makes a token without further powers.
pub fn mint(secret: &[u8], claims: &MintClaims, now: DateTime<Utc>) -> Result<String, MintError> {
    mint_with(secret, claims, Powers::default(), now)
}

/// Makes a token. It has no `nbf`: a server whose clock is a little behind should take it at once.
pub fn mint_with(
    secret: &[u8],
    claims: &MintClaims,
    powers: Powers<'_>,
    now: DateTime<Utc>,
) -> Result<String, MintError> {
    install_crypto();
    if secret.len() < MIN_SECRET_BYTES {
        return Err(MintError::ShortSecret { found: secret.len() });
    }
    let key = EncodingKey::from_secret(secret).map_err(MintError::Sign)?;
    let claims = Claims {
        iss: claims.issuer.as_deref(),
        sub: claims.subject.as_str(),
        aud: claims.audience.as_deref(),
        exp: expiry(now, claims.ttl).ok_or(MintError::BadTtl)?.timestamp(),
        iat: now.timestamp(),
        jti: random_id().map_err(MintError::Random)?,
        team: claims.team.as_str(),
        role: claims.role.as_str(),
        sid: powers.session,
        installation_admin: powers.installation_admin,
    };
    let token = jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &key)
        .map_err(MintError::Sign)?;
    if token.len() > MAX_TOKEN_BYTES { Err(MintError::TooLong) } else { Ok(token) }
}

fn expiry(now: DateTime<Utc>, ttl: Duration) -> Option<DateTime<Utc>> {
    let end = now.checked_add_signed(TimeDelta::from_std(ttl).ok()?)?;
    (ttl.as_secs() >= 1 && end.timestamp() <= LAST_SECOND).then_some(end)
}

/// 128 random bits, by which a token can be revoked.
fn random_id() -> Result<String, getrandom::Error> {
    let mut id = [0; 16];
    getrandom::fill(&mut id)?;
    Ok(URL_SAFE_NO_PAD.encode(id))
}
