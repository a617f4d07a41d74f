//! What a puller signs calls with: a team's secrets, opened, and kept for a second.
//!
//! A change made in this process is seen by every call that is built after it; one made in another
//! process within [`FRESH`]. A rotation leaves the old secret signing for longer than that, so no
//! target that knows either of the two ever meets a call that it cannot verify.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use hyper::header::HeaderName;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::secrets::{Purpose, Vault};
use super::{Ctx, Error};
use crate::domain::principal::Team;
use crate::domain::signature::{Message, RUN_SIGNATURE, SIGNATURE, SigningKind, SigningSecret};
use crate::store::live::Claimed;
use crate::store::secrets::{self, SigningRow};

/// How long what was read is taken for current.
pub const FRESH: Duration = Duration::from_secs(1);
/// How long it serves while the database cannot be asked.
const STALE: Duration = Duration::from_mins(1);
/// Teams kept at once; beyond them all are forgotten, and read again when they are needed.
const MOST_TEAMS: usize = 10_000;

/// The secrets of teams whose calls were signed lately.
#[derive(Default)]
pub struct Signers(std::sync::Mutex<BTreeMap<Team, Slot>>);

/// Of one team. Held while it is read, so that its other calls wait for that one reading.
type Slot = Arc<Mutex<Option<Known>>>;

#[derive(Clone)]
struct Known {
    at: Instant,
    secrets: Arc<[Signer]>,
}

/// A secret that signs.
#[derive(Clone)]
struct Signer {
    queue: String,
    secret: SigningSecret,
    expires_at: Option<DateTime<Utc>>,
}

impl Signers {
    /// Forgets a team's secrets, which have changed.
    pub async fn forget(&self, team: &Team) {
        // A reading under way may be of before the change; it is waited for.
        *self.slot(team).lock().await = None;
    }

    fn slot(&self, team: &Team) -> Slot {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if slots.len() >= MOST_TEAMS && !slots.contains_key(team) {
            slots.clear();
        }
        Arc::clone(slots.entry(team.clone()).or_default())
    }

    /// The secrets that sign a call of this queue at `now`, kind by kind and the newest first: of
    /// each kind the queue's own if it has any, else the team's.
    async fn of(
        &self,
        ctx: &Ctx,
        vault: &Vault,
        (team, queue): (&Team, &str),
        now: DateTime<Utc>,
    ) -> Result<Vec<SigningSecret>, Error> {
        let known = self.known(ctx, vault, team, now).await?;
        let of = |queue: &str, kind: SigningKind| {
            let signs = |s: &&Signer| {
                let is_meant = s.queue == queue && s.secret.kind() == kind;
                is_meant && s.expires_at.is_none_or(|end| end > now)
            };
            known.iter().filter(signs).map(|s| s.secret.clone()).collect::<Vec<_>>()
        };
        let either = |kind| {
            let own = of(queue, kind);
            if own.is_empty() { of("", kind) } else { own }
        };
        Ok(SigningKind::ALL.into_iter().flat_map(either).collect())
    }

    async fn known(
        &self,
        ctx: &Ctx,
        vault: &Vault,
        team: &Team,
        now: DateTime<Utc>,
    ) -> Result<Arc<[Signer]>, Error> {
        let slot = self.slot(team);
        let mut slot = slot.lock().await;
        let age = |known: &Known| known.at.elapsed();
        if let Some(known) = slot.as_ref().filter(|known| age(known) < FRESH) {
            return Ok(Arc::clone(&known.secrets));
        }
        let at = Instant::now();
        match read(ctx, vault, team, now).await {
            Ok(secrets) => {
                *slot = Some(Known { at, secrets: Arc::clone(&secrets) });
                Ok(secrets)
            }
            Err(error) => match slot.as_ref().filter(|known| age(known) < STALE) {
                Some(known) => Ok(Arc::clone(&known.secrets)),
                None => Err(error),
            },
        }
    }
}

async fn read(
    ctx: &Ctx,
    vault: &Vault,
    team: &Team,
    now: DateTime<Utc>,
) -> Result<Arc<[Signer]>, Error> {
    let session = ctx.store.session().await?;
    let rows = secrets::active(&session, team, now).await?;
    let signer = |row: &SigningRow| {
        let secret = open(vault, row)?;
        Ok(Signer { queue: row.queue.clone(), secret, expires_at: row.expires_at })
    };
    rows.iter().map(signer).collect()
}

/// Opens a stored signing secret.
pub(super) fn open(vault: &Vault, row: &SigningRow) -> Result<SigningSecret, Error> {
    let purpose = Purpose::Signing(row.id, row.kind, &row.queue);
    let opened = vault.keys().open(row.team.as_str(), purpose, &row.sealed);
    let broken = |why: String| Error::Broken(format!("the signing secret {}: {why}", row.id));
    let bytes = opened.map_err(|why| broken(why.to_string()))?;
    SigningSecret::from_bytes(row.kind, &bytes).map_err(|why| broken(why.to_string()))
}

/// The signature headers of a call that is sent at `now`: none if its team and queue have no secret.
pub async fn headers(
    ctx: &Ctx,
    job: &Claimed,
    now: DateTime<Utc>,
) -> Result<Vec<(HeaderName, String)>, Error> {
    let Some(vault) = &ctx.limits.vault else { return Ok(Vec::new()) };
    let secrets = vault.signers.of(ctx, vault, (&job.team, &job.queue), now).await?;
    if secrets.is_empty() {
        return Ok(Vec::new());
    }
    let (id, run) = (job.run.job.to_string(), job.run.to_string());
    let (fence, timestamp) = (job.run.fence.to_string(), now.timestamp().to_string());
    let message =
        Message { job: &id, run: &run, fence: &fence, timestamp: &timestamp, body: &job.payload };
    Ok(vec![
        (HeaderName::from_static(SIGNATURE), message.signature(&secrets)),
        (HeaderName::from_static(RUN_SIGNATURE), message.run_signature(&secrets)),
    ])
}
