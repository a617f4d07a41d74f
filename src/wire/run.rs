//! A run as read back.

use std::borrow::Cow;
use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::job::{ErrorView, ProgressView};
use super::{instant, veiled};
use crate::domain::redact::Veil;
use crate::domain::run::{Response, Run};

/// What a target answered.
#[derive(Debug, Serialize, ToSchema)]
pub struct ResponseView {
    /// Its headers, by name.
    pub headers: BTreeMap<String, String>,
    /// The first 64 KiB of its body, if they are UTF-8; values that the team's settings redact are
    /// masked, as in payloads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The first 64 KiB of its body in base 64, if they are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_base64: Option<String>,
    /// Whether the body was longer.
    pub truncated: bool,
}

/// A run: one attempt of a job.
#[derive(Debug, Serialize, ToSchema)]
pub struct RunView {
    /// `run_`, the job's 26 characters, `_` and the fence; opaque.
    #[schema(example = "run_01KB9YQ6Z4F0R8M3T1C5W7X2V0_1")]
    pub id: String,
    /// Its job.
    pub job_id: String,
    /// The number of the attempt, from 1. A call that could not reach the target is not charged: the
    /// run after it has the same number.
    pub attempt: i32,
    /// Grows with every claim of the job.
    pub fence: i32,
    /// `DISPATCHING`, `RUNNING`, `SUCCESS`, `FAILED`, `TIMEOUT`, `LOST` or `CANCELLED`.
    pub state: &'static str,
    /// The process that claimed it.
    pub puller: Option<String>,
    /// When it was claimed.
    #[schema(format = DateTime)]
    pub claimed_at: Option<String>,
    /// When the request was sent.
    #[schema(format = DateTime)]
    pub sent_at: Option<String>,
    /// When the target accepted it.
    #[schema(format = DateTime)]
    pub accepted_at: Option<String>,
    /// When the target was last heard of.
    #[schema(format = DateTime)]
    pub heartbeat_at: Option<String>,
    /// When it ended.
    #[schema(format = DateTime)]
    pub finished_at: Option<String>,
    /// When an accepted run times out.
    #[schema(format = DateTime)]
    pub deadline_at: Option<String>,
    /// When the next attempt was due, if one followed.
    #[schema(format = DateTime)]
    pub retry_at: Option<String>,
    /// The status that the target answered.
    pub http_status: Option<i32>,
    /// Why it did not succeed.
    pub error: Option<ErrorView>,
    /// What the target answered.
    pub response: Option<ResponseView>,
    /// What the callback brought.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub result: Option<Box<RawValue>>,
    /// What there is and is not shown to you, by the team's settings: `result`, `response.body`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub withheld: Vec<&'static str>,
    /// What the target last reported.
    pub progress: Option<ProgressView>,
}

impl RunView {
    /// The run as seen through `veil`.
    pub fn new(run: &Run, veil: &Veil) -> Self {
        let mut withheld = Vec::new();
        let result = run.result.as_deref();
        let result = result.and_then(|result| veiled(result, veil, ("result", &mut withheld)));
        let response = run.response.as_ref();
        let response = response.map(|response| ResponseView::new(response, veil, &mut withheld));
        Self {
            id: run.id.to_string(),
            job_id: run.id.job.to_string(),
            attempt: run.attempt,
            fence: run.id.fence,
            state: run.state.as_str(),
            puller: run.puller.clone(),
            claimed_at: run.claimed_at.map(instant),
            sent_at: run.sent_at.map(instant),
            accepted_at: run.accepted_at.map(instant),
            heartbeat_at: run.heartbeat_at.map(instant),
            finished_at: run.finished_at.map(instant),
            deadline_at: run.deadline_at.map(instant),
            retry_at: run.retry_at.map(instant),
            http_status: run.http_status,
            error: run.error.as_ref().map(ErrorView::from),
            response,
            result,
            withheld,
            progress: run.progress.as_ref().map(ProgressView::from),
        }
    }
}

impl ResponseView {
    fn new(response: &Response, veil: &Veil, withheld: &mut Vec<&'static str>) -> Self {
        let body = response.body.as_ref();
        // What is no JSON, or not the whole of it, cannot be looked into: then all of it may be meant.
        let seen = if body.is_empty() {
            Some(Cow::Borrowed(body))
        } else {
            veil.bytes(body).map(Cow::Borrowed).or_else(|| veil.json(body))
        };
        if seen.is_none() {
            withheld.push("response.body");
        }
        // A cut may have fallen inside a character: then the whole of it is shown in base 64.
        let text = seen.as_deref().and_then(|seen| std::str::from_utf8(seen).ok());
        let encoded = seen.as_deref().filter(|_| text.is_none()).map(|seen| STANDARD.encode(seen));
        Self {
            headers: response.headers.clone(),
            body: text.map(str::to_owned),
            body_base64: encoded,
            truncated: response.truncated,
        }
    }
}
