//! The frame of the OpenAPI document; the operations bring the rest.

use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
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
        (name = "server", description = "The server itself"),
    ),
    security(("bearer" = [])),
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
                "A JWT with the claims `team`, `sub`, `role` (admin, operator, writer, viewer) and \
                 `exp`.",
            ))
            .build();
        document
            .components
            .get_or_insert_default()
            .add_security_scheme("bearer", SecurityScheme::Http(scheme));
    }
}

/// What every operation that needs a token may answer.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "only the derived document is used")]
pub(super) enum Refusals {
    /// The request is malformed.
    #[response(status = 400, content_type = "application/problem+json")]
    Malformed(ProblemView),
    /// The caller is not known.
    #[response(status = 401, content_type = "application/problem+json")]
    Unauthenticated(ProblemView),
    /// The caller's role does not allow this.
    #[response(status = 403, content_type = "application/problem+json")]
    Forbidden(ProblemView),
    /// A fault of ours.
    #[response(status = 500, content_type = "application/problem+json")]
    Internal(ProblemView),
    /// The database cannot be reached just now.
    #[response(status = 503, content_type = "application/problem+json")]
    Unavailable(ProblemView),
}

/// What every operation with a body may answer besides.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "only the derived document is used")]
pub(super) enum BodyRefusals {
    /// The body is too large.
    #[response(status = 413, content_type = "application/problem+json")]
    TooLarge(ProblemView),
    /// The body's media type is not taken here.
    #[response(status = 415, content_type = "application/problem+json")]
    MediaType(ProblemView),
    /// Some values cannot be accepted; all faults are named.
    #[response(status = 422, content_type = "application/problem+json")]
    Invalid(ProblemView),
}

/// What every operation that changes something may answer besides.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "only the derived document is used")]
pub(super) enum Conflict {
    /// The state, a unique key or an idempotency key stands against it.
    #[response(status = 409, content_type = "application/problem+json")]
    Conflict(ProblemView),
}

/// What every operation on a thing with an id may answer besides.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "only the derived document is used")]
pub(super) enum Missing {
    /// There is no such thing in the caller's team.
    #[response(status = 404, content_type = "application/problem+json")]
    Missing(ProblemView),
}
