//! actix only: bytes ↔ engine types. A handler extracts, calls one engine function and shows what it
//! gave; it decides nothing. Routes and the OpenAPI document are one object.

pub mod acts;
pub mod audit;
pub mod calendars;
pub mod callbacks;
mod cors;
pub mod cursor;
pub mod docs;
pub mod envelope;
pub mod extract;
pub mod fires;
mod forbidden;
mod headers;
pub mod health;
mod invitation;
pub mod jobs;
pub mod keys;
mod list;
pub mod login;
pub mod members;
pub mod moves;
pub mod openapi;
pub mod preview;
pub mod problem;
pub mod queues;
pub mod quotas;
mod rate;
pub mod runs;
pub mod schedules;
mod server;
pub mod signing;
pub mod targets;
pub mod teams;
mod watch;

use actix_web::{App, HttpResponse};
use utoipa::openapi::OpenApi;
use utoipa_actix_web::AppExt;
use utoipa_actix_web::service_config::ServiceConfig;

use crate::engine::once::{Answer, Kept};
pub use extract::{Api, Auth};
use problem::Problem;
pub use server::{Bounds, Edge, Extra, serve};

/// The OpenAPI document of exactly the routes that are served.
pub fn document() -> OpenApi {
    let (_, mut document) = App::new()
        .into_utoipa_app()
        .openapi(openapi::base())
        .configure(operations)
        .split_for_parts();
    acts::state(&mut document);
    rate::state(&mut document);
    document
}

/// Every operation of the API.
fn operations(cfg: &mut ServiceConfig<'_>) {
    cfg.service(jobs::create_job)
        .service(jobs::create_jobs)
        .service(jobs::list_jobs)
        .service(jobs::get_job)
        .service(moves::change_job)
        .service(moves::cancel_job)
        .service(moves::run_job_now)
        .service(moves::rerun_job)
        .service(runs::list_runs)
        .service(runs::list_events)
        .service(runs::get_run)
        .service(callbacks::callback)
        .service(callbacks::heartbeat)
        .service(queues::get_queue)
        .service(queues::put_queue)
        .service(queues::pause_queue)
        .service(queues::resume_queue)
        .service(targets::list_targets)
        .service(docs::get_version);
    schedule_operations(cfg);
    access_operations(cfg);
}

fn access_operations(cfg: &mut ServiceConfig<'_>) {
    cfg.service(keys::create_key)
        .service(keys::list_keys)
        .service(keys::get_key)
        .service(keys::revoke_key)
        .service(keys::roll_key)
        .service(keys::revoke_token)
        .service(audit::list_audit)
        .service(audit::export_audit);
    team_operations(cfg);
}

fn team_operations(cfg: &mut ServiceConfig<'_>) {
    cfg.service(teams::create_team)
        .service(teams::list_teams)
        .service(teams::get_team)
        .service(teams::change_team)
        .service(teams::suspend_team)
        .service(teams::unsuspend_team)
        .service(quotas::get_quotas)
        .service(quotas::change_quotas)
        .service(members::list_members)
        .service(members::get_member)
        .service(members::put_member)
        .service(members::remove_member)
        .service(members::invite)
        .service(members::accept_invitation)
        .service(login::log_in)
        .service(login::refresh)
        .service(login::logout)
        .service(login::change_password);
}

fn schedule_operations(cfg: &mut ServiceConfig<'_>) {
    // The preview's address is also that of a schedule with this name; none can have it.
    cfg.service(preview::preview_schedule)
        .service(schedules::create_schedule)
        .service(schedules::list_schedules)
        .service(schedules::get_schedule)
        .service(schedules::put_schedule)
        .service(schedules::change_schedule)
        .service(schedules::delete_schedule)
        .service(schedules::pause_schedule)
        .service(schedules::resume_schedule)
        .service(fires::trigger_schedule)
        .service(fires::backfill_schedule)
        .service(fires::list_fires)
        .service(calendars::list_calendars)
        .service(calendars::get_calendar)
        .service(calendars::put_calendar)
        .service(calendars::delete_calendar);
    signing_operations(cfg);
}

fn signing_operations(cfg: &mut ServiceConfig<'_>) {
    cfg.service(signing::create_signing_secret)
        .service(signing::list_signing_secrets)
        .service(signing::rotate_signing_secret)
        .service(signing::revoke_signing_secret)
        .service(signing::verify_call)
        .service(signing::list_public_keys);
}

/// What a handler answers.
type Reply = Result<HttpResponse, Problem>;

/// The answer to a request that acts: the same bytes whether it is given now or again.
fn reply<T>(answer: Answer<T>) -> HttpResponse {
    let (kept, replayed) = match answer {
        Answer::Fresh(_, kept) => (kept, false),
        Answer::Replayed(kept) => (kept, true),
    };
    let status = u16::try_from(kept.status).ok();
    let status = status.and_then(|s| actix_web::http::StatusCode::from_u16(s).ok());
    let mut reply = HttpResponse::build(status.unwrap_or_default());
    reply.content_type("application/json");
    if let Some(location) = kept.location {
        reply.insert_header(("Location", location));
    }
    if kept.deduplicated {
        reply.insert_header(("Axle-Deduplicated", "true"));
    }
    if replayed {
        reply.insert_header(("Idempotent-Replayed", "true"));
    }
    reply.body(kept.body)
}

/// What is answered and kept: `value` as JSON.
fn kept(status: i16, location: Option<String>, value: &impl serde::Serialize) -> Kept {
    let body = serde_json::to_vec(value).unwrap_or_default();
    Kept { status, location, deduplicated: false, body }
}
