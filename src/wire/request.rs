//! A job as a caller registers it: the document that OpenAPI shows and clients send, and the reader
//! that turns its bytes into a domain value or into every fault.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::fields::Fields;
use crate::domain::check::{check_content_type, check_payload, check_policy};
use crate::domain::invalid::Invalid;
use crate::domain::job::{Completion, Due, NewJob, OnDuplicate, SecretHeader, Spec, Target};
use crate::domain::queue::DEFAULT_QUEUE;
use crate::domain::retry::RetryPolicy;

/// The HTTP endpoint that a job calls.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub struct TargetRequest {
    /// Absolute, `http` or `https`, at most 2,048 characters. Places that the installation does not
    /// call (private addresses, unless its operator allows them) are refused.
    #[schema(example = "https://shop.example/hooks/close-order")]
    pub url: String,
    /// `GET`, `HEAD`, `POST`, `PUT`, `PATCH` or `DELETE`; `POST` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "POST")]
    pub method: Option<String>,
    /// Up to 50 headers that go with the request, together at most 8 KiB. Not those that Axle sets:
    /// `Content-Type` (use `content_type`), `Host`, `webhook-*`, `Axle-*` and the headers of one
    /// connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers: Option<BTreeMap<String, String>>,
    /// The same for values that are secret: stored encrypted, never shown again, never logged. They
    /// count among the 64. What is shown in a value's place, `secret:…`, keeps the stored value when
    /// it is sent back, as long as the URL's scheme, host and port stay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_headers: Option<BTreeMap<String, String>>,
}

/// When to try again. Absent fields have the defaults shown.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub struct RetryRequest {
    /// Attempts after the first; 0 to 1000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(default = 3, maximum = 1000)]
    pub max_retries: Option<u32>,
    /// The wait before the first retry.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(default = 30_000)]
    pub base_ms: Option<u64>,
    /// By how much each wait grows; 1 to 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(default = 2.0, minimum = 1, maximum = 100)]
    pub factor: Option<f64>,
    /// No wait is longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(default = 3_600_000)]
    pub cap_ms: Option<u64>,
    /// Waits are spread by ± this share; 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(default = 0.2, minimum = 0, maximum = 1)]
    pub jitter: Option<f64>,
    /// Further calls after one that could not reach the target (no name, refused, no TLS): a budget
    /// of its own, with waits from 1 s doubling to 60 s.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(default = 10, maximum = 1000)]
    pub max_dispatch_retries: Option<u32>,
}

/// A job to register. Everything but `target` is optional.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct JobRequest {
    /// For people and filters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "close-order", max_length = 255)]
    pub name: Option<String>,
    /// Where it waits; `default` if absent. A queue comes into being when a job names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "default", pattern = "^[a-z0-9][a-z0-9._-]{0,62}$")]
    pub queue: Option<String>,
    /// What to call.
    pub target: TargetRequest,
    /// Any JSON; kept and sent as the bytes that came. Not together with `payload_base64`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub payload: Option<Box<RawValue>>,
    /// Any bytes, in base 64; needs a `content_type`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload_base64: Option<String>,
    /// The payload's media type; `application/json` for a JSON payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "application/json")]
    pub content_type: Option<String>,
    /// When it is to run; at once if absent or past. Not together with `delay_ms`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub due_at: Option<String>,
    /// How long after its registration it is to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(default = 0)]
    pub delay_ms: Option<u64>,
    /// 0 (lowest) to 9.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(default = 5, minimum = 0, maximum = 9)]
    pub priority: Option<i16>,
    /// How long one run may take: from connect to the answer's last byte or, in callback mode, from
    /// acceptance to the callback. Up to a year.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(default = 30_000, minimum = 1)]
    pub timeout_ms: Option<u64>,
    /// `response`: a 2xx answer is success. `callback`: it means accepted, and a callback ends the
    /// run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "response", pattern = "^(response|callback)$")]
    pub completion: Option<String>,
    /// In callback mode: how long the target may stay silent; at least 1000. Advice to targets: send
    /// a heartbeat three times as often.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1000)]
    pub heartbeat_timeout_ms: Option<u64>,
    /// If it has not started by then it fails with the reason `expired`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub start_deadline: Option<String>,
    /// When to try again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryRequest>,
    /// At most one unfinished job of the team has it; a second registration gets the first job.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "order-42", max_length = 255)]
    pub unique_key: Option<String>,
    /// `existing` (200 with the first job) or `reject` (409) when the unique key is taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(default = "existing", pattern = "^(existing|reject)$")]
    pub on_duplicate: Option<String>,
    /// Whom to call when it fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "shop", max_length = 255)]
    pub owner_service: Option<String>,
    /// Up to 16 keys with values, for filters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<BTreeMap<String, String>>,
}

