//! Sessions: a refresh token that changes with every use, and access tokens that end with it.
//!
//! Of a session's refresh tokens the newest is good. An older one that comes back was stolen, or its
//! thief has used the newest: nobody can tell which, so the session ends for both. An access token
//! names its session and epoch; both together are what a revocation names.

use std::time::Duration;

use chrono::{DateTime, Utc};
use subtle::ConstantTimeEq as _;

use crate::domain::id::{SessionId, Shard, UserId};
use crate::domain::person::{OneTime, SECRET_BYTES, User};
use crate::domain::principal::{Role, Subject, Team};
use crate::engine::auth::{AuthError, MintClaims, Powers, mint_with};
use crate::engine::once::whole;
use crate::engine::{Ctx, Error, Refusal, clock, random, tokens};
use crate::store::sessions::{self, Session};
use crate::store::{self, Session as Connection, members, users};

/// How long an access token holds.
pub const ACCESS_TTL: Duration = Duration::from_mins(15);
/// How long a session lasts that nobody refreshes.
const REFRESH_TTL: Duration = Duration::from_hours(24 * 30);
/// How long a revocation of access tokens is kept: their life, and the leeway of clocks.
const REFUSED: Duration = Duration::from_mins(20);

/// What a person gets who has signed in.
#[derive(Debug)]
pub struct SignedIn {
    /// Who.
    pub user: User,
    /// In which team.
    pub team: Team,
    /// As what.
    pub role: Role,
    /// The access token: a JWT.
    pub access: String,
    /// When it ends.
    pub access_ends: DateTime<Utc>,
    /// The refresh token.
    pub refresh: OneTime,
    /// When it ends, if it is not used.
    pub refresh_ends: DateTime<Utc>,
}

/// A part of the access tokens of an ended session, which this process has yet to be told.
pub(in crate::engine) type Ended = (Team, String);

/// Opens a session.
pub(super) async fn open(
    ctx: &Ctx,
    user: User,
    (team, role): (Team, Role),
) -> Result<SignedIn, Error> {
    let now = ctx.clock.now();
    let id = SessionId::new(now, Shard(0), random::bits());
    let refresh = OneTime::refresh(id, &random::bytes::<SECRET_BYTES>()?);
    let new = Session {
        id,
        user: user.id,
        team,
        hash: refresh.hash().to_vec(),
        epoch: 1,
        expires_at: clock::after(now, REFRESH_TTL),
    };
    let signed_in = signed_in(ctx, user, (&new, role), refresh)?;
    let connection = ctx.store.session().await?;
    sessions::insert(&connection, &new, now).await?;
    Ok(signed_in)
}

/// New tokens for the newest refresh token of a session.
pub async fn refresh(ctx: &Ctx, text: &str) -> Result<SignedIn, Error> {
    const BAD: Error = Error::Unauthenticated(AuthError::BadRefresh);
    ctx.access.signer()?;
    let now = ctx.clock.now();
    let (id, shown) = OneTime::parse_refresh(text).or(Err(BAD))?;
    let secret = random::bytes::<SECRET_BYTES>()?;
    // A refusal that ends the session is to be committed, so it is an answer of the work.
    let work = async |connection: &Connection| {
        let Some(session) = sessions::lock(connection, id).await? else { return Ok(Err(None)) };
        let is_newest = bool::from(shown.hash().as_slice().ct_eq(&session.hash));
        let user = users::get(connection, session.user).await?;
        let role = role(connection, &session).await?;
        match (user, role) {
            (Some(user), Some(role)) if is_newest && now < session.expires_at => {
                let refresh = OneTime::refresh(id, &secret);
                let end = clock::after(now, REFRESH_TTL);
                sessions::rotate(connection, id, refresh.hash(), end).await?;
                let session = Session { expires_at: end, ..session };
                Ok(Ok(signed_in(ctx, user, (&session, role), refresh)?))
            }
            _ => Ok(Err(Some(end(connection, &session, now).await?))),
        }
    };
    match whole(ctx, work).await? {
        Ok(signed_in) => Ok(signed_in),
        Err(ended) => {
            ctx.access.refuse_all(ended.as_slice());
            Err(BAD)
        }
    }
}

