//! What a schedule would do, before there is one.

use actix_web::{HttpResponse, post};

use super::Reply;
use super::extract::{Body, Caller};
use super::openapi::{BodyRefusals, Refusals};
use crate::engine::schedules;
use crate::wire::schedule::preview::{PreviewRequest, PreviewView, read_preview};

/// Preview a schedule
///
/// Its next fires in UTC and local time, with a note at everything special, and warnings about what
/// is easily overlooked. Nothing is stored. Console, command line and server all use this.
#[utoipa::path(
    operation_id = "previewSchedule", tag = "schedules", request_body = PreviewRequest,
    responses(
        (status = 200, description = "What it would do", body = PreviewView),
        Refusals, BodyRefusals,
    ),
)]
#[post("/v1/schedules/preview")]
pub(super) async fn preview_schedule(caller: Caller, body: Body) -> Reply {
    let (ctx, who) = (&caller.ctx, &caller.who);
    let asked = read_preview(body.json()?, &schedules::default_time_zone(ctx, who))?;
    let preview = schedules::preview(ctx, who, &asked.doc, asked.from, asked.count).await?;
    Ok(HttpResponse::Ok().json(PreviewView::from(&preview)))
}
