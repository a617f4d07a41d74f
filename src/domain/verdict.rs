//! From what happened to what follows: the one place where a run's outcome becomes its job's next
//! state. The puller's answer, the callback and the sweep all go through [`decide`].

use std::time::Duration;

use super::job::Reason;
use super::retry::RetryPolicy;
use super::run::RunState;

/// How a run ended: a fact about the target, never an error of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A 2xx answer in response mode, or a callback that says so.
    Succeeded,
    /// Another answer, a broken connection, or a callback that says so.
    Failed {
        /// Whether the target left room for another attempt.
        retryable: bool,
        /// How long it asked us to wait.
        retry_after: Option<Duration>,
    },
    /// No answer, or no callback, in time.
    TimedOut,
    /// The call failed before the target had the request: no name, no route, refused, no TLS.
    Unreached,
    /// The guard refuses the target: no call was made, and none will be.
    Forbidden,
    /// Neither the puller nor the target was heard of in time.
    Lost,
}

/// What a job has used up when a run ends, that run included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spent {
    /// Attempts, from 1.
    pub attempt: i32,
    /// Calls before this one that could not reach the target.
    pub failures: i32,
    /// Runs before this one that were lost, in a row.
    pub lost: i32,
}

/// What follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The job is done.
    Succeed,
    /// Another run after `delay`, with these counters.
    Retry {
        /// How long to wait.
        delay: Duration,
        /// What the job will have spent.
        spent: Spent,
    },
    /// The job is given up.
    Fail(Reason),
}

/// A run that goes silent three times in a row is taken for one that kills its puller.
pub const LOST_LIMIT: i32 = 3;

impl Outcome {
    /// The final state of the run.
    pub const fn run_state(self) -> RunState {
        match self {
            Self::Succeeded => RunState::Success,
            Self::Failed { .. } | Self::Unreached | Self::Forbidden => RunState::Failed,
            Self::TimedOut => RunState::Timeout,
            Self::Lost => RunState::Lost,
        }
    }

    /// The word in metrics (conventions 2.9).
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "success",
            Self::Failed { .. } => "failed",
            Self::TimedOut => "timeout",
            Self::Unreached | Self::Forbidden => "dispatch_failed",
            Self::Lost => "lost",
        }
    }
}

/// Decides. `random` is uniform in 0..1 and only spreads the delay.
pub fn decide(policy: &RetryPolicy, spent: Spent, outcome: Outcome, random: f64) -> Verdict {
    match outcome {
        Outcome::Succeeded => Verdict::Succeed,
        Outcome::Failed { retryable: false, .. } => Verdict::Fail(Reason::NoRetry),
        Outcome::Failed { retryable: true, retry_after } => {
            let wait = retry_after.map(|asked| policy.asked(asked));
            again(policy, Spent { lost: 0, ..spent }, wait, random)
        }
        Outcome::TimedOut => again(policy, Spent { lost: 0, ..spent }, None, random),
        Outcome::Unreached => unreached(policy, spent, random),
        Outcome::Forbidden => Verdict::Fail(Reason::TargetForbidden),
        Outcome::Lost if spent.lost + 1 >= LOST_LIMIT => Verdict::Fail(Reason::LeaseLost),
        Outcome::Lost => again(policy, Spent { lost: spent.lost + 1, ..spent }, None, random),
    }
}

/// The business budget.
fn again(policy: &RetryPolicy, spent: Spent, wait: Option<Duration>, random: f64) -> Verdict {
    let attempt = u32::try_from(spent.attempt).unwrap_or(1);
    if attempt >= policy.max_attempts() {
        return Verdict::Fail(Reason::RetriesExhausted);
    }
    Verdict::Retry { delay: wait.unwrap_or_else(|| policy.delay(attempt, random)), spent }
}

