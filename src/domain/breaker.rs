//! The breaker of one target: when calls to it are held back, and when it is tried again.
//!
//! Pure: it is told the time, what each call said of its target, and a random number. It counts only
//! what speaks of the target as a whole; a job that fails by itself is the retry policy's business.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

/// So many calls in a row must say that the target is not there before it is left alone.
pub const OPENS_AFTER: u32 = 5;
/// How long it is left alone the first time; twice as long after every probe that fails.
pub const FIRST_PAUSE: Duration = Duration::from_secs(2);
/// The longest pause that we choose.
pub const LONGEST_PAUSE: Duration = Duration::from_mins(1);
/// The longest that a target's own `Retry-After` is obeyed for everybody who calls it; the job that
/// was answered obeys it by its own policy.
pub const LONGEST_ASKED: Duration = Duration::from_mins(10);
/// A probe that nobody has told of for so long is given up: its puller's call is over by then.
const PROBE_PATIENCE: Duration = Duration::from_mins(1);

/// What a call said of its target as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// It answered: it is there.
    Answered,
    /// No connection came about.
    Unreached,
    /// It answered 429 or 503: it wants to be left alone, for so long if it said.
    Overloaded(Option<Duration>),
    /// Nothing came in time, or the connection broke: it may be the target or the job.
    Silent,
}

/// Where a breaker stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stand {
    /// Calls go through.
    Closed,
    /// None do until then.
    Open(DateTime<Utc>),
    /// One is on its way to see whether the target is back; begun then.
    Probing(DateTime<Utc>),
}

/// Whether a call may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    /// It may.
    Go,
    /// It may, and what comes of it decides for the others.
    Probe,
    /// It must wait, until then at least.
    Wait(DateTime<Utc>),
}

/// Why a claimed job was given back without a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deferral {
    /// Its target's breaker is open.
    Unreachable,
    /// Its target has as many calls as it may have.
    Ceiling,
}

impl Deferral {
    /// The word used in SQL and as a label.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unreachable => "target_unreachable",
            Self::Ceiling => "target_ceiling",
        }
    }

    /// The deferral of that word.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Unreachable, Self::Ceiling].into_iter().find(|why| why.as_str() == word)
    }
}

/// The breaker of one target.
#[derive(Clone, Copy, Debug)]
pub struct Breaker {
    stand: Stand,
    /// Bad signs in a row.
    bad: u32,
    /// The last pause, so that the next is longer.
    pause: Duration,
}

impl Default for Breaker {
    fn default() -> Self {
        Self { stand: Stand::Closed, bad: 0, pause: Duration::ZERO }
    }
}

impl Breaker {
    /// Where it stands.
    pub fn stand(&self) -> Stand {
        self.stand
    }

    /// Whether it has nothing to remember.
    pub fn is_idle(&self) -> bool {
        self.stand == Stand::Closed && self.bad == 0
    }

    /// Asks for a call. When the pause is over the first to ask is the probe; everybody else waits
    /// until it is decided, and for at least as long as the next pause would be, so that a target
    /// that comes back is not met by all who waited (and one that does not costs few claims).
    pub fn ask(&mut self, now: DateTime<Utc>) -> Leave {
        match self.stand {
            Stand::Closed => Leave::Go,
            Stand::Open(until) if now < until => Leave::Wait(until),
            Stand::Probing(since) if now < after(since, PROBE_PATIENCE) => {
                Leave::Wait(after(now, self.pause))
            }
            Stand::Open(_) | Stand::Probing(_) => {
                self.stand = Stand::Probing(now);
                Leave::Probe
            }
        }
    }

    /// Learns what a call said; `random` is uniform in 0..1. Calls that began before it opened may
    /// still tell of the target: only an answer closes it again, and only the probe's failure opens
    /// it for longer.
    pub fn tell(&mut self, sign: Sign, was_probe: bool, now: DateTime<Utc>, random: f64) {
        match sign {
            Sign::Answered => *self = Self::default(),
            Sign::Silent if !was_probe => {}
            Sign::Unreached | Sign::Overloaded(_) | Sign::Silent => {
                self.bad = self.bad.saturating_add(1);
                let is_open = self.stand != Stand::Closed;
                if was_probe || (!is_open && self.bad >= OPENS_AFTER) {
                    self.open(sign, now, random);
                } else if let (Stand::Open(until), Sign::Overloaded(Some(asked))) =
                    (self.stand, sign)
                {
                    self.stand = Stand::Open(until.max(after(now, asked.min(LONGEST_ASKED))));
                }
            }
        }
    }

    /// Takes back the leave of a probe whose call was not made.
    pub fn withdraw(&mut self, now: DateTime<Utc>) {
        if let Stand::Probing(_) = self.stand {
            self.stand = Stand::Open(now);
        }
    }

