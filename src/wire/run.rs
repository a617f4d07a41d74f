//! A run as read back.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::job::{ErrorView, ProgressView};
use super::{instant, json};
use crate::domain::run::{Response, Run};

/// What a target answered.
#[derive(Debug, Serialize, ToSchema)]
pub struct ResponseView {
    /// Its headers, by name.
    pub headers: BTreeMap<String, String>,
    /// The first 64 KiB of its body, if they are UTF-8.
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
    /// What the target last reported.
    pub progress: Option<ProgressView>,
}

impl From<&Run> for RunView {
    fn from(run: &Run) -> Self {
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
            response: run.response.as_ref().map(ResponseView::from),
            result: run.result.as_deref().and_then(json),
            progress: run.progress.as_ref().map(ProgressView::from),
        }
    }
}

impl From<&Response> for ResponseView {
    fn from(response: &Response) -> Self {
        // A cut may have fallen inside a character: then the whole of it is shown in base 64.
        let text = std::str::from_utf8(&response.body).ok().map(str::to_owned);
        let encoded = text.is_none().then(|| STANDARD.encode(&response.body));
        Self {
            headers: response.headers.clone(),
            body: text,
            body_base64: encoded,
            truncated: response.truncated,
        }
    }
}
