//! Signing secrets, and why a captured call does not verify.

use std::time::Duration;

use actix_web::{HttpResponse, delete, get, post, web};

use super::extract::{Body, Caller, Engine};
use super::openapi::{BodyRefusals, Conflict, Missing, Refusals};
use super::problem::{Kind, Problem, kind};
use super::{Reply, kept, reply};
use crate::domain::job::MASKED;
use crate::domain::principal::Team;
use crate::engine::Error;
use crate::engine::once::{Answer, Kept};
use crate::engine::signing::{self, Made, Signing, SigningState};
use crate::wire::instant;
use crate::wire::signing::{
    NewSigningView, PublicKeyView, PublicKeys, ReasonView, RotateRequest, SigningList,
    SigningRequest, SigningView, VerdictView, VerifyRequest, read_call, read_rotate, read_signing,
};

/// Without a key no secret is stored.
pub(super) const KEY_MISSING: Kind = kind(
    ("secret-key-missing", 409, false),
    "This server keeps no secrets",
    "Whoever runs it sets AXLE_SECRET_KEY (`openssl rand -base64 32` makes one) for all processes.",
);

/// There is a current secret, or too many sign.
pub(super) const CONFLICT: Kind = kind(
    ("signing-secret-conflict", 409, false),
    "The signing secrets that are there do not allow this",
    "GET /v1/signing/secrets lists them; rotate replaces one, DELETE ends one.",
);

const COLLECTION: &str = "/v1/signing/secrets";

/// Make a signing secret
///
/// From then on the calls of the team, or of one of its queues, are signed. A shared secret is shown in
/// this answer and never again; of a pair of keys the public one is shown, here and to everybody. Both
/// kinds may sign side by side. Needs the role admin.
#[utoipa::path(
    operation_id = "createSigningSecret", tag = "signing",
    request_body(content = Option<SigningRequest>),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 visible ASCII characters; a repeat gets the answer without the secret")),
    responses(
        (status = 201, description = "The secret", body = NewSigningView,
         headers(("Location" = String, description = "Where secrets are listed"))),
        Refusals, BodyRefusals, Conflict,
    ),
)]
#[post("/v1/signing/secrets")]
pub(super) async fn create_signing_secret(caller: Caller, body: Body) -> Reply {
    let (queue, kind) = read_signing(body.json_or_empty()?)?;
    let key = caller.key(body.bytes())?;
    let (ctx, who) = (&caller.ctx, &caller.who);
    let whose = (queue.as_deref(), kind);
    Ok(show_once(signing::create(ctx, who, key.as_ref(), whose, keep).await?))
}

/// List signing secrets
///
/// Newest first, without the secrets; those that have ended within the last month included. Needs
/// the role admin.
#[utoipa::path(
    operation_id = "listSigningSecrets", tag = "signing",
    responses((status = 200, description = "The secrets", body = SigningList), Refusals),
)]
#[get("/v1/signing/secrets")]
pub(super) async fn list_signing_secrets(caller: Caller) -> Reply {
    let found = signing::list(&caller.ctx, &caller.who).await?;
    Ok(HttpResponse::Ok().json(SigningList { data: found.iter().map(view).collect() }))
}

/// Rotate a signing secret
///
/// Makes a new secret in place of the current one. Until the overlap ends every call carries the
/// signatures of both, so targets may change from one to the other at any time between `signs_from`
/// and then. Needs the role admin.
#[utoipa::path(
    operation_id = "rotateSigningSecret", tag = "signing",
    request_body(content = Option<RotateRequest>),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 visible ASCII characters; a repeat gets the answer without the secret")),
    responses(
        (status = 201, description = "The new secret", body = NewSigningView,
         headers(("Location" = String, description = "Where secrets are listed"))),
        (status = 404, description = "There is no secret to rotate",
         content_type = "application/problem+json", body = crate::wire::problem::ProblemView),
        Refusals, BodyRefusals, Conflict,
    ),
)]
#[post("/v1/signing/secrets/rotate")]
pub(super) async fn rotate_signing_secret(caller: Caller, body: Body) -> Reply {
    let ((queue, kind), overlap_ms) = read_rotate(body.json_or_empty()?)?;
    let key = caller.key(body.bytes())?;
    let rotation = ((queue.as_deref(), kind), Duration::from_millis(overlap_ms));
    let (ctx, who) = (&caller.ctx, &caller.who);
    Ok(show_once(signing::rotate(ctx, who, key.as_ref(), rotation, keep).await?))
}

