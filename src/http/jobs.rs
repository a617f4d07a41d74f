//! Register, read and list jobs.

use actix_web::{HttpResponse, get, post, web};
use serde_json::value::RawValue;
use utoipa::IntoParams;

use super::extract::{Body, Caller};
use super::forbidden::beside_job;
use super::list::{List, read_instant, read_text};
use super::openapi::{BodyRefusals, Conflict, MissingJob, Refusals};
use super::{Reply, kept, reply};
use crate::domain::id::JobId;
use crate::domain::job::Job;
use crate::domain::redact::Veil;
use crate::domain::state::State;
use crate::engine::jobs::{self, Batch, Filter, Item};
use crate::engine::once::Kept;
use crate::engine::privacy::veil;
use crate::engine::register::Registered;
use crate::engine::{Ctx, Error};
use crate::wire::Page;
use crate::wire::batch::{BatchAnswer, BatchItem, BatchRequest, read_batch};
use crate::wire::job::JobView;
use crate::wire::problem::FaultView;
use crate::wire::request::{JobRequest, read_job};

/// Register a job
///
/// The job is durable when this answers. With an `Idempotency-Key`, a repeat of the request gets the
/// same answer; with a `unique_key`, an unfinished job of the team that has it is answered instead.
#[utoipa::path(
    operation_id = "createJob", tag = "jobs", request_body = JobRequest,
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 visible ASCII characters; remembered for a day")),
    responses(
        (status = 201, description = "The job was registered", body = JobView,
         headers(("Location" = String, description = "Where the job is found"))),
        (status = 200, description = "An unfinished job has the unique key; this is it", body = JobView,
         headers(("Axle-Deduplicated" = String, description = "`true`"))),
        Refusals, BodyRefusals, Conflict,
    ),
)]
#[post("/v1/jobs")]
pub(super) async fn create_job(caller: Caller, body: Body) -> Reply {
    let raw = body.json()?;
    let new = read_job(raw, "#", caller.ctx.limits.max_payload)
        .map_err(|faults| beside_job(&caller.ctx, raw, "#", faults))?;
    let key = caller.key(body.bytes())?;
    let veil = veil(&caller.ctx, &caller.who);
    let show = |made: &Registered| show_registered(&caller.ctx, made, &veil);
    Ok(reply(jobs::create(&caller.ctx, &caller.who, key.as_ref(), new, show).await?))
}

/// Register up to 1,000 jobs
///
/// In one transaction. `atomic: true` (the default): one bad item refuses all, with every fault.
/// `atomic: false`: each item has its own answer, in order.
#[utoipa::path(
    operation_id = "createJobs", tag = "jobs", request_body = BatchRequest,
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 visible ASCII characters; remembered for a day")),
    responses(
        (status = 200, description = "One answer for each job, in order", body = BatchAnswer),
        Refusals, BodyRefusals, Conflict,
    ),
)]
#[post("/v1/jobs/batch")]
pub(super) async fn create_jobs(caller: Caller, body: Body) -> Reply {
    let beside = |raw: &RawValue, at: &str, faults| beside_job(&caller.ctx, raw, at, faults);
    let (atomic, items) = read_batch(body.json()?, caller.ctx.limits.max_payload, beside)?;
    let mode = if atomic { Batch::Atomic } else { Batch::EachAlone };
    let key = caller.key(body.bytes())?;
    // The request itself was counted as one write; it is as many as it has jobs.
    caller.ctx.quotas.owe(&caller.ctx, &caller.who.team, items.len().saturating_sub(1)).await?;
    let veil = veil(&caller.ctx, &caller.who);
    let show = |items: &Vec<Item>| kept(200, None, &show_batch(&caller.ctx, items, &veil));
    let batch = (mode, items);
    Ok(reply(jobs::create_batch(&caller.ctx, &caller.who, key.as_ref(), batch, show).await?))
}

/// Read a job
///
/// What was asked, where it stands, and in `next_step` what happens next.
#[utoipa::path(
    operation_id = "getJob", tag = "jobs",
    params(("id" = String, Path, description = "The job")),
    responses(
        (status = 200, description = "The job", body = JobView,
         headers(("ETag" = String, description = "For If-Match"))),
        Refusals, MissingJob,
    ),
)]
#[get("/v1/jobs/{id}")]
pub(super) async fn get_job(caller: Caller, id: web::Path<String>) -> Reply {
    let job = jobs::get(&caller.ctx, &caller.who, job_id(&id)?).await?;
    Ok(show_job(&caller.ctx, &job, &veil(&caller.ctx, &caller.who)))
}

/// The filters of a list of jobs; all must hold.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only the derived document is used; `read_parameter` reads the query")]
struct ListQuery {
    /// In one of these states, separated by commas.
    #[param(example = "FAILED,RETRY_WAIT")]
    state: Option<String>,
    /// Of this queue.
    queue: Option<String>,
    /// Of this name.
    name: Option<String>,
    /// With this tag, as `key:value`.
    #[param(example = "region:eu")]
    tag: Option<String>,
    /// Of this owner.
    owner_service: Option<String>,
    /// Made by this schedule.
    schedule_id: Option<String>,
    /// Registered at this instant or later, to the millisecond.
    #[param(format = DateTime)]
    since: Option<String>,
    /// Registered before this instant, to the millisecond.
    #[param(format = DateTime)]
    until: Option<String>,
    /// 1 to 500; 50 if absent.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
}

