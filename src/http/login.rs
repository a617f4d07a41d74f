//! Signing in and out. None of these asks for a token: what they ask for stands in their bodies, and
//! never in an address or a log.

use actix_web::{HttpResponse, post};

use super::Reply;
use super::extract::{Body, Stranger};
use super::openapi::{BodyRefusals, LoginRefusals};
use crate::engine::login::{self, SignedIn};
use crate::wire::instant;
use crate::wire::login::{
    LoginRequest, LoginView, PasswordRequest, RefreshRequest, read_login, read_password,
    read_refresh,
};

/// Sign in
///
/// Gives an access token for a quarter of an hour and a refresh token for the next one. A wrong
/// password and an unknown e-mail address get the same answer. Attempts are counted: ten per e-mail
/// address and sixty per network address in a quarter of an hour.
#[utoipa::path(
    operation_id = "login", tag = "login", security(()), request_body = LoginRequest,
    responses(
        (status = 200, description = "The tokens", body = LoginView),
        LoginRefusals, BodyRefusals,
    ),
)]
#[post("/v1/login")]
pub(super) async fn log_in(caller: Stranger, body: Body) -> Reply {
    let (email, password, team) = read_login(body.json()?)?;
    let address = caller.via.address;
    let pair = (&email, password.as_str());
    Ok(show(&login::login(&caller.ctx, pair, team.as_ref(), address).await?))
}

/// Go on being signed in
///
/// A refresh token is good once; the answer has the next one. One that comes back was stolen, or its
/// thief has used it: the session ends, and its access tokens with it.
#[utoipa::path(
    operation_id = "refreshLogin", tag = "login", security(()), request_body = RefreshRequest,
    responses(
        (status = 200, description = "New tokens", body = LoginView),
        LoginRefusals, BodyRefusals,
    ),
)]
#[post("/v1/login/refresh")]
pub(super) async fn refresh(caller: Stranger, body: Body) -> Reply {
    let token = read_refresh(body.json()?)?;
    Ok(show(&login::refresh(&caller.ctx, &token).await?))
}

/// Sign out
///
/// Ends the session of a refresh token, and its access tokens with it. A token of no session changes
/// nothing.
#[utoipa::path(
    operation_id = "logout", tag = "login", security(()), request_body = RefreshRequest,
    responses((status = 204, description = "There is no such session any more"),
        LoginRefusals, BodyRefusals),
)]
#[post("/v1/logout")]
pub(super) async fn logout(caller: Stranger, body: Body) -> Reply {
    login::logout(&caller.ctx, &read_refresh(body.json()?)?).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Change your password
///
/// Ends every session of yours but that of the refresh token, if one is given.
#[utoipa::path(
    operation_id = "changePassword", tag = "login", security(()), request_body = PasswordRequest,
    responses((status = 204, description = "The password is changed"), LoginRefusals, BodyRefusals),
)]
#[post("/v1/password")]
pub(super) async fn change_password(caller: Stranger, body: Body) -> Reply {
    let (email, password, new, kept) = read_password(body.json()?)?;
    let (ctx, address) = (&caller.ctx, caller.via.address);
    login::change_password(ctx, (&email, &password), &new, kept.as_deref(), address).await?;
    Ok(HttpResponse::NoContent().finish())
}

fn show(signed_in: &SignedIn) -> HttpResponse {
    HttpResponse::Ok().json(LoginView {
        user: signed_in.user.id.to_string(),
        team: signed_in.team.to_string(),
        role: signed_in.role.as_str().to_owned(),
        access_token: signed_in.access.clone(),
        access_expires_at: instant(signed_in.access_ends),
        refresh_token: signed_in.refresh.expose().to_owned(),
        refresh_expires_at: instant(signed_in.refresh_ends),
    })
}
