//! A job as read back.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::{instant, payload, veiled};
use crate::domain::id::RunId;
use crate::domain::job::{Completion, Job, Reason, SecretHeader, Target};
use crate::domain::next_step::next_step;
use crate::domain::redact::Veil;
use crate::domain::retry::RetryPolicy;
use crate::domain::run::{Progress, RunError};
use crate::domain::state::State;

/// What a job calls.
#[derive(Debug, Serialize, ToSchema)]
pub struct TargetView {
    /// The URL.
    pub url: String,
    /// The method.
    pub method: String,
    /// The headers that go with the request beside Axle's own.
    #[serde(serialize_with = "as_object")]
    #[schema(value_type = BTreeMap<String, String>)]
    pub headers: Vec<(String, String)>,
    /// Headers with secret values: `secret:` and a short hash stand in place of each, equal for equal
    /// values of a team.
    #[serde(serialize_with = "as_object", skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = BTreeMap<String, String>, required = false)]
    pub secret_headers: Vec<(String, String)>,
}

impl From<&Target> for TargetView {
    fn from(target: &Target) -> Self {
        let shown = |header: &SecretHeader| (header.name().to_owned(), header.shown());
        Self {
            url: target.url.clone(),
            method: target.method.clone(),
            headers: target.headers.clone(),
            secret_headers: target.secret_headers.iter().map(shown).collect(),
        }
    }
}

/// When a job is tried again.
#[derive(Debug, Serialize, ToSchema)]
pub struct RetryView {
    /// Attempts after the first.
    pub max_retries: u32,
    /// The wait before the first retry.
    pub base_ms: u64,
    /// By how much each wait grows.
    pub factor: f64,
    /// No wait is longer.
    pub cap_ms: u64,
    /// Waits are spread by ± this share.
    pub jitter: f64,
    /// Further calls after one that could not reach the target.
    pub max_dispatch_retries: u32,
}

/// Why a run did not succeed.
#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorView {
    /// The kind: `http_status`, `timeout`, `connect`, `dns`, `tls`, `reset`, `protocol`, `lost`, or
    /// the code that a callback gave.
    pub class: String,
    /// One sentence.
    pub message: String,
}

