//! What a process knows of the teams that somebody has described: whether they are suspended, and what
//! they have settled. All of them in memory, read again within a second by one statement, so that no
//! request and no claim waits for the database to learn it.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};
use std::time::Duration;

use tokio::time::Instant;

use super::Error;
use crate::domain::principal::Team;
use crate::domain::team::Settings;
use crate::store::Store;
use crate::store::teams::{self, Described};

/// They are not read more often, except beside what else an API asks for.
const PERIOD: Duration = Duration::from_millis(700);

/// The teams; cheap to clone.
#[derive(Clone, Default)]
pub struct Roster(Arc<RwLock<Known>>);

#[derive(Default)]
struct Known {
    suspended: HashMap<Team, String>,
    settings: HashMap<Team, Arc<Settings>>,
    defaults: Arc<Settings>,
    read_at: Option<Instant>,
}

impl Roster {
    /// Why the team is suspended, if it is.
    pub fn why_suspended(&self, team: &Team) -> Option<String> {
        self.read(|known| known.suspended.get(team).cloned())
    }

    /// What the team has settled; the defaults if nothing is known of it.
    pub fn settings(&self, team: &Team) -> Arc<Settings> {
        self.read(|known| Arc::clone(known.settings.get(team).unwrap_or(&known.defaults)))
    }

    /// Reads them, if the last time is long enough ago.
    pub async fn refresh(&self, store: &Store) -> Result<(), Error> {
        if self.read(|known| known.read_at).is_some_and(|at| at.elapsed() < PERIOD) {
            return Ok(());
        }
        self.take(teams::described(store).await?);
        Ok(())
    }

    /// What was read takes the place of what was known.
    pub(super) fn take(&self, teams: Vec<Described>) {
        let mut new = Known { read_at: Some(Instant::now()), ..Known::default() };
        for Described { team, suspended, settings } in teams {
            new.suspended.extend(suspended.map(|why| (team.clone(), why)));
            new.settings.insert(team, Arc::new(settings));
        }
        *self.write() = new;
    }

    /// Notes that this process has suspended the team, or has let it go on.
    pub(super) fn note_suspended(&self, team: &Team, why: Option<&str>) {
        let mut known = self.write();
        match why {
            Some(why) => known.suspended.insert(team.clone(), why.to_owned()),
            None => known.suspended.remove(team),
        };
    }

    /// Notes what the team has settled through this process.
    pub(super) fn note_settings(&self, team: &Team, settings: &Settings) {
        self.write().settings.insert(team.clone(), Arc::new(settings.clone()));
    }

    fn read<T>(&self, look: impl FnOnce(&Known) -> T) -> T {
        look(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write(&self) -> RwLockWriteGuard<'_, Known> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}
