//! What this puller knows of its targets: how many calls each has under way, and its breaker.
//!
//! A target is a team's host and port, so that no team can close another's. It never decides about a
//! job: one that may not be called now is given back as it was, with a later due time. Nothing here
//! is shared between processes or outlives one; every puller learns for itself.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use reqwest::Url;
use tokio::time::Instant;

use super::settle::News;
use super::{clock, random};
use crate::domain::breaker::{Breaker, Deferral, Leave, Sign, Stand};
use crate::domain::principal::Team;
use crate::domain::verdict::Outcome;
use crate::telemetry::metrics as names;

/// How many targets are remembered. Beyond them a new one is called without a breaker and a ceiling,
/// until others are forgotten.
const MOST: usize = 10_000;
/// A target that is well may have more calls than its share while none of them is older than this.
const QUICK: Duration = Duration::from_secs(1);
/// How far behind each other jobs of one target that were given back come due, at least and at most.
const STEP: (Duration, Duration) = (Duration::from_millis(1), Duration::from_secs(1));
/// The same when nothing is known of how long its calls take.
const FIRST_STEP: Duration = Duration::from_millis(20);
/// How long a job that found its target at its ceiling waits at least.
const CEILING_WAIT: Duration = Duration::from_millis(50);
/// How far the last of many is put off; further ones are spread over the same time.
const FARTHEST: Duration = Duration::from_mins(1);

/// How many calls one target may have under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ceiling {
    /// So many and no more: an operator said so.
    Hard(usize),
    /// So many at any time, and more while it answers quickly.
    Share(usize),
}

impl Ceiling {
    /// As set, or else a quarter of the puller's concurrency.
    pub fn new(set: Option<usize>, concurrency: usize) -> Self {
        set.map_or(Self::Share((concurrency / 4).max(1)), Self::Hard)
    }
}

/// Every target that this puller has called lately.
#[derive(Debug)]
pub struct Targets {
    ceiling: Ceiling,
    known: Mutex<HashMap<Arc<Key>, Known>>,
}

/// A team's host and port.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Key {
    team: Team,
    host: String,
    port: u16,
}

#[derive(Debug, Default)]
struct Known {
    breaker: Breaker,
    /// Calls under way: when each began, with a number to tell them apart.
    calls: BTreeSet<(Instant, u64)>,
    /// Whether the last call that told anything was answered.
    is_well: bool,
    /// How long its calls take, on average over the last few.
    took: Option<Duration>,
    /// When the last job that was given back comes due.
    last_due: Option<DateTime<Utc>>,
}

/// Leave to call a target, counted until it is dropped.
#[derive(Debug)]
pub struct Call {
    targets: Arc<Targets>,
    /// None if the target is not remembered.
    key: Option<Arc<Key>>,
    number: (Instant, u64),
    is_probe: bool,
    told: bool,
    now: DateTime<Utc>,
}

/// A job that must wait: until when, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deferred {
    /// When it comes due again.
    pub due_at: DateTime<Utc>,
    /// Why.
    pub why: Deferral,
}

impl Targets {
    /// None known yet.
    pub fn new(ceiling: Ceiling) -> Arc<Self> {
        Arc::new(Self { ceiling, known: Mutex::default() })
    }

