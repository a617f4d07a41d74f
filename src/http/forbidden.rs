//! Whoever has a request refused is told all that is wrong with it at once, a forbidden target
//! included: the engine meets the target only when all the rest is right.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::domain::invalid::Invalid;
use crate::engine::Ctx;

/// What is read here of a job; the rest may be anything.
#[derive(Deserialize)]
struct Job {
    target: Target,
}

#[derive(Deserialize)]
struct Target {
    url: String,
}

/// A schedule's.
#[derive(Deserialize)]
struct Schedule {
    job: Job,
}

/// Adds to the faults of a job at `at` that its target is forbidden, if it is.
pub(super) fn beside_job(ctx: &Ctx, raw: &RawValue, at: &str, faults: Invalid) -> Invalid {
    match serde_json::from_str::<Job>(raw.get()) {
        Ok(job) => add(ctx, &job, at, faults),
        Err(_) => faults,
    }
}

/// The same for a new schedule.
pub(super) fn beside_schedule(ctx: &Ctx, raw: &RawValue, faults: Invalid) -> Invalid {
    match serde_json::from_str::<Schedule>(raw.get()) {
        Ok(schedule) => add(ctx, &schedule.job, "#/job", faults),
        Err(_) => faults,
    }
}

fn add(ctx: &Ctx, job: &Job, at: &str, mut faults: Invalid) -> Invalid {
    if let Err(forbidden) = ctx.limits.guard.admit_url(&job.target.url, at) {
        faults.0.extend(forbidden.0);
    }
    faults
}
