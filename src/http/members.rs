//! The members of a team, and how people become one.

use actix_web::{HttpResponse, delete, get, post, put, web};

use super::extract::{Body, Caller, Stranger};
use super::openapi::{BodyRefusals, Conflict, LoginRefusals, Missing, Refusals};
use super::problem::Problem;
use super::teams::slug;
use super::{Reply, invitation, kept, reply};
use crate::domain::id::UserId;
use crate::engine::invitations::{self, Invited};
use crate::engine::once::{Answer, Kept};
use crate::engine::{Ctx, Error, members};
use crate::wire::login::{AcceptRequest, AcceptView, read_accept};
use crate::wire::team::{
    InvitationRequest, InvitationView, MemberList, MemberRequest, MemberView, read_invitation,
    read_member,
};

/// List a team's members
#[utoipa::path(
    operation_id = "listMembers", tag = "teams",
    params(("team" = String, Path, description = "The team's slug")),
    responses(
        (status = 200, description = "The team's members", body = MemberList),
        Refusals, Missing,
    ),
)]
#[get("/v1/teams/{team}/members")]
pub(super) async fn list_members(caller: Caller, team: web::Path<String>) -> Reply {
    let found = members::list(&caller.ctx, &caller.who, &slug(&team)?).await?;
    Ok(HttpResponse::Ok().json(MemberList { data: found.iter().map(MemberView::from).collect() }))
}

/// Read a member
#[utoipa::path(
    operation_id = "getMember", tag = "teams",
    params(
        ("team" = String, Path, description = "The team's slug"),
        ("user" = String, Path, description = "The person's id"),
    ),
    responses((status = 200, description = "The member", body = MemberView), Refusals, Missing),
)]
#[get("/v1/teams/{team}/members/{user}")]
pub(super) async fn get_member(caller: Caller, path: web::Path<(String, String)>) -> Reply {
    let (team, user) = (slug(&path.0)?, id(&path.1)?);
    let found = members::get(&caller.ctx, &caller.who, &team, user).await?;
    Ok(HttpResponse::Ok().json(MemberView::from(&found)))
}

/// Change what a member is
///
/// Owners and admins are made, and unmade, by owners; a team keeps an owner. The member's access
/// tokens are void at once.
#[utoipa::path(
    operation_id = "putMember", tag = "teams", request_body = MemberRequest,
    params(
        ("team" = String, Path, description = "The team's slug"),
        ("user" = String, Path, description = "The person's id"),
    ),
    responses(
        (status = 200, description = "The member", body = MemberView),
        Refusals, BodyRefusals, Missing, Conflict,
    ),
)]
#[put("/v1/teams/{team}/members/{user}")]
pub(super) async fn put_member(
    caller: Caller,
    path: web::Path<(String, String)>,
    body: Body,
) -> Reply {
    let (team, user) = (slug(&path.0)?, id(&path.1)?);
    let role = read_member(body.json()?)?;
    let put = members::set_role(&caller.ctx, &caller.who, (&team, user), role).await?;
    Ok(HttpResponse::Ok().json(MemberView::from(&put)))
}

/// Remove a member
///
/// Their access tokens are void at once. Members may remove themselves; the last owner may not.
#[utoipa::path(
    operation_id = "removeMember", tag = "teams",
    params(
        ("team" = String, Path, description = "The team's slug"),
        ("user" = String, Path, description = "The person's id"),
    ),
    responses(
        (status = 204, description = "They are no member any more"),
        Refusals, Missing, Conflict,
    ),
)]
#[delete("/v1/teams/{team}/members/{user}")]
pub(super) async fn remove_member(caller: Caller, path: web::Path<(String, String)>) -> Reply {
    let (team, user) = (slug(&path.0)?, id(&path.1)?);
    members::remove(&caller.ctx, &caller.who, (&team, user)).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Invite somebody
///
/// The answer is the only place where `token` stands, and the link that holds it; whoever has it can
/// accept, once, within a week. A repeat under the same `Idempotency-Key` gets the first answer without
/// either.
#[utoipa::path(
    operation_id = "invite", tag = "teams", request_body = InvitationRequest,
    params(
        ("team" = String, Path, description = "The team's slug"),
        ("Idempotency-Key" = Option<String>, Header, description = "1 to 255 visible ASCII characters; remembered for a day"),
    ),
    responses(
        (status = 201, description = "The invitation, with its token", body = InvitationView),
        Refusals, BodyRefusals, Missing, Conflict,
    ),
)]
#[post("/v1/teams/{team}/invitations")]
pub(super) async fn invite(caller: Caller, team: web::Path<String>, body: Body) -> Reply {
    let team = slug(&team)?;
    let (email, role) = read_invitation(body.json()?)?;
    let key = caller.key(body.bytes())?;
    let new = (&team, &email, role);
    let answer = invitations::create(&caller.ctx, &caller.who, key.as_ref(), new, hide).await?;
    Ok(show_once(&caller.ctx, answer))
}

/// Accept an invitation
///
/// Makes a person of you, unless you are one here already, and a member of the team. Then sign in.
#[utoipa::path(
    operation_id = "acceptInvitation", tag = "login", security(()), request_body = AcceptRequest,
    responses(
        (status = 201, description = "You are a member", body = AcceptView),
        LoginRefusals, BodyRefusals,
    ),
)]
#[post("/v1/invitations/accept")]
pub(super) async fn accept_invitation(caller: Stranger, body: Body) -> Reply {
    let (token, name, password) = read_accept(body.json()?)?;
    let via = (caller.via.address, caller.via);
    let person = (name.as_str(), password.as_str());
    let (user, invitation) = invitations::accept(&caller.ctx, &token, person, via).await?;
    Ok(HttpResponse::Created().json(AcceptView {
        user: user.id.to_string(),
        email: user.email,
        team: invitation.team.to_string(),
    }))
}

/// What is no id is the id of nobody.
fn id(text: &str) -> Result<UserId, Problem> {
    Ok(text.parse().or(Err(Error::Missing { noun: "member" }))?)
}

/// The answer that is kept for a repeat, which must not hold the token.
fn hide(invited: &Invited) -> Kept {
    kept(201, None, &InvitationView::from(&invited.invitation))
}

/// The first answer, which does.
fn show_once(ctx: &Ctx, answer: Answer<Invited>) -> HttpResponse {
    reply(match answer {
        Answer::Fresh(invited, _) => {
            let token = invited.token.expose();
            let url = ctx.limits.people_url.as_ref().map(|base| invitation::link(base, token));
            let view = InvitationView::from(&invited.invitation);
            let view = InvitationView { token: Some(token.to_owned()), url, ..view };
            Answer::Fresh(invited, kept(201, None, &view))
        }
        replayed @ Answer::Replayed(_) => replayed,
    })
}