    /// Asks to call the target of a team's job.
    pub fn ask(
        self: &Arc<Self>,
        (team, url): (&Team, &str),
        now: DateTime<Utc>,
    ) -> Result<Call, Deferred> {
        let started = Instant::now();
        let number = (started, random::bits());
        let call = |key, is_probe| Call {
            targets: Arc::clone(self),
            key,
            number,
            is_probe,
            told: false,
            now,
        };
        let mut known = self.known();
        let Some(key) = key(team, url) else { return Ok(call(None, false)) };
        if known.len() >= MOST && !known.contains_key(&key) {
            known.retain(|_, target| !target.is_idle());
            if known.len() >= MOST {
                return Ok(call(None, false));
            }
        }
        let key = Arc::new(key);
        let target = known.entry(Arc::clone(&key)).or_default();
        let leave = if target.is_full(self.ceiling, started) {
            Err((clock::after(now, CEILING_WAIT), Deferral::Ceiling))
        } else {
            match target.breaker.ask(now) {
                Leave::Go => Ok(false),
                Leave::Probe => Ok(true),
                Leave::Wait(until) => Err((until, Deferral::Unreachable)),
            }
        };
        match leave {
            Ok(is_probe) => {
                target.calls.insert(number);
                if is_probe {
                    gauge(&known);
                }
                drop(known);
                Ok(call(Some(key), is_probe))
            }
            Err((base, why)) => {
                metrics::counter!(names::RUNS_DEFERRED, "reason" => why.as_str()).increment(1);
                Err(Deferred { due_at: target.next_due(base, self.ceiling), why })
            }
        }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Arc<Key>, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Call {
    /// Learns from what became of the call.
    pub fn tell(mut self, news: &News, now: DateTime<Utc>) {
        let Some(sign) = sign(news) else { return };
        self.told = true;
        self.now = now;
        let Some(key) = &self.key else { return };
        let mut known = self.targets.known();
        let Some(target) = known.get_mut(key) else { return };
        let before = target.breaker.stand();
        target.breaker.tell(sign, self.is_probe, now, random::unit());
        target.is_well = sign == Sign::Answered;
        target.learn(self.number.0.elapsed());
        let stand = target.breaker.stand();
        if stand != before {
            gauge(&known);
            // The target's name may be a secret of its team: neither a label nor a log line.
            tracing::info!(team = %key.team, ?before, ?stand, "a target's breaker moved");
            if let Stand::Open(_) = stand {
                metrics::counter!(names::BREAKERS_OPENED).increment(1);
            }
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let Some(key) = &self.key else { return };
        let mut known = self.targets.known();
        let Some(target) = known.get_mut(key) else { return };
        target.calls.remove(&self.number);
        if self.is_probe && !self.told {
            target.breaker.withdraw(self.now);
        }
        if target.is_idle() && known.len() > MOST / 2 {
            known.remove(key);
        }
    }
}

impl Known {
    fn is_idle(&self) -> bool {
        self.calls.is_empty() && self.breaker.is_idle()
    }

    /// Whether it has as many calls as it may. A healthy target shares in all permits: they come back
    /// at once. One that is slow or was never heard of keeps to its share, so that it cannot hold them
    /// all.
    fn is_full(&self, ceiling: Ceiling, now: Instant) -> bool {
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
    fn next_due(&mut self, base: DateTime<Utc>, ceiling: Ceiling) -> DateTime<Utc> {
        let (Ceiling::Hard(most) | Ceiling::Share(most)) = ceiling;
        let most = u32::try_from(most).unwrap_or(u32::MAX).max(1);
        let step = self.took.map_or(FIRST_STEP, |took| (took / most).clamp(STEP.0, STEP.1));
        let next = self.last_due.map_or(base, |last| clock::after(last, step).max(base));
        if next > clock::after(base, FARTHEST) {
            return clock::after(base, FARTHEST.mul_f64(random::unit()));
        }
        self.last_due = Some(next);
        next
    }

    fn learn(&mut self, took: Duration) {
        self.took = Some(self.took.map_or(took, |before| (before * 7 + took) / 8));
    }
}

/// How many breakers stand how: the states are few and the targets are not named.
fn gauge(known: &HashMap<Arc<Key>, Known>) {
    let mut counts = BTreeMap::from([("open", 0_u32), ("half_open", 0)]);
    for target in known.values() {
        let state = match target.breaker.stand() {
            Stand::Closed => continue,
            Stand::Open(_) => "open",
            Stand::Probing(_) => "half_open",
        };
        *counts.entry(state).or_default() += 1;
    }
    for (state, count) in counts {
        metrics::gauge!(names::BREAKERS, "state" => state).set(f64::from(count));
    }
}

/// The host and port of a URL that has them.
fn key(team: &Team, url: &str) -> Option<Key> {
    let url = Url::parse(url).ok()?;
    let host = url.host_str()?.to_owned();
    Some(Key { team: team.clone(), host, port: url.port_or_known_default()? })
}

/// What the news of a run say of its target, if anything.
fn sign(news: &News) -> Option<Sign> {
    let report = match news {
        News::Accepted(_) => return Some(Sign::Answered),
        News::HandedBack(_) | News::Deferred(..) => return None,
        News::Ended { report, .. } => report,
    };
    match (report.outcome, report.http_status) {
        (Outcome::Failed { retry_after, .. }, Some(429 | 503)) => {
            Some(Sign::Overloaded(retry_after))
        }
        (_, Some(_)) => Some(Sign::Answered),
        (Outcome::Unreached, None) => {
            // A request that could not be built, or was not allowed, has asked no target.
            let class = report.error.as_ref().map_or("", |error| &error.class);
            matches!(class, "connect" | "connect_timeout" | "dns" | "tls")
                .then_some(Sign::Unreached)
        }
        (_, None) => Some(Sign::Silent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn team(name: &str) -> Team {
        Team::parse(name).unwrap()
    }

    #[test]
    fn a_target_is_a_teams_host_and_port() {
        let targets = Targets::new(Ceiling::Hard(1));
        let (acme, now) = (team("acme"), DateTime::UNIX_EPOCH);
        let call = targets.ask((&acme, "http://h:80/a"), now).unwrap();
        assert_eq!(targets.ask((&acme, "http://H/b"), now).unwrap_err().why, Deferral::Ceiling);
        targets.ask((&acme, "https://h/a"), now).unwrap();
        targets.ask((&team("other"), "http://h/a"), now).unwrap();
        drop(call);
        targets.ask((&acme, "http://h/b"), now).unwrap();
    }

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
}