    fn open(&mut self, sign: Sign, now: DateTime<Utc>, random: f64) {
        self.pause = (self.pause * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE);
        let asked = match sign {
            Sign::Overloaded(asked) => asked.unwrap_or_default().min(LONGEST_ASKED),
            Sign::Answered | Sign::Unreached | Sign::Silent => Duration::ZERO,
        };
        // Up to a quarter more, so that several pullers do not probe together.
        let pause = self.pause.max(asked).mul_f64(1.0 + random / 4.0);
        self.stand = Stand::Open(after(now, pause));
    }
}

fn after(at: DateTime<Utc>, time: Duration) -> DateTime<Utc> {
    TimeDelta::from_std(time).ok().and_then(|time| at.checked_add_signed(time)).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: DateTime<Utc> = DateTime::UNIX_EPOCH;

    fn at(secs: u64) -> DateTime<Utc> {
        after(START, Duration::from_secs(secs))
    }

    /// One that has just opened, at the start.
    fn open() -> Breaker {
        let mut breaker = Breaker::default();
        for _ in 0..OPENS_AFTER {
            assert_eq!(breaker.ask(START), Leave::Go);
            breaker.tell(Sign::Unreached, false, START, 0.0);
        }
        breaker
    }

    #[test]
    fn it_opens_on_failures_in_a_row_and_an_answer_breaks_the_row() {
        let mut breaker = Breaker::default();
        for _ in 0..3 {
            for _ in 1..OPENS_AFTER {
                breaker.tell(Sign::Unreached, false, START, 0.0);
            }
            breaker.tell(Sign::Answered, false, START, 0.0);
            assert!(breaker.is_idle());
        }
        for _ in 0..100 {
            breaker.tell(Sign::Silent, false, START, 0.0);
        }
        assert_eq!(breaker.ask(START), Leave::Go, "what may be the job's own fault does not count");
        assert_eq!(open().ask(START), Leave::Wait(at(2)));
    }

    #[test]
    fn one_probe_goes_and_decides() {
        let mut breaker = open();
        assert_eq!(breaker.ask(at(2)), Leave::Probe);
        assert_eq!(breaker.ask(at(2)), Leave::Wait(at(4)), "one at a time");
        breaker.tell(Sign::Unreached, true, at(3), 0.0);
        assert_eq!(breaker.ask(at(3)), Leave::Wait(at(7)), "twice as long");
        assert_eq!(breaker.ask(at(7)), Leave::Probe);
        breaker.tell(Sign::Silent, true, at(8), 0.0);
        assert_eq!(breaker.stand(), Stand::Open(at(16)), "a probe must be answered");
        assert_eq!(breaker.ask(at(16)), Leave::Probe);
        breaker.tell(Sign::Answered, true, at(16), 0.0);
        assert_eq!((breaker.ask(at(16)), breaker.is_idle()), (Leave::Go, true));
    }

    #[test]
    fn pauses_grow_to_a_bound_and_are_spread() {
        let mut breaker = open();
        let mut now = at(2);
        for _ in 0..20 {
            assert_eq!(breaker.ask(now), Leave::Probe);
            breaker.tell(Sign::Unreached, true, now, 1.0);
            let Stand::Open(until) = breaker.stand() else { panic!("it is open") };
            assert!(until - now <= TimeDelta::seconds(75));
            now = until;
        }
        let Leave::Probe = breaker.ask(now) else { panic!("due") };
        breaker.tell(Sign::Unreached, true, now, 0.5);
        assert_eq!(breaker.stand(), Stand::Open(now + TimeDelta::milliseconds(67_500)));
    }

    #[test]
    fn a_target_that_says_when_is_obeyed_within_bounds() {
        let mut breaker = Breaker::default();
        let asked = Sign::Overloaded(Some(Duration::from_secs(90)));
        for _ in 0..OPENS_AFTER {
            breaker.tell(asked, false, START, 0.0);
        }
        assert_eq!(breaker.stand(), Stand::Open(at(90)));
        let later = Sign::Overloaded(Some(Duration::from_secs(100)));
        breaker.tell(later, false, START, 0.0);
        assert_eq!(breaker.stand(), Stand::Open(at(100)), "a call that was under way says more");
        breaker.tell(Sign::Overloaded(Some(Duration::MAX)), false, START, 0.0);
        assert_eq!(breaker.stand(), Stand::Open(at(600)));
    }

    #[test]
    fn a_probe_that_was_not_sent_or_never_told_makes_room_for_another() {
        let mut breaker = open();
        assert_eq!(breaker.ask(at(2)), Leave::Probe);
        breaker.withdraw(at(3));
        assert_eq!(breaker.ask(at(3)), Leave::Probe);
        assert_eq!(breaker.ask(at(62)), Leave::Wait(at(64)));
        assert_eq!(breaker.ask(at(63)), Leave::Probe);
    }

    #[test]
    fn a_late_answer_of_an_earlier_call_closes_it_and_late_failures_change_nothing() {
        let mut breaker = open();
        for _ in 0..10 {
            breaker.tell(Sign::Unreached, false, at(1), 0.0);
        }
        assert_eq!(breaker.stand(), Stand::Open(at(2)));
        breaker.tell(Sign::Answered, false, at(1), 0.0);
        assert_eq!(breaker.ask(at(1)), Leave::Go);
    }
}
