//! What is known of one target: its calls under way, its breaker, how fast it is, and why calls to it
//! are held back. It knows neither its name nor anybody else's.

use std::collections::BTreeSet;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::time::Instant;

use super::Ceiling;
use crate::domain::breaker::{Breaker, Sign, Stand};
use crate::domain::run::RunError;
use crate::domain::throttled::{Phase, Throttled};
use crate::engine::settle::News;
use crate::engine::{clock, random};

/// A target that is well may have more calls than its share while none of them is older than this.
const QUICK: Duration = Duration::from_secs(1);
/// How far behind each other jobs of one target that were given back come due, at least and at most.
const STEP: (Duration, Duration) = (Duration::from_millis(1), Duration::from_secs(1));
/// The same when nothing is known of how long its calls take.
const FIRST_STEP: Duration = Duration::from_millis(20);
/// How far the last of many is put off; further ones are spread over the same time.
const FARTHEST: Duration = Duration::from_mins(1);
/// A target at its ceiling counts as held back for so long after a job of it was.
const FULL: Duration = Duration::from_secs(6);

#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) breaker: Breaker,
    /// Calls under way: when each began, with a number to tell them apart.
    pub(super) calls: BTreeSet<(Instant, u64)>,
    /// Whether the last call that told anything was answered.
    is_well: bool,
    /// How long its calls take, on average over the last few.
    took: Option<Duration>,
    /// When the last job that was given back comes due.
    last_due: Option<DateTime<Utc>>,
    /// When its breaker left the closed state.
    opened_at: Option<DateTime<Utc>>,
    /// What the last call that spoke against it said.
    trouble: Option<(Option<RunError>, Option<i32>)>,
    /// From when to when jobs found it at its ceiling, without a longer break.
    full: Option<(DateTime<Utc>, DateTime<Utc>)>,
}

impl Known {
    pub(super) fn is_idle(&self) -> bool {
        self.calls.is_empty() && self.breaker.is_idle()
    }

    /// Whether it has as many calls as it may. A healthy target shares in all permits: they come back
    /// at once. One that is slow or was never heard of keeps to its share, so that it cannot hold them
    /// all.
    pub(super) fn is_full(&self, ceiling: Ceiling, now: Instant) -> bool {
        let oldest = self.calls.first().map(|(began, _)| now.duration_since(*began));
        match ceiling {
            Ceiling::Hard(most) => self.calls.len() >= most,
            Ceiling::Share(share) => {
                let is_quick = self.is_well && oldest.is_none_or(|age| age < QUICK);
                self.calls.len() >= share && !is_quick
            }
        }
    }

    /// When the next job that is given back comes due: one after the other, about as fast as the
    /// target takes them, so that they neither come all at once nor are claimed in vain.
    pub(super) fn next_due(&mut self, base: DateTime<Utc>, ceiling: Ceiling) -> DateTime<Utc> {
        let most = u32::try_from(ceiling.most()).unwrap_or(u32::MAX).max(1);
        let step = self.took.map_or(FIRST_STEP, |took| (took / most).clamp(STEP.0, STEP.1));
        let next = self.last_due.map_or(base, |last| clock::after(last, step).max(base));
        if next > clock::after(base, FARTHEST) {
            return clock::after(base, FARTHEST.mul_f64(random::unit()));
        }
        self.last_due = Some(next);
        next
    }

    /// Notes that a job found it at its ceiling.
    pub(super) fn was_full(&mut self, now: DateTime<Utc>) {
        let since = self.full.filter(|(_, last)| now < clock::after(*last, FULL));
        self.full = Some((since.map_or(now, |(since, _)| since), now));
    }

