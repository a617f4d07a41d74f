//! What targets post back.

use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::fields::Fields;
use super::instant;
use crate::domain::id::RunId;
use crate::domain::invalid::Invalid;
use crate::domain::run::{Progress, RunError};

/// Why a run failed, as its target says.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct CallbackError {
    /// A code of the target's own, at most 64 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "card_declined")]
    pub code: Option<String>,
    /// A sentence; cut at 2,000 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// `false`: no retry can help. `true` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(default = true)]
    pub retryable: Option<bool>,
}

/// How far a run is.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct ProgressRequest {
    /// 0 to 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 100)]
    pub pct: Option<f64>,
    /// A sentence; cut at 2,000 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// What a target says about its run.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct CallbackRequest {
    /// The run, as in the header `Axle-Run-Id`; must be that of the URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// As in the header `Axle-Fence`; must be that of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fence: Option<i32>,
    /// `succeeded`, `failed` or `progress`.
    #[schema(pattern = "^(succeeded|failed|progress)$", example = "succeeded")]
    pub status: String,
    /// For `progress`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<ProgressRequest>,
    /// Any JSON; kept with the run and shown on the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub result: Option<Box<RawValue>>,
    /// For `failed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<CallbackError>,
}

/// What a target is told.
#[derive(Debug, Serialize, ToSchema)]
pub struct CallbackAnswer {
    /// Whether the run has ended by this, or its progress is noted.
    pub applied: bool,
    /// Whether the same had been said before.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
}

/// A sign of life; the body may be absent.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct HeartbeatRequest {
    /// How far it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<ProgressRequest>,
}

/// Until when a run may go on.
#[derive(Debug, Serialize, ToSchema)]
pub struct HeartbeatAnswer {
    /// The run times out then; heartbeats do not move it. Null until the target's answer was read.
    #[schema(format = DateTime)]
    pub deadline: Option<String>,
}

impl HeartbeatAnswer {
    /// The answer for a run with this deadline.
    pub fn new(deadline: Option<chrono::DateTime<chrono::Utc>>) -> Self {
        Self { deadline: deadline.map(instant) }
    }
}

/// A callback as read.
#[derive(Debug)]
pub enum Said {
    /// It worked.
    Succeeded(Option<Bytes>),
    /// It did not; whether a retry can help; what came out of it all the same.
    Failed(RunError, bool, Option<Bytes>),
    /// It is still at it.
    Progress(Progress),
}

#[derive(Clone, Copy)]
enum Status {
    Succeeded,
    Failed,
    Progress,
}

/// Reads a callback about `run`.
pub fn read_callback(raw: &RawValue, run: RunId) -> Result<Said, Invalid> {
    let mut fields = Fields::read(raw, "#")?;
    check_identity(&mut fields, run);
    let status = fields.required_word(
        "status",
        &[
            ("succeeded", Status::Succeeded),
            ("failed", Status::Failed),
            ("progress", Status::Progress),
        ],
    );
    let progress = read_progress(&mut fields);
    let result = fields.raw("result").filter(|raw| raw.get() != "null");
    let result = result.map(|raw| Bytes::copy_from_slice(raw.get().as_bytes()));
    let (error, retryable) = read_error(&mut fields);
    let said = match status {
        Some(Status::Progress) => Said::Progress(progress.unwrap_or(EMPTY)),
        Some(Status::Failed) => Said::Failed(error, retryable, result),
        Some(Status::Succeeded) | None => Said::Succeeded(result),
    };
    fields.finish().into_result(said)
}

/// Reads a heartbeat.
pub fn read_heartbeat(raw: &RawValue) -> Result<Option<Progress>, Invalid> {
    let mut fields = Fields::read(raw, "#")?;
    let progress = read_progress(&mut fields);
    fields.finish().into_result(progress)
}

const EMPTY: Progress = Progress { pct: None, message: None };

/// A body that names another run than its URL is a mistake worth telling.
fn check_identity(fields: &mut Fields<'_>, run: RunId) {
    if fields.text("run_id").is_some_and(|given| given != run.to_string()) {
        fields.fault("run_id", "mismatch", format!("the URL is that of {run}"));
    }
    let fence: Option<i64> = fields.get("fence", "a whole number");
    if fence.is_some_and(|given| given != i64::from(run.fence)) {
        fields.fault("fence", "mismatch", format!("the fence of this run is {}", run.fence));
    }
}

fn read_progress(fields: &mut Fields<'_>) -> Option<Progress> {
    let mut inner = fields.object("progress")?;
    let pct: Option<f64> = inner.get("pct", "a number from 0 to 100");
    if pct.is_some_and(|pct| !(0.0..=100.0).contains(&pct)) {
        inner.fault("pct", "out-of-range", "must be 0 to 100");
    }
    let message = inner.text("message").map(|text| RunError::new("", text).message);
    fields.add(inner.finish());
    Some(Progress { pct, message })
}

fn read_error(fields: &mut Fields<'_>) -> (RunError, bool) {
    const CLASS: &str = "reported";
    const MESSAGE: &str = "the target reported a failure";
    let Some(mut inner) = fields.object("error") else {
        return (RunError::new(CLASS, MESSAGE), true);
    };
    let code = inner.text("code").filter(|code| !code.is_empty());
    let message = inner.text("message");
    let retryable = inner.get("retryable", "true or false").unwrap_or(true);
    fields.add(inner.finish());
    let error = RunError::new(
        code.unwrap_or_else(|| CLASS.to_owned()),
        message.unwrap_or_else(|| MESSAGE.to_owned()),
    );
    (error, retryable)
}
