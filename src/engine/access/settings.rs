//! What teams have settled that every request may need: of all teams that have any of it, in memory,
//! read again every second. No request waits for the database to learn it.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::time::Instant;

use crate::domain::principal::Team;
use crate::domain::team::Settings;
use crate::engine::{Ctx, Error};
use crate::store::teams;

/// How often they are read.
const PERIOD: Duration = Duration::from_millis(900);

#[derive(Default)]
pub(super) struct Known(RwLock<Read>);

#[derive(Default)]
struct Read {
    teams: HashMap<Team, Arc<Settings>>,
    defaults: Arc<Settings>,
    at: Option<Instant>,
}

impl Known {
    /// What a team has settled; the defaults if nothing is known of it.
    pub(super) fn of(&self, team: &Team) -> Arc<Settings> {
        let read = self.0.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(read.teams.get(team).unwrap_or(&read.defaults))
    }

    /// Notes what this process has changed.
    pub(super) fn note(&self, team: &Team, settings: &Settings) {
        let mut read = self.0.write().unwrap_or_else(PoisonError::into_inner);
        read.teams.insert(team.clone(), Arc::new(settings.clone()));
    }

    /// Reads them, if the last time is long enough ago.
    pub(super) async fn refresh(&self, ctx: &Ctx) -> Result<(), Error> {
        let read_at = self.0.read().unwrap_or_else(PoisonError::into_inner).at;
        if read_at.is_some_and(|at| at.elapsed() < PERIOD) {
            return Ok(());
        }
        let at = Instant::now();
        let teams = teams::settled(&ctx.store).await?.into_iter();
        let teams = teams.map(|(team, settings)| (team, Arc::new(settings))).collect();
        let mut read = self.0.write().unwrap_or_else(PoisonError::into_inner);
        *read = Read { teams, at: Some(at), ..Read::default() };
        Ok(())
    }
}
