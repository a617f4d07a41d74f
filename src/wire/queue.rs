//! A queue on the wire.

use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::fields::Fields;
use super::instant;
use crate::domain::invalid::Invalid;
use crate::domain::queue::Queue;

/// A queue: where a team's jobs wait, by name.
#[derive(Debug, Serialize, ToSchema)]
pub struct QueueView {
    /// Unique within the team.
    #[schema(example = "default")]
    pub name: String,
    /// While set, jobs are accepted and not claimed.
    pub paused: bool,
    /// Why it is paused.
    pub pause_reason: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Grows with every change; 0 if nobody has changed it.
    pub version: i32,
    /// When it was last changed.
    #[schema(format = DateTime)]
    pub updated_at: Option<String>,
}

impl From<&Queue> for QueueView {
    fn from(queue: &Queue) -> Self {
        Self {
            name: queue.name.clone(),
            paused: queue.paused,
            pause_reason: queue.pause_reason.clone(),
            description: queue.description.clone(),
            version: queue.version,
            updated_at: queue.updated_at.map(instant),
        }
    }
}

/// What a queue is to be.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct QueueRequest {
    /// What it is for, for people; at most 1,000 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 1000)]
    pub description: Option<String>,
}

/// Why a queue is paused.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct PauseRequest {
    /// Shown to whoever wonders; at most 1,000 characters.
    #[schema(max_length = 1000, example = "the mail provider is down")]
    pub reason: String,
}

/// The longest text that a person writes about a queue.
const TEXT_LIMIT: usize = 1_000;

/// Reads a queue's description.
pub fn read_queue(raw: &RawValue) -> Result<Option<String>, Invalid> {
    let mut fields = Fields::read(raw, "#")?;
    let description = text(&mut fields, "description");
    fields.finish().into_result(description)
}

/// Reads a pause's reason.
pub fn read_pause(raw: &RawValue) -> Result<String, Invalid> {
    let mut fields = Fields::read(raw, "#")?;
    let reason = text(&mut fields, "reason").unwrap_or_default();
    if reason.trim().is_empty() {
        fields.missing("reason", "say why, for whoever wonders at 3 a.m.");
    }
    fields.finish().into_result(reason)
}

fn text(fields: &mut Fields<'_>, key: &'static str) -> Option<String> {
    let text = fields.text(key)?;
    if text.chars().count() > TEXT_LIMIT || text.contains('\0') {
        fields.fault(key, "out-of-range", "must have at most 1000 characters, none of them U+0000");
        return None;
    }
    Some(text)
}
