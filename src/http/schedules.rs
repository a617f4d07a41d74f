//! Schedules: create, read, list, change, delete; pause and resume.

use actix_web::{HttpResponse, delete, get, patch, post, put, web};
use utoipa::IntoParams;

use super::extract::{Body, Caller};
use super::forbidden::beside_schedule;
use super::list::{List, read_text};
use super::openapi::{BadParameter, BodyRefusals, Conflict, Missing, Refusals, Stale};
use super::{Reply, kept, reply};
use crate::domain::invalid::Invalid;
use crate::domain::redact::Veil;
use crate::domain::schedule::doc::{is_plain_name, is_schedule_name};
use crate::domain::schedule::record::{Schedule, ScheduleState};
use crate::engine::privacy::veil;
use crate::engine::schedules::{self, Filter, Ident, Put};
use crate::engine::{Ctx, Error};
use crate::wire::Page;
use crate::wire::problem::ProblemView;
use crate::wire::queue::{PauseRequest, read_pause};
use crate::wire::schedule::act::{ResumeRequest, read_resume};
use crate::wire::schedule::patch::read_patch;
use crate::wire::schedule::read::{NAME_RULE, Terms, read_schedule};
use crate::wire::schedule::request::{SchedulePatch, ScheduleRequest};
use crate::wire::schedule::view::ScheduleView;

/// Create a schedule
///
/// Its first fire lies after now. `PUT /v1/schedules/{schedule}` does the same by name, and may be
/// repeated.
#[utoipa::path(
    operation_id = "createSchedule", tag = "schedules", request_body = ScheduleRequest,
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 visible ASCII characters; remembered for a day")),
    responses(
        (status = 201, description = "The schedule was created", body = ScheduleView,
         headers(("Location" = String, description = "Where the schedule is found"))),
        Refusals, BodyRefusals, Conflict,
    ),
)]
#[post("/v1/schedules")]
pub(super) async fn create_schedule(caller: Caller, body: Body) -> Reply {
    let zone = schedules::default_time_zone(&caller.ctx, &caller.who);
    let raw = body.json()?;
    let draft = read_schedule(raw, terms(&caller.ctx, &zone, None))
        .map_err(|faults| beside_schedule(&caller.ctx, raw, faults))?;
    let key = caller.key(body.bytes())?;
    let veil = veil(&caller.ctx, &caller.who);
    let show = |made: &Schedule| {
        kept(201, Some(format!("/v1/schedules/{}", made.id)), &ScheduleView::new(made, &veil))
    };
    Ok(reply(schedules::create(&caller.ctx, &caller.who, key.as_ref(), draft, show).await?))
}

/// The filters of a list of schedules; all must hold.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only the derived document is used; `read_filter` reads the query")]
struct ListQuery {
    /// In one of these states, separated by commas.
    #[param(example = "ACTIVE,PAUSED")]
    state: Option<String>,
    /// With this in their name.
    name: Option<String>,
    /// 1 to 500; 50 if absent.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
}

/// List schedules
///
/// Newest first, without payloads. Pages follow one another by `next_cursor`, also in the header
/// `Link`.
#[utoipa::path(
    operation_id = "listSchedules", tag = "schedules", params(ListQuery),
    responses(
        (status = 200, description = "A page of schedules", body = Page<ScheduleView>,
         headers(("Link" = String, description = "The next page, as `rel=\"next\"`"))),
        Refusals, BadParameter,
    ),
)]
#[get("/v1/schedules")]
pub(super) async fn list_schedules(caller: Caller) -> Reply {
    let mut filter = Filter::default();
    let take = |key: &str, value: &str| read_filter(&mut filter, key, value);
    let list = List::read("/v1/schedules", caller.query(), take)?;
    let page = (list.place()?, list.limit);
    let (found, more) = schedules::list(&caller.ctx, &caller.who, &filter, page).await?;
    let last = found.last().filter(|_| more).map(|schedule| schedule.id.to_string());
    let view = |schedule: &Schedule| ScheduleView::new(schedule, &Veil::lifted()).brief();
    Ok(list.page(found.iter().map(view).collect(), last))
}

fn read_filter(filter: &mut Filter, key: &str, value: &str) -> Result<bool, String> {
    match key {
        "state" => {
            let read = |word: &str| {
                let all = || ScheduleState::ALL.map(ScheduleState::as_str).join(", ");
                ScheduleState::parse(word.trim()).ok_or_else(|| format!("must be of {}", all()))
            };
            filter.states = value.split(',').map(read).collect::<Result<_, _>>()?;
        }
        "name" => filter.name_part = Some(read_text(value)?),
        _ => return Ok(false),
    }
    Ok(true)
}

