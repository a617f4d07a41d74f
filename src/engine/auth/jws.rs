//! Takes a compact JWS (RFC 7515) apart without believing any of it. No keys and no claims here.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::Algorithm;
use serde::{
    Deserialize,
    de::{DeserializeOwned, IgnoredAny},
};

use super::{AuthError, keys};

/// A token's three parts.
pub(super) struct Jws<'a> {
    pub(super) header: Header,
    /// The claims, still encoded.
    pub(super) payload: &'a str,
    /// What is signed: header, dot, payload, as they came.
    pub(super) message: &'a str,
    /// Still encoded.
    pub(super) signature: &'a str,
}

/// What a header is asked: which key, and whether its algorithm agrees with the key's.
pub(super) struct Header {
    pub(super) algorithm: Algorithm,
    pub(super) kid: Option<String>,
}

#[derive(Deserialize)]
struct RawHeader {
    alg: String,
    kid: Option<String>,
    crit: Option<IgnoredAny>,
    b64: Option<IgnoredAny>,
}

impl<'a> Jws<'a> {
    pub(super) fn parse(token: &'a str) -> Result<Self, AuthError> {
        let parts = token.rsplit_once('.').and_then(|(message, signature)| {
            let (header, payload) = message.split_once('.')?;
            (!payload.contains('.')).then_some((header, payload, message, signature))
        });
        let Some((header, payload, message, signature)) = parts else {
            return Err(AuthError::Malformed("is not three parts with dots between"));
        };
        Ok(Self { header: Header::parse(header)?, payload, message, signature })
    }
}

impl Header {
    fn parse(part: &str) -> Result<Self, AuthError> {
        let raw: RawHeader = object(part)
            .ok_or(AuthError::Malformed("has a header that is not JSON in base64url"))?;
        // An extension that must be understood (RFC 7515, section 4.1.11) and is not; `b64`
        // (RFC 7797) would change what the signature covers, so it is refused even alone.
        if raw.crit.is_some() || raw.b64.is_some() {
            return Err(AuthError::Malformed("uses a header extension (`crit` or `b64`)"));
        }
        // "none" is no algorithm here, in any spelling.
        let algorithm = keys::algorithm(&raw.alg)
            .ok_or(AuthError::Malformed("has an `alg` other than HS256, RS256, ES256 and EdDSA"))?;
        Ok(Self { algorithm, kid: raw.kid })
    }
}

/// Reads a part that must be a JSON object. Names that are asked for and come twice are refused by
/// the derived readers (RFC 7519, section 4). These would also take an array for a struct, field by
/// field: hence the look at the first byte.
pub(super) fn object<T: DeserializeOwned>(part: &str) -> Option<T> {
    let bytes = URL_SAFE_NO_PAD.decode(part).ok()?;
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        return None;
    }
    serde_json::from_slice(&bytes).ok()
}
