//! The door through which every caller comes: a token or an API key becomes a [`Principal`]; and
//! what a process keeps in memory so that this costs no question to the database per request. What a
//! principal may do is not decided here.

mod revoked;
mod ring;

use std::sync::Arc;
use std::time::Duration;

use super::auth::{AuthError, Verifier};
use super::{Ctx, Error};
use crate::domain::key::{KEY_PREFIX, KeyId};
use crate::domain::principal::{Principal, Team};
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
}

impl Access {
    /// Reads what was revoked elsewhere since the last time, at most half a second ago if this is
    /// called as often as it asks to be. The processes that serve the API do so, and once before
    /// they answer anybody.
    pub async fn refresh(&self, ctx: &Ctx) -> Result<Duration, Error> {
        self.0.revoked.refresh(ctx).await?;
        Ok(PERIOD)
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

/// Who bears this token or API key.
pub async fn authenticate(
    ctx: &Ctx,
    verifier: Option<&Verifier>,
    bearer: &str,
) -> Result<Principal, Error> {
    let now = ctx.clock.now();
    if bearer.starts_with(KEY_PREFIX) {
        return ctx.access.0.keys.open(ctx, bearer, now).await;
    }
    let verifier = verifier.ok_or(AuthError::Missing)?;
    let who = verifier.verify(bearer, now).await?;
    if ctx.access.0.revoked.holds(&who) {
        return Err(AuthError::Revoked.into());
    }
    Ok(who)
}