/// The default of `timeout_ms`; Standard Webhooks advises 15 to 30 s.
const TIMEOUT_MS: u64 = 30_000;
/// The default of `priority`.
const PRIORITY: i16 = 5;

/// Reads a job that stands at `at` in the request.
pub fn read_job(raw: &RawValue, at: &str, max_payload: usize) -> Result<NewJob, Invalid> {
    let mut fields = Fields::read(raw, at)?;
    let mut new = read_common(&mut fields);
    new.due = read_due(&mut fields);
    new.start_deadline = fields.instant("start_deadline");
    new.unique_key = fields.text("unique_key");
    let on_duplicate = [("existing", OnDuplicate::Existing), ("reject", OnDuplicate::Reject)];
    new.on_duplicate = fields.word("on_duplicate", &on_duplicate).unwrap_or(OnDuplicate::Existing);
    fields.finish_with(new.check(at, max_payload)).into_result(new)
}

/// Reads what a job and the jobs of a schedule have in common: all but when, and under which key.
pub(super) fn read_common(fields: &mut Fields<'_>) -> NewJob {
    let target = read_target(fields);
    let payload = read_payload(fields);
    let completions = [("response", Completion::Response), ("callback", Completion::Callback)];
    NewJob {
        name: fields.text("name"),
        queue: fields.text("queue").unwrap_or_else(|| DEFAULT_QUEUE.to_owned()),
        due: Due::At(None),
        priority: fields.get("priority", "a whole number from 0 to 9").unwrap_or(PRIORITY),
        start_deadline: None,
        unique_key: None,
        on_duplicate: OnDuplicate::Existing,
        owner_service: fields.text("owner_service"),
        tags: read_tags(fields),
        spec: Spec {
            target,
            content_type: payload.content_type.unwrap_or_else(|| JSON.into()),
            json: payload.json,
            timeout_ms: fields.get("timeout_ms", MILLIS).unwrap_or(TIMEOUT_MS),
            completion: fields.word("completion", &completions).unwrap_or(Completion::Response),
            heartbeat_timeout_ms: fields.get("heartbeat_timeout_ms", MILLIS),
            retry: read_retry(fields, &RetryPolicy::default()).unwrap_or_default(),
        },
        payload: payload.bytes,
        rerun_of: None,
        fire: None,
    }
}

pub(super) const MILLIS: &str = "a whole number of milliseconds";

fn read_target(fields: &mut Fields<'_>) -> Target {
    let mut target = Target {
        url: String::new(),
        method: "POST".into(),
        headers: Vec::new(),
        secret_headers: Vec::new(),
    };
    let Some(mut inner) = fields.object("target") else {
        fields.missing("target", "a job needs a target: {\"url\": \"https://…\"}");
        return target;
    };
    match inner.text("url") {
        Some(url) => target.url = url,
        None => inner.missing("url", "a target needs a url"),
    }
    if let Some(method) = inner.text("method") {
        target.method = method;
    }
    if let Some(mut headers) = inner.object("headers") {
        target.headers = headers.all_texts();
        inner.add(headers.finish());
    }
    let given = inner.hidden_texts("secret_headers").into_iter();
    target.secret_headers =
        given.map(|(name, value)| SecretHeader::Given { name, value }).collect();
    fields.add(inner.finish());
    target
}

pub(super) struct ReadPayload {
    pub(super) bytes: Bytes,
    pub(super) json: bool,
    pub(super) content_type: Option<String>,
    /// Whether a payload was given, in either form.
    pub(super) given: bool,
}

/// The media type of a JSON payload that says nothing else.
const JSON: &str = "application/json";

pub(super) fn read_payload(fields: &mut Fields<'_>) -> ReadPayload {
    let json = fields.raw("payload");
    let encoded = fields.text("payload_base64");
    let content_type = fields.text("content_type");
    if encoded.is_some() && content_type.is_none() {
        fields.missing("content_type", "payload_base64 needs a content_type");
    }
    let given = json.is_some() || encoded.is_some();
    let mut read = ReadPayload { bytes: Bytes::new(), json: true, content_type, given };
    match (json, encoded) {
        (Some(_), Some(_)) => {
            let detail = "give payload or payload_base64, not both";
            fields.fault("payload_base64", "excluded", detail);
        }
        (Some(raw), None) => read.bytes = Bytes::copy_from_slice(raw.get().as_bytes()),
        (None, Some(text)) => {
            read.json = false;
            match STANDARD.decode(text) {
                Ok(bytes) => read.bytes = Bytes::from(bytes),
                Err(error) => {
                    let detail = format!("must be base 64 (RFC 4648 section 4): {error}");
                    fields.fault("payload_base64", "malformed", detail);
                }
            }
        }
        (None, None) => {}
    }
    read
}