/// What a target reports while it works.
#[derive(Debug, Serialize, ToSchema)]
pub struct ProgressView {
    /// How much is done, 0 to 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pct: Option<f64>,
    /// What it is doing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// A job: what was asked, and where it stands.
#[derive(Debug, Serialize, ToSchema)]
pub struct JobView {
    /// `job_` and 26 characters; opaque.
    #[schema(example = "job_01KB9YQ6Z4F0R8M3T1C5W7X2V0")]
    pub id: String,
    /// Whose it is.
    pub team: String,
    /// Its name.
    pub name: Option<String>,
    /// Where it waits.
    pub queue: String,
    /// What it calls.
    pub target: TargetView,
    /// The payload, byte for byte, if it came as JSON; `secret:` and a short hash stand in place of
    /// values that the team's settings redact. Not in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub payload: Option<Box<RawValue>>,
    /// The payload in base 64, if it came so. Not in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload_base64: Option<String>,
    /// What there is and is not shown to you, by the team's settings: `payload`, `result`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub withheld: Vec<&'static str>,
    /// The payload's media type.
    pub content_type: String,
    /// When it was to run first.
    #[schema(format = DateTime)]
    pub due_at: String,
    /// 0 (lowest) to 9.
    pub priority: i16,
    /// How long one run may take.
    pub timeout_ms: u64,
    /// `response` or `callback`.
    pub completion: &'static str,
    /// How long an accepted run may stay silent.
    pub heartbeat_timeout_ms: Option<u64>,
    /// If it has not started by then it fails.
    #[schema(format = DateTime)]
    pub start_deadline: Option<String>,
    /// When it is tried again.
    pub retry: RetryView,
    /// At most one unfinished job of the team has it.
    pub unique_key: Option<String>,
    /// Whom to call when it fails.
    pub owner_service: Option<String>,
    /// Tags.
    pub tags: BTreeMap<String, String>,
    /// `WAITING`, `PENDING`, `RETRY_WAIT`, `RUNNING`, `SUCCESS`, `FAILED` or `CANCELLED`.
    #[schema(example = "PENDING")]
    pub state: &'static str,
    /// Why it ended so: `retries_exhausted`, `target_unreachable`, `no_retry`, `target_forbidden`,
    /// `expired`, `lease_lost`, `by_user`.
    pub reason: Option<&'static str>,
    /// Attempts charged so far, a running one included.
    pub attempt: i32,
    /// Calls that could not reach the target; they are charged to a budget of their own.
    pub dispatch_failures: i32,
    /// The run that is going on.
    pub current_run_id: Option<String>,
    /// When the next attempt may start.
    #[schema(format = DateTime)]
    pub next_attempt_at: Option<String>,
    /// When it was registered.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// When its state last changed.
    #[schema(format = DateTime)]
    pub updated_at: Option<String>,
    /// When it ended.
    #[schema(format = DateTime)]
    pub finished_at: Option<String>,
    /// The finished job that this one repeats.
    pub rerun_of: Option<String>,
    /// The schedule that made it.
    pub schedule_id: Option<String>,
    /// The nominal fire time that it was made for; with `schedule_id` it names the job.
    #[schema(format = DateTime)]
    pub fire_at: Option<String>,
    /// Why its newest ended run did not succeed.
    pub last_error: Option<ErrorView>,
    /// What the callback of its last run brought.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub result: Option<Box<RawValue>>,
    /// What its run reports.
    pub progress: Option<ProgressView>,
    /// Grows with every change by its owner.
    pub version: i32,
    /// What happens next, or why it waits, in one sentence.
    #[schema(example = "attempt 1 as soon as a puller is free")]
    pub next_step: String,
}

impl JobView {
    /// The job as seen at `now` through `veil`.
    pub fn new(job: &Job, now: DateTime<Utc>, veil: &Veil) -> Self {
        let (asked, standing, spec) = (&job.asked, &job.standing, &job.asked.spec);
        let running = job.state() == State::Running;
        let last = standing.last.as_ref();
        let mut withheld = Vec::new();
        let shown = asked.payload.as_deref().filter(|bytes| !bytes.is_empty());
        let (json, base64) =
            shown.map(|bytes| payload((spec.json, bytes), veil, &mut withheld)).unwrap_or_default();
        let result = last.and_then(|last| last.result.as_deref());
        let result = result.and_then(|result| veiled(result, veil, ("result", &mut withheld)));
        Self {
            id: job.id.to_string(),
            team: job.team.as_str().to_owned(),
            name: asked.name.clone(),
            queue: asked.queue.clone(),
            target: TargetView::from(&spec.target),
            payload: json,
            payload_base64: base64,
            withheld,
            content_type: spec.content_type.clone(),
            due_at: instant(asked.due_at),
            priority: asked.priority,
            timeout_ms: spec.timeout_ms,
            completion: match spec.completion {
                Completion::Response => "response",
                Completion::Callback => "callback",
            },
            heartbeat_timeout_ms: spec.heartbeat_timeout_ms,
            start_deadline: asked.start_deadline.map(instant),
            retry: RetryView::from(&spec.retry),
            unique_key: asked.unique_key.clone(),
            owner_service: asked.owner_service.clone(),
            tags: asked.tags.clone(),
            state: job.state().as_str(),
            reason: standing.reason.map(Reason::as_str),
            attempt: standing.attempt,
            dispatch_failures: standing.failures,
            current_run_id: running
                .then(|| RunId { job: job.id, fence: standing.fence }.to_string()),
            next_attempt_at: standing.next_attempt_at.map(instant),
            created_at: instant(asked.created_at),
            updated_at: standing.updated_at.map(instant),
            finished_at: standing.finished_at.map(instant),
            rerun_of: asked.rerun_of.map(|id| id.to_string()),
            schedule_id: asked.schedule_id.map(|id| id.to_string()),
            fire_at: asked.fire_at.map(instant),
            last_error: last.and_then(|last| last.error.as_ref()).map(ErrorView::from),
            result,
            progress: standing.progress.as_ref().map(ProgressView::from),
            version: asked.version,
            next_step: next_step(job, now),
        }
    }
}

impl From<&RetryPolicy> for RetryView {
    fn from(policy: &RetryPolicy) -> Self {
        Self {
            max_retries: policy.max_retries,
            base_ms: policy.base_ms,
            factor: policy.factor,
            cap_ms: policy.cap_ms,
            jitter: policy.jitter,
            max_dispatch_retries: policy.max_dispatch_retries,
        }
    }
}

impl From<&RunError> for ErrorView {
    fn from(error: &RunError) -> Self {
        Self { class: error.class.clone(), message: error.message.clone() }
    }
}

impl From<&Progress> for ProgressView {
    fn from(progress: &Progress) -> Self {
        Self { pct: progress.pct, message: progress.message.clone() }
    }
}

/// What a client needs to read of a job: enough to follow it.
#[derive(Clone, Debug, Deserialize)]
pub struct JobBrief {
    /// Its id.
    pub id: String,
    /// Its state.
    pub state: String,
    /// Why it ended so.
    pub reason: Option<String>,
    /// Attempts so far.
    pub attempt: i32,
    /// What happens next.
    pub next_step: String,
}

fn as_object<S: Serializer>(pairs: &[(String, String)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(key, value)| (key, value)))
}
