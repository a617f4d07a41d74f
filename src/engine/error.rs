//! Why a use case did not do what was asked, in the words of the use case; `http/problem.rs` says
//! it on the wire.

use crate::domain::id::{JobId, ScheduleId};
use crate::domain::invalid::Invalid;
use crate::domain::principal::{Act, Principal};
use crate::domain::schedule::record::ScheduleState;
use crate::domain::scope::Scope;
use crate::domain::state::State;
use crate::engine::auth::AuthError;
use crate::engine::refusal::Refusal;
use crate::store;

/// Why a use case did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Values that cannot be accepted.
    #[error("{0}")]
    Invalid(Invalid),
    /// Nobody, or nobody we know.
    #[error(transparent)]
    Unauthenticated(#[from] AuthError),
    /// The caller's role does not allow this.
    #[error("the role {role} may not {act} here")]
    Denied {
        /// The caller's role.
        role: &'static str,
        /// What it takes.
        act: &'static str,
    },
    /// The caller is held to some queues, and this is beyond them.
    #[error("you are held to {scope}, and {beyond}")]
    Beyond {
        /// The caller's queues.
        scope: Scope,
        /// What is beyond: a clause.
        beyond: String,
    },
    /// No such thing in the caller's team.
    #[error("there is no such {noun} in your team")]
    Missing {
        /// `job`, `run` …
        noun: &'static str,
    },
    /// It may have been there, and would not be kept any more.
    #[error("there is no such {noun} any more: finished jobs are kept for a limited time")]
    Expired {
        /// `job`, `run`.
        noun: &'static str,
    },
    /// The job's state does not allow the move.
    #[error("job {id} is {} and cannot be {wanted}", .state.as_str())]
    Refused {
        /// The job.
        id: JobId,
        /// Where it stands.
        state: State,
        /// What was asked: `cancelled`, `changed` …
        wanted: &'static str,
    },
    /// The schedule's state does not allow the move.
    #[error("schedule {id} is {} and cannot be {wanted}", .state.as_str())]
    RefusedSchedule {
        /// The schedule.
        id: ScheduleId,
        /// Where it stands.
        state: ScheduleState,
        /// What was asked: `paused`, `resumed` …
        wanted: &'static str,
    },
    /// The team has a schedule of this name.
    #[error("the schedule {existing} has this name")]
    NameTaken {
        /// That schedule.
        existing: ScheduleId,
    },
    /// Something else needs the thing.
    #[error("the {noun} is used by {by}")]
    InUse {
        /// `calendar` …
        noun: &'static str,
        /// Who uses it.
        by: String,
    },
    /// Something of a queue that the caller does not reach has the name or the unique key.
    #[error("something of another queue, which you do not reach, has this {0}")]
    TakenElsewhere(&'static str),
    /// An unfinished job has the unique key, and the caller wanted an error.
    #[error("the unfinished job {existing} has this unique key")]
    Duplicate {
        /// That job.
        existing: JobId,
    },
    /// The idempotency key came with another request before.
    #[error("this Idempotency-Key was used with another request")]
    KeyReused,
    /// The first request with this idempotency key is still being worked on.
    #[error("the first request with this Idempotency-Key is still being worked on")]
    KeyInFlight,
    /// An idempotency key is demanded and none came.
    #[error("this server takes no such request without an Idempotency-Key")]
    KeyMissing,
    /// A condition is demanded and none came.
    #[error("this change needs If-Match with the ETag that you last read")]
    ConditionMissing,
    /// The thing has changed since the caller read it.
    #[error("it has changed since you read it; its ETag is now {current}")]
    ConditionFailed {
        /// The present `ETag`.
        current: String,
    },
    /// A secret cannot be kept here.
    #[error("this server has no AXLE_SECRET_KEY, without which no secret is stored")]
    SecretKeyMissing,
    /// The signing secrets that are there stand against it.
    #[error("{0}")]
    SigningConflict(&'static str),
    /// The token in a callback URL is not that run's.
    #[error("the token of this callback URL is not this run's")]
    BadRunToken,
    /// The run is not the job's current one any more.
    #[error("the run is no longer current")]
    StaleRun {
        /// Whether its job was cancelled meanwhile.
        cancel_requested: bool,
    },
    /// Something of teams, people or keys stands against it.
    #[error(transparent)]
    Against(Refusal),
    /// Not now; asking again later is right.
    #[error("{0}")]
    Busy(String),
    /// A fault of ours.
    #[error("{0}")]
    Broken(String),
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        match error {
            store::Error::Busy(text) | store::Error::Locked(text) => Self::Busy(text),
            store::Error::Broken(text) => Self::Broken(text),
            // Every expected duplicate is met by its statement; another one is a fault of ours.
            store::Error::Duplicate { constraint } => {
                Self::Broken(format!("unexpected duplicate of {constraint}"))
            }
        }
    }
}

impl From<Invalid> for Error {
    fn from(invalid: Invalid) -> Self {
        Self::Invalid(invalid)
    }
}

/// Goes on only if the caller's role allows `act`.
pub fn allow(who: &Principal, act: Act) -> Result<(), Error> {
    if who.may(act) {
        return Ok(());
    }
    allow_scope(who, act)?;
    Err(Error::Denied { role: who.role.as_str(), act: act.as_str() })
}

/// Goes on only if the act can be confined to the caller's queues.
pub(super) fn allow_scope(who: &Principal, act: Act) -> Result<(), Error> {
    if who.scope.allows(act) {
        return Ok(());
    }
    let beyond = format!("may not {act} anything of the team");
    Err(Error::Beyond { scope: who.scope.clone(), beyond })
}

/// Goes on only if the caller reaches the queue that something is to be put into.
pub(super) fn allow_queue(who: &Principal, queue: &str) -> Result<(), Error> {
    if who.scope.holds(queue) {
        return Ok(());
    }
    let beyond = format!("{queue} is none of them; name one of yours, or use another key");
    Err(Error::Beyond { scope: who.scope.clone(), beyond })
}

/// Goes on only if the caller reaches every queue, for what concerns the whole team.
pub(super) fn allow_everywhere(who: &Principal, what: &str) -> Result<(), Error> {
    if who.scope.queues().is_none() {
        return Ok(());
    }
    let beyond = format!("{what} concern the whole team");
    Err(Error::Beyond { scope: who.scope.clone(), beyond })
}
