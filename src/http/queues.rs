//! Queues: look, describe, pause, resume.

use actix_web::{HttpResponse, get, post, put, web};

use super::extract::{Body, Caller};
use super::openapi::{BodyRefusals, Conflict, Missing, Refusals};
use super::problem::Problem;
use super::{Reply, kept, reply};
use crate::domain::invalid::Invalid;
use crate::domain::queue::{Queue, is_queue_name};
use crate::engine::queues;
use crate::wire::problem::ProblemView;
use crate::wire::queue::{PauseRequest, QueueRequest, QueueView, read_pause, read_queue};

/// Read a queue
///
/// A queue comes into being when a job names it; one that nobody has changed has the defaults.
#[utoipa::path(
    operation_id = "getQueue", tag = "queues",
    params(("name" = String, Path, description = "The queue")),
    responses(
        (status = 200, description = "The queue", body = QueueView),
        (status = 422, description = "That is no queue's name",
         content_type = "application/problem+json", body = ProblemView),
        Refusals, Missing,
    ),
)]
#[get("/v1/queues/{name}")]
pub(super) async fn get_queue(caller: Caller, name: web::Path<String>) -> Reply {
    check(&name)?;
    let queue = queues::get(&caller.ctx, &caller.who, &name).await?;
    Ok(HttpResponse::Ok().json(QueueView::from(&queue)))
}

/// Describe a queue
#[utoipa::path(
    operation_id = "putQueue", tag = "queues", request_body = QueueRequest,
    params(("name" = String, Path, description = "The queue")),
    responses((status = 200, description = "The queue", body = QueueView), Refusals, BodyRefusals, Missing),
)]
#[put("/v1/queues/{name}")]
pub(super) async fn put_queue(caller: Caller, name: web::Path<String>, body: Body) -> Reply {
    check(&name)?;
    let description = read_queue(body.json()?)?;
    let queue = queues::put(&caller.ctx, &caller.who, &name, description.as_deref()).await?;
    Ok(HttpResponse::Ok().json(QueueView::from(&queue)))
}

/// Pause a queue
///
/// It accepts jobs, and none is claimed. What is running goes on. Needs the role operator.
#[utoipa::path(
    operation_id = "pauseQueue", tag = "queues", request_body = PauseRequest,
    params(
        ("name" = String, Path, description = "The queue"),
        ("Idempotency-Key" = Option<String>, Header, description = "1 to 255 visible ASCII characters"),
    ),
    responses(
        (status = 200, description = "The queue, paused", body = QueueView),
        Refusals, BodyRefusals, Missing, Conflict,
    ),
)]
#[post("/v1/queues/{name}/pause")]
pub(super) async fn pause_queue(caller: Caller, name: web::Path<String>, body: Body) -> Reply {
    check(&name)?;
    let reason = read_pause(body.json()?)?;
    let key = caller.key(body.bytes())?;
    let pause = (name.as_str(), Some(reason.as_str()));
    Ok(reply(queues::pause(&caller.ctx, &caller.who, key.as_ref(), pause, show).await?))
}

/// Resume a queue
///
/// What has become due meanwhile is claimed. Needs the role operator.
#[utoipa::path(
    operation_id = "resumeQueue", tag = "queues",
    params(
        ("name" = String, Path, description = "The queue"),
        ("Idempotency-Key" = Option<String>, Header, description = "1 to 255 visible ASCII characters"),
    ),
    responses(
        (status = 200, description = "The queue, going on", body = QueueView),
        (status = 422, description = "That is no queue's name",
         content_type = "application/problem+json", body = ProblemView),
        Refusals, Missing, Conflict,
    ),
)]
#[post("/v1/queues/{name}/resume")]
pub(super) async fn resume_queue(caller: Caller, name: web::Path<String>) -> Reply {
    check(&name)?;
    let key = caller.key(b"")?;
    let resume = (name.as_str(), None);
    Ok(reply(queues::pause(&caller.ctx, &caller.who, key.as_ref(), resume, show).await?))
}

fn check(name: &str) -> Result<(), Problem> {
    if is_queue_name(name) {
        return Ok(());
    }
    let detail = "must be 1 to 63 of a-z, 0-9, '.', '_', '-', the first a letter or digit";
    Err(Invalid::one("#/path/name", "out-of-range", detail).into())
}

fn show(queue: &Queue) -> crate::engine::once::Kept {
    kept(200, None, &QueueView::from(queue))
}
