//! Teams: describe, list, read, change, suspend.

use actix_web::{HttpResponse, get, patch, post, web};
use utoipa::IntoParams;

use super::extract::{Body, Caller};
use super::list::List;
use super::openapi::{BadParameter, BodyRefusals, Conflict, KeyReused, Missing, Refusals, Stale};
use super::problem::Problem;
use super::{Reply, kept, reply};
use crate::domain::principal::Team;
use crate::domain::team::TeamRecord;
use crate::engine::Error;
use crate::engine::once::Kept;
use crate::engine::teams::{self, Change};
use crate::wire::Page;
use crate::wire::problem::ProblemView;
use crate::wire::queue::{PauseRequest, read_pause};
use crate::wire::team::{TeamPatch, TeamRequest, TeamView, read_team, read_team_patch};

/// Describe a new team
///
/// For installation admins. A team works without a description too: outside issuers may name any.
#[utoipa::path(
    operation_id = "createTeam", tag = "teams", request_body = TeamRequest,
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 visible ASCII characters; remembered for a day")),
    responses(
        (status = 201, description = "The team", body = TeamView,
         headers(("Location" = String, description = "Where the team is found"))),
        Refusals, BodyRefusals, Conflict,
    ),
)]
#[post("/v1/teams")]
pub(super) async fn create_team(caller: Caller, body: Body) -> Reply {
    let (team, name) = read_team(body.json()?)?;
    let key = caller.key(body.bytes())?;
    let new = (&team, name.as_deref());
    let show = |made: &TeamRecord| {
        kept(201, Some(format!("/v1/teams/{}", made.team)), &TeamView::from(made))
    };
    Ok(reply(teams::create(&caller.ctx, &caller.who, key.as_ref(), new, show).await?))
}

/// The pages of a list of teams.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only the derived document is used; `List` reads the query")]
struct TeamsQuery {
    /// 1 to 500; 50 if absent.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
}

/// List teams
///
/// By slug. An installation admin sees every team that was described, a person their own teams,
/// anybody else the team of their key or token.
#[utoipa::path(
    operation_id = "listTeams", tag = "teams", params(TeamsQuery),
    responses(
        (status = 200, description = "A page of teams", body = Page<TeamView>,
         headers(("Link" = String, description = "The next page, as `rel=\"next\"`"))),
        Refusals, BadParameter,
    ),
)]
#[get("/v1/teams")]
pub(super) async fn list_teams(caller: Caller) -> Reply {
    let list = List::read("/v1/teams", caller.query(), |_, _| Ok(false))?;
    let after = list.place::<String>()?.map(|slug| Team::parse(&slug));
    let bad = Problem::new("invalid-cursor", "The cursor does not hold a place.");
    let after = after.transpose().or(Err(bad))?;
    let (found, more) = teams::list(&caller.ctx, &caller.who, (after, list.limit)).await?;
    let last = found.last().filter(|_| more).map(|team| team.team.to_string());
    Ok(list.page(found.iter().map(TeamView::from).collect(), last))
}

/// Read a team
#[utoipa::path(
    operation_id = "getTeam", tag = "teams",
    params(("team" = String, Path, description = "The team's slug")),
    responses(
        (status = 200, description = "The team", body = TeamView,
         headers(("ETag" = String, description = "For If-Match"))),
        Refusals, Missing,
    ),
)]
#[get("/v1/teams/{team}")]
pub(super) async fn get_team(caller: Caller, team: web::Path<String>) -> Reply {
    let found = teams::get(&caller.ctx, &caller.who, &slug(&team)?).await?;
    Ok(show(&found))
}

/// Change a team
///
/// For its owners, and for installation admins.
#[utoipa::path(
    operation_id = "changeTeam", tag = "teams",
    request_body(content = TeamPatch, content_type = "application/merge-patch+json"),
    params(
        ("team" = String, Path, description = "The team's slug"),
        ("If-Match" = String, Header, description = "The ETag last read, or `*`"),
    ),
    responses(
        (status = 200, description = "The team", body = TeamView,
         headers(("ETag" = String, description = "For If-Match"))),
        (status = 428, description = "If-Match is missing",
         content_type = "application/problem+json", body = ProblemView),
        Refusals, BodyRefusals, Missing, Stale,
    ),
)]
#[patch("/v1/teams/{team}")]
pub(super) async fn change_team(caller: Caller, team: web::Path<String>, body: Body) -> Reply {
    let team = slug(&team)?;
    let condition = caller.condition()?;
    let read = read_team_patch(body.json()?)?;
    let change = Change {
        name: read.name,
        default_time_zone: read.default_time_zone,
        retention_ms: read.retention_ms,
        redact: read.redact,
        viewers_see_payloads: read.viewers_see_payloads,
    };
    let (ctx, who) = (&caller.ctx, &caller.who);
    Ok(show(&teams::change(ctx, who, &team, condition.as_deref(), change).await?))
}

/// Suspend a team
///
/// For installation admins. Its callers are refused within a second, but for owners who read. None of
/// its jobs is claimed meanwhile.
#[utoipa::path(
    operation_id = "suspendTeam", tag = "teams", request_body = PauseRequest,
    params(
        ("team" = String, Path, description = "The team's slug"),
        ("Idempotency-Key" = Option<String>, Header, description = "1 to 255 visible ASCII characters"),
    ),
    responses(
        (status = 200, description = "The team, suspended", body = TeamView),
        Refusals, BodyRefusals, Missing, Conflict,
    ),
)]
#[post("/v1/teams/{team}/suspend")]
pub(super) async fn suspend_team(caller: Caller, team: web::Path<String>, body: Body) -> Reply {
    let team = slug(&team)?;
    let reason = read_pause(body.json()?)?;
    let key = caller.key(body.bytes())?;
    let suspend = (&team, Some(reason.as_str()));
    Ok(reply(teams::suspend(&caller.ctx, &caller.who, key.as_ref(), suspend, keep).await?))
}

/// Let a suspended team go on
#[utoipa::path(
    operation_id = "unsuspendTeam", tag = "teams",
    params(
        ("team" = String, Path, description = "The team's slug"),
        ("Idempotency-Key" = Option<String>, Header, description = "1 to 255 visible ASCII characters"),
    ),
    responses(
        (status = 200, description = "The team, going on", body = TeamView),
        Refusals, Missing, Conflict, KeyReused,
    ),
)]
#[post("/v1/teams/{team}/unsuspend")]
pub(super) async fn unsuspend_team(caller: Caller, team: web::Path<String>) -> Reply {
    let team = slug(&team)?;
    let key = caller.key(b"")?;
    Ok(reply(teams::suspend(&caller.ctx, &caller.who, key.as_ref(), (&team, None), keep).await?))
}

/// What is no slug is the slug of nothing.
pub(super) fn slug(text: &str) -> Result<Team, Problem> {
    Ok(Team::parse(text).or(Err(Error::Missing { noun: "team" }))?)
}

fn keep(team: &TeamRecord) -> Kept {
    kept(200, None, &TeamView::from(team))
}

fn show(team: &TeamRecord) -> HttpResponse {
    HttpResponse::Ok().insert_header(("ETag", team.etag())).json(TeamView::from(team))
}
