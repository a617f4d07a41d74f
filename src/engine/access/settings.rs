//! What teams have settled, for those that asked lately. It is believed for half a second and then
//! read again: a change holds in every process within that time, in the one that made it at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::domain::principal::Team;
use crate::domain::team::Settings;
use crate::engine::{Ctx, Error};
use crate::store::teams;

/// How long they are believed.
const BELIEVED: Duration = Duration::from_millis(500);
/// Teams in memory; when there are more, all are read anew.
const MOST: usize = 4_096;

#[derive(Default)]
pub(super) struct Known(Mutex<HashMap<Team, Slot>>);

/// Held while the row is read, so that a busy team's is read once and not by every request at a time.
type Slot = Arc<tokio::sync::Mutex<Option<(Arc<Settings>, Instant)>>>;

impl Known {
    /// The settings of a team; the defaults if nobody has described it.
    pub(super) async fn of(&self, ctx: &Ctx, team: &Team) -> Result<Arc<Settings>, Error> {
        let slot = self.slot(team);
        let mut slot = slot.lock().await;
        if let Some((settings, at)) = &*slot
            && at.elapsed() < BELIEVED
        {
            return Ok(Arc::clone(settings));
        }
        // The time before the question, as for keys: a change that commits after it was answered is
        // never believed away for longer.
        let at = Instant::now();
        let found = teams::get(&ctx.store, team).await?;
        let settings = Arc::new(found.map(|team| team.settings).unwrap_or_default());
        *slot = Some((Arc::clone(&settings), at));
        Ok(settings)
    }

    pub(super) fn forget(&self, team: &Team) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(team);
    }

    fn slot(&self, team: &Team) -> Slot {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = slots.get(team) {
            return Arc::clone(slot);
        }
        if slots.len() >= MOST {
            slots.clear();
        }
        Arc::clone(slots.entry(team.clone()).or_default())
    }
}
