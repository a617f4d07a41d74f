//! Reads the claims of a token whose signature has been verified (RFC 7519, section 4.1, and our
//! own `team` and `role`). A claim of the wrong type is an error, never "absent" (bugs.md B145).

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{AuthError, jws};
use crate::domain::principal::{Kind, Principal, Role, Subject, Team, Via};
use crate::domain::scope::Scope;

/// How far two clocks may be apart, in seconds: the "small leeway" of RFC 7519, section 4.1.4.
const LEEWAY_S: i64 = 60;

/// The last second of the year 9999, which ends RFC 3339: later instants are mistakes (often
/// milliseconds), and every sum of a claim and the leeway stays far from overflow.
pub(super) const LAST_SECOND: i64 = 253_402_300_799;

/// When a token holds, in Unix seconds.
#[derive(Clone, Copy)]
pub(super) struct Window {
    exp: i64,
    nbf: Option<i64>,
}

impl Window {
    pub(super) fn check(self, now: DateTime<Utc>) -> Result<(), AuthError> {
        let now = now.timestamp();
        if now.saturating_sub(LEEWAY_S) >= self.exp {
            return Err(AuthError::Expired);
        }
        if self.nbf.is_some_and(|nbf| now.saturating_add(LEEWAY_S) < nbf) {
            return Err(AuthError::NotYet);
        }
        Ok(())
    }
}

/// The longest `jti`, in bytes, so that every token that has one can be revoked by it.
pub(super) const ID_MAX_LEN: usize = 255;

/// What a token said, once all of it was found right but the time, which is asked at each use.
#[derive(Clone)]
pub(super) struct Verified {
    pub(super) principal: Principal,
    pub(super) window: Window,
}

/// What the settings demand of a token.
pub(super) struct Expected {
    /// Whether whoever signs is this installation: then a token may also name a session (`sid`) and an
    /// installation admin.
    pub(super) own: bool,
    pub(super) issuer: Option<String>,
    pub(super) audience: Option<String>,
}

#[derive(Deserialize)]
struct Claims {
    #[serde(default, deserialize_with = "present")]
    iss: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    sub: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    aud: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    exp: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    nbf: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    jti: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    team: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    role: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    sid: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    installation_admin: Option<Value>,
}

/// Keeps `null` apart from "not there".
fn present<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(value).map(Some)
}

impl Expected {
    /// Reads the encoded claims.
    pub(super) fn read(&self, payload: &str) -> Result<Verified, AuthError> {
        let claims: Claims = jws::object(payload)
            .ok_or(AuthError::Malformed("has claims that are not JSON with unique names"))?;
        self.check_issuer(claims.iss.as_ref())?;
        self.check_audience(claims.aud.as_ref())?;
        let window = Window {
            exp: instant("exp", claims.exp.as_ref())?.ok_or(bad("exp", "is missing"))?,
            nbf: instant("nbf", claims.nbf.as_ref())?,
        };
        let team = Team::parse(text("team", claims.team.as_ref())?);
        let subject = Subject::parse(text("sub", claims.sub.as_ref())?);
        let role = Role::parse(text("role", claims.role.as_ref())?);
        let sid = claims.sid.as_ref().filter(|_| self.own);
        let session = sid.map(|sid| text("sid", Some(sid))).transpose()?.map(Arc::from);
        let principal = Principal {
            team: team.or(Err(bad("team", "is no team slug")))?,
            subject: subject.or(Err(bad("sub", "is not 1 to 255 printable characters")))?,
            role: role.or(Err(bad("role", "is not owner, admin, operator, writer or viewer")))?,
            scope: Scope::default(),
            kind: if session.is_some() { Kind::User } else { Kind::Token },
            installation_admin: self.own && flag(claims.installation_admin.as_ref())?,
            via: Via { credential: id(claims.jti.as_ref())?, session, ..Via::default() },
        };
        Ok(Verified { principal, window })
    }

    fn check_issuer(&self, iss: Option<&Value>) -> Result<(), AuthError> {
        let Some(wanted) = &self.issuer else {
            return Ok(());
        };
        match iss {
            Some(Value::String(issuer)) if issuer == wanted => Ok(()),
            Some(Value::String(_)) | None => Err(AuthError::WrongIssuer),
            Some(_) => Err(bad("iss", "is not a string")),
        }
    }

    /// RFC 7519, section 4.1.3: a token that carries `aud` MUST be rejected by whoever does not
    /// find itself named there; without a configured audience nobody here can.
    fn check_audience(&self, aud: Option<&Value>) -> Result<(), AuthError> {
        let named: Vec<&str> = match aud {
            None => Vec::new(),
            Some(Value::String(one)) => vec![one],
            Some(Value::Array(many)) => many
                .iter()
                .map(Value::as_str)
                .collect::<Option<_>>()
                .ok_or(bad("aud", "is not an array of strings"))?,
            Some(_) => return Err(bad("aud", "is neither a string nor an array of strings")),
        };
        match (&self.audience, aud) {
            (None, None) => Ok(()),
            (None, Some(_)) => Err(AuthError::WrongAudience(
                "is set, and this server has no audience configured to find itself in it",
            )),
            (Some(_), None) => Err(AuthError::WrongAudience("is missing")),
            (Some(wanted), Some(_)) if named.contains(&wanted.as_str()) => Ok(()),
            (Some(_), Some(_)) => Err(AuthError::WrongAudience("does not name this server")),
        }
    }
}

/// The token's own name, by which it can be revoked; the record of what it did holds it too.
fn id(jti: Option<&Value>) -> Result<Option<Arc<str>>, AuthError> {
    let Some(value) = jti else {
        return Ok(None);
    };
    let text = value.as_str().ok_or(bad("jti", "is not a string"))?;
    if text.is_empty() || text.len() > ID_MAX_LEN || text.chars().any(char::is_control) {
        return Err(bad("jti", "is not 1 to 255 bytes of printable text"));
    }
    Ok(Some(text.into()))
}

/// The claim `installation_admin`.
fn flag(value: Option<&Value>) -> Result<bool, AuthError> {
    match value {
        None => Ok(false),
        Some(value) => {
            value.as_bool().ok_or(bad("installation_admin", "is neither true nor false"))
        }
    }
}

/// A claim that must be a string.
fn text<'a>(claim: &'static str, value: Option<&'a Value>) -> Result<&'a str, AuthError> {
    let value = value.ok_or(bad(claim, "is missing"))?;
    value.as_str().ok_or(bad(claim, "is not a string"))
}

/// A claim that, where present, must be a `NumericDate`: a JSON number of seconds, whose fraction
/// is dropped.
fn instant(claim: &'static str, value: Option<&Value>) -> Result<Option<i64>, AuthError> {
    let Some(value) = value else {
        return Ok(None);
    };
    // Duration's conversion refuses what is negative, not finite or beyond u64.
    let seconds = value
        .as_u64()
        .or_else(|| Some(Duration::try_from_secs_f64(value.as_f64()?).ok()?.as_secs()))
        .and_then(|seconds| i64::try_from(seconds).ok())
        .filter(|seconds| *seconds <= LAST_SECOND);
    seconds.map(Some).ok_or(bad(claim, "is not a number of seconds between 1970 and 9999"))
}

const fn bad(claim: &'static str, reason: &'static str) -> AuthError {
    AuthError::BadClaim { claim, reason }
}
