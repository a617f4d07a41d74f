//! Every kind is one, and every error of the engine has its kind.

use super::*;

#[test]
fn kinds_are_distinct_and_use_only_the_statuses_of_conventions() {
    const STATUSES: [u16; 13] = [400, 401, 403, 404, 405, 406, 409, 410, 412, 413, 415, 422, 428];
    for (n, kind) in KINDS.iter().enumerate() {
        let name = |kind: &Kind| (kind.code, kind.status);
        assert!(KINDS.iter().skip(n + 1).all(|other| name(other) != name(kind)), "{}", kind.code);
        assert!(STATUSES.contains(&kind.status) || [429, 500, 503].contains(&kind.status));
        assert!(!kind.hint.is_empty() && !kind.title.ends_with('.'));
    }
}

#[test]
fn every_engine_error_has_its_own_kind() {
    let id = "job_01KB9YQ6Z4F0R8M3T1C5W7X2V0".parse().unwrap();
    let state = crate::domain::state::State::Success;
    let schedule = "sch_01KB9YQ6Z4F0R8M3T1C5W7X2V0".parse().unwrap();
    let stopped = crate::domain::schedule::record::ScheduleState::Ended;
    let errors = [
        (Error::Invalid(Invalid::one("#", "x", "y")), "validation-failed"),
        (Error::Invalid(Invalid::one("#", "too-large", "y")), "payload-too-large"),
        (Error::Invalid(Invalid::one("#", "target-forbidden", "y")), "target-forbidden"),
        (Error::Unauthenticated(AuthError::Missing), "unauthenticated"),
        (Error::Unauthenticated(AuthError::KeysUnavailable), "database-unavailable"),
        (Error::Denied { role: "viewer", act: "write" }, "forbidden"),
        (Error::Missing { noun: "job" }, "not-found"),
        (Error::Missing { noun: "run" }, "run-unknown"),
        (Error::Refused { id, state, wanted: "cancelled" }, "illegal-transition"),
        (
            Error::RefusedSchedule { id: schedule, state: stopped, wanted: "resumed" },
            "illegal-transition",
        ),
        (Error::NameTaken { existing: schedule }, "name-taken"),
        (Error::InUse { noun: "calendar", by: "nightly".into() }, "calendar-in-use"),
        (Error::Duplicate { existing: id }, "duplicate-key"),
        (Error::KeyReused, "idempotency-key-reused"),
        (Error::KeyInFlight, "idempotency-key-in-flight"),
        (Error::KeyMissing, "idempotency-key-missing"),
        (Error::ConditionMissing, "precondition-required"),
        (Error::ConditionFailed { current: "\"1\"".into() }, "version-conflict"),
        (Error::SecretKeyMissing, "secret-key-missing"),
        (Error::SigningConflict("x"), "signing-secret-conflict"),
        (Error::BadRunToken, "bad-run-token"),
        (Error::StaleRun { cancel_requested: true }, "stale-run"),
        (Error::Unauthenticated(AuthError::BadLogin), "login-failed"),
        (Error::Unauthenticated(AuthError::BadRefresh), "login-failed"),
        (Refusal::KeyEnded.into(), "key-ended"),
        (Refusal::RoleTooHigh { own: "admin", given: "owner" }.into(), "role-too-high"),
        (Refusal::TeamExists("acme".into()).into(), "team-exists"),
        (Refusal::TeamSuspended("unpaid".into()).into(), "team-suspended"),
        (Refusal::OtherTeam("acme".into()).into(), "other-team"),
        (Refusal::LastOwner.into(), "last-owner"),
        (Refusal::InvitationEnded.into(), "invitation-ended"),
        (Refusal::LoginUnavailable.into(), "login-unavailable"),
        (Refusal::TooManyTries { retry_after_s: 3 }.into(), "too-many-tries"),
        (Error::Busy("x".into()), "database-unavailable"),
        (Error::Broken("x".into()), "internal"),
    ];
    for (error, code) in errors {
        let view = Problem::from(error).view("/p", "req_1");
        assert_eq!(view.code, code);
        assert_eq!(view.kind, format!("/problems/{code}"));
    }
}

#[test]
fn a_quota_is_named_and_only_a_rate_says_when_to_come_back() {
    let rate = Refusal::OverRate { rate: 10, retry_after_s: 3 };
    let problem = Problem::from(Error::from(rate));
    let view = problem.view("/v1/jobs", "req_1");
    assert_eq!(view.kind, "https://iana.org/assignments/http-problem-types#quota-exceeded");
    assert_eq!((view.status, view.code.as_str()), (429, "quota-exceeded"));
    assert_eq!(view.violated_policies, ["team-write"]);
    assert_eq!(problem.respond("/", "r").headers().get("retry-after").unwrap(), "3");

    let stock = Refusal::OverQuota { quota: Quota::Schedules, limit: 5, used: 5, more: 1 };
    let problem = Problem::from(Error::from(stock));
    let view = problem.view("/v1/schedules", "req_1");
    assert_eq!((view.status, view.kind.as_str()), (409, "/problems/quota-exceeded"));
    assert_eq!(view.violated_policies, ["team-schedules"]);
    assert!(view.detail.contains("schedules") && view.detail.contains("5 of 5"), "{}", view.detail);
    assert!(problem.respond("/", "r").headers().get("retry-after").is_none());
}

#[test]
fn what_is_ours_is_not_told() {
    let view = Problem::from(Error::Broken("password=hunter2".into())).view("/", "r");
    assert!(!serde_json::to_string(&view).unwrap().contains("hunter2"));
}
