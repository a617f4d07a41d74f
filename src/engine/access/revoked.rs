//! Tokens that are refused although they verify. All of them are in memory, so that a request costs a
//! look into a map; one statement every 0.8 s brings what is new.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use sha2::{Digest, Sha256};

use crate::domain::principal::{Principal, Team};
use crate::engine::{Ctx, Error};
use crate::store::tokens::{self, Revocation};

/// How often the database is asked for what is new.
pub const PERIOD: Duration = Duration::from_millis(800);
/// How long a revocation is kept after the token has ended by itself: clocks differ, and a token is
/// taken for a minute longer than it says.
const KEPT: TimeDelta = TimeDelta::minutes(5);
/// How often what has ended is dropped.
const PRUNED: TimeDelta = TimeDelta::minutes(1);
/// Revocations read, and dropped, at a time.
const PAGE: i64 = 1_000;

#[derive(Default)]
pub(super) struct Revoked(RwLock<Set>);

#[derive(Default)]
struct Set {
    tokens: HashMap<[u8; 32], DateTime<Utc>>,
    version: i64,
    pruned_at: DateTime<Utc>,
}

impl Revoked {
    /// Whether the token by which this caller came was revoked in its team.
    pub(super) fn holds(&self, who: &Principal) -> bool {
        let set = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let is_named = |name: &Arc<str>| set.tokens.contains_key(&mark(&who.team, name));
        let mut names = [&who.via.credential, &who.via.session].into_iter().flatten();
        !set.tokens.is_empty() && names.any(is_named)
    }

    /// Adds one that this process has revoked; when it ends is read with the next refresh.
    pub(super) fn add(&self, team: &Team, jti: &str) {
        let mut set = self.0.write().unwrap_or_else(PoisonError::into_inner);
        set.tokens.insert(mark(team, jti), DateTime::<Utc>::MAX_UTC);
    }

    /// Reads what is new, and the roster with it. True, once a minute: what has ended was dropped, and
    /// other things may be.
    pub(super) async fn refresh(&self, ctx: &Ctx) -> Result<bool, Error> {
        loop {
            let version = self.0.read().unwrap_or_else(PoisonError::into_inner).version;
            let news = tokens::news(&ctx.store, version, PAGE).await?;
            let read = i64::try_from(news.revocations.len());
            let is_last = read.is_ok_and(|read| read < PAGE);
            ctx.roster.take(news.teams);
            self.take(news.revocations);
            if is_last {
                break;
            }
        }
        let now = ctx.clock.now();
        let is_time = self.forget(now);
        if is_time {
            tokens::prune(&ctx.store, now - KEPT, PAGE).await?;
        }
        Ok(is_time)
    }

    fn take(&self, news: Vec<Revocation>) {
        let mut set = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for revocation in news {
            set.version = set.version.max(revocation.version);
            set.tokens.insert(mark(&revocation.team, &revocation.jti), revocation.expires_at);
        }
    }

    /// Drops what has ended by itself, now and then; whether this was the time.
    fn forget(&self, now: DateTime<Utc>) -> bool {
        let mut set = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if now - set.pruned_at < PRUNED {
            return false;
        }
        set.pruned_at = now;
        set.tokens.retain(|_, expires_at| now - *expires_at < KEPT);
        true
    }
}

/// A token's name within its team, in a form of one size.
fn mark(team: &Team, jti: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(team.as_str().len().to_be_bytes());
    hash.update(team.as_str());
    hash.update(jti);
    hash.finalize().into()
}
