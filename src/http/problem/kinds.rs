//! The registry of problems: every kind that an answer of 400 and above can be. A test compares it with
//! the OpenAPI document and the pages.

use crate::http::signing;

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
    /// Its `type`, if that is registered elsewhere; else it is the address of its page.
    pub uri: Option<&'static str>,
}

pub(in crate::http) const fn kind(
    (code, status, retryable): (&'static str, u16, bool),
    title: &'static str,
    hint: &'static str,
) -> Kind {
    Kind { code, status, title, hint, retryable, uri: None }
}

/// The team writes faster than it may. The type is that of the IETF's draft on rate limits.
pub(super) const OVER_RATE: Kind = Kind {
    uri: Some("https://iana.org/assignments/http-problem-types#quota-exceeded"),
    ..kind(
        ("quota-exceeded", 429, true),
        "The team's rate is used up",
        "Wait as long as Retry-After says, and send no faster than RateLimit-Policy allows; an \
         installation admin can raise the rate.",
    )
};

/// The team has as much of something as it may have. A code with two statuses: only of a rate can be
/// said when to come back.
pub(super) const OVER_QUOTA: Kind = kind(
    ("quota-exceeded", 409, true),
    "A quota of the team is used up",
    "Let jobs finish or cancel some, delete schedules, or ask an installation admin for more: \
     GET /v1/teams/{team}/quotas shows what is used.",
);

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
        ("login-failed", 401, false),
        "The sign-in failed",
        "Check the e-mail address and the password, or sign in again for a new refresh token.",
    ),
    kind(
        ("bad-run-token", 401, false),
        "The token of the callback URL is wrong",
        "Post to the Axle-Callback-Url of this run exactly as it was sent.",
    ),
    kind(
        ("forbidden", 403, false),
        "The caller may not do this",
        "Ask for a token with a higher role: viewer reads, writer registers, operator runs by hand; or \
         for a key that reaches the queue.",
    ),
    kind(
        ("role-too-high", 403, false),
        "The role is more than you may give away",
        "Choose a role that may do nothing that you may not, or have somebody with a higher role do it.",
    ),
    kind(
        ("team-suspended", 403, false),
        "The team is suspended",
        "Ask whoever runs this installation; owners may still read.",
    ),
    kind(
        ("other-team", 403, false),
        "The token is for another team",
        "Leave Axle-Team out, or sign in to that team: POST /v1/login with its slug. GET /v1/teams lists \
         yours.",
    ),
    kind(
        ("team-not-chosen", 403, false),
        "The token is for several teams",
        "Send Axle-Team: <slug> with one of the teams that the token is for.",
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
    kind(
        ("team-exists", 409, false),
        "The team exists",
        "Choose another slug, or PATCH /v1/teams/{team}.",
    ),
    kind(("last-owner", 409, false), "A team keeps an owner", "Make somebody else an owner first."),
    kind(
        ("invitation-ended", 409, false),
        "The invitation is not open",
        "Ask whoever manages the team for a new one; each can be accepted once, within a week.",
    ),
    kind(
        ("login-unavailable", 409, false),
        "People cannot sign in here",
        "Use a token of the issuer that this server trusts; AXLE_JWT_SECRET would let people sign in.",
    ),
    kind(("key-ended", 409, false), "The key has ended", "Make a new one: POST /v1/keys."),
    signing::KEY_MISSING,
    signing::CONFLICT,
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
        ("expired", 410, false),
        "It is not kept any more",
        "Keep what you need of finished jobs, or ask an owner of the team for a longer retention_ms; \
         GET /v1/teams/{team} shows it.",
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
        ("too-many-tries", 429, true),
        "Too many attempts to sign in",
        "Wait as long as Retry-After says.",
    ),
    OVER_QUOTA,
    OVER_RATE,
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

/// For what is not in the registry; a test knows that nothing is missing.
pub(super) const INTERNAL: &Kind =
    &kind(("internal", 500, true), "A fault of ours", "Report it with the request_id.");
