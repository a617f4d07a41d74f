//! One sentence for people: what will happen to a job next, or why it waits, or how it ended.

use chrono::{DateTime, SecondsFormat, Utc};

use super::breaker::Deferral;
use super::job::{Job, Reason};
use super::state::State;

/// What happens next, as seen at `now`.
pub fn next_step(job: &Job, now: DateTime<Utc>) -> String {
    let standing = &job.standing;
    match job.state() {
        State::Waiting => "waits for an earlier job of its schedule to finish".into(),
        State::Pending | State::RetryWait if standing.held => {
            // Which of the two, the row does not say; whoever is suspended has been told.
            let queue = &job.asked.queue;
            format!("waits: the queue {queue:?} is paused, or the team suspended, until that ends")
        }
        State::Pending | State::RetryWait if is_deferred(job, now) => deferred(job),
        State::Pending => format!("attempt 1 {}", start(job, now)),
        State::RetryWait => format!("{} {}: {}", which(job), start(job, now), last_error(job)),
        State::Running => running(job),
        State::Success => "nothing: it succeeded".into(),
        State::Cancelled if standing.reason == Some(Reason::Superseded) => {
            "nothing: a later fire of its schedule took its place".into()
        }
        State::Cancelled => "nothing: it was cancelled; run it again with rerun".into(),
        State::Failed => format!("nothing: {}; run it again with rerun", failed(job)),
    }
}

/// Which attempt waits: a retry of the business budget, or a repeated call of the dispatch budget.
fn which(job: &Job) -> String {
    let retry = &job.asked.spec.retry;
    if job.standing.attempt == 0 {
        let failures = job.standing.failures;
        return format!("call {} of {}", failures + 1, retry.max_dispatch_retries + 1);
    }
    format!("retry {} of {}", job.standing.attempt, retry.max_retries)
}

fn start(job: &Job, now: DateTime<Utc>) -> String {
    match job.standing.next_attempt_at {
        Some(at) if at > now => format!("at {}", instant(at)),
        _ => "as soon as a puller is free".into(),
    }
}

/// Whether it waits for its target and not for its own time.
fn is_deferred(job: &Job, now: DateTime<Utc>) -> bool {
    job.standing.deferred.is_some() && job.standing.next_attempt_at.is_some_and(|at| at > now)
}

fn deferred(job: &Job) -> String {
    let at = job.standing.next_attempt_at.map(instant).unwrap_or_default();
    match job.standing.deferred {
        Some(Deferral::Unreachable) => {
            format!("waits: its target is not reachable; next try at {at}; no attempt is charged")
        }
        Some(Deferral::Ceiling) | None => {
            format!("waits: its target has as many calls as it may have; next try at {at}")
        }
    }
}

fn running(job: &Job) -> String {
    let standing = &job.standing;
    let deadline = standing.deadline_at.map(instant);
    match (standing.accepted_at, deadline) {
        (Some(at), Some(deadline)) => format!(
            "the target accepted it at {}; its callback is awaited until {deadline}",
            instant(at)
        ),
        _ => format!("attempt {} is being made: the target's answer is awaited", standing.attempt),
    }
}

fn last_error(job: &Job) -> String {
    let Some(last) = &job.standing.last else { return "the run was handed back".into() };
    match &last.error {
        // Its message is the whole story.
        Some(error) if error.class == "http_status" => error.message.clone(),
        Some(error) => format!("{} ({})", error.message, error.class),
        None => format!("the last run was {}", last.state.as_str()),
    }
}

