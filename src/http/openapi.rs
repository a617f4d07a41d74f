//! The frame of the OpenAPI document; the operations bring the rest.

use std::collections::BTreeMap;

use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{Content, Ref, RefOr, Response};
use utoipa::{IntoResponses, Modify, OpenApi};

use crate::wire::problem::ProblemView;

/// What the operations are put into.
pub fn base() -> utoipa::openapi::OpenApi {
    Frame::openapi()
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Axle",
        description = "An HTTP job queue and scheduler: register a job, and Axle calls its target, \
                       waits for the answer or the callback, retries, and keeps the history.\n\n\
                       Every answer of 400 and above is `application/problem+json` (RFC 9457) with \
                       a stable `code`, a `detail` and a `hint`. Requests that create or act take an \
                       `Idempotency-Key`; a repeat gets the first answer, byte for byte. Ids are \
                       opaque. Times are RFC 3339 in UTC.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    tags(
        (name = "jobs", description = "Register, read, change, cancel and run jobs"),
        (name = "runs", description = "What became of a job: its runs and its log"),
        (name = "callbacks", description = "What targets post back"),
        (name = "queues", description = "Where jobs wait"),
        (name = "targets", description = "What calls are held back from"),
        (name = "schedules", description = "What makes a job at every fire time"),
        (name = "calendars", description = "Days on which schedules rest"),
        (name = "access", description = "Who may ask, and who did what: API keys, tokens, the audit log"),
        (name = "teams", description = "Teams and the people in them"),
        (name = "login", description = "How people sign in"),
        (name = "signing", description = "What calls are signed with, and why one does not verify"),
        (name = "server", description = "The server itself"),
    ),
    security(("bearer" = [])),
    components(schemas(ProblemView)),
    modifiers(&Security),
)]
struct Frame;

struct Security;

impl Modify for Security {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let scheme = Http::builder()
            .scheme(HttpAuthScheme::Bearer)
            .bearer_format("JWT")
            .description(Some(
                "An API key (`axk_…`), or a JWT with the claims `team`, `sub`, `role` (owner, admin, \
                 operator, writer, viewer) and `exp`. What each operation takes is its `x-axle-act`: \
                 viewers may `read`, writers also `write`, operators also `operate` and `configure`, \
                 admins also `manage`, owners also `own`; only an installation admin may `install`. A request \
                 may say with the header `Axle-Team: <slug>` in which team it is made: 403 `other-team` if \
                 that is not the token's.",
            ))
            .build();
        document
            .components
            .get_or_insert_default()
            .add_security_scheme("bearer", SecurityScheme::Http(scheme));
    }
}

/// What every operation that needs a token may answer.
pub(super) struct Refusals;

impl IntoResponses for Refusals {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        problems(&[
            ("400", "The request is malformed."),
            ("401", "The caller is not known."),
            ("403", "The caller's role does not allow this."),
            ("500", "A fault of ours."),
            ("503", "The database cannot be reached just now."),
        ])
    }
}

/// What an operation answers that asks for no token, but for something that opens a door.
pub(super) struct LoginRefusals;

impl IntoResponses for LoginRefusals {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        problems(&[
            ("400", "The request is malformed."),
            ("401", "What was shown opens nothing."),
            ("409", "The server signs no tokens, or the invitation is not open."),
            ("429", "Too many attempts."),
            ("500", "A fault of ours."),
            ("503", "The database cannot be reached just now."),
        ])
    }
}

/// What every operation with a body may answer besides.
pub(super) struct BodyRefusals;

impl IntoResponses for BodyRefusals {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        problems(&[
            ("413", "The body is too large."),
            ("415", "The body's media type is not taken here."),
            ("422", "Some values cannot be accepted; all faults are named."),
        ])
    }
}

/// What every operation that changes something may answer besides.
pub(super) struct Conflict;

impl IntoResponses for Conflict {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        problems(&[("409", "The state, a unique key or an idempotency key stands against it.")])
    }
}

/// What an operation without a body may answer besides, if it takes an `Idempotency-Key`.
pub(super) struct KeyReused;

impl IntoResponses for KeyReused {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        problems(&[("422", "The Idempotency-Key came with another request.")])
    }
}

/// What every operation on a thing with an id may answer besides.
pub(super) struct Missing;

impl IntoResponses for Missing {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        problems(&[("404", "There is no such thing in the caller's team.")])
    }
}

/// The same of a job and its runs, which are not kept for ever.
pub(super) struct MissingJob;

impl IntoResponses for MissingJob {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        problems(&[
            ("404", "There is no such thing in the caller's team."),
            ("410", "By its id it is older than the team's finished jobs are kept, and not there."),
        ])
    }
}

/// What every change on a condition may answer besides.
pub(super) struct Stale;

impl IntoResponses for Stale {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        problems(&[("412", "It has changed since it was read.")])
    }
}

/// What an operation may answer besides that takes no body but a name or a query.
pub(super) struct BadParameter;

impl IntoResponses for BadParameter {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        problems(&[("422", "A parameter cannot be accepted.")])
    }
}

/// Responses that carry a problem. By reference: the derived form would repeat the schema in each.
fn problems(list: &[(&str, &str)]) -> BTreeMap<String, RefOr<Response>> {
    let problem = |(status, description): &(&str, &str)| {
        let content = Content::new(Some(Ref::from_schema_name("ProblemView")));
        let response = Response::builder()
            .description(*description)
            .content("application/problem+json", content)
            .build();
        ((*status).to_owned(), RefOr::T(response))
    };
    list.iter().map(problem).collect()
}
