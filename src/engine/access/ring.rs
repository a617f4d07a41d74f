//! API keys that were shown lately. A key's row is believed for half a second and then read again, so
//! a revoked one is refused by every process within that time, and a busy one costs two statements a
//! second.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use subtle::ConstantTimeEq as _;
use tokio::time::Instant;

use crate::domain::key::{Key, KeyId, KeyText};
use crate::domain::principal::{Kind, Principal, Subject, Via};
use crate::engine::auth::AuthError;
use crate::engine::{Ctx, Error};
use crate::store::keys;

/// How long a row is believed.
const BELIEVED: Duration = Duration::from_millis(500);
/// How often a key's last use is written.
const TOUCHED: TimeDelta = TimeDelta::minutes(1);
/// Keys in memory, those that do not exist included: a MiB or two. When there are more, all are read
/// anew: whoever shows thousands of invented keys costs the others two statements a second each.
const MOST: usize = 4_096;

#[derive(Default)]
pub(super) struct Ring(Mutex<HashMap<KeyId, Slot>>);

/// Held while the row is read, so that a busy key is read once and not by every request at a time.
type Slot = Arc<tokio::sync::Mutex<Option<Read>>>;

/// A row and its hash, or that there is none, and when that was so.
struct Read {
    found: Option<(Key, [u8; 32])>,
    at: Instant,
}

impl Ring {
    /// Who bears the key of this text. Whether a key is unknown, wrong, expired or revoked shows
    /// neither in the answer nor, but for what the database takes, in the time.
    pub(super) async fn open(
        &self,
        ctx: &Ctx,
        text: &str,
        now: DateTime<Utc>,
    ) -> Result<Principal, Error> {
        let text = KeyText::parse(text).or(Err(AuthError::BadKey))?;
        let slot = self.slot(text.id);
        let mut slot = slot.lock().await;
        if slot.as_ref().is_none_or(|read| read.at.elapsed() >= BELIEVED) {
            // The time before the question: a revocation that commits after it was answered is
            // never believed away for longer.
            let at = Instant::now();
            *slot = Some(Read { found: keys::find(&ctx.store, text.id).await?, at });
        }
        let found = slot.as_mut().and_then(|read| read.found.as_mut());
        let kept = found.as_ref().map_or([0; 32], |(_, hash)| *hash);
        let is_right = bool::from(text.hash().ct_eq(&kept));
        let (key, _) = found.filter(|(key, _)| is_right && key.is_live(now)).ok_or(BAD)?;
        touch(ctx, key, now).await;
        Ok(Principal {
            team: key.team.clone(),
            subject: Subject::parse(&key.name).or(Err(BAD))?,
            role: key.role,
            scope: key.scope.clone(),
            kind: Kind::Key,
            installation_admin: false,
            via: Via { credential: Some(key.id.to_string().into()), ..Via::default() },
        })
    }

    pub(super) fn forget(&self, key: KeyId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
    }

    fn slot(&self, key: KeyId) -> Slot {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if slots.len() >= MOST && !slots.contains_key(&key) {
            slots.clear();
        }
        Arc::clone(slots.entry(key).or_default())
    }
}

const BAD: Error = Error::Unauthenticated(AuthError::BadKey);

/// Notes the use, once a minute. That a note is lost is no reason to refuse anybody.
async fn touch(ctx: &Ctx, key: &mut Key, now: DateTime<Utc>) {
    let before = now - TOUCHED;
    if key.last_used_at.is_none_or(|last| last < before) {
        if let Err(error) = keys::touch(&ctx.store, key.id, now, before).await {
            tracing::warn!(key = %key.id, %error, "the last use of a key was not noted");
        }
        key.last_used_at = Some(now);
    }
}