fn read_due(fields: &mut Fields<'_>) -> Due {
    let due_at = fields.instant("due_at");
    let delay_ms: Option<u64> = fields.get("delay_ms", MILLIS);
    match (due_at, delay_ms) {
        (Some(_), Some(delay)) if delay > 0 => {
            fields.fault("delay_ms", "excluded", "give due_at or delay_ms, not both");
            Due::At(due_at)
        }
        (Some(_), _) => Due::At(due_at),
        (None, Some(delay)) => Due::In(delay),
        (None, None) => Due::At(None),
    }
}

fn read_tags(fields: &mut Fields<'_>) -> BTreeMap<String, String> {
    let Some(mut tags) = fields.object("tags") else { return BTreeMap::new() };
    let read = tags.all_texts().into_iter().collect();
    fields.add(tags.finish());
    read
}

/// Reads `retry` over `base`; none if it is absent.
pub(super) fn read_retry(fields: &mut Fields<'_>, base: &RetryPolicy) -> Option<RetryPolicy> {
    let mut retry = fields.object("retry")?;
    let count = "a whole number from 0 to 1000";
    let policy = RetryPolicy {
        max_retries: retry.get("max_retries", count).unwrap_or(base.max_retries),
        base_ms: retry.get("base_ms", MILLIS).unwrap_or(base.base_ms),
        factor: retry.get("factor", "a number from 1 to 100").unwrap_or(base.factor),
        cap_ms: retry.get("cap_ms", MILLIS).unwrap_or(base.cap_ms),
        jitter: retry.get("jitter", "a number from 0 to 1").unwrap_or(base.jitter),
        max_dispatch_retries: retry
            .get("max_dispatch_retries", count)
            .unwrap_or(base.max_dispatch_retries),
    };
    fields.add(retry.finish());
    Some(policy)
}

/// What an owner changes of a job that is not claimed. A JSON merge patch: what is absent stays.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct JobPatch {
    /// When it is to run; one in the past means at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub due_at: Option<String>,
    /// 0 (lowest) to 9.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 9)]
    pub priority: Option<i16>,
    /// Any JSON; replaces the payload whole (it is bytes, and is not merged).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub payload: Option<Box<RawValue>>,
    /// Any bytes, in base 64; needs a `content_type`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload_base64: Option<String>,
    /// The payload's media type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// Fields of the retry policy; what is absent stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryRequest>,
}

/// A job's definition with a patch applied.
#[derive(Debug)]
pub struct Patched {
    /// When it is to run, if that changes.
    pub due_at: Option<chrono::DateTime<chrono::Utc>>,
    /// How urgently, if that changes.
    pub priority: Option<i16>,
    /// What a run needs to know, if that changes.
    pub spec: Option<Spec>,
    /// What is sent, if that changes.
    pub payload: Option<Bytes>,
}

/// Reads a patch of a job whose definition is `spec`.
pub fn read_patch(raw: &RawValue, spec: &Spec, max_payload: usize) -> Result<Patched, Invalid> {
    let mut fields = Fields::read(raw, "#")?;
    let due_at = fields.instant("due_at");
    let priority: Option<i16> = fields.get("priority", "a whole number from 0 to 9");
    let payload = read_payload(&mut fields);
    let retry = read_retry(&mut fields, &spec.retry);
    let mut faults = fields.finish();
    if let Some(at) = due_at {
        crate::domain::check::check_instant(&mut faults, "#/due_at", at);
    }
    if priority.is_some_and(|priority| !(0..=9).contains(&priority)) {
        faults.add("#/priority", "out-of-range", "must be 0 (lowest) to 9");
    }
    if let Some(policy) = &retry {
        check_policy(&mut faults, "#/retry", policy);
    }
    if let Some(content_type) = &payload.content_type {
        check_content_type(&mut faults, "#", content_type);
    }
    check_payload(&mut faults, "#", (payload.json, payload.bytes.len()), max_payload);
    faults.into_result(())?;
    let mut changed = spec.clone();
    if payload.given && payload.json != spec.json {
        changed.json = payload.json;
        changed.content_type = JSON.into();
    }
    changed.content_type = payload.content_type.unwrap_or(changed.content_type);
    changed.retry = retry.unwrap_or(changed.retry);
    Ok(Patched {
        due_at,
        priority,
        spec: (changed != *spec).then_some(changed),
        payload: payload.given.then_some(payload.bytes),
    })
}