/// Read a schedule
#[utoipa::path(
    operation_id = "getSchedule", tag = "schedules",
    params(("schedule" = String, Path, description = "The schedule's id or name")),
    responses(
        (status = 200, description = "The schedule", body = ScheduleView,
         headers(("ETag" = String, description = "For If-Match"))),
        Refusals, Missing,
    ),
)]
#[get("/v1/schedules/{schedule}")]
pub(super) async fn get_schedule(caller: Caller, schedule: web::Path<String>) -> Reply {
    let found = schedules::get(&caller.ctx, &caller.who, &ident(&schedule)?).await?;
    Ok(show(HttpResponse::Ok(), &found, &veil(&caller.ctx, &caller.who)))
}

/// Create or change a schedule by name
///
/// The body is the whole definition: what is absent has its default, save `paused`, which then stays
/// as it is. The same definition again changes nothing. With `If-Match`, only the schedule as it was
/// read is changed, and none is created.
#[utoipa::path(
    operation_id = "putSchedule", tag = "schedules", request_body = ScheduleRequest,
    params(
        ("schedule" = String, Path, description = "The schedule's name"),
        ("If-Match" = Option<String>, Header, description = "The ETag last read, or `*`"),
    ),
    responses(
        (status = 201, description = "The schedule was created", body = ScheduleView,
         headers(
             ("ETag" = String, description = "For If-Match"),
             ("Location" = String, description = "Where the schedule is found"),
         )),
        (status = 200, description = "The schedule as it is now", body = ScheduleView,
         headers(("ETag" = String, description = "For If-Match"))),
        Refusals, BodyRefusals, Stale,
        (status = 409, description = "The team has as many schedules as it may have",
         content_type = "application/problem+json", body = ProblemView),
        (status = 404, description = "If-Match was given, and there is no such schedule",
         content_type = "application/problem+json", body = ProblemView),
    ),
)]
#[put("/v1/schedules/{schedule}")]
pub(super) async fn put_schedule(caller: Caller, schedule: web::Path<String>, body: Body) -> Reply {
    let condition = caller.condition_if_any()?;
    if !is_schedule_name(&schedule) {
        return Err(Invalid::one("#/path/schedule", "out-of-range", NAME_RULE).into());
    }
    let zone = schedules::default_time_zone(&caller.ctx, &caller.who);
    let draft = read_schedule(body.json()?, terms(&caller.ctx, &zone, Some(&schedule)))?;
    let exact = condition.as_deref().filter(|etag| *etag != "*");
    if condition.is_some() && exact.is_none() {
        schedules::get(&caller.ctx, &caller.who, &ident(&schedule)?).await?;
    }
    let veil = veil(&caller.ctx, &caller.who);
    let (found, put) = schedules::put(&caller.ctx, &caller.who, exact, draft).await?;
    Ok(match put {
        Put::Created => {
            let mut created = HttpResponse::Created();
            created.insert_header(("Location", format!("/v1/schedules/{}", found.id)));
            show(created, &found, &veil)
        }
        Put::Changed | Put::Same => show(HttpResponse::Ok(), &found, &veil),
    })
}

/// Change a schedule
///
/// A JSON merge patch (RFC 7396) of its definition; `spec` and the payload are replaced whole.
/// Whatever of the payload is not named stays byte for byte. Needs `If-Match`.
#[utoipa::path(
    operation_id = "changeSchedule", tag = "schedules",
    request_body(content = SchedulePatch, content_type = "application/merge-patch+json"),
    params(
        ("schedule" = String, Path, description = "The schedule's id or name"),
        ("If-Match" = String, Header, description = "The ETag last read, or `*`"),
    ),
    responses(
        (status = 200, description = "The schedule as it is now", body = ScheduleView,
         headers(("ETag" = String, description = "For If-Match"))),
        Refusals, BodyRefusals, Missing, Stale,
        (status = 428, description = "If-Match is missing",
         content_type = "application/problem+json", body = ProblemView),
    ),
)]
#[patch("/v1/schedules/{schedule}")]
pub(super) async fn change_schedule(
    caller: Caller,
    schedule: web::Path<String>,
    body: Body,
) -> Reply {
    let expected = caller.condition()?;
    let patch = body.json()?;
    let zone = schedules::default_time_zone(&caller.ctx, &caller.who);
    let (ident, terms) = (ident(&schedule)?, terms(&caller.ctx, &zone, None));
    let apply = |found: &Schedule| Ok(read_patch(patch, found, terms)?);
    let (ctx, who) = (&caller.ctx, &caller.who);
    let found = schedules::change(ctx, who, &ident, expected.as_deref(), apply).await?;
    Ok(show(HttpResponse::Ok(), &found, &veil(&caller.ctx, &caller.who)))
}

