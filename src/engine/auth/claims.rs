//! Reads the claims of a token whose signature has been verified (RFC 7519, section 4.1, and our
//! own `team`, `role` and `queues`; the settings may say that an outside issuer has the first two
//! elsewhere). A claim of the wrong type is an error, never "absent" (bugs.md B145).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::{AuthError, jws};
use crate::domain::claim::ClaimNames;
use crate::domain::principal::{Kind, Principal, Role, Subject, Team, Via};
use crate::domain::queue::is_queue_name;
use crate::domain::scope::{QUEUES_MAX, Scope};

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
    /// In the first of its teams.
    principal: Principal,
    teams: Arc<[Team]>,
    pub(super) window: Window,
}

impl Verified {
    /// Who bears it, in the team that the request is made in.
    pub(super) fn bearer(self, wanted: Option<&Team>) -> Result<Principal, AuthError> {
        let team = choose_team(&self.teams, wanted)?.clone();
        Ok(Principal { team, ..self.principal })
    }
}

/// What the settings demand of a token.
pub(super) struct Expected {
    /// Whether whoever signs is this installation: then a token may also name a session (`sid`) and an
    /// installation admin.
    pub(super) own: bool,
    pub(super) issuer: Option<String>,
    pub(super) audience: Option<String>,
    pub(super) claims: ClaimNames,
}

/// The claims, by name. `null` is there, and is of no type that a claim may have.
struct Claims(Map<String, Value>);

impl Claims {
    fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }
}

/// RFC 7519, section 4: names must be unique.
impl<'de> Deserialize<'de> for Claims {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Claims;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Claims, A::Error> {
                let mut claims = Map::new();
                while let Some((name, value)) = map.next_entry()? {
                    if claims.insert(name, value).is_some() {
                        return Err(de::Error::custom("a name is there twice"));
                    }
                }
                Ok(Claims(claims))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

impl Expected {
    /// Reads the encoded claims.
    pub(super) fn read(&self, payload: &str) -> Result<Verified, AuthError> {
        let claims: Claims = jws::object(payload)
            .ok_or(AuthError::Malformed("has claims that are not JSON with unique names"))?;
        self.check_issuer(claims.get("iss"))?;
        self.check_audience(claims.get("aud"))?;
        let window = Window {
            exp: instant("exp", claims.get("exp"))?.ok_or(bad("exp", "is missing"))?,
            nbf: instant("nbf", claims.get("nbf"))?,
        };
        let teams = teams(self.claims.team.find(&claims.0))?;
        let subject = Subject::parse(text("sub", claims.get("sub"))?);
        let sid = claims.get("sid").filter(|_| self.own);
        let session = sid.map(|sid| text("sid", Some(sid))).transpose()?.map(Arc::from);
        let principal = Principal {
            team: teams.first().ok_or(bad("team", "names no team"))?.clone(),
            subject: subject.or(Err(bad("sub", "is not 1 to 255 printable characters")))?,
            role: self.role(self.claims.role.find(&claims.0))?,
            scope: scope(claims.get("queues"))?,
            kind: if session.is_some() { Kind::User } else { Kind::Token },
            installation_admin: self.own && flag(claims.get("installation_admin"))?,
            via: Via { credential: id(claims.get("jti"))?, session, ..Via::default() },
        };
        Ok(Verified { principal, teams: teams.into(), window })
    }

    /// The role that the claim names, or the widest of those that it names and that mean something
    /// here: an issuer's list holds names that are for others.
    fn role(&self, value: Option<&Value>) -> Result<Role, AuthError> {
        let known = one_or_more("role", value)?;
        let known = known.into_iter().filter_map(|name| self.claims.roles.role(name));
        let none = "is not owner, admin, operator, writer or viewer, nor mapped to one";
        Role::widest(known).ok_or(bad("role", none))
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
            Some(many @ Value::Array(_)) => names("aud", many)?,
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

/// The team in which a request is made whose token is for `teams`, of which there is at least one.
/// `wanted` is what the request says. A token for one team is for that one, whatever the request
/// says: whoever asks compares.
pub fn choose_team<'a>(teams: &'a [Team], wanted: Option<&Team>) -> Result<&'a Team, AuthError> {
    match (teams, wanted) {
        ([one], _) => Ok(one),
        (_, None) => Err(AuthError::ManyTeams),
        (many, Some(wanted)) => {
            many.iter().find(|team| *team == wanted).ok_or(AuthError::NoneOfItsTeams)
        }
    }
}

/// The teams that the claim names, each once.
fn teams(value: Option<&Value>) -> Result<Vec<Team>, AuthError> {
    let slugs = one_or_more("team", value)?;
    let mut teams = Vec::with_capacity(slugs.len());
    for slug in slugs {
        let team = Team::parse(slug).or(Err(bad("team", "is no team slug")))?;
        if !teams.contains(&team) {
            teams.push(team);
        }
    }
    Ok(teams)
}

/// The claim `queues`: those that the bearer is held to, as of an API key.
fn scope(value: Option<&Value>) -> Result<Scope, AuthError> {
    let Some(value) = value else { return Ok(Scope::default()) };
    let queues = names("queues", value)?;
    let fits = (1..=QUEUES_MAX).contains(&queues.len());
    if !fits || !queues.iter().all(|queue| is_queue_name(queue)) {
        return Err(bad("queues", "is not an array of 1 to 50 names of queues"));
    }
    Ok(Scope::of(queues.into_iter().map(str::to_owned).collect()))
}

/// A claim that must be a string or an array of strings.
fn one_or_more<'a>(
    claim: &'static str,
    value: Option<&'a Value>,
) -> Result<Vec<&'a str>, AuthError> {
    let value = value.ok_or(bad(claim, "is missing"))?;
    let one = value.as_str().map(|one| vec![one]);
    one.or_else(|| texts(value)).ok_or(bad(claim, "is neither a string nor an array of strings"))
}

/// A claim that must be an array of strings.
fn names<'a>(claim: &'static str, value: &'a Value) -> Result<Vec<&'a str>, AuthError> {
    texts(value).ok_or(bad(claim, "is not an array of strings"))
}

fn texts(value: &Value) -> Option<Vec<&str>> {
    value.as_array()?.iter().map(Value::as_str).collect()
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
