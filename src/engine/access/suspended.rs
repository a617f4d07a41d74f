//! The teams that are suspended: all of them in memory, read again every second.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use tokio::time::Instant;

use crate::domain::principal::Team;
use crate::engine::{Ctx, Error};
use crate::store::teams;

/// How often they are read.
const PERIOD: Duration = Duration::from_millis(900);

#[derive(Default)]
pub(super) struct Suspended(RwLock<Known>);

#[derive(Default)]
struct Known {
    teams: HashMap<Team, String>,
    read_at: Option<Instant>,
}

impl Suspended {
    /// Why the team is suspended, if it is.
    pub(super) fn why(&self, team: &Team) -> Option<String> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).teams.get(team).cloned()
    }

    /// Notes what this process has done.
    pub(super) fn note(&self, team: &Team, why: Option<&str>) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        match why {
            Some(why) => known.teams.insert(team.clone(), why.to_owned()),
            None => known.teams.remove(team),
        };
    }

    /// Reads them, if the last time is long enough ago.
    pub(super) async fn refresh(&self, ctx: &Ctx) -> Result<(), Error> {
        let read_at = self.0.read().unwrap_or_else(PoisonError::into_inner).read_at;
        if read_at.is_some_and(|at| at.elapsed() < PERIOD) {
            return Ok(());
        }
        let at = Instant::now();
        let teams = teams::suspended(&ctx.store).await?.into_iter().collect();
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        *known = Known { teams, read_at: Some(at) };
        Ok(())
    }
}
