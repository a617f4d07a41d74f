//! What the log shows of a thing: enough to tell what changed, and no secret. Payloads are shown by
//! their size and hash, values of target headers by a short keyed hash: two of them can be told
//! apart, and none can be guessed.

use chrono::{DateTime, SecondsFormat, Utc};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::domain::job::Job;
use crate::domain::key::Key;
use crate::domain::queue::Queue;
use crate::domain::schedule::doc::CalendarDoc;
use crate::domain::schedule::record::Schedule;
use crate::domain::team::TeamRecord;
use crate::engine::Ctx;

/// The longest document that an entry holds whole, in bytes.
const LIMIT: usize = 32 * 1024;

/// A document as an entry holds it; none for null. One that is too long is shown by its hash.
pub(super) fn text(value: &Value) -> Option<String> {
    if value.is_null() {
        return None;
    }
    let text = value.to_string();
    let short = text.len() <= LIMIT;
    Some(if short { text } else { json!({"too_long": digest(text.as_bytes())}).to_string() })
}

/// What an owner may change of a job, and its state.
pub(in crate::engine) fn job(job: &Job) -> Value {
    let asked = &job.asked;
    json!({
        "state": job.state().as_str(),
        "due_at": instant(job.standing.next_attempt_at.unwrap_or(asked.due_at)),
        "priority": asked.priority,
        "content_type": asked.spec.content_type,
        "retry": asked.spec.retry,
        "payload": digest(asked.payload.as_deref().unwrap_or_default()),
    })
}

/// A queue.
pub(in crate::engine) fn queue(queue: &Queue) -> Value {
    json!({
        "paused": queue.paused,
        "pause_reason": queue.pause_reason,
        "description": queue.description,
    })
}

/// A calendar.
pub(in crate::engine) fn calendar(calendar: &CalendarDoc) -> Value {
    json!({"dates": calendar.dates, "weekend": calendar.weekend})
}

/// A schedule.
pub(in crate::engine) fn schedule(ctx: &Ctx, schedule: &Schedule) -> Value {
    let mut plan = serde_json::to_value(&schedule.doc).unwrap_or_default();
    hide_headers(&ctx.limits.callback_key, &mut plan);
    json!({
        "name": schedule.name,
        "state": schedule.state.as_str(),
        "reason": schedule.reason,
        "plan": plan,
        "payload": digest(&schedule.payload),
    })
}

/// An API key; of its text there is nothing to show.
pub(in crate::engine) fn key(key: &Key) -> Value {
    json!({
        "name": key.name,
        "role": key.role.as_str(),
        "queues": key.scope.queues(),
        "expires_at": key.expires_at.map(instant),
    })
}

/// A team.
pub(in crate::engine) fn team(team: &TeamRecord) -> Value {
    json!({
        "name": team.name,
        "suspended": team.suspended.as_ref().map(|(_, reason)| reason),
        "settings": team.settings,
    })
}

/// An instant, as everywhere on the wire.
pub(in crate::engine) fn instant(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Micros, true)
}

fn digest(bytes: &[u8]) -> Value {
    json!({"bytes": bytes.len(), "sha256": hex(&Sha256::digest(bytes))})
}

/// Hides the values of target headers, wherever in a document they stand.
fn hide_headers(secret: &[u8], value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, inner) in fields {
                match inner.as_array_mut().filter(|_| name == "headers") {
                    Some(headers) => headers.iter_mut().for_each(|pair| hide(secret, pair)),
                    None => hide_headers(secret, inner),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| hide_headers(secret, item)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Hides the value of a header: the second of a pair.
fn hide(secret: &[u8], pair: &mut Value) {
    if let Some(value) = pair.get_mut(1) {
        let mark = mark(secret, value.as_str().unwrap_or_default());
        *value = Value::String(format!("hidden:{mark}"));
    }
}

/// 32 bits of a keyed hash: equal for equal values of one installation, and of no use to a guesser
/// without the key.
#[expect(clippy::expect_used, reason = "HMAC takes keys of any length (RFC 2104)")]
fn mark(secret: &[u8], value: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("HMAC takes keys of any length");
    mac.update(b"axle audit mark v1\0");
    mac.update(value.as_bytes());
    hex(mac.finalize().into_bytes().get(..4).unwrap_or_default())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_values_are_hidden_wherever_they_stand() {
        let pairs = json!([["Authorization", "Bearer s3cret"], ["X", "s3cret"], ["Y", "s3cret"]]);
        let mut plan = json!({"job": {"spec": {"target": {"url": "http://x/", "headers": pairs}}}});
        hide_headers(b"key", &mut plan);
        let text = plan.to_string();
        assert!(!text.contains("s3cret") && text.contains("Authorization"), "{text}");
        let headers = &plan["job"]["spec"]["target"]["headers"];
        assert_eq!(headers[1][1], headers[2][1]);
        assert_ne!(headers[0][1], headers[1][1]);
    }

    #[test]
    fn a_long_document_is_shown_by_its_hash() {
        assert_eq!(text(&Value::Null), None);
        assert_eq!(text(&json!({"a": 1})), Some(r#"{"a":1}"#.to_owned()));
        let long = text(&json!("x".repeat(LIMIT))).unwrap();
        assert!(long.len() < 200 && long.contains("sha256"), "{long}");
    }
}
