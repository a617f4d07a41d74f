//! Which shard a job lives in: a function of what must be unique, else anywhere.
//!
//! "Unique" is unique inside a shard, so whoever shares a unique key, or an idempotency key, must
//! meet in the same one. The shard is looked up in the installation's list, never computed.

use sha2::{Digest, Sha256};

use super::{Ctx, random};
use crate::domain::id::Shard;
use crate::domain::principal::Team;

/// The shard of something that a key of a team names.
pub fn by_key(ctx: &Ctx, team: &Team, key: &str) -> Shard {
    let mut hash = Sha256::new();
    hash.update(team.as_str());
    // A team's name has no NUL, so no two pairs read the same.
    hash.update([0]);
    hash.update(key);
    by_hash(ctx, &hash.finalize())
}

/// The shard of something already hashed.
pub fn by_hash(ctx: &Ctx, hash: &[u8]) -> Shard {
    let head = hash.first_chunk::<8>().map_or(0, |bytes| u64::from_be_bytes(*bytes));
    pick(ctx, head)
}

/// Any shard.
pub fn anywhere(ctx: &Ctx) -> Shard {
    pick(ctx, random::bits())
}

fn pick(ctx: &Ctx, number: u64) -> Shard {
    let count = u64::try_from(ctx.shards.len()).unwrap_or(1).max(1);
    let index = usize::try_from(number % count).unwrap_or(0);
    ctx.shards.get(index).copied().unwrap_or(Shard(0))
}
