//! Every error on the wire: one registry of kinds, one exhaustive match from the engine's errors,
//! one shape (RFC 9457). Errors of the web framework come through the same door.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, ResponseError};

use crate::domain::invalid::{Fault, Invalid};
use crate::engine::Error;
use crate::engine::auth::AuthError;
use crate::wire::problem::{FaultView, ProblemView};

/// A kind of problem: its code is the last part of its `type`, and the path of its page.
#[derive(Debug, PartialEq, Eq)]
pub struct Kind {
    /// Stable, for machines.
    pub code: &'static str,
    /// The status code.
    pub status: u16,
    /// The kind, in words; never varies.
    pub title: &'static str,
    /// What to do about it.
    pub hint: &'static str,
    /// Whether the same request may succeed later.
    pub retryable: bool,
}

pub(super) const fn kind(
    (code, status, retryable): (&'static str, u16, bool),
    title: &'static str,
    hint: &'static str,
) -> Kind {
    Kind { code, status, title, hint, retryable }
}

/// Every kind. A test compares this list with the OpenAPI document and the pages.
pub const KINDS: &[Kind] = &[
    kind(
        ("invalid-json", 400, false),
        "The body is not JSON",
        "Send one JSON value in UTF-8, and nothing after it.",
    ),
    kind(
        ("invalid-cursor", 400, false),
        "The cursor is not one of this list",
        "Use the next_cursor of the page before, with the same filters, or start without a cursor.",
    ),
    kind(
        ("malformed-request", 400, false),
        "The request is malformed",
        "See the detail; the OpenAPI document at /openapi.json describes every request.",
    ),
    kind(
        ("idempotency-key-missing", 400, false),
        "An Idempotency-Key is needed",
        "Send the header Idempotency-Key with a value of your own for this one action.",
    ),
    kind(
        ("unauthenticated", 401, false),
        "The caller is not known",
        "Send Authorization: Bearer with an API key or a token of this installation; `axle token` makes one.",
    ),
    kind(
        ("bad-run-token", 401, false),
        "The token of the callback URL is wrong",
        "Post to the Axle-Callback-Url of this run exactly as it was sent.",
    ),
    kind(
        ("forbidden", 403, false),
        "The caller's role does not allow this",
        "Ask for a token with a higher role: viewer reads, writer registers, operator runs by hand.",
    ),
    kind(
        ("role-too-high", 403, false),
        "The role is more than you may give away",
        "Choose a role that may do nothing that you may not, or have somebody with a higher role do it.",
    ),
    kind(
        ("not-found", 404, false),
        "There is nothing here",
        "Check the id and the team of your token; what belongs to another team is not shown.",
    ),
    kind(
        ("run-unknown", 404, false),
        "There is no such run",
        "Check the run id; runs are kept as long as their job.",
    ),
    kind(
        ("method-not-allowed", 405, false),
        "The method is not allowed here",
        "See the header Allow.",
    ),
    kind(
        ("illegal-transition", 409, false),
        "The job's state does not allow this",
        "A finished job stays as it is: POST /v1/jobs/{id}/rerun makes a new one of it. A running one \
         can only be cancelled.",
    ),
    kind(
        ("duplicate-key", 409, false),
        "An unfinished job has this unique key",
        "Wait until it has finished, cancel it, or leave on_duplicate at \"existing\" to get it.",
    ),
    kind(
        ("name-taken", 409, false),
        "A schedule of this name exists",
        "PUT /v1/schedules/{name} creates or changes by name; or choose another name.",
    ),
    kind(
        ("calendar-in-use", 409, false),
        "A schedule uses the calendar",
        "Take the calendar out of the schedule's exclude first, or empty its dates.",
    ),
    kind(("key-ended", 409, false), "The key has ended", "Make a new one: POST /v1/keys."),
    super::signing::KEY_MISSING,
    super::signing::CONFLICT,
    kind(
        ("idempotency-key-in-flight", 409, true),
        "The first request with this key is still at work",
        "Repeat the request after a second; it will get the first one's answer.",
    ),
    kind(
        ("stale-run", 409, false),
        "The run is no longer current",
        "Stop working on it: nothing that it reports changes the job any more.",
    ),
    kind(
        ("version-conflict", 412, false),
        "The thing has changed since it was read",
        "Read it again, decide again, and send its present ETag in If-Match.",
    ),
    kind(
        ("payload-too-large", 413, false),
        "The body is too large",
        "Store large data elsewhere and send a link; AXLE_MAX_PAYLOAD sets the limit.",
    ),
    kind(
        ("unsupported-media-type", 415, false),
        "The body's media type is not taken here",
        "Send Content-Type: application/json (or application/merge-patch+json for PATCH).",
    ),
    kind(
        ("validation-failed", 422, false),
        "Some values cannot be accepted",
        "Mend every entry of errors; each has a pointer to the value.",
    ),
    kind(
        ("target-forbidden", 422, false),
        "The target may not be called from here",
        "See errors for the rule, and for the setting with which the installation's operator can allow \
         it.",
    ),
    kind(
        ("idempotency-key-reused", 422, false),
        "The Idempotency-Key came with another request",
        "Use a new key for a new request; a key belongs to one path and one body for a day.",
    ),
    kind(
        ("precondition-required", 428, false),
        "The change needs a condition",
        "Send If-Match with the ETag that you last read, or If-Match: * to change whatever is there.",
    ),
    kind(
        ("internal", 500, true),
        "A fault of ours",
        "Report it with the request_id. Repeating is safe with the same Idempotency-Key.",
    ),
    kind(
        ("database-unavailable", 503, true),
        "The database cannot be reached just now",
        "Repeat the request after the seconds in Retry-After, with the same Idempotency-Key.",
    ),
];

/// An error on its way to the wire.
#[derive(Debug)]
pub struct Problem {
    kind: &'static Kind,
    detail: String,
    more: Box<More>,
}

/// What only some kinds have.
#[derive(Debug, Default)]
struct More {
    faults: Vec<Fault>,
    current_etag: Option<String>,
    existing_id: Option<String>,
    cancel_requested: Option<bool>,
    /// The methods for a 405.
    allow: Option<String>,
}

impl Problem {
    /// A problem of a kind of the registry, with what happened this time.
    pub fn new(code: &'static str, detail: impl Into<String>) -> Self {
        // `internal` is the kind for what is not in the registry; a test knows that none is missing.
        let kind = KINDS.iter().find(|kind| kind.code == code);
        Self { kind: kind.unwrap_or(&INTERNAL), detail: detail.into(), more: Box::default() }
    }

    /// The same, naming the methods that are allowed.
    #[must_use]
    pub fn allowing(mut self, methods: String) -> Self {
        self.more.allow = Some(methods);
        self
    }

    /// The problem of a status that the framework chose.
    pub fn of_status(status: StatusCode, detail: impl Into<String>) -> Self {
        let code = match status.as_u16() {
            404 => "not-found",
            405 => "method-not-allowed",
            413 => "payload-too-large",
            415 => "unsupported-media-type",
            400..500 => "malformed-request",
            _ => "internal",
        };
        Self::new(code, detail)
    }

    fn with(mut self, fill: impl FnOnce(&mut More)) -> Self {
        fill(&mut self.more);
        self
    }

    /// What stands on the wire.
    pub fn view(&self, instance: &str, request_id: &str) -> ProblemView {
        let kind = self.kind;
        let fault = |fault: &Fault| FaultView {
            pointer: fault.pointer.clone(),
            code: fault.code.to_owned(),
            detail: fault.detail.clone(),
        };
        ProblemView {
            kind: format!("/problems/{}", kind.code),
            title: kind.title.to_owned(),
            status: kind.status,
            detail: self.detail.clone(),
            instance: instance.to_owned(),
            code: kind.code.to_owned(),
            request_id: request_id.to_owned(),
            retryable: kind.retryable,
            hint: kind.hint.to_owned(),
            errors: self.more.faults.iter().map(fault).collect(),
            current_etag: self.more.current_etag.clone(),
            existing_id: self.more.existing_id.clone(),
            cancel_requested: self.more.cancel_requested,
        }
    }

    /// The answer, for a request of this path and id.
    pub fn respond(&self, instance: &str, request_id: &str) -> HttpResponse {
        let mut answer = HttpResponse::build(self.status_code());
        answer.content_type("application/problem+json");
        match self.kind.code {
            "unauthenticated" | "bad-run-token" => {
                answer.insert_header(("WWW-Authenticate", "Bearer error=\"invalid_token\""));
            }
            "database-unavailable" | "idempotency-key-in-flight" => {
                answer.insert_header(("Retry-After", "1"));
            }
            _ => {}
        }
        if let Some(allow) = &self.more.allow {
            answer.insert_header(("Allow", allow.as_str()));
        }
        answer.body(serde_json::to_string(&self.view(instance, request_id)).unwrap_or_default())
    }
}

const INTERNAL: Kind = kind(("internal", 500, true), "A fault of ours", "Report it.");

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let detail = error.to_string();
        match error {
            Error::Invalid(invalid) => Self::from(invalid),
            Error::Unauthenticated(AuthError::KeysUnavailable) => {
                Self::new("database-unavailable", detail)
            }
            Error::Unauthenticated(_) => Self::new("unauthenticated", detail),
            Error::Denied { .. } => Self::new("forbidden", detail),
            Error::Missing { noun: "run" } => Self::new("run-unknown", detail),
            Error::Missing { .. } => Self::new("not-found", detail),
            Error::Refused { .. } | Error::RefusedSchedule { .. } => {
                Self::new("illegal-transition", detail)
            }
            Error::NameTaken { existing } => Self::new("name-taken", detail)
                .with(|more| more.existing_id = Some(existing.to_string())),
            Error::InUse { .. } => Self::new("calendar-in-use", detail),
            Error::Duplicate { existing } => Self::new("duplicate-key", detail)
                .with(|more| more.existing_id = Some(existing.to_string())),
            Error::KeyReused => Self::new("idempotency-key-reused", detail),
            Error::KeyInFlight => Self::new("idempotency-key-in-flight", detail),
            Error::KeyMissing => Self::new("idempotency-key-missing", detail),
            Error::ConditionMissing => Self::new("precondition-required", detail),
            Error::ConditionFailed { current } => {
                Self::new("version-conflict", detail).with(|more| more.current_etag = Some(current))
            }
            Error::SecretKeyMissing => Self::new("secret-key-missing", detail),
            Error::SigningConflict(_) => Self::new("signing-secret-conflict", detail),
            Error::BadRunToken => Self::new("bad-run-token", detail),
            Error::StaleRun { cancel_requested } => Self::new("stale-run", detail)
                .with(|more| more.cancel_requested = Some(cancel_requested)),
            Error::Against(refusal) => Self::new(refusal.code(), detail),
            Error::Busy(cause) => {
                // The cause is ours to know; the caller learns when to come back.
                tracing::warn!(cause, "the database is busy or away");
                Self::new("database-unavailable", "The database did not answer in time.")
            }
            Error::Broken(cause) => {
                tracing::error!(cause, "a request failed");
                Self::new("internal", "The request could not be done.")
            }
        }
    }
}

impl From<Invalid> for Problem {
    fn from(invalid: Invalid) -> Self {
        let detail = match invalid.0.as_slice() {
            [one] => format!("{}: {}", one.pointer, one.detail),
            many => format!("{} values cannot be accepted; see errors.", many.len()),
        };
        // A payload over the limit is told apart, so that a caller can act on the status alone; and a
        // target that the guard refuses, where there is nothing to mend in the request.
        let all = |code: &str| invalid.0.iter().all(|fault| fault.code == code);
        let code = match invalid.0.len() {
            1 if all("too-large") => "payload-too-large",
            1.. if all("target-forbidden") => "target-forbidden",
            _ => "validation-failed",
        };
        Self::new(code, detail).with(|more| more.faults = invalid.0)
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.kind.code, self.detail)
    }
}

impl ResponseError for Problem {
    fn status_code(&self) -> StatusCode {
        StatusCode::from_u16(self.kind.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// Without a path and an id; `envelope` writes it again with both.
    fn error_response(&self) -> HttpResponse {
        self.respond("", "")
    }
}

#[cfg(test)]
mod tests;
