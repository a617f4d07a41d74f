//! The limits of the teams that have any of their own: all of them in memory, read again every second.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use tokio::time::Instant;

use crate::domain::principal::Team;
use crate::domain::quota::Quotas;
use crate::engine::{Ctx, Error};
use crate::store::teams;

/// How often they are read.
pub const PERIOD: Duration = Duration::from_millis(900);

#[derive(Default)]
pub(super) struct Known {
    defaults: Quotas,
    own: RwLock<Own>,
}

#[derive(Default)]
struct Own {
    teams: HashMap<Team, Quotas>,
    read_at: Option<Instant>,
}

impl Known {
    /// Nothing is known yet of any team.
    pub(super) fn new(defaults: Quotas) -> Self {
        Self { defaults, own: RwLock::default() }
    }

    /// The limits of teams without limits of their own.
    pub(super) fn defaults(&self) -> &Quotas {
        &self.defaults
    }

    /// The limits of a team.
    pub(super) fn of(&self, team: &Team) -> Quotas {
        let own = self.own.read().unwrap_or_else(PoisonError::into_inner);
        own.teams.get(team).map_or(self.defaults, |own| own.or(&self.defaults))
    }

    /// Notes what this process has set.
    pub(super) fn note(&self, team: &Team, quotas: Quotas) {
        let mut own = self.own.write().unwrap_or_else(PoisonError::into_inner);
        own.teams.insert(team.clone(), quotas);
    }

    /// Reads them, if the last time is long enough ago.
    pub(super) async fn refresh(&self, ctx: &Ctx) -> Result<(), Error> {
        let read_at = self.own.read().unwrap_or_else(PoisonError::into_inner).read_at;
        if read_at.is_some_and(|at| at.elapsed() < PERIOD) {
            return Ok(());
        }
        let at = Instant::now();
        let teams = teams::quotas(&ctx.store).await?.into_iter().collect();
        let mut own = self.own.write().unwrap_or_else(PoisonError::into_inner);
        *own = Own { teams, read_at: Some(at) };
        Ok(())
    }
}
