//! Quotas of teams: how much each may use of the installation, and what a process keeps in memory so
//! that keeping to it costs little: nothing for a team that has none.
//!
//! A rate is shared by all processes through one row (`rate`), what is stored is counted now and then
//! and what this process adds is noted in between (`stock`), schedules are counted exactly when one is
//! added. Nothing here is the truth: that is in the database, and a process that forgets all of this
//! loses nothing.

mod rate;
mod show;
mod stock;

use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::{Ctx, Error, Refusal, Roster};
use crate::domain::principal::Team;
use crate::domain::quota::{Quota, Quotas};
use crate::domain::rate::Standing;
use crate::store::{Session, quotas};
use crate::telemetry::metrics as names;
use rate::Buckets;
use stock::Stocks;

pub use show::{Shown, Use, look, set};
pub use stock::{Room, admit};

/// What a process knows of the quotas of teams; cheap to clone.
#[derive(Clone, Default)]
pub struct Desk(Arc<Kept>);

#[derive(Default)]
struct Kept {
    roster: Roster,
    defaults: Quotas,
    buckets: Buckets,
    stocks: Stocks,
}

impl Desk {
    /// Teams without limits of their own, by the `roster`, have `defaults`.
    pub fn new(roster: Roster, defaults: Quotas) -> Self {
        Self(Arc::new(Kept { roster, defaults, ..Kept::default() }))
    }

    /// The limits of a team, its own or the installation's.
    pub fn limits(&self, team: &Team) -> Quotas {
        self.0.roster.settings(team).quotas.or(&self.0.defaults)
    }

    /// Lets one write of a team through, or refuses it.
    pub async fn write(&self, ctx: &Ctx, team: &Team) -> Result<(), Error> {
        match self.limits(team).writes_per_second {
            Some(limit) => self.0.buckets.take(ctx, team, limit).await,
            None => Ok(()),
        }
    }

    /// Charges a team for `writes` that have been let through already: the team owes what is not
    /// there.
    pub async fn owe(&self, ctx: &Ctx, team: &Team, writes: usize) -> Result<(), Error> {
        let writes = u64::try_from(writes).unwrap_or(u64::MAX);
        match self.limits(team).writes_per_second {
            Some(limit) if writes > 0 => self.0.buckets.owe(ctx, team, (limit, writes)).await,
            Some(_) | None => Ok(()),
        }
    }

    /// How the rate of a team stands, by what this process knows; none if it has none.
    pub fn standing(&self, team: &Team, now: DateTime<Utc>) -> Option<Standing> {
        let limit = self.limits(team).writes_per_second?;
        Some(self.0.buckets.standing(team, limit, now))
    }

    /// Room for what a request is about to store of a team's jobs, none of it taken yet. What is
    /// there is counted if that was not done within the last second.
    pub async fn room(&self, ctx: &Ctx, team: &Team) -> Room {
        let limits = self.limits(team);
        if limits.unfinished_jobs.or(limits.payload_bytes).is_none() {
            return Room::unlimited();
        }
        self.0.stocks.room(ctx, (team, limits)).await
    }

    /// Refuses a schedule that was added in the open transaction, if the team has too many now.
    /// Exact, whoever adds others at the same time.
    pub async fn check_schedules(&self, session: &Session, team: &Team) -> Result<(), Error> {
        let Some(limit) = self.limits(team).schedules else { return Ok(()) };
        let with_it = quotas::schedules_alone(session, team).await?;
        if with_it <= limit {
            return Ok(());
        }
        Err(over(team, Quota::Schedules, (limit, with_it - 1, 1)))
    }
}

/// The refusal of what would go over a limit of what is stored: of `limit` are `used`, and `more` were
/// to come.
fn over(team: &Team, quota: Quota, (limit, used, more): (u64, u64, u64)) -> Error {
    count_refusal(team, quota);
    Refusal::OverQuota { quota, limit, used, more }.into()
}

fn count_refusal(team: &Team, quota: Quota) {
    let labels = [("team", team.as_str().to_owned()), ("policy", quota.policy().to_owned())];
    metrics::counter!(names::RATE_LIMITED, &labels).increment(1);
}