    /// Learns what a call said, which began at `began`. Returns where the breaker stood before and
    /// where it stands.
    pub(super) fn learn(
        &mut self,
        (sign, news): (Sign, &News),
        (began, is_probe): (Instant, bool),
        now: DateTime<Utc>,
    ) -> (Stand, Stand) {
        let before = self.breaker.stand();
        self.breaker.tell(sign, is_probe, now, random::unit());
        self.is_well = sign == Sign::Answered;
        let took = began.elapsed();
        self.took = Some(self.took.map_or(took, |before| (before * 7 + took) / 8));
        match (sign, news) {
            (Sign::Answered, _) => self.trouble = None,
            // May be the job's own fault.
            (Sign::Silent, _) if !is_probe => {}
            (_, News::Ended { report, .. }) => {
                self.trouble = Some((report.error.clone(), report.http_status));
            }
            (_, News::Accepted(_) | News::HandedBack(_) | News::Deferred(..)) => {}
        }
        let stand = self.breaker.stand();
        self.opened_at = match stand {
            Stand::Closed => None,
            Stand::Open(_) | Stand::Probing(_) => self.opened_at.or(Some(now)),
        };
        (before, stand)
    }

    /// What there is to say of the target of this name, if calls to it are held back.
    pub(super) fn throttled(
        &self,
        target: impl Fn() -> String,
        ceiling: Ceiling,
        now: DateTime<Utc>,
    ) -> Option<Throttled> {
        let stand = self.breaker.stand();
        let full = self.full.filter(|(_, last)| now < clock::after(*last, FULL));
        let since = self.opened_at.or(full.map(|(since, _)| since))?;
        let trouble = self.trouble.clone().filter(|_| stand != Stand::Closed);
        let (error, http_status) = trouble.unwrap_or_default();
        let count = |count| i32::try_from(count).unwrap_or(i32::MAX);
        Some(Throttled {
            target: target(),
            phase: Phase::from(stand),
            since,
            error,
            http_status,
            probe_at: if let Stand::Open(until) = stand { Some(until) } else { None },
            in_flight: count(self.calls.len()),
            ceiling: count(ceiling.most()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_may_be_exceeded_only_by_a_target_that_is_well() {
        let mut known = Known::default();
        let now = Instant::now();
        known.calls = (0..4).map(|nth| (now, nth)).collect();
        assert!(known.is_full(Ceiling::new(None, 16), now), "never heard of");
        known.is_well = true;
        assert!(!known.is_full(Ceiling::new(None, 16), now));
        assert!(known.is_full(Ceiling::new(None, 16), now + QUICK), "it has become slow");
        assert!(known.is_full(Ceiling::new(Some(3), 16), now), "an operator's word is final");
        assert_eq!(Ceiling::new(None, 1), Ceiling::Share(1));
    }

    #[test]
    fn those_given_back_come_due_one_after_the_other_and_not_for_ever() {
        let mut known = Known::default();
        let (base, ceiling) = (DateTime::UNIX_EPOCH, Ceiling::Hard(2));
        assert_eq!(known.next_due(base, ceiling), base);
        assert_eq!(known.next_due(base, ceiling), clock::after(base, FIRST_STEP));
        known.took = Some(Duration::from_secs(1));
        let half = Duration::from_millis(500);
        assert_eq!(known.next_due(base, ceiling), clock::after(base, FIRST_STEP + half));
        let last = clock::after(base, FARTHEST);
        assert!((0..10_000).all(|_| known.next_due(base, ceiling) <= last));
    }

    #[test]
    fn a_ceiling_holds_back_for_as_long_as_jobs_meet_it() {
        let mut known = Known::default();
        let (start, ceiling) = (DateTime::UNIX_EPOCH, Ceiling::Hard(2));
        let at = |secs| clock::after(start, Duration::from_secs(secs));
        let since = |known: &Known, now| {
            known.throttled(String::new, ceiling, now).map(|throttled| throttled.since)
        };
        assert_eq!(since(&known, start), None);
        for secs in [0, 5, 10] {
            known.was_full(at(secs));
        }
        assert_eq!(since(&known, at(15)), Some(start));
        assert_eq!(since(&known, at(16)), None);
        known.was_full(at(20));
        assert_eq!(since(&known, at(20)), Some(at(20)));
    }
}
