//! Targets that calls are held back from, on the wire.

use serde::Serialize;
use utoipa::ToSchema;

use super::instant;
use crate::domain::throttled::Throttled;

/// A target that calls are held back from.
#[derive(Debug, Serialize, ToSchema)]
pub struct TargetView {
    /// Host and port; a breaker does not tell `http` from `https`.
    #[schema(example = "api.example.com:443")]
    pub target: String,
    /// The worst of what the pullers say: `open`, no calls are made; `half_open`, one is on its way to
    /// see whether the target is back; `closed`, it has as many calls as it may have.
    #[schema(example = "open")]
    pub state: &'static str,
    /// What each puller says. Every puller learns for itself; those that hold nothing back are not
    /// here.
    pub pullers: Vec<HeldView>,
}

/// What one puller says of a target.
#[derive(Debug, Serialize, ToSchema)]
pub struct HeldView {
    /// The puller, as its runs name it.
    #[schema(example = "axle-1-5f2c9a01")]
    pub puller: String,
    /// `open`, `half_open` or `closed`, as above.
    #[schema(example = "open")]
    pub state: &'static str,
    /// When calls were last not held back.
    #[schema(format = DateTime)]
    pub since: String,
    /// What the last call that failed said; null while the target is only at its ceiling.
    pub last_error: Option<HeldErrorView>,
    /// When the next call tries it; null while one is on its way, or none needs to.
    #[schema(format = DateTime)]
    pub next_probe_at: Option<String>,
    /// Calls under way when this was told.
    pub in_flight: i32,
    /// How many there may be. One that answers quickly may have more, if no operator has set it.
    pub ceiling: i32,
}

/// Why calls to a target are held back.
#[derive(Debug, Serialize, ToSchema)]
pub struct HeldErrorView {
    /// The class of the error, as a run has it: `connect`, `dns`, `tls`, `http_status` …
    #[schema(example = "connect")]
    pub class: String,
    /// The error, for people.
    pub message: String,
    /// The status of the answer, if there was one: 429 or 503.
    pub http_status: Option<i32>,
}

impl From<&(String, Throttled)> for HeldView {
    fn from((puller, throttled): &(String, Throttled)) -> Self {
        let error = throttled.error.as_ref().map(|error| HeldErrorView {
            class: error.class.clone(),
            message: error.message.clone(),
            http_status: throttled.http_status,
        });
        Self {
            puller: puller.clone(),
            state: throttled.phase.as_str(),
            since: instant(throttled.since),
            last_error: error,
            next_probe_at: throttled.probe_at.map(instant),
            in_flight: throttled.in_flight,
            ceiling: throttled.ceiling,
        }
    }
}
