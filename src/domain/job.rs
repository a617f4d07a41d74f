//! A job: what was asked, and where it stands.
//!
//! [`NewJob`] is what a caller asks for; [`NewJob::check`] finds every value that cannot be
//! accepted. [`Job`] is the job as read back. What never changes after the claim is in [`Spec`],
//! which is stored as one document and read by the puller with the claim.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::breaker::Deferral;
use super::hidden::Hidden;
use super::id::{JobId, ScheduleId};
use super::principal::Team;
use super::retry::RetryPolicy;
use super::run::{LastRun, Progress};
use super::state::State;

/// The HTTP endpoint that a job calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Absolute, `http` or `https`.
    pub url: String,
    /// The request method, upper case.
    pub method: String,
    /// Headers that go with the request beside ours, in the order they came.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// The same, with values that nobody may read back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secret_headers: Vec<SecretHeader>,
}

/// A header whose value is a secret. One that is not sealed yet has no stored form: to store it by
/// mistake is an error, not a leak.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SecretHeader {
    /// As it is stored.
    Sealed {
        /// The header's name.
        name: String,
        /// What is shown in the value's place: equal for equal values of a team.
        mask: String,
        /// The value, for the puller alone.
        sealed: String,
    },
    /// As it came, or [`MASKED`] and the mask of a stored one that is to stay.
    #[serde(skip)]
    Given {
        /// The header's name.
        name: String,
        /// The value.
        value: Hidden,
    },
}

/// How the text begins that is shown in place of a secret header's value.
pub const MASKED: &str = "secret:";
/// The bytes of the short keyed hash behind it, of which the mask has two digits each.
pub const MASK_BYTES: usize = 6;

/// Whether this is what is shown in a secret's place.
pub fn is_mask(text: &str) -> bool {
    text.strip_prefix(MASKED).is_some_and(|rest| {
        rest.len() == 2 * MASK_BYTES && rest.bytes().all(|b| b.is_ascii_hexdigit())
    })
}

impl SecretHeader {
    /// The header's name.
    pub fn name(&self) -> &str {
        match self {
            Self::Sealed { name, .. } | Self::Given { name, .. } => name,
        }
    }

    /// What is shown in the value's place.
    pub fn shown(&self) -> String {
        match self {
            Self::Sealed { mask, .. } => format!("{MASKED}{mask}"),
            Self::Given { .. } => format!("{MASKED}given"),
        }
    }
}

impl Target {
    /// Scheme, host and port: what a secret header is for. None if the URL cannot be read.
    pub fn origin(&self) -> Option<String> {
        let url = url::Url::parse(&self.url).ok()?;
        Some(url.origin().ascii_serialization())
    }
}

/// How a run ends well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Completion {
    /// By any 2xx answer.
    Response,
    /// By a callback; a 2xx answer only means that the target has accepted the run.
    Callback,
}

/// What a run needs to know of its job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    /// What to call.
    pub target: Target,
    /// The `Content-Type` of the payload.
    pub content_type: String,
    /// Whether the payload came as JSON (and is shown as such) or in base 64.
    pub json: bool,
    /// How long one run may take, in milliseconds: from connect to the answer's last byte, or from
    /// acceptance to the callback.
    pub timeout_ms: u64,
    /// How a run ends well.
    pub completion: Completion,
    /// How long an accepted run may stay silent, in milliseconds; none means up to its timeout.
    pub heartbeat_timeout_ms: Option<u64>,
    /// When to try again.
    pub retry: RetryPolicy,
}

/// When a job is to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// At once, or at an instant; one in the past means at once.
    At(Option<DateTime<Utc>>),
    /// So many milliseconds after its registration, by the database's clock.
    In(u64),
}

/// What happens when an unfinished job of the team has the same unique key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDuplicate {
    /// The caller gets that job.
    Existing,
    /// The caller gets an error that names it.
    Reject,
}

/// What a caller asks for.
#[derive(Clone, Debug)]
pub struct NewJob {
    /// For people and filters.
    pub name: Option<String>,
    /// Where it waits.
    pub queue: String,
    /// What a run needs to know.
    pub spec: Spec,
    /// What is sent, byte for byte.
    pub payload: Bytes,
    /// When.
    pub due: Due,
    /// 0 (lowest) to 9.
    pub priority: i16,
    /// If it has not started by then it never does.
    pub start_deadline: Option<DateTime<Utc>>,
    /// At most one unfinished job of the team has it.
    pub unique_key: Option<String>,
    /// What to do if one has.
    pub on_duplicate: OnDuplicate,
    /// Whom to call when it fails.
    pub owner_service: Option<String>,
    /// For filters.
    pub tags: BTreeMap<String, String>,
    /// The finished job that this one repeats.
    pub rerun_of: Option<JobId>,
    /// The schedule that makes it, if one does.
    pub fire: Option<FireOf>,
}

impl NewJob {
    /// The state in which it begins.
    pub fn first_state(&self) -> State {
        if self.fire.is_some_and(|fire| fire.waits) { State::Waiting } else { State::Pending }
    }
}

/// Which slot of which schedule a job was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FireOf {
    /// The schedule.
    pub schedule: ScheduleId,
    /// The nominal fire time.
    pub at: DateTime<Utc>,
    /// Whether it waits for an earlier job of the schedule.
    pub waits: bool,
}