/// Delete a schedule
///
/// It makes no more jobs. Those that it has made go on.
#[utoipa::path(
    operation_id = "deleteSchedule", tag = "schedules",
    params(
        ("schedule" = String, Path, description = "The schedule's id or name"),
        ("If-Match" = Option<String>, Header, description = "The ETag last read, or `*`"),
    ),
    responses((status = 204, description = "There is no such schedule any more"), Refusals, Missing, Stale),
)]
#[delete("/v1/schedules/{schedule}")]
pub(super) async fn delete_schedule(caller: Caller, schedule: web::Path<String>) -> Reply {
    let expected = caller.condition_if_any()?.filter(|etag| etag != "*");
    let ident = ident(&schedule)?;
    schedules::delete(&caller.ctx, &caller.who, &ident, expected.as_deref()).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Pause a schedule
///
/// Nothing fires until it is resumed. What is running goes on.
#[utoipa::path(
    operation_id = "pauseSchedule", tag = "schedules", request_body = PauseRequest,
    params(
        ("schedule" = String, Path, description = "The schedule's id or name"),
        ("Idempotency-Key" = Option<String>, Header, description = "1 to 255 visible ASCII characters"),
    ),
    responses(
        (status = 200, description = "The schedule, paused", body = ScheduleView),
        Refusals, BodyRefusals, Missing, Conflict,
    ),
)]
#[post("/v1/schedules/{schedule}/pause")]
pub(super) async fn pause_schedule(
    caller: Caller,
    schedule: web::Path<String>,
    body: Body,
) -> Reply {
    let reason = read_pause(body.json()?)?;
    let (ident, key) = (ident(&schedule)?, caller.key(body.bytes())?);
    let pause = (&ident, reason.as_str());
    let veil = veil(&caller.ctx, &caller.who);
    let keep = |schedule: &Schedule| kept(200, None, &ScheduleView::new(schedule, &veil));
    Ok(reply(schedules::pause(&caller.ctx, &caller.who, key.as_ref(), pause, keep).await?))
}

/// Resume a schedule
///
/// It goes on with its next fire. What lay in the pause is told as `skipped_paused`, unless
/// `catch_up` is asked for.
#[utoipa::path(
    operation_id = "resumeSchedule", tag = "schedules",
    request_body(content = Option<ResumeRequest>),
    params(
        ("schedule" = String, Path, description = "The schedule's id or name"),
        ("Idempotency-Key" = Option<String>, Header, description = "1 to 255 visible ASCII characters"),
    ),
    responses(
        (status = 200, description = "The schedule, going on", body = ScheduleView),
        Refusals, BodyRefusals, Missing, Conflict,
    ),
)]
#[post("/v1/schedules/{schedule}/resume")]
pub(super) async fn resume_schedule(
    caller: Caller,
    schedule: web::Path<String>,
    body: Body,
) -> Reply {
    let catch_up = read_resume(body.json_or_empty()?)?;
    let (ident, key) = (ident(&schedule)?, caller.key(body.bytes())?);
    let resume = (&ident, catch_up);
    let veil = veil(&caller.ctx, &caller.who);
    let keep = |schedule: &Schedule| kept(200, None, &ScheduleView::new(schedule, &veil));
    Ok(reply(schedules::resume(&caller.ctx, &caller.who, key.as_ref(), resume, keep).await?))
}

/// The schedule of a path; what can be neither an id nor a name is that of nothing.
pub(super) fn ident(text: &str) -> Result<Ident, Error> {
    if is_plain_name(text) {
        Ok(Ident::read(text))
    } else {
        Err(Error::Missing { noun: "schedule" })
    }
}

fn terms<'a>(ctx: &Ctx, time_zone: &'a str, name: Option<&'a str>) -> Terms<'a> {
    Terms { max_payload: ctx.limits.max_payload, time_zone, name }
}

/// A schedule with its `ETag`.
fn show(
    mut reply: actix_web::HttpResponseBuilder,
    schedule: &Schedule,
    veil: &Veil,
) -> HttpResponse {
    reply.insert_header(("ETag", schedule.etag())).json(ScheduleView::new(schedule, veil))
}
