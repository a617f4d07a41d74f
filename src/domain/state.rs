//! The state machine of a job: one table of rows, and nothing else decides where a job may go.
//!
//! The guarded statements in `store/live/*.sql` carry the same states as literals (a bound
//! parameter would defeat the partial indexes); `tests/it/state.rs` walks all states × events and
//! compares the database with this table. README.md shows [`diagram`], checked by a test.

use std::fmt::Write as _;

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Waits for other jobs.
    Waiting,
    /// Waits for its due time, or for a puller.
    Pending,
    /// Failed at least once; waits for its next attempt.
    RetryWait,
    /// Claimed by a run.
    Running,
    /// Done, and it worked. Final.
    Success,
    /// Given up, with a reason. Final.
    Failed,
    /// Stopped by its owner or by a rule. Final.
    Cancelled,
}

/// What may happen to a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// The last job it waited for has settled.
    Release,
    /// A puller takes it for one run.
    Claim,
    /// Its run succeeded.
    Succeed,
    /// Its run did not succeed and another attempt is due.
    Retry,
    /// Its run did not succeed and no attempt is left, or none may follow.
    Fail,
    /// Its start deadline passed before a run.
    Expire,
    /// Its owner, an overlap policy or a failed parent stops it.
    Cancel,
    /// A puller that stops gives back what it had not sent; no attempt is charged.
    HandBack,
}

/// One legal move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// The state that the move leaves.
    pub from: State,
    /// What happens.
    pub event: Event,
    /// The state that the move enters.
    pub to: State,
}

const fn row(from: State, event: Event, to: State) -> Move {
    Move { from, event, to }
}

/// Every legal move. `HandBack` has two rows: it returns to the state that the claim left.
pub const MOVES: &[Move] = &[
    row(State::Waiting, Event::Release, State::Pending),
    row(State::Pending, Event::Claim, State::Running),
    row(State::RetryWait, Event::Claim, State::Running),
    row(State::Running, Event::Succeed, State::Success),
    row(State::Running, Event::Retry, State::RetryWait),
    row(State::Running, Event::Fail, State::Failed),
    row(State::Running, Event::HandBack, State::Pending),
    row(State::Running, Event::HandBack, State::RetryWait),
    row(State::Pending, Event::Expire, State::Failed),
    row(State::RetryWait, Event::Expire, State::Failed),
    row(State::Waiting, Event::Cancel, State::Cancelled),
    row(State::Pending, Event::Cancel, State::Cancelled),
    row(State::RetryWait, Event::Cancel, State::Cancelled),
    row(State::Running, Event::Cancel, State::Cancelled),
];

/// The states that `event` may lead to from `from`; none if the move is illegal.
pub fn next(from: State, event: Event) -> impl Iterator<Item = State> {
    MOVES.iter().filter(move |m| m.from == from && m.event == event).map(|m| m.to)
}

impl State {
    /// Every state, in the order of a job's life.
    pub const ALL: [Self; 7] = [
        Self::Waiting,
        Self::Pending,
        Self::RetryWait,
        Self::Running,
        Self::Success,
        Self::Failed,
        Self::Cancelled,
    ];

    /// The word used in SQL, on the wire and in the documentation.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "WAITING",
            Self::Pending => "PENDING",
            Self::RetryWait => "RETRY_WAIT",
            Self::Running => "RUNNING",
            Self::Success => "SUCCESS",
            Self::Failed => "FAILED",
            Self::Cancelled => "CANCELLED",
        }
    }

    /// The state of that word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }

    /// Whether no move leaves it. A finished job is never re-opened: running again makes a new one.
    pub fn is_final(self) -> bool {
        MOVES.iter().all(|m| m.from != self)
    }
}

impl Event {
    /// Every event, in the order of the table.
    pub const ALL: [Self; 8] = [
        Self::Release,
        Self::Claim,
        Self::Succeed,
        Self::Retry,
        Self::Fail,
        Self::Expire,
        Self::Cancel,
        Self::HandBack,
    ];

    /// The verb used in function, statement and documentation names.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Claim => "claim",
            Self::Succeed => "succeed",
            Self::Retry => "retry",
            Self::Fail => "fail",
            Self::Expire => "expire",
            Self::Cancel => "cancel",
            Self::HandBack => "hand_back",
        }
    }
}

/// The table as a Mermaid state diagram, for the README.
pub fn diagram() -> String {
    let mut text = String::from("stateDiagram-v2\n    [*] --> PENDING: register\n");
    for m in MOVES {
        // Writing to a String cannot fail.
        _ = writeln!(text, "    {} --> {}: {}", m.from.as_str(), m.to.as_str(), m.event.as_str());
    }
    for state in State::ALL.into_iter().filter(|state| state.is_final()) {
        _ = writeln!(text, "    {} --> [*]", state.as_str());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_three_states_are_final() {
        let finals: Vec<_> = State::ALL.into_iter().filter(|s| s.is_final()).collect();
        assert_eq!(finals, [State::Success, State::Failed, State::Cancelled]);
    }

    #[test]
    fn a_move_has_one_end_unless_it_hands_back() {
        for from in State::ALL {
            for event in Event::ALL {
                let ends = next(from, event).count();
                assert!(ends <= 1 || event == Event::HandBack, "{from:?} {event:?}");
            }
        }
    }

    #[test]
    fn every_state_is_reached_and_its_word_read_back() {
        for state in State::ALL {
            assert_eq!(State::parse(state.as_str()), Some(state));
            assert!(state == State::Waiting || MOVES.iter().any(|m| m.to == state), "{state:?}");
        }
    }
}
