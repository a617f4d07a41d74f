//! Calendars of closed days: put, read, list, delete.

use actix_web::{HttpResponse, delete, get, put, web};
use chrono::Datelike;

use super::Reply;
use super::extract::{Body, Caller};
use super::openapi::{BadParameter, BodyRefusals, Conflict, Missing, Refusals};
use super::problem::Problem;
use crate::domain::invalid::Invalid;
use crate::domain::schedule::doc::is_plain_name;
use crate::engine::calendars;
use crate::wire::calendar::{
    CalendarBrief, CalendarList, CalendarRequest, CalendarView, read_calendar,
};

/// List calendars
///
/// By name, at most 1,000.
#[utoipa::path(
    operation_id = "listCalendars", tag = "calendars",
    responses((status = 200, description = "The team's calendars", body = CalendarList), Refusals),
)]
#[get("/v1/calendars")]
pub(super) async fn list_calendars(caller: Caller) -> Reply {
    let found = calendars::list(&caller.ctx, &caller.who).await?;
    let data = found.iter().map(CalendarBrief::from).collect();
    Ok(HttpResponse::Ok().json(CalendarList { data }))
}

/// Read a calendar
#[utoipa::path(
    operation_id = "getCalendar", tag = "calendars",
    params(("name" = String, Path, description = "The calendar")),
    responses(
        (status = 200, description = "The calendar", body = CalendarView),
        Refusals, Missing, BadParameter,
    ),
)]
#[get("/v1/calendars/{name}")]
pub(super) async fn get_calendar(caller: Caller, name: web::Path<String>) -> Reply {
    check(&name)?;
    let found = calendars::get(&caller.ctx, &caller.who, &name).await?;
    Ok(HttpResponse::Ok().json(CalendarView::new(&found, Vec::new())))
}

/// Create or replace a calendar
///
/// Schedules that exclude it go by its new days at once. Events of `ics` that cannot be taken are
/// listed in `not_taken`; the rest is.
#[utoipa::path(
    operation_id = "putCalendar", tag = "calendars", request_body = CalendarRequest,
    params(("name" = String, Path, description = "The calendar")),
    responses(
        (status = 200, description = "The calendar", body = CalendarView),
        Refusals, BodyRefusals,
    ),
)]
#[put("/v1/calendars/{name}")]
pub(super) async fn put_calendar(caller: Caller, name: web::Path<String>, body: Body) -> Reply {
    check(&name)?;
    let year = caller.ctx.clock.now().year();
    let (calendar, left) = read_calendar(body.json()?, &name, year)?;
    let put = calendars::put(&caller.ctx, &caller.who, &calendar).await?;
    Ok(HttpResponse::Ok().json(CalendarView::new(&put, left)))
}

/// Delete a calendar
///
/// Refused while a schedule excludes it.
#[utoipa::path(
    operation_id = "deleteCalendar", tag = "calendars",
    params(("name" = String, Path, description = "The calendar")),
    responses(
        (status = 204, description = "There is no such calendar any more"),
        Refusals, Missing, BadParameter, Conflict,
    ),
)]
#[delete("/v1/calendars/{name}")]
pub(super) async fn delete_calendar(caller: Caller, name: web::Path<String>) -> Reply {
    check(&name)?;
    calendars::delete(&caller.ctx, &caller.who, &name).await?;
    Ok(HttpResponse::NoContent().finish())
}

fn check(name: &str) -> Result<(), Problem> {
    if is_plain_name(name) {
        return Ok(());
    }
    let detail = "must be 1 to 128 of A-Z, a-z, 0-9, '.', '_', '-', the first a letter or digit";
    Err(Invalid::one("#/path/name", "out-of-range", detail).into())
}