/// The dispatch budget: the attempt that the claim charged is given back.
fn unreached(policy: &RetryPolicy, spent: Spent, random: f64) -> Verdict {
    let failures = spent.failures.saturating_add(1);
    let nth = u32::try_from(failures).unwrap_or(u32::MAX);
    if nth > policy.max_dispatch_retries {
        return Verdict::Fail(Reason::TargetUnreachable);
    }
    let spent = Spent { attempt: spent.attempt - 1, failures, lost: 0 };
    Verdict::Retry { delay: policy.dispatch_delay(nth, random), spent }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAILED: Outcome = Outcome::Failed { retryable: true, retry_after: None };

    /// Plays `outcomes` one after another and returns the waits and the end.
    fn play(policy: &RetryPolicy, outcomes: &[Outcome]) -> (Vec<u64>, Option<Verdict>) {
        let mut spent = Spent { attempt: 0, failures: 0, lost: 0 };
        let mut waits = Vec::new();
        for &outcome in outcomes {
            spent.attempt += 1; // the claim
            match decide(policy, spent, outcome, 0.5) {
                Verdict::Retry { delay, spent: after } => {
                    waits.push(delay.as_secs());
                    spent = after;
                }
                end @ (Verdict::Succeed | Verdict::Fail(_)) => return (waits, Some(end)),
            }
        }
        (waits, None)
    }

    #[test]
    fn three_retries_then_exhausted() {
        let (waits, end) = play(&RetryPolicy::default(), &[FAILED; 9]);
        assert_eq!(waits, [30, 60, 120]);
        assert_eq!(end, Some(Verdict::Fail(Reason::RetriesExhausted)));
    }

    #[test]
    fn the_two_budgets_are_apart() {
        let policy = RetryPolicy { max_dispatch_retries: 2, ..RetryPolicy::default() };
        let outcomes = [Outcome::Unreached, FAILED, Outcome::Unreached, FAILED, Outcome::Unreached];
        let (waits, end) = play(&policy, &outcomes);
        assert_eq!(waits, [1, 30, 2, 60]);
        assert_eq!(end, Some(Verdict::Fail(Reason::TargetUnreachable)));
    }

    #[test]
    fn lost_three_times_in_a_row_ends_the_job_and_any_news_starts_the_count_again() {
        let policy = RetryPolicy { max_retries: 20, ..RetryPolicy::default() };
        let [l, f] = [Outcome::Lost, FAILED];
        assert_eq!(play(&policy, &[l, l, l]).1, Some(Verdict::Fail(Reason::LeaseLost)));
        assert_eq!(play(&policy, &[l, l, f, l, l, Outcome::TimedOut, l, l]).1, None);
        assert_eq!(play(&policy, &[l, l, f, l, l, l]).1, Some(Verdict::Fail(Reason::LeaseLost)));
    }

    #[test]
    fn what_the_target_says_is_heard_within_the_cap() {
        let policy = RetryPolicy { cap_ms: 50_000, ..RetryPolicy::default() };
        let asked = |secs| Outcome::Failed {
            retryable: true,
            retry_after: Some(Duration::from_secs(secs)),
        };
        assert_eq!(play(&policy, &[asked(7), asked(0), asked(86_400)]).0, [7, 0, 50]);
        let no = Outcome::Failed { retryable: false, retry_after: None };
        assert_eq!(play(&policy, &[no]).1, Some(Verdict::Fail(Reason::NoRetry)));
    }

    #[test]
    fn no_retries_means_one_attempt() {
        let policy =
            RetryPolicy { max_retries: 0, max_dispatch_retries: 0, ..RetryPolicy::default() };
        assert_eq!(play(&policy, &[FAILED]).1, Some(Verdict::Fail(Reason::RetriesExhausted)));
        let forbidden = play(&RetryPolicy::default(), &[Outcome::Forbidden]);
        assert_eq!(forbidden, (vec![], Some(Verdict::Fail(Reason::TargetForbidden))));
        let unreached = play(&policy, &[Outcome::Unreached]).1;
        assert_eq!(unreached, Some(Verdict::Fail(Reason::TargetUnreachable)));
    }
}