/// Ends the session of a refresh token; one that is not its newest ends it too. What is none changes
/// nothing.
pub async fn logout(ctx: &Ctx, text: &str) -> Result<(), Error> {
    let Ok((id, _)) = OneTime::parse_refresh(text) else { return Ok(()) };
    let now = ctx.clock.now();
    let work = async |connection: &Connection| {
        let Some(session) = sessions::lock(connection, id).await? else { return Ok(None) };
        Ok(Some(end(connection, &session, now).await?))
    };
    ctx.access.refuse_all(whole(ctx, work).await?.as_slice());
    Ok(())
}

/// Ends every session of a person but one.
pub(super) async fn end_others(
    connection: &Connection,
    user: UserId,
    kept: Option<SessionId>,
    now: DateTime<Utc>,
) -> Result<Vec<Ended>, store::Error> {
    let mut ended = Vec::new();
    for session in sessions::of_user(connection, user, None).await? {
        if Some(session.id) != kept {
            ended.push(end(connection, &session, now).await?);
        }
    }
    Ok(ended)
}

/// Makes the access tokens of a person in a team void, because what they may do there has changed.
/// The sessions go on: refreshing brings tokens with the new role, or ends what has no ground any
/// more.
pub(in crate::engine) async fn renew(
    connection: &Connection,
    team: &Team,
    user: UserId,
    now: DateTime<Utc>,
) -> Result<Vec<Ended>, store::Error> {
    let mut ended = Vec::new();
    for session in sessions::of_user(connection, user, Some(team)).await? {
        sessions::renew(connection, session.id).await?;
        ended.push(void(connection, &session, now).await?);
    }
    Ok(ended)
}

async fn end(
    connection: &Connection,
    session: &Session,
    now: DateTime<Utc>,
) -> Result<Ended, store::Error> {
    sessions::delete(connection, session.id).await?;
    void(connection, session, now).await
}

/// Revokes the access tokens of a session's present epoch.
async fn void(
    connection: &Connection,
    session: &Session,
    now: DateTime<Utc>,
) -> Result<Ended, store::Error> {
    let claim = claim(session);
    tokens::add(connection, &session.team, (&claim, clock::after(now, REFUSED))).await?;
    Ok((session.team.clone(), claim))
}

/// What the access tokens of a session say as `sid`.
fn claim(session: &Session) -> String {
    format!("{}.{}", session.id, session.epoch)
}

async fn role(connection: &Connection, session: &Session) -> Result<Option<Role>, store::Error> {
    let member = members::get(connection, &session.team, session.user).await?;
    Ok(member.map(|member| member.role))
}

fn signed_in(
    ctx: &Ctx,
    user: User,
    (session, role): (&Session, Role),
    refresh: OneTime,
) -> Result<SignedIn, Error> {
    let signer = ctx.access.signer()?;
    let now = ctx.clock.now();
    let subject = Subject::parse(&user.id.to_string());
    let claims = MintClaims {
        team: session.team.clone(),
        role,
        subject: subject.map_err(|error| Error::Broken(error.to_string()))?,
        ttl: ACCESS_TTL,
        issuer: signer.issuer.clone(),
        audience: signer.audience.clone(),
    };
    let claim = claim(session);
    let powers = Powers { session: Some(&claim), installation_admin: user.installation_admin };
    let access = mint_with(&signer.secret, &claims, powers, now);
    Ok(SignedIn {
        user,
        team: session.team.clone(),
        role,
        access: access.map_err(|error| Error::Broken(error.to_string()))?,
        access_ends: clock::after(now, ACCESS_TTL),
        refresh,
        refresh_ends: session.expires_at,
    })
}

/// What this server signs the tokens of people with.
pub struct Signer {
    /// The secret that tokens are verified with.
    pub secret: Vec<u8>,
    /// `iss`, as this server demands it.
    pub issuer: Option<String>,
    /// `aud`, as this server demands it.
    pub audience: Option<String>,
}

impl Signer {
    /// The signer, or the refusal of a server without one.
    pub(in crate::engine) fn of(signer: Option<&Self>) -> Result<&Self, Error> {
        signer.ok_or_else(|| Refusal::LoginUnavailable.into())
    }
}