/// Revoke a signing secret
///
/// It signs nothing any more: at once in this process, within a second in the others. Calls of a team
/// without a secret are not signed. Needs the role admin.
#[utoipa::path(
    operation_id = "revokeSigningSecret", tag = "signing",
    params(("id" = String, Path, description = "The secret")),
    responses((status = 204, description = "The secret signs no more"), Refusals, Missing),
)]
#[delete("/v1/signing/secrets/{id}")]
pub(super) async fn revoke_signing_secret(caller: Caller, id: web::Path<String>) -> Reply {
    let id = id.parse().or(Err(Error::Missing { noun: "signing secret" }))?;
    signing::revoke(&caller.ctx, &caller.who, id).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Say why a call verifies or not
///
/// Judges a captured call by the secrets of the team and, if the job is still there, by the payload
/// that was sent: a wrong or ended secret, an old stamp, an altered or re-serialised body, another
/// team's call. Tells no secret and makes no signature.
#[utoipa::path(
    operation_id = "verifyCall", tag = "signing", request_body = VerifyRequest,
    responses(
        (status = 200, description = "What was found", body = VerdictView),
        Refusals, BodyRefusals,
        (status = 409, description = "This server keeps no secrets",
         content_type = "application/problem+json", body = crate::wire::problem::ProblemView),
    ),
)]
#[post("/v1/signing/verify")]
pub(super) async fn verify_call(caller: Caller, body: Body) -> Reply {
    let call = read_call(body.json()?)?;
    let parts = (call.headers.as_slice(), call.body.as_slice());
    let found = signing::judge(&caller.ctx, &caller.who, parts, call.tolerance).await?;
    let reason = |(code, detail): (&str, String)| ReasonView { code: code.to_owned(), detail };
    Ok(HttpResponse::Ok().json(VerdictView {
        verified: found.reasons.is_empty(),
        signed_by: found.by.map(|id| id.to_string()),
        reasons: found.reasons.into_iter().map(reason).collect(),
    }))
}

/// Public keys of a team
///
/// What targets check the `v1a` signatures of a team's calls with, as a JSON Web Key Set. Asks nobody who
/// they are. The answer for a team that has no such key and for one that there is not is the same: no
/// keys. It may be kept for five minutes, so let a rotation overlap for longer than that.
#[utoipa::path(
    operation_id = "listPublicKeys", tag = "signing", security(()),
    params(("team" = String, Path, description = "The team's slug")),
    responses(
        (status = 200, description = "The keys that sign now", body = PublicKeys,
         headers(("Cache-Control" = String, description = "For how long the answer may be kept"))),
        Missing,
        (status = 500, description = "A fault of ours.",
         content_type = "application/problem+json", body = crate::wire::problem::ProblemView),
        (status = 503, description = "The database cannot be reached just now.",
         content_type = "application/problem+json", body = crate::wire::problem::ProblemView),
    ),
)]
#[get("/.well-known/axle-signing-keys/{team}")]
pub(super) async fn list_public_keys(engine: Engine, team: web::Path<String>) -> Reply {
    let no_name = |_| Problem::new("not-found", "No team can have this name.");
    let team = Team::parse(&team).map_err(no_name)?;
    let found = signing::public_keys(&engine.0, &team).await?;
    let view = |signing: &Signing| {
        signing.public_key.map(|key| PublicKeyView {
            kid: signing.id.to_string(),
            kty: "OKP",
            crv: "Ed25519",
            x: key.x(),
            purpose: "sig",
            whpk: key.to_string(),
        })
    };
    let keys = PublicKeys { keys: found.iter().filter_map(view).collect() };
    Ok(HttpResponse::Ok().insert_header(("Cache-Control", PUBLIC)).json(keys))
}

/// How long public keys may be kept, by anybody.
const PUBLIC: &str = "public, max-age=300";

/// With the secret the first time; what is kept, and replayed, has none.
fn show_once(answer: Answer<Made>) -> HttpResponse {
    match answer {
        Answer::Fresh(made, _) => {
            let secret = made.text().map(|text| text.expose().to_owned());
            let shown = view_new(&made, secret);
            HttpResponse::Created().insert_header(("Location", COLLECTION)).json(shown)
        }
        replayed @ Answer::Replayed(_) => reply(replayed),
    }
}

fn keep(made: &Made) -> Kept {
    kept(201, Some(COLLECTION.to_owned()), &view_new(made, None))
}

fn view_new(made: &Made, secret: Option<String>) -> NewSigningView {
    let SigningView {
        id,
        queue,
        kind,
        public_key,
        state,
        hash,
        created_by,
        created_at,
        expires_at,
    } = view(&made.signing);
    let signs_from = instant(made.signs_from);
    NewSigningView {
        id,
        queue,
        kind,
        public_key,
        state,
        hash,
        created_by,
        created_at,
        expires_at,
        secret,
        signs_from,
    }
}

fn view(signing: &Signing) -> SigningView {
    SigningView {
        id: signing.id.to_string(),
        queue: signing.queue.clone(),
        kind: signing.kind.as_str(),
        public_key: signing.public_key.map(|key| key.to_string()),
        state: match signing.state {
            SigningState::Current => "current",
            SigningState::Retiring => "retiring",
            SigningState::Ended => "ended",
        },
        hash: format!("{MASKED}{}", signing.mask),
        created_by: signing.created_by.clone(),
        created_at: instant(signing.created_at),
        expires_at: signing.expires_at.map(instant),
    }
}
