//! A job's runs and its log.

use actix_web::{HttpResponse, get, web};
use utoipa::IntoParams;

use super::Reply;
use super::extract::Caller;
use super::jobs::job_id;
use super::list::List;
use super::openapi::{MissingJob, Refusals};
use crate::domain::id::RunId;
use crate::engine::privacy::veil;
use crate::engine::{Error, journal};
use crate::wire::Page;
use crate::wire::log::{EventList, EventView};
use crate::wire::problem::ProblemView;
use crate::wire::run::RunView;

/// A page of a job's runs.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only the derived document is used; `List` reads the query")]
struct PageQuery {
    /// 1 to 500; 50 if absent.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
}

/// List a job's runs
///
/// Newest first; the one that is going on, if any, is the first.
#[utoipa::path(
    operation_id = "listRuns", tag = "runs",
    params(("id" = String, Path, description = "The job"), PageQuery),
    responses(
        (status = 200, description = "A page of runs", body = Page<RunView>),
        Refusals, MissingJob,
        (status = 422, description = "A parameter cannot be accepted",
         content_type = "application/problem+json", body = ProblemView),
    ),
)]
#[get("/v1/jobs/{id}/runs")]
pub(super) async fn list_runs(caller: Caller, id: web::Path<String>) -> Reply {
    let path = format!("/v1/jobs/{id}/runs");
    let id = job_id(&id)?;
    let list = List::read(&path, caller.query(), |_, _| Ok(false))?;
    let page = (list.place()?, list.limit);
    let (runs, more) = journal::runs(&caller.ctx, &caller.who, id, page).await?;
    let last = runs.last().filter(|_| more).map(|run| run.id.fence.to_string());
    let veil = veil(&caller.ctx, &caller.who);
    Ok(list.page(runs.iter().map(|run| RunView::new(run, &veil)).collect(), last))
}

/// Read a job's log
///
/// What happened to it, newest first. What a target repeated stands once, with its count.
#[utoipa::path(
    operation_id = "listEvents", tag = "runs",
    params(("id" = String, Path, description = "The job")),
    responses((status = 200, description = "The log", body = EventList), Refusals, MissingJob),
)]
#[get("/v1/jobs/{id}/events")]
pub(super) async fn list_events(caller: Caller, id: web::Path<String>) -> Reply {
    let log = journal::events(&caller.ctx, &caller.who, job_id(&id)?).await?;
    Ok(HttpResponse::Ok().json(EventList { data: log.iter().map(EventView::from).collect() }))
}

/// Read a run
#[utoipa::path(
    operation_id = "getRun", tag = "runs",
    params(("id" = String, Path, description = "The run")),
    responses((status = 200, description = "The run", body = RunView), Refusals, MissingJob),
)]
#[get("/v1/runs/{id}")]
pub(super) async fn get_run(caller: Caller, id: web::Path<String>) -> Reply {
    let run = journal::run(&caller.ctx, &caller.who, run_id(&id)?).await?;
    let veil = veil(&caller.ctx, &caller.who);
    Ok(HttpResponse::Ok().json(RunView::new(&run, &veil)))
}

/// The run of a path; a text that is no id is an id of nothing.
pub(super) fn run_id(text: &str) -> Result<RunId, Error> {
    text.parse().or(Err(Error::Missing { noun: "run" }))
}
