//! Invitations to a team: made by who manages it, accepted by whoever holds the token.

use std::net::IpAddr;
use std::time::Duration;

use serde_json::{Value, json};

use super::audit::{self, Deed};
use super::auth::AuthError;
use super::login;
use super::newcomer::{Newcomer, add};
use super::once::{Answer, Key, once, whole};
use super::teams::allow_in;
use super::{Ctx, Error, Refusal, clock, random};
use crate::domain::invalid::Invalid;
use crate::domain::person::{Email, Invitation, OneTime, SECRET_BYTES, User};
use crate::domain::principal::{Act, Kind, Principal, Role, Subject, Team, Via};
use crate::domain::scope::Scope;
use crate::store::idempotency::Kept;
use crate::store::{Session, invitations, members, users};

/// How long an invitation can be accepted.
pub const TTL: Duration = Duration::from_hours(24 * 7);
/// The most open invitations of a team.
const MOST: i64 = 1_000;

/// An invitation that was just made, with the token that nobody can read again.
#[derive(Debug)]
pub struct Invited {
    /// The invitation.
    pub invitation: Invitation,
    /// Its token.
    pub token: OneTime,
}

/// Invites somebody to a team. Owners decide about owners and admins.
pub async fn create(
    ctx: &Ctx,
    who: &Principal,
    key: Option<&Key>,
    (team, email, role): (&Team, &Email, Role),
    render: impl Fn(&Invited) -> Kept,
) -> Result<Answer<Invited>, Error> {
    allow_in(who, team, Act::Manage)?;
    allow_in(who, team, role.granted_by())?;
    let now = ctx.clock.now();
    let token = OneTime::invitation(&random::bytes::<SECRET_BYTES>()?);
    let invitation = Invitation {
        team: team.clone(),
        email: email.as_str().to_owned(),
        role,
        expires_at: clock::after(now, TTL),
    };
    let work = async |session: &Session| {
        if invitations::open(session, team, now, MOST).await? >= MOST {
            let detail = format!("{MOST} invitations to this team are open already");
            return Err(Invalid::one("#", "too-many", detail).into());
        }
        invitations::insert(session, &invitation, token.hash(), now).await?;
        let after = json!({"email": invitation.email, "role": role.as_str()});
        let deed = Deed::of("invite", format!("teams/{team}/members")).change(Value::Null, after);
        audit::record_in(session, team, who, deed, now).await?;
        Ok(Invited { invitation: invitation.clone(), token: token.clone() })
    };
    once(ctx, key, now, work, render).await
}

/// Makes a member of whoever holds the token: a new person with this name and password, or the one
/// who has the invitation's e-mail address, whose password it must then be.
pub async fn accept(
    ctx: &Ctx,
    token: &str,
    (name, password): (&str, &str),
    address: (Option<IpAddr>, Via),
) -> Result<(User, Invitation), Error> {
    let now = ctx.clock.now();
    let hash = OneTime::parse_invitation(token).or(Err(Refusal::InvitationEnded))?.hash();
    let (address, via) = address;
    let found = invitations::find(&ctx.store, hash, now).await?;
    let email = found.and_then(|found| Email::parse(&found.email));
    let email = email.ok_or(Refusal::InvitationEnded)?;
    let known = users::by_email(&ctx.store, &email).await?.map(|(user, _)| user);
    let newcomer = match known {
        Some(_) => Newcomer::Known(login::prove(ctx, (&email, password), address).await?),
        None => Newcomer::New {
            email: email.clone(),
            name: name.to_owned(),
            password: ctx.access.turns().hash(password).await?,
            installation_admin: false,
        },
    };
    let work = async |session: &Session| {
        let invitation = invitations::take(session, hash, now).await?;
        let invitation = invitation.ok_or(Refusal::InvitationEnded)?;
        let user = add(session, newcomer, now).await?;
        let place = (&invitation.team, user.id);
        // Whoever is a member stays what they are: an invitation makes nobody less.
        if members::insert(session, place, invitation.role, now).await? {
            let subject = Subject::parse(&user.id.to_string()).or(Err(AuthError::BadLogin))?;
            let who = Principal {
                team: invitation.team.clone(),
                subject,
                role: invitation.role,
                scope: Scope::default(),
                kind: Kind::User,
                installation_admin: false,
                via,
            };
            let after = json!({"email": user.email, "role": invitation.role.as_str()});
            let deed = Deed::of("join", format!("members/{}", user.id));
            audit::record(session, &who, deed.change(Value::Null, after), now).await?;
        }
        Ok((user, invitation))
    };
    whole(ctx, work).await
}
