//! How people sign in: e-mail and password give a short access token and a refresh token. Every
//! answer to a wrong pair is the same, and takes as long, whether the e-mail address is known or not.

pub(super) mod password;
pub(super) mod session;
mod tries;

use std::net::IpAddr;

use super::auth::AuthError;
use super::once::whole;
use super::{Ctx, Error};
use crate::domain::invalid::Invalid;
use crate::domain::person::{Email, OneTime, User};
use crate::domain::principal::{Role, Team};
use crate::store::{Session, members, users};

pub use session::{ACCESS_TTL, SignedIn, Signer, logout, refresh};

/// The most teams of a person that are looked at.
const TEAMS: i64 = 500;

/// Signs a person in: to the team that is named, or to the only one that they have.
pub async fn login(
    ctx: &Ctx,
    (email, password): (&Email, &str),
    team: Option<&Team>,
    address: Option<IpAddr>,
) -> Result<SignedIn, Error> {
    ctx.access.signer()?;
    let user = prove(ctx, (email, password), address).await?;
    let teams = members::teams(&ctx.store.session().await?, user.id, TEAMS).await?;
    let place = choose(teams, team)?;
    session::open(ctx, user, place).await
}

/// Changes a password, and ends every session of the person but the one of this refresh token.
pub async fn change_password(
    ctx: &Ctx,
    (email, password): (&Email, &str),
    new: &str,
    kept: Option<&str>,
    address: Option<IpAddr>,
) -> Result<(), Error> {
    let user = prove(ctx, (email, password), address).await?;
    let hash = ctx.access.turns().hash(new).await?;
    let kept = kept.and_then(|text| OneTime::parse_refresh(text).ok()).map(|(id, _)| id);
    let now = ctx.clock.now();
    let work = async |session: &Session| {
        users::set_password(session, user.id, &hash, now).await?;
        Ok(session::end_others(session, user.id, kept, now).await?)
    };
    ctx.access.refuse_all(&whole(ctx, work).await?);
    Ok(())
}

/// The person who has this e-mail address and this password.
pub(super) async fn prove(
    ctx: &Ctx,
    (email, password): (&Email, &str),
    address: Option<IpAddr>,
) -> Result<User, Error> {
    tries::count(ctx, email, address).await?;
    let found = users::by_email(&ctx.store, email).await?;
    let kept = found.as_ref().map(|(_, hash)| hash.as_str());
    let is_right = ctx.access.turns().verify(password, kept).await?;
    let (user, _) = found.filter(|_| is_right).ok_or(AuthError::BadLogin)?;
    tries::forgive(ctx, email).await?;
    Ok(user)
}

fn choose(teams: Vec<(Team, Role)>, wanted: Option<&Team>) -> Result<(Team, Role), Error> {
    let names: Vec<_> = teams.iter().map(|(team, _)| team.to_string()).collect();
    let mut fitting: Vec<_> = match wanted {
        Some(wanted) => teams.into_iter().filter(|(team, _)| team == wanted).collect(),
        None => teams,
    };
    match (fitting.len(), fitting.pop()) {
        (1, Some(place)) => Ok(place),
        _ if names.is_empty() => {
            Err(Invalid::one("#/team", "no-team", "you are a member of no team").into())
        }
        _ => {
            let detail = format!("name one of your teams: {}", names.join(", "));
            Err(Invalid::one("#/team", "required", detail).into())
        }
    }
}
