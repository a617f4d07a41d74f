//! A schedule's fires: list them, make one now, make up for past ones.

use actix_web::{get, post, web};
use chrono::{DateTime, Utc};
use utoipa::IntoParams;

use super::extract::{Body, Caller};
use super::list::{List, read_instant};
use super::openapi::{BadParameter, BodyRefusals, Conflict, Missing, Refusals};
use super::schedules::ident;
use super::{Reply, kept, reply};
use crate::domain::schedule::record::Fire;
use crate::engine::backfill::{self, Range};
use crate::engine::schedules::{self, Expected, FiresQuery};
use crate::engine::trigger::{self, Triggered};
use crate::wire::instant;
use crate::wire::schedule::act::{
    BackfillRequest, BackfillView, FireView, FiresView, TriggerRequest, TriggerView, read_backfill,
    read_trigger,
};
use crate::wire::schedule::preview::SlotView;

/// Which fires are listed.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only the derived document is used; `list_fires` reads the query")]
struct FiresParams {
    /// Not before this instant.
    #[param(format = DateTime)]
    from: Option<String>,
    /// Before this instant. Without it, the next 10 fires are expected; with it, at most 100.
    #[param(format = DateTime)]
    to: Option<String>,
    /// 1 to 500; 50 if absent.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
}

/// List a schedule's fires
///
/// What became of every fire time, newest first, and what its rule expects of the next. This answers
/// why something did not run.
#[utoipa::path(
    operation_id = "listFires", tag = "schedules",
    params(("schedule" = String, Path, description = "The schedule's id or name"), FiresParams),
    responses(
        (status = 200, description = "A page of fires", body = FiresView,
         headers(("Link" = String, description = "The next page, as `rel=\"next\"`"))),
        Refusals, Missing, BadParameter,
    ),
)]
#[get("/v1/schedules/{schedule}/fires")]
pub(super) async fn list_fires(caller: Caller, schedule: web::Path<String>) -> Reply {
    let path = format!("/v1/schedules/{schedule}/fires");
    let ident = ident(&schedule)?;
    let mut query = FiresQuery::default();
    let list = List::read(&path, caller.query(), |key, value| {
        match key {
            "from" => query.from = Some(read_instant(value)?),
            "to" => query.to = Some(read_instant(value)?),
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    (query.before, query.limit) = (list.place::<DateTime<Utc>>()?, list.limit);
    let page = schedules::fires(&caller.ctx, &caller.who, &ident, &query).await?;
    let next_cursor =
        list.next(page.past.last().filter(|_| page.more).map(|fire| instant(fire.at)));
    let expected = |expected: &Expected| SlotView::new(&expected.slot, expected.outcome);
    let view = FiresView {
        data: page.past.iter().map(FireView::from).collect(),
        expected: page.expected.iter().map(expected).collect(),
        accounted_until: instant(page.schedule.accounted_until),
        created_at: instant(page.schedule.created_at),
        next_cursor,
    };
    Ok(list.frame(view.next_cursor.as_ref()).json(view))
}

/// Trigger a schedule
///
/// Makes a job now, outside its times and in any state, and obeys its overlap policy unless the body
/// names another. Needs the role operator.
#[utoipa::path(
    operation_id = "triggerSchedule", tag = "schedules",
    request_body(content = Option<TriggerRequest>),
    params(
        ("schedule" = String, Path, description = "The schedule's id or name"),
        ("Idempotency-Key" = Option<String>, Header, description = "1 to 255 visible ASCII characters"),
    ),
    responses(
        (status = 201, description = "A job was made", body = TriggerView,
         headers(("Location" = String, description = "Where the job is found"))),
        (status = 200, description = "None was made: an earlier one is unfinished", body = TriggerView),
        Refusals, BodyRefusals, Missing, Conflict,
    ),
)]
#[post("/v1/schedules/{schedule}/trigger")]
pub(super) async fn trigger_schedule(
    caller: Caller,
    schedule: web::Path<String>,
    body: Body,
) -> Reply {
    let overlap = read_trigger(body.json_or_empty()?)?;
    let (ident, key) = (ident(&schedule)?, caller.key(body.bytes())?);
    let show = |made: &Triggered| {
        let location = made.fire.job.map(|id| format!("/v1/jobs/{id}"));
        let status = if location.is_some() { 201 } else { 200 };
        kept(status, location, &TriggerView::new(&made.fire, made.waits))
    };
    let asked = (&ident, overlap);
    Ok(reply(trigger::trigger(&caller.ctx, &caller.who, key.as_ref(), asked, show).await?))
}

/// Make up for past fires
///
/// Makes a job for every fire time in the range, by the schedule's present rule, that has none; at
/// most 1,000. They run one after another unless the schedule allows overlap. Needs the role
/// operator.
#[utoipa::path(
    operation_id = "backfillSchedule", tag = "schedules", request_body = BackfillRequest,
    params(
        ("schedule" = String, Path, description = "The schedule's id or name"),
        ("Idempotency-Key" = Option<String>, Header, description = "1 to 255 visible ASCII characters"),
    ),
    responses(
        (status = 200, description = "What was made, or would be", body = BackfillView),
        Refusals, BodyRefusals, Missing, Conflict,
    ),
)]
#[post("/v1/schedules/{schedule}/backfill")]
pub(super) async fn backfill_schedule(
    caller: Caller,
    schedule: web::Path<String>,
    body: Body,
) -> Reply {
    let asked = read_backfill(body.json()?)?;
    let (ident, key) = (ident(&schedule)?, caller.key(body.bytes())?);
    let range = Range {
        from: asked.from,
        to: asked.to,
        dry_run: asked.dry_run,
        max_per_second: asked.max_per_second,
    };
    let show = |fires: &Vec<Fire>| kept(200, None, &BackfillView::new(asked.dry_run, fires));
    let range = (&ident, &range);
    Ok(reply(backfill::backfill(&caller.ctx, &caller.who, key.as_ref(), range, show).await?))
}
