//! Revoking tokens by their `jti`, until they expire by themselves.

use chrono::{DateTime, Utc};

use super::audit::{self, Deed, show};
use super::error::allow;
use super::once::whole;
use super::{Ctx, Error};
use crate::domain::invalid::Invalid;
use crate::domain::principal::{Act, Principal, Team};
use crate::store::tokens::{self, Revocation};
use crate::store::{self, Session};

/// The most tokens of a team that are refused at a time: every process has all of them in memory.
const MOST: i64 = 10_000;

/// Refuses a token of the caller's team: at once in this process, within half a second in the
/// others. `expires_at` is the token's own; once it has passed, the revocation is forgotten.
pub async fn revoke(
    ctx: &Ctx,
    who: &Principal,
    (jti, expires_at): (&str, DateTime<Utc>),
) -> Result<(), Error> {
    allow(who, Act::Manage)?;
    let now = ctx.clock.now();
    if expires_at <= now {
        let detail = "must lie in the future; a token that has expired is refused anyway";
        return Err(Invalid::one("#/expires_at", "out-of-range", detail).into());
    }
    let work = async |session: &Session| {
        if tokens::count(session, &who.team, now, MOST).await? >= MOST {
            let detail = format!("{MOST} tokens of the team are refused already");
            return Err(Invalid::one("#/jti", "too-many", detail).into());
        }
        add(session, &who.team, (jti, expires_at)).await?;
        let after = serde_json::json!({"expires_at": show::instant(expires_at)});
        let deed = Deed::of("revoke", format!("tokens/{jti}"));
        let deed = deed.change(serde_json::Value::Null, after);
        Ok(audit::record(session, who, deed, now).await?)
    };
    whole(ctx, work).await?;
    ctx.access.refuse(&who.team, jti);
    Ok(())
}

/// Refuses tokens by their `jti`, or by the session that they belong to, as a part of the open
/// transaction. This process has to be told besides, once it is committed.
pub(super) async fn add(
    session: &Session,
    team: &Team,
    (jti, expires_at): (&str, DateTime<Utc>),
) -> Result<(), store::Error> {
    let version = tokens::next_version(session).await?;
    let (team, jti) = (team.clone(), jti.to_owned());
    tokens::revoke(session, &Revocation { team, jti, expires_at, version }).await
}
