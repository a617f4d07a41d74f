//! Every error on the wire: one registry of kinds, one exhaustive match from the engine's errors,
//! one shape (RFC 9457). Errors of the web framework come through the same door.

mod kinds;

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, ResponseError};

pub(super) use kinds::kind;
pub use kinds::{KINDS, Kind};

use crate::domain::invalid::{Fault, Invalid};
use crate::domain::quota::Quota;
use crate::engine::auth::AuthError;
use crate::engine::{Error, Refusal};
use crate::wire::problem::{FaultView, ProblemView};
use kinds::INTERNAL;

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
    /// How long to wait, in seconds.
    retry_after_s: Option<u64>,
    /// The methods for a 405.
    allow: Option<String>,
    /// The policy that stands against it.
    violated: Option<&'static str>,
}

impl Problem {
    /// A problem of a kind of the registry, with what happened this time.
    pub fn new(code: &'static str, detail: impl Into<String>) -> Self {
        // `internal` is the kind for what is not in the registry; a test knows that none is missing.
        let kind = KINDS.iter().find(|kind| kind.code == code);
        Self::of_kind(kind.unwrap_or(INTERNAL), detail)
    }

    fn of_kind(kind: &'static Kind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), more: Box::default() }
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
            kind: kind.uri.map_or_else(|| format!("/problems/{}", kind.code), str::to_owned),
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
            violated_policies: self.more.violated.map(str::to_owned).into_iter().collect(),
        }
    }

    /// The answer, for a request of this path and id.
    pub fn respond(&self, instance: &str, request_id: &str) -> HttpResponse {
        let mut answer = HttpResponse::build(self.status_code());
        answer.content_type("application/problem+json");
        match self.kind.code {
            "unauthenticated" | "bad-run-token" | "login-failed" => {
                answer.insert_header(("WWW-Authenticate", "Bearer error=\"invalid_token\""));
            }
            "database-unavailable" | "idempotency-key-in-flight" => {
                answer.insert_header(("Retry-After", "1"));
            }
            _ => {}
        }
        if let Some(wait) = self.more.retry_after_s {
            answer.insert_header(("Retry-After", wait));
        }
        if let Some(allow) = &self.more.allow {
            answer.insert_header(("Allow", allow.as_str()));
        }
        answer.body(serde_json::to_string(&self.view(instance, request_id)).unwrap_or_default())
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let detail = error.to_string();
        match error {
            Error::Invalid(invalid) => Self::from(invalid),
            Error::Unauthenticated(AuthError::KeysUnavailable) => {
                Self::new("database-unavailable", detail)
            }
            Error::Unauthenticated(AuthError::BadLogin | AuthError::BadRefresh) => {
                Self::new("login-failed", detail)
            }
            Error::Unauthenticated(AuthError::ManyTeams | AuthError::NoneOfItsTeams) => {
                Self::new("team-not-chosen", detail)
            }
            Error::Unauthenticated(_) => Self::new("unauthenticated", detail),
            Error::Denied { .. } | Error::Beyond { .. } => Self::new("forbidden", detail),
            Error::Missing { noun: "run" } => Self::new("run-unknown", detail),
            Error::Missing { .. } => Self::new("not-found", detail),
            Error::Expired { .. } => Self::new("expired", detail),
            Error::Refused { .. } | Error::RefusedSchedule { .. } => {
                Self::new("illegal-transition", detail)
            }
            Error::NameTaken { existing } => Self::new("name-taken", detail)
                .with(|more| more.existing_id = Some(existing.to_string())),
            Error::InUse { .. } => Self::new("calendar-in-use", detail),
            Error::TakenElsewhere("name") => Self::new("name-taken", detail),
            Error::TakenElsewhere(_) => Self::new("duplicate-key", detail),
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
            Error::Against(refusal) => Self::against(&refusal, detail),
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

impl Problem {
    fn against(refusal: &Refusal, detail: String) -> Self {
        match refusal {
            Refusal::OverRate { retry_after_s, .. } => Self::of_kind(&kinds::OVER_RATE, detail)
                .with(|more| {
                    more.retry_after_s = Some(*retry_after_s);
                    more.violated = Some(Quota::WritesPerSecond.policy());
                }),
            Refusal::OverQuota { quota, .. } => Self::of_kind(&kinds::OVER_QUOTA, detail)
                .with(|more| more.violated = Some(quota.policy())),
            Refusal::TooManyTries { retry_after_s } => Self::new(refusal.code(), detail)
                .with(|more| more.retry_after_s = Some(*retry_after_s)),
            Refusal::KeyEnded
            | Refusal::RoleTooHigh { .. }
            | Refusal::TeamExists(_)
            | Refusal::TeamSuspended(_)
            | Refusal::OtherTeam(_)
            | Refusal::LastOwner
            | Refusal::InvitationEnded
            | Refusal::LoginUnavailable => Self::new(refusal.code(), detail),
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
