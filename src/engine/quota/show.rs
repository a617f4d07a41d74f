//! Looking at the quotas of a team and how much of each is used, and setting them.

use super::Quotas;
use crate::domain::principal::{Act, Principal, Team};
use crate::domain::quota::Quota;
use crate::domain::rate::Rate;
use crate::domain::team::TeamRecord;
use crate::engine::error::allow;
use crate::engine::once::whole;
use crate::engine::teams::{allow_in, check, lock, put, role_in};
use crate::engine::{Ctx, Error};
use crate::store::{Session, quotas, teams};

/// The quotas of a team.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The team, with the limits of its own.
    pub team: TeamRecord,
    /// Every quota.
    pub uses: Vec<Use>,
}

/// One quota of a team.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// Which.
    pub quota: Quota,
    /// The limit that holds; none means that there is none.
    pub limit: Option<u64>,
    /// Whether it is the team's own and not the installation's.
    pub is_own: bool,
    /// How much is used; none for a rate without a limit.
    pub used: Option<u64>,
}

/// The quotas of a team that the caller can see. What is counted now and then is told as it was
/// counted last.
pub async fn look(ctx: &Ctx, who: &Principal, team: &Team) -> Result<Shown, Error> {
    allow_in(who, team, Act::Read)?;
    let found = teams::get(&ctx.store, team).await?;
    show(ctx, found.unwrap_or_else(|| TeamRecord::untouched(team))).await
}

/// Sets limits of a team, or takes them back (none). `expected` as for `teams::change`. They hold at
/// once in this process, and within a second in the others.
pub async fn set(
    ctx: &Ctx,
    who: &Principal,
    team: &Team,
    expected: Option<&str>,
    limits: &[(Quota, Option<u64>)],
) -> Result<Shown, Error> {
    role_in(who, team)?;
    allow(who, Act::Install)?;
    let work = async |session: &Session| {
        let before = lock(session, team).await?;
        check(&before, expected)?;
        let mut new = before.clone();
        for (quota, limit) in limits {
            new.settings.quotas.set(*quota, *limit);
        }
        if new == before {
            return Ok(before);
        }
        // What it owes is kept as a time, which a new rate would make something else of.
        if new.settings.quotas.writes_per_second != before.settings.quotas.writes_per_second {
            quotas::forget_rate(session, team).await?;
        }
        put(ctx, session, who, ("set-quotas", None), (&before, new)).await
    };
    let stands = whole(ctx, work).await?;
    ctx.roster.note_settings(team, &stands.settings);
    ctx.quotas.0.buckets.forget(team);
    show(ctx, stands).await
}

async fn show(ctx: &Ctx, team: TeamRecord) -> Result<Shown, Error> {
    let (slug, own) = (&team.team, team.settings.quotas);
    let limits = own.or(&ctx.quotas.0.defaults);
    let stocks = ctx.quotas.0.stocks.used(ctx, slug, &limits).await;
    let mut uses = Vec::with_capacity(Quota::ALL.len());
    for quota in Quota::ALL {
        let used = match quota {
            Quota::WritesPerSecond => writes(ctx, slug, &limits).await?,
            Quota::Schedules => Some(quotas::schedules(&ctx.store, slug).await?),
            Quota::ConcurrentRuns => {
                let running = quotas::running(&ctx.store, &[slug]).await?;
                Some(running.get(slug).copied().unwrap_or_default())
            }
            Quota::UnfinishedJobs | Quota::PayloadBytes => {
                stocks.iter().find(|(known, _)| *known == quota).map(|(_, used)| *used)
            }
        };
        let (limit, is_own) = (limits.get(quota), own.get(quota).is_some());
        uses.push(Use { quota, limit, is_own, used });
    }
    Ok(Shown { team, uses })
}

/// What is taken out of the bucket, by all processes.
async fn writes(ctx: &Ctx, team: &Team, limits: &Quotas) -> Result<Option<u64>, Error> {
    let Some(limit) = limits.writes_per_second else { return Ok(None) };
    let now = ctx.clock.now();
    let full_at = quotas::full_at(&ctx.store, team).await?.unwrap_or(now);
    Ok(Some(limit.saturating_sub(Rate::new(limit).left(full_at, now))))
}
