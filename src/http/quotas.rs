//! Quotas of teams: look at them, set them.

use actix_web::{HttpResponse, get, patch, web};

use super::Reply;
use super::extract::{Body, Caller};
use super::openapi::{BodyRefusals, Missing, Refusals, Stale};
use super::teams::slug;
use crate::engine::quota::{self, Shown};
use crate::wire::problem::ProblemView;
use crate::wire::quota::{QuotaView, QuotasPatch, QuotasView, read_quotas};

/// Read a team's quotas
///
/// The limits that hold for it, and how much of each is used.
#[utoipa::path(
    operation_id = "getQuotas", tag = "teams",
    params(("team" = String, Path, description = "The team's slug")),
    responses(
        (status = 200, description = "The quotas", body = QuotasView,
         headers(("ETag" = String, description = "The team's, for If-Match"))),
        Refusals, Missing,
    ),
)]
#[get("/v1/teams/{team}/quotas")]
pub(super) async fn get_quotas(caller: Caller, team: web::Path<String>) -> Reply {
    Ok(show(&quota::look(&caller.ctx, &caller.who, &slug(&team)?).await?))
}

/// Set a team's quotas
///
/// For installation admins. Null takes a limit of the team's own back: that of the installation holds
/// then, if there is one. A new limit holds within a second; it undoes nothing.
#[utoipa::path(
    operation_id = "changeQuotas", tag = "teams",
    request_body(content = QuotasPatch, content_type = "application/merge-patch+json"),
    params(
        ("team" = String, Path, description = "The team's slug"),
        ("If-Match" = String, Header, description = "The team's ETag last read, or `*`"),
    ),
    responses(
        (status = 200, description = "The quotas", body = QuotasView,
         headers(("ETag" = String, description = "The team's, for If-Match"))),
        (status = 428, description = "If-Match is missing",
         content_type = "application/problem+json", body = ProblemView),
        Refusals, BodyRefusals, Missing, Stale,
    ),
)]
#[patch("/v1/teams/{team}/quotas")]
pub(super) async fn change_quotas(caller: Caller, team: web::Path<String>, body: Body) -> Reply {
    let team = slug(&team)?;
    let condition = caller.condition()?;
    let limits = read_quotas(body.json()?)?;
    let (ctx, who) = (&caller.ctx, &caller.who);
    Ok(show(&quota::set(ctx, who, &team, condition.as_deref(), &limits).await?))
}

fn show(shown: &Shown) -> HttpResponse {
    let view = QuotasView::new(shown.team.team.as_str(), |quota| {
        let known = shown.uses.iter().find(|one| one.quota == quota);
        known.map_or_else(QuotaView::default, |one| QuotaView {
            limit: one.limit,
            own: one.is_own,
            used: one.used,
        })
    });
    HttpResponse::Ok().insert_header(("ETag", shown.team.etag())).json(view)
}
