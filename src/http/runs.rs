//! A job's runs and its log.

use actix_web::{HttpResponse, get, web};
use utoipa::IntoParams;

use super::extract::Caller;
use super::jobs::{UNKNOWN, job_id, page_reply};
use super::openapi::{Missing, Refusals};
use super::problem::Problem;
use super::{Reply, cursor};
use crate::domain::check::escape;
use crate::domain::id::RunId;
use crate::domain::invalid::Invalid;
use crate::engine::{Error, journal};
use crate::wire::Page;
use crate::wire::log::{EventList, EventView};
use crate::wire::problem::ProblemView;
use crate::wire::run::RunView;

/// A page of a job's runs.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only the derived document is used; `read_page` reads the query")]
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
        Refusals, Missing,
        (status = 422, description = "A parameter cannot be accepted",
         content_type = "application/problem+json", body = ProblemView),
    ),
)]
#[get("/v1/jobs/{id}/runs")]
pub(super) async fn list_runs(caller: Caller, id: web::Path<String>) -> Reply {
    let path = format!("/v1/jobs/{id}/runs");
    let id = job_id(&id)?;
    let query = caller.query();
    let page = read_page(&query, &path)?;
    let (runs, more) = journal::runs(&caller.ctx, &caller.who, id, page).await?;
    let last = runs.last().filter(|_| more).map(|run| run.id.fence.to_string());
    let next = last.map(|place| cursor::encode(&place, &cursor::list(&path, "")));
    Ok(page_reply((&path, &query), runs.iter().map(RunView::from).collect(), next))
}

/// Read a job's log
///
/// What happened to it, newest first. What a target repeated stands once, with its count.
#[utoipa::path(
    operation_id = "listEvents", tag = "runs",
    params(("id" = String, Path, description = "The job")),
    responses((status = 200, description = "The log", body = EventList), Refusals, Missing),
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
    responses((status = 200, description = "The run", body = RunView), Refusals, Missing),
)]
#[get("/v1/runs/{id}")]
pub(super) async fn get_run(caller: Caller, id: web::Path<String>) -> Reply {
    let run = journal::run(&caller.ctx, &caller.who, run_id(&id)?).await?;
    Ok(HttpResponse::Ok().json(RunView::from(&run)))
}

/// The run of a path; a text that is no id is an id of nothing.
pub(super) fn run_id(text: &str) -> Result<RunId, Error> {
    text.parse().or(Err(Error::Missing { noun: "run" }))
}

/// Where a page begins, and how long it is.
fn read_page(pairs: &[(String, String)], path: &str) -> Result<(Option<i32>, usize), Problem> {
    let mut faults = Invalid::default();
    let mut page = (None, 50);
    for (n, (key, value)) in pairs.iter().enumerate() {
        let at = format!("#/query/{}", escape(key));
        if pairs.iter().take(n).any(|(before, _)| before == key) {
            faults.add(at, "duplicate-parameter", "is given twice; give it once");
            continue;
        }
        match key.as_str() {
            "cursor" => {
                let place = cursor::decode(value, &cursor::list(path, ""))?.parse().ok();
                page.0 = Some(place.ok_or_else(|| {
                    Problem::new("invalid-cursor", format!("The cursor is none of {path}."))
                })?);
            }
            "limit" => match value.parse() {
                Ok(limit) if (1..=500).contains(&limit) => page.1 = limit,
                _ => faults.add(at, "out-of-range", "must be 1 to 500"),
            },
            _ => faults.add(at, "unknown-parameter", UNKNOWN),
        }
    }
    Ok(faults.into_result(page)?)
}