/// Why a job ended as it did. A code for machines; [`Reason::as_str`] is its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Every allowed attempt failed.
    RetriesExhausted,
    /// No call reached the target.
    TargetUnreachable,
    /// The target said that no retry can help.
    NoRetry,
    /// This installation does not call the target.
    TargetForbidden,
    /// The start deadline passed first.
    Expired,
    /// Three runs in a row went silent.
    LeaseLost,
    /// Its owner stopped it.
    ByUser,
    /// A later fire of its schedule took its place.
    Superseded,
}

impl Reason {
    const ALL: [Self; 8] = [
        Self::RetriesExhausted,
        Self::TargetUnreachable,
        Self::NoRetry,
        Self::TargetForbidden,
        Self::Expired,
        Self::LeaseLost,
        Self::ByUser,
        Self::Superseded,
    ];

    /// The word used in SQL and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RetriesExhausted => "retries_exhausted",
            Self::TargetUnreachable => "target_unreachable",
            Self::NoRetry => "no_retry",
            Self::TargetForbidden => "target_forbidden",
            Self::Expired => "expired",
            Self::LeaseLost => "lease_lost",
            Self::ByUser => "by_user",
            Self::Superseded => "superseded",
        }
    }

    /// The reason of that word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == word)
    }
}

/// A job as read back.
#[derive(Clone, Debug)]
pub struct Job {
    /// Its identity; carries its shard.
    pub id: JobId,
    /// Whose it is.
    pub team: Team,
    /// What was asked.
    pub asked: Asked,
    /// Where it stands.
    pub standing: Standing,
}

/// What was asked, as kept in the table `jobs`.
#[derive(Clone, Debug)]
pub struct Asked {
    /// For people and filters.
    pub name: Option<String>,
    /// Where it waits.
    pub queue: String,
    /// What a run needs to know.
    pub spec: Arc<Spec>,
    /// What is sent; none where it was not read (in lists).
    pub payload: Option<Bytes>,
    /// When it was to run first.
    pub due_at: DateTime<Utc>,
    /// 0 (lowest) to 9.
    pub priority: i16,
    /// If it has not started by then it never does.
    pub start_deadline: Option<DateTime<Utc>>,
    /// At most one unfinished job of the team has it.
    pub unique_key: Option<String>,
    /// Whom to call when it fails.
    pub owner_service: Option<String>,
    /// For filters.
    pub tags: BTreeMap<String, String>,
    /// The finished job that this one repeats.
    pub rerun_of: Option<JobId>,
    /// The schedule that made it.
    pub schedule_id: Option<ScheduleId>,
    /// The nominal fire time that it was made for.
    pub fire_at: Option<DateTime<Utc>>,
    /// Grows with every change by its owner; from 1.
    pub version: i32,
    /// When it was registered.
    pub created_at: DateTime<Utc>,
}

/// Where a job stands, as kept in `live` or `done`.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    /// Its state; none only for a value not yet read.
    pub state: Option<State>,
    /// Why it ended so.
    pub reason: Option<Reason>,
    /// Attempts charged so far, a running one included.
    pub attempt: i32,
    /// Calls that could not reach the target.
    pub failures: i32,
    /// The fence of its newest claim; 0 before the first.
    pub fence: i32,
    /// Set aside because its queue is paused or its team suspended.
    pub held: bool,
    /// Why it was given back without a call, since its last run.
    pub deferred: Option<Deferral>,
    /// When the next attempt may start; none while running or when finished.
    pub next_attempt_at: Option<DateTime<Utc>>,
    /// When its state last changed.
    pub updated_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
    /// When the current run was claimed.
    pub claimed_at: Option<DateTime<Utc>>,
    /// When the current run was accepted.
    pub accepted_at: Option<DateTime<Utc>>,
    /// When the current run times out, once accepted.
    pub deadline_at: Option<DateTime<Utc>>,
    /// What the current run reported.
    pub progress: Option<Progress>,
    /// How its newest ended run went.
    pub last: Option<LastRun>,
}

impl Job {
    /// The job that a registration has just made, as reading it back would show it.
    pub fn registered(
        id: JobId,
        team: Team,
        new: &NewJob,
        (due_at, now): (DateTime<Utc>, DateTime<Utc>),
    ) -> Self {
        let asked = Asked {
            name: new.name.clone(),
            queue: new.queue.clone(),
            spec: Arc::new(new.spec.clone()),
            payload: Some(new.payload.clone()),
            due_at,
            priority: new.priority,
            start_deadline: new.start_deadline,
            unique_key: new.unique_key.clone(),
            owner_service: new.owner_service.clone(),
            tags: new.tags.clone(),
            rerun_of: new.rerun_of,
            schedule_id: new.fire.map(|fire| fire.schedule),
            fire_at: new.fire.map(|fire| fire.at),
            version: 1,
            created_at: now,
        };
        let state = new.first_state();
        let standing = Standing {
            state: Some(state),
            next_attempt_at: (state == State::Pending).then_some(due_at),
            updated_at: Some(now),
            ..Standing::default()
        };
        Self { id, team, asked, standing }
    }

    /// The state; a job that was read has one.
    pub fn state(&self) -> State {
        self.standing.state.unwrap_or(State::Pending)
    }

    /// Changes whenever anything that an owner may build on changes: the definition (its version),
    /// the claims (the fence) or the state.
    pub fn etag(&self) -> String {
        format!("\"{}-{}-{}\"", self.asked.version, self.standing.fence, self.state().as_str())
    }
}
