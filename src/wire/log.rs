//! A line of a job's log.

use serde::Serialize;
use utoipa::ToSchema;

use super::instant;
use crate::domain::run::LogEvent;

/// One thing that happened to a job.
#[derive(Debug, Serialize, ToSchema)]
pub struct EventView {
    /// `registered`, `claimed`, `sent`, `accepted`, `heartbeat`, `progress`, `succeeded`, `failed`,
    /// `timed_out`, `lost`, `run_cancelled`, `retry_scheduled`, `handed_back`, `deferred`,
    /// `stale_callback`, `expired`, `cancelled`, `given_up`.
    pub kind: String,
    /// When it (last) happened.
    #[schema(format = DateTime)]
    pub at: String,
    /// The run it belongs to.
    pub run_id: Option<String>,
    /// How often it happened: above 1 for what a target repeated.
    pub count: i32,
    /// One sentence.
    pub detail: Option<String>,
}

impl From<&LogEvent> for EventView {
    fn from(event: &LogEvent) -> Self {
        Self {
            kind: event.kind.clone(),
            at: instant(event.at),
            run_id: event.run.map(|run| run.to_string()),
            count: event.count,
            detail: event.detail.clone(),
        }
    }
}

/// A job's log, newest first; at most 500 runs back.
#[derive(Debug, Serialize, ToSchema)]
pub struct EventList {
    /// The lines.
    pub data: Vec<EventView>,
}
