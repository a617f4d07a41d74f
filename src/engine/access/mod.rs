//! The door through which every caller comes: a token or an API key becomes a [`Principal`]; and
//! what a process keeps in memory so that this costs no question to the database per request. What a
//! principal may do is not decided here.

mod revoked;
mod ring;

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;

use super::auth::{AuthError, Verifier};
use super::login::Signer;
use super::login::password::Turns;
use super::login::session::Ended;
use super::{Ctx, Error, Refusal};
use crate::domain::key::{KEY_PREFIX, KeyId};
use crate::domain::principal::{Act, Principal, Team};
use crate::store::{invitations, sessions, tries};
use revoked::Revoked;
use ring::Ring;

pub use revoked::PERIOD;

/// What a process remembers of keys and of revoked tokens; cheap to clone.
#[derive(Clone, Default)]
pub struct Access(Arc<Kept>);

#[derive(Default)]
struct Kept {
    keys: Ring,
    revoked: Revoked,
    turns: Turns,
    signer: Option<Signer>,
}

/// What a request is about to do, as far as its method tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// Read.
    Look,
    /// Change something.
    Act,
}

/// Rows that have ended and are dropped at a time.
const PRUNED: i64 = 1_000;

impl Access {
    /// Nothing is known yet; people's tokens are signed with `signer`, if there is one.
    pub fn new(signer: Option<Signer>) -> Self {
        Self(Arc::new(Kept { signer, ..Kept::default() }))
    }

    /// Reads what was revoked elsewhere since the last time, at most 0.8 s ago if this is
    /// called as often as it asks to be. The processes that serve the API do so, and once before
    /// they answer anybody.
    pub async fn refresh(&self, ctx: &Ctx) -> Result<Duration, Error> {
        if self.0.revoked.refresh(ctx).await? {
            let (now, store) = (ctx.clock.now(), &ctx.store);
            invitations::prune(store, now, PRUNED).await?;
            sessions::prune(store, now, PRUNED).await?;
            tries::prune(store, now - TimeDelta::hours(1), PRUNED).await?;
        }
        Ok(PERIOD)
    }

    /// What people's tokens are signed with, or the refusal of a server that signs none.
    pub(super) fn signer(&self) -> Result<&Signer, Error> {
        Signer::of(self.0.signer.as_ref())
    }

    /// The threads that hash passwords.
    pub(super) fn turns(&self) -> &Turns {
        &self.0.turns
    }

    /// Refuses the access tokens of sessions that are over.
    pub(super) fn refuse_all(&self, ended: &[Ended]) {
        for (team, claim) in ended {
            self.refuse(team, claim);
        }
    }

    /// Refuses a token of a team from now on, in this process.
    pub(super) fn refuse(&self, team: &Team, jti: &str) {
        self.0.revoked.add(team, jti);
    }

    /// Asks the database for a key at its next use.
    pub(super) fn forget(&self, key: KeyId) {
        self.0.keys.forget(key);
    }
}

/// Who bears this token or API key, in the team that it is for; `wanted` is the team in which the
/// request says that it is made.
pub async fn authenticate(
    ctx: &Ctx,
    verifier: Option<&Verifier>,
    bearer: &str,
    intent: Intent,
    wanted: Option<&Team>,
) -> Result<Principal, Error> {
    let now = ctx.clock.now();
    let who = if bearer.starts_with(KEY_PREFIX) {
        ctx.access.0.keys.open(ctx, bearer, now).await?
    } else {
        let verifier = verifier.ok_or(AuthError::Missing)?;
        let who = verifier.verify_in(bearer, wanted, now).await?;
        if ctx.access.0.revoked.holds(&who) {
            return Err(AuthError::Revoked.into());
        }
        who
    };
    let who = in_team(who, wanted)?;
    let may_look = intent == Intent::Look && who.may(Act::Own);
    match ctx.roster.why_suspended(&who.team) {
        Some(why) if !may_look && !who.installation_admin => {
            Err(Refusal::TeamSuspended(why).into())
        }
        _ => Ok(who),
    }
}

/// Goes on only if the caller is in the team in which the request says that it is made, if it says
/// so. Any other team gets the same refusal, whether there is one or not.
pub fn in_team(who: Principal, wanted: Option<&Team>) -> Result<Principal, Error> {
    match wanted {
        Some(team) if *team != who.team => Err(Refusal::OtherTeam(who.team.to_string()).into()),
        Some(_) | None => Ok(who),
    }
}
