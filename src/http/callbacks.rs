//! What targets post back. The token in the URL is all they need.

use actix_web::{HttpResponse, post, web};
use serde::Deserialize;
use utoipa::IntoParams;

use super::Reply;
use super::extract::{Body, Engine};
use super::openapi::{BodyRefusals, Conflict, Missing};
use super::runs::run_id;
use crate::engine::callbacks::{self, Heard, Word};
use crate::wire::callback::{
    CallbackAnswer, CallbackRequest, HeartbeatAnswer, HeartbeatRequest, Said, read_callback,
    read_heartbeat,
};
use crate::wire::problem::ProblemView;

/// The token of a callback URL.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct TokenQuery {
    /// As it stands in `Axle-Callback-Url`.
    #[serde(default)]
    #[param(required = true)]
    token: String,
}

/// Say how a run went
///
/// Post to the `Axle-Callback-Url` of the run as it was sent. `succeeded` and `failed` end the run;
/// saying the same again is answered with `duplicate: true`. A callback about a run that is no longer
/// current is recorded and refused with 409 `stale-run`: stop working on it.
#[utoipa::path(
    operation_id = "postCallback", tag = "callbacks", request_body = CallbackRequest,
    params(("run_id" = String, Path, description = "The run"), TokenQuery),
    security(()),
    responses(
        (status = 200, description = "It was taken, or had been said before", body = CallbackAnswer),
        (status = 400, description = "The request is malformed",
         content_type = "application/problem+json", body = ProblemView),
        (status = 401, description = "The token is not this run's",
         content_type = "application/problem+json", body = ProblemView),
        (status = 503, description = "The database cannot be reached just now; repeat it",
         content_type = "application/problem+json", body = ProblemView),
        BodyRefusals, Missing, Conflict,
    ),
)]
#[post("/v1/runs/{run_id}/callback")]
pub(super) async fn callback(
    engine: Engine,
    run: web::Path<String>,
    query: web::Query<TokenQuery>,
    body: Body,
) -> Reply {
    let run = run_id(&run)?;
    let word = match read_callback(body.json()?, run)? {
        Said::Succeeded(result) => Word::Succeeded { result },
        Said::Failed(error, retryable, result) => Word::Failed { error, retryable, result },
        Said::Progress(progress) => Word::Progress(progress),
    };
    let heard = callbacks::callback(&engine.0, run, &query.token, word).await?;
    let applied = heard == Heard::Applied;
    Ok(HttpResponse::Ok().json(CallbackAnswer { applied, duplicate: !applied }))
}

/// Show that a run is alive
///
/// Renews what `heartbeat_timeout_ms` allows; the run's deadline stays. A run that is no longer
/// current gets 409 `stale-run`, with `cancel_requested: true` if its job was cancelled.
#[utoipa::path(
    operation_id = "postHeartbeat", tag = "callbacks", request_body = Option<HeartbeatRequest>,
    params(("run_id" = String, Path, description = "The run"), TokenQuery),
    security(()),
    responses(
        (status = 200, description = "The run goes on", body = HeartbeatAnswer),
        (status = 400, description = "The request is malformed",
         content_type = "application/problem+json", body = ProblemView),
        (status = 401, description = "The token is not this run's",
         content_type = "application/problem+json", body = ProblemView),
        (status = 503, description = "The database cannot be reached just now; repeat it",
         content_type = "application/problem+json", body = ProblemView),
        BodyRefusals, Missing, Conflict,
    ),
)]
#[post("/v1/runs/{run_id}/heartbeat")]
pub(super) async fn heartbeat(
    engine: Engine,
    run: web::Path<String>,
    query: web::Query<TokenQuery>,
    body: Body,
) -> Reply {
    let run = run_id(&run)?;
    let progress = read_heartbeat(body.json_or_empty()?)?;
    let deadline = callbacks::heartbeat(&engine.0, run, &query.token, progress.as_ref()).await?;
    Ok(HttpResponse::Ok().json(HeartbeatAnswer::new(deadline)))
}
