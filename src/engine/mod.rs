//! The verbs, one function per use case; the only room where decisions have effects.
//!
//! Owners ask through `jobs`, `queues` and `schedules`, targets through `callbacks`; a puller runs
//! `claim` → `invoke` → `settle`; `fire` makes the jobs of schedules; `sweep` ends what went silent.
//! All of them go through the same guarded statements and, where a run ends, through the same
//! `settle`.

pub mod access;
pub mod audit;
pub mod auth;
pub mod backfill;
pub mod breaker;
pub mod calendars;
pub mod callbacks;
pub mod ceilings;
pub mod claim;
pub mod clock;
mod dial;
pub mod error;
pub mod every;
pub mod fire;
pub mod group;
pub mod guard;
pub mod health;
pub mod hint;
pub mod history;
pub mod invitations;
pub mod invoke;
pub mod jobs;
pub mod journal;
pub mod keys;
pub mod login;
pub mod members;
pub mod moves;
pub mod newcomer;
pub mod once;
mod outgoing;
pub mod pace;
pub mod place;
pub mod privacy;
pub mod puller;
pub mod queues;
pub mod quota;
pub mod random;
pub mod refusal;
pub mod register;
pub mod rewrap;
pub mod roster;
pub mod rounds;
pub mod run_token;
pub mod schedules;
pub mod secrets;
pub mod settle;
mod settler;
pub mod signers;
pub mod signing;
pub mod suspension;
pub mod sweep;
pub mod targets;
pub mod teams;
pub mod tokens;
pub mod trigger;
pub mod turns;
pub mod wake;

use std::sync::Arc;
use std::time::Duration;

use crate::domain::id::Shard;
use crate::store::Store;

pub use access::Access;
pub use clock::Clock;
pub use error::Error;
pub use group::Group;
pub use guard::Guard;
pub use refusal::Refusal;
pub use roster::Roster;
pub use wake::Wake;

/// What every use case needs; cheap to clone.
#[derive(Clone)]
pub struct Ctx {
    /// The truth.
    pub store: Store,
    /// The time.
    pub clock: Clock,
    /// Hints that something is due.
    pub wake: Wake,
    /// The shards of this installation, in their order.
    pub shards: Arc<[Shard]>,
    /// The rest.
    pub limits: Arc<Limits>,
    /// What is known of who may ask.
    pub access: Access,
    /// Where single registrations meet.
    pub group: Group,
    /// What is known of the teams that somebody has described.
    pub roster: Roster,
    /// What is known of how much of everything a team may have.
    pub quotas: quota::Desk,
}

/// Bounds and settings that the use cases obey.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The largest payload, in bytes.
    pub max_payload: usize,
    /// How long an idempotency key is remembered.
    pub idempotency_ttl: Duration,
    /// How long finished jobs are kept of teams that say nothing else; none means for ever.
    pub retention: Option<Duration>,
    /// How long a run may go without a sign of life of its puller.
    pub lease: Duration,
    /// Where targets reach this API, without a trailing slash.
    pub public_url: String,
    /// Where people reach it, if the operator has said so; without a trailing slash.
    pub people_url: Option<String>,
    /// Signs the tokens in callback URLs.
    pub callback_key: Vec<u8>,
    /// What signed them before `AXLE_SECRET_KEY` changed, and still does elsewhere.
    pub other_callback_keys: Vec<Vec<u8>>,
    /// The IANA name of the zone of a schedule that names none, in a team that has no default.
    pub default_time_zone: String,
    /// What may be called.
    pub guard: Guard,
    /// Keeps secrets; none without `AXLE_SECRET_KEY`.
    pub vault: Option<Arc<secrets::Vault>>,
}
