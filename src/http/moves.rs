//! Change, cancel, run now, run again.

use actix_web::{patch, post, web};

use super::extract::{Body, Caller};
use super::jobs::{job_id, show_job};
use super::openapi::{BodyRefusals, Conflict, KeyReused, MissingJob, Refusals};
use super::{Reply, kept, reply};
use crate::domain::job::Job;
use crate::engine::moves::{self, Change};
use crate::engine::privacy::veil;
use crate::wire::job::JobView;
use crate::wire::problem::ProblemView;
use crate::wire::request::{JobPatch, read_patch};

/// Change a job that is not claimed
///
/// A JSON merge patch (RFC 7396) of its due time, priority, payload and retry policy. Needs
/// `If-Match`.
#[utoipa::path(
    operation_id = "changeJob", tag = "jobs",
    request_body(content = JobPatch, content_type = "application/merge-patch+json"),
    params(
        ("id" = String, Path, description = "The job"),
        ("If-Match" = String, Header, description = "The ETag last read, or `*`"),
    ),
    responses(
        (status = 200, description = "The job as it is now", body = JobView,
         headers(("ETag" = String, description = "For If-Match"))),
        Refusals, BodyRefusals, MissingJob, Conflict,
        (status = 412, description = "The job has changed since it was read",
         content_type = "application/problem+json", body = ProblemView),
        (status = 428, description = "If-Match is missing",
         content_type = "application/problem+json", body = ProblemView),
    ),
)]
#[patch("/v1/jobs/{id}")]
pub(super) async fn change_job(caller: Caller, id: web::Path<String>, body: Body) -> Reply {
    let expected = caller.condition()?;
    let patch = body.json()?;
    let (id, limit) = (job_id(&id)?, caller.ctx.limits.max_payload);
    let apply = |job: &Job| {
        let patched = read_patch(patch, &job.asked.spec, limit)?;
        Ok(Change {
            due_at: patched.due_at,
            priority: patched.priority,
            spec: patched.spec,
            payload: patched.payload,
        })
    };
    let veil = veil(&caller.ctx, &caller.who);
    let job = moves::change(&caller.ctx, &caller.who, id, expected.as_deref(), apply).await?;
    Ok(show_job(&caller.ctx, &job, &veil))
}

/// Cancel a job
///
/// In any state that is not final. A running job is freed at once: its target's later answer or
/// callback changes nothing, and its next heartbeat learns that it can stop. Cancelling a cancelled
/// job is no error.
#[utoipa::path(
    operation_id = "cancelJob", tag = "jobs",
    params(
        ("id" = String, Path, description = "The job"),
        ("Idempotency-Key" = Option<String>, Header, description = "1 to 255 visible ASCII characters"),
    ),
    responses(
        (status = 200, description = "The job, cancelled", body = JobView),
        Refusals, MissingJob, Conflict, KeyReused,
    ),
)]
#[post("/v1/jobs/{id}/cancel")]
pub(super) async fn cancel_job(caller: Caller, id: web::Path<String>) -> Reply {
    let (id, key) = (job_id(&id)?, caller.key(b"")?);
    let veil = veil(&caller.ctx, &caller.who);
    let show = |job: &Job| kept(200, None, &JobView::new(job, caller.ctx.clock.now(), &veil));
    Ok(reply(moves::cancel(&caller.ctx, &caller.who, key.as_ref(), id, show).await?))
}

/// Run a waiting job now
///
/// Whatever its due time or its back-off. Needs the role operator.
#[utoipa::path(
    operation_id = "runJobNow", tag = "jobs",
    params(
        ("id" = String, Path, description = "The job"),
        ("Idempotency-Key" = Option<String>, Header, description = "1 to 255 visible ASCII characters"),
    ),
    responses(
        (status = 200, description = "The job, due now", body = JobView),
        Refusals, MissingJob, Conflict, KeyReused,
    ),
)]
#[post("/v1/jobs/{id}/run-now")]
pub(super) async fn run_job_now(caller: Caller, id: web::Path<String>) -> Reply {
    let (id, key) = (job_id(&id)?, caller.key(b"")?);
    let veil = veil(&caller.ctx, &caller.who);
    let show = |job: &Job| kept(200, None, &JobView::new(job, caller.ctx.clock.now(), &veil));
    Ok(reply(moves::run_now(&caller.ctx, &caller.who, key.as_ref(), id, show).await?))
}

/// Run a finished job again
///
/// A finished job stays as it is; this registers a new one like it, linked by `rerun_of`. Needs the
/// role operator.
#[utoipa::path(
    operation_id = "rerunJob", tag = "jobs",
    params(
        ("id" = String, Path, description = "The finished job"),
        ("Idempotency-Key" = Option<String>, Header, description = "1 to 255 visible ASCII characters"),
    ),
    responses(
        (status = 201, description = "The new job", body = JobView,
         headers(("Location" = String, description = "Where the new job is found"))),
        Refusals, MissingJob, Conflict, KeyReused,
    ),
)]
#[post("/v1/jobs/{id}/rerun")]
pub(super) async fn rerun_job(caller: Caller, id: web::Path<String>) -> Reply {
    let (id, key) = (job_id(&id)?, caller.key(b"")?);
    let veil = veil(&caller.ctx, &caller.who);
    let show = |job: &Job| {
        let location = format!("/v1/jobs/{}", job.id);
        kept(201, Some(location), &JobView::new(job, caller.ctx.clock.now(), &veil))
    };
    Ok(reply(moves::rerun(&caller.ctx, &caller.who, key.as_ref(), id, show).await?))
}