/// List jobs
///
/// Newest first, without payloads. Pages follow one another by `next_cursor`, also in the header
/// `Link`; jobs registered meanwhile do not move them.
#[utoipa::path(
    operation_id = "listJobs", tag = "jobs", params(ListQuery),
    responses(
        (status = 200, description = "A page of jobs", body = Page<JobView>,
         headers(("Link" = String, description = "The next page, as `rel=\"next\"`"))),
        Refusals,
        (status = 422, description = "A parameter cannot be accepted",
         content_type = "application/problem+json", body = crate::wire::problem::ProblemView),
    ),
)]
#[get("/v1/jobs")]
pub(super) async fn list_jobs(caller: Caller) -> Reply {
    let mut filter = Filter::default();
    let take = |key: &str, value: &str| read_parameter(&mut filter, key, value);
    let list = List::read("/v1/jobs", caller.query(), take)?;
    let page = (list.place()?, list.limit);
    let (found, more) = jobs::list(&caller.ctx, &caller.who, &filter, page).await?;
    let last = found.last().filter(|_| more).map(|job| job.id.to_string());
    let (now, veil) = (caller.ctx.clock.now(), veil(&caller.ctx, &caller.who));
    Ok(list.page(found.iter().map(|job| JobView::new(job, now, &veil)).collect(), last))
}

fn read_parameter(filter: &mut Filter, key: &str, value: &str) -> Result<bool, String> {
    match key {
        "state" => filter.states = read_states(value)?,
        "queue" => filter.queue = Some(read_text(value)?),
        "name" => filter.name = Some(read_text(value)?),
        "owner_service" => filter.owner_service = Some(read_text(value)?),
        "tag" => {
            let text = read_text(value)?;
            let (key, value) = text.split_once(':').ok_or("must be key:value")?;
            filter.tag = Some((key.to_owned(), value.to_owned()));
        }
        "schedule_id" => {
            let id = value.parse().or(Err("must be the id of a schedule"))?;
            filter.schedule_id = Some(id);
        }
        "since" => filter.since = Some(read_instant(value)?),
        "until" => filter.until = Some(read_instant(value)?),
        _ => return Ok(false),
    }
    Ok(true)
}

fn read_states(value: &str) -> Result<Vec<State>, String> {
    let all = || State::ALL.map(State::as_str).join(", ");
    let read =
        |word: &str| State::parse(word.trim()).ok_or_else(|| format!("must be of {}", all()));
    value.split(',').map(read).collect()
}

/// The job of a path; a text that is no id is an id of nothing.
pub(super) fn job_id(text: &str) -> Result<JobId, Error> {
    text.parse().or(Err(Error::Missing { noun: "job" }))
}

/// A job with its `ETag`.
pub(super) fn show_job(ctx: &Ctx, job: &Job, veil: &Veil) -> HttpResponse {
    let view = JobView::new(job, ctx.clock.now(), veil);
    HttpResponse::Ok().insert_header(("ETag", job.etag())).json(view)
}

fn show_registered(ctx: &Ctx, made: &Registered, veil: &Veil) -> Kept {
    let (status, job) = match made {
        Registered::New(job) => (201, job),
        Registered::Existing(job) => (200, job),
    };
    let view = JobView::new(job, ctx.clock.now(), veil);
    let location = format!("/v1/jobs/{}", job.id);
    Kept { deduplicated: status == 200, ..kept(status, Some(location), &view) }
}

fn show_batch(ctx: &Ctx, items: &[Item], veil: &Veil) -> BatchAnswer {
    let now = ctx.clock.now();
    let bare = |status| BatchItem { status, job: None, existing_id: None, errors: Vec::new() };
    let brief = |job: &Job| {
        let mut view = JobView::new(job, now, veil);
        (view.payload, view.payload_base64) = (None, None);
        view.withheld.retain(|name| *name != "payload");
        Some(view)
    };
    let show = |item: &Item| match item {
        Item::Created(job) => BatchItem { job: brief(job), ..bare(201) },
        Item::Existing(job) => BatchItem { job: brief(job), ..bare(200) },
        Item::Duplicate(id) => BatchItem { existing_id: id.map(|id| id.to_string()), ..bare(409) },
        Item::Invalid(invalid) => {
            let fault = |fault: &crate::domain::invalid::Fault| FaultView {
                pointer: fault.pointer.clone(),
                code: fault.code.to_owned(),
                detail: fault.detail.clone(),
            };
            BatchItem { errors: invalid.0.iter().map(fault).collect(), ..bare(422) }
        }
    };
    let results: Vec<_> = items.iter().map(show).collect();
    BatchAnswer { created: results.iter().filter(|item| item.status == 201).count(), results }
}
