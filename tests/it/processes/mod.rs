//! Real processes on real PostgreSQL: killed, stopped, cut off, restarted, under load. What is
//! promised of a job must hold all the same, and the delay must be bounded.

mod access;
mod database;
mod drain;
mod fleet;
mod group;
mod hints;
mod history;
mod lost;
mod schedules;
#[cfg(target_os = "linux")] // where a library can stand between a program and its clock
mod shift;

use serde_json::{Value, json};

/// A job that calls `url` and, if that fails, is tried again soon.
pub(crate) fn job(url: &str) -> Value {
    json!({
        "target": {"url": url},
        "retry": {"base_ms": 100, "factor": 1.0, "jitter": 0.0, "max_retries": 5},
    })
}

/// The same in callback mode.
fn callback_job(url: &str) -> Value {
    let mut job = job(url);
    job["completion"] = json!("callback");
    job
}
