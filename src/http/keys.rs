//! API keys: make, list, read, roll, revoke; and revoking tokens.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use actix_web::{HttpResponse, delete, get, post, web};
use chrono::DateTime;
use utoipa::IntoParams;

use super::extract::{Body, Caller};
use super::list::List;
use super::openapi::{BadParameter, BodyRefusals, Conflict, Missing, Refusals};
use super::problem::Problem;
use super::{Reply, kept, reply};
use crate::domain::key::{Key, KeyId};
use crate::engine::keys::{self, Made, NewKey, OVERLAP_LIMIT};
use crate::engine::once::{Answer, Kept};
use crate::engine::{Error, tokens};
use crate::wire::Page;
use crate::wire::key::{
    KeyRequest, KeyView, RollRequest, TokenRevocation, read_key, read_revocation, read_roll,
};

/// Make an API key
///
/// The answer is the only place where `key` stands: it is kept as a hash. A repeat under the same
/// `Idempotency-Key` gets the first answer without it.
#[utoipa::path(
    operation_id = "createKey", tag = "access", request_body = KeyRequest,
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 visible ASCII characters; remembered for a day")),
    responses(
        (status = 201, description = "The key, with its text", body = KeyView,
         headers(("Location" = String, description = "Where the key is found, without its text"))),
        Refusals, BodyRefusals, Conflict,
    ),
)]
#[post("/v1/keys")]
pub(super) async fn create_key(caller: Caller, body: Body) -> Reply {
    let (name, role, scope, expires_at) = read_key(body.json()?)?;
    let key = caller.key(body.bytes())?;
    let new = NewKey { name, role, scope, expires_at };
    Ok(show_once(keys::create(&caller.ctx, &caller.who, key.as_ref(), new, hide).await?))
}

/// The pages of a list of keys.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only the derived document is used; `List` reads the query")]
struct KeysQuery {
    /// 1 to 500; 50 if absent.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
}

/// List API keys
///
/// Newest first, without their texts; those that have ended are among them.
#[utoipa::path(
    operation_id = "listKeys", tag = "access", params(KeysQuery),
    responses(
        (status = 200, description = "A page of the team's keys", body = Page<KeyView>,
         headers(("Link" = String, description = "The next page, as `rel=\"next\"`"))),
        Refusals, BadParameter,
    ),
)]
#[get("/v1/keys")]
pub(super) async fn list_keys(caller: Caller) -> Reply {
    let list = List::read("/v1/keys", caller.query(), |_, _| Ok(false))?;
    let before = list.place::<Place>()?.map(|Place(place)| place);
    let (found, more) = keys::list(&caller.ctx, &caller.who, (before, list.limit)).await?;
    let last = found.last().filter(|_| more).map(|key| Place((key.created_at, key.id)).to_string());
    Ok(list.page(found.iter().map(KeyView::from).collect(), last))
}

/// Where a page ended.
struct Place(keys::Place);

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self((at, id)) = self;
        write!(f, "{} {id}", at.timestamp_micros())
    }
}

impl FromStr for Place {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (at, id) = text.split_once(' ').ok_or(())?;
        let at = at.parse().ok().and_then(DateTime::from_timestamp_micros).ok_or(())?;
        Ok(Self((at, id.parse().or(Err(()))?)))
    }
}

/// Read an API key
#[utoipa::path(
    operation_id = "getKey", tag = "access",
    params(("key" = String, Path, description = "The key's id")),
    responses(
        (status = 200, description = "The key, without its text", body = KeyView),
        Refusals, Missing,
    ),
)]
#[get("/v1/keys/{key}")]
pub(super) async fn get_key(caller: Caller, key: web::Path<String>) -> Reply {
    let found = keys::get(&caller.ctx, &caller.who, id(&key)?).await?;
    Ok(HttpResponse::Ok().json(KeyView::from(&found)))
}

/// Revoke an API key
///
/// Every process refuses it within a second. It stays in the list; again changes nothing.
#[utoipa::path(
    operation_id = "revokeKey", tag = "access",
    params(("key" = String, Path, description = "The key's id")),
    responses((status = 204, description = "The key opens nothing any more"), Refusals, Missing),
)]
#[delete("/v1/keys/{key}")]
pub(super) async fn revoke_key(caller: Caller, key: web::Path<String>) -> Reply {
    keys::revoke(&caller.ctx, &caller.who, id(&key)?).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Replace an API key
///
/// Makes a key of the same name, role and queues; the old one holds for the overlap, so that whoever has it
/// can take the new one meanwhile. As for a new key, the text is shown once.
#[utoipa::path(
    operation_id = "rollKey", tag = "access", request_body = RollRequest,
    params(
        ("key" = String, Path, description = "The old key's id"),
        ("Idempotency-Key" = Option<String>, Header, description = "1 to 255 visible ASCII characters; remembered for a day"),
    ),
    responses(
        (status = 201, description = "The new key, with its text", body = KeyView,
         headers(("Location" = String, description = "Where the new key is found, without its text"))),
        Refusals, BodyRefusals, Conflict, Missing,
    ),
)]
#[post("/v1/keys/{key}/roll")]
pub(super) async fn roll_key(caller: Caller, key: web::Path<String>, body: Body) -> Reply {
    let id = id(&key)?;
    let limit = u64::try_from(OVERLAP_LIMIT.as_millis()).unwrap_or(u64::MAX);
    let (overlap_ms, expires_at) = read_roll(body.json()?, limit)?;
    let once = caller.key(body.bytes())?;
    let roll = (id, Duration::from_millis(overlap_ms), expires_at);
    Ok(show_once(keys::roll(&caller.ctx, &caller.who, once.as_ref(), roll, hide).await?))
}

/// Revoke a token
///
/// A token of your team with this `jti` is refused by every process within a second, until it
/// expires by itself.
#[utoipa::path(
    operation_id = "revokeToken", tag = "access", request_body = TokenRevocation,
    responses(
        (status = 204, description = "The token opens nothing any more"),
        Refusals, BodyRefusals,
    ),
)]
#[post("/v1/tokens/revoke")]
pub(super) async fn revoke_token(caller: Caller, body: Body) -> Reply {
    let (jti, expires_at) = read_revocation(body.json()?)?;
    tokens::revoke(&caller.ctx, &caller.who, (&jti, expires_at)).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// What is no id is the id of nothing.
fn id(text: &str) -> Result<KeyId, Problem> {
    Ok(text.parse().or(Err(Error::Missing { noun: "key" }))?)
}

/// The answer that is kept for a repeat, which must not hold the text.
fn hide(made: &Made) -> Kept {
    kept(201, Some(location(&made.key)), &KeyView::from(&made.key))
}

/// The first answer, which does.
fn show_once(answer: Answer<Made>) -> HttpResponse {
    reply(match answer {
        Answer::Fresh(made, _) => {
            let text = Some(made.text.expose().to_owned());
            let view = KeyView { key: text, ..KeyView::from(&made.key) };
            let shown = kept(201, Some(location(&made.key)), &view);
            Answer::Fresh(made, shown)
        }
        replayed @ Answer::Replayed(_) => replayed,
    })
}

fn location(key: &Key) -> String {
    format!("/v1/keys/{}", key.id)
}