fn failed(job: &Job) -> String {
    let retry = &job.asked.spec.retry;
    match job.standing.reason {
        Some(Reason::RetriesExhausted) => {
            format!(
                "all {} attempts failed, the last because {}",
                retry.max_attempts(),
                last_error(job)
            )
        }
        Some(Reason::TargetUnreachable) => {
            format!(
                "{} calls could not reach the target: {}",
                job.standing.failures,
                last_error(job)
            )
        }
        Some(Reason::NoRetry) => {
            format!("the target said that no retry can help ({})", last_error(job))
        }
        Some(Reason::TargetForbidden) => format!("no call was made: {}", last_error(job)),
        Some(Reason::Expired) => "it did not start before its start_deadline".into(),
        Some(Reason::LeaseLost) => "three runs in a row went silent".into(),
        Some(Reason::ByUser | Reason::Superseded) | None => "it failed".into(),
    }
}

fn instant(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Secs, true)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::id::{JobId, Shard};
    use super::super::job::{Completion, Due, NewJob, OnDuplicate, Spec, Target};
    use super::super::principal::Team;
    use super::super::retry::RetryPolicy;
    use super::super::run::{LastRun, RunError, RunState};
    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        DateTime::parse_from_rfc3339(text).unwrap().to_utc()
    }

    fn job() -> Job {
        let target = Target {
            url: "http://x/".into(),
            method: "POST".into(),
            headers: vec![],
            secret_headers: vec![],
        };
        let new = NewJob {
            name: None,
            queue: "mail".into(),
            spec: Spec {
                target,
                content_type: "application/json".into(),
                json: true,
                timeout_ms: 1,
                completion: Completion::Response,
                heartbeat_timeout_ms: None,
                retry: RetryPolicy::default(),
            },
            payload: bytes::Bytes::new(),
            due: Due::At(None),
            priority: 5,
            start_deadline: None,
            unique_key: None,
            on_duplicate: OnDuplicate::Existing,
            owner_service: None,
            tags: BTreeMap::new(),
            rerun_of: None,
            fire: None,
        };
        let now = at("2026-11-30T14:00:00Z");
        let team = Team::parse("acme").unwrap();
        Job::registered(JobId::new(now, Shard(1), 1), team, &new, (now, now))
    }

    #[test]
    fn it_says_what_and_when_and_why() {
        let now = at("2026-11-30T14:00:00Z");
        let mut job = job();
        assert_eq!(next_step(&job, now), "attempt 1 as soon as a puller is free");
        job.standing.state = Some(State::RetryWait);
        job.standing.attempt = 2;
        job.standing.next_attempt_at = Some(at("2026-11-30T14:03:20Z"));
        job.standing.last = Some(LastRun {
            state: RunState::Failed,
            http_status: Some(503),
            error: Some(RunError::new("http_status", "the target answered 503")),
            result: None,
        });
        let expected = "retry 2 of 3 at 2026-11-30T14:03:20Z: the target answered 503";
        assert_eq!(next_step(&job, now), expected);
        job.standing.attempt = 0;
        job.standing.failures = 4;
        job.standing.last = Some(LastRun {
            state: RunState::Failed,
            http_status: None,
            error: Some(RunError::new("connect", "connection refused")),
            result: None,
        });
        let expected = "call 5 of 11 at 2026-11-30T14:03:20Z: connection refused (connect)";
        assert_eq!(next_step(&job, now), expected);
        job.standing.deferred = Some(Deferral::Unreachable);
        let expected = "waits: its target is not reachable; next try at 2026-11-30T14:03:20Z; \
                        no attempt is charged";
        assert_eq!(next_step(&job, now), expected);
        job.standing.held = true;
        assert_eq!(
            next_step(&job, now),
            "waits: the queue \"mail\" is paused, or the team suspended, until that ends"
        );
    }

    #[test]
    fn every_state_and_reason_has_a_sentence() {
        let now = at("2026-11-30T14:00:00Z");
        for state in State::ALL {
            let mut job = job();
            job.standing.state = Some(state);
            for reason in
                [None, Some(Reason::Expired), Some(Reason::LeaseLost), Some(Reason::NoRetry)]
            {
                job.standing.reason = reason;
                assert!(next_step(&job, now).len() > 10, "{state:?} {reason:?}");
            }
        }
    }
}
