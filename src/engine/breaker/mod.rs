//! What this puller knows of its targets: how many calls each has under way, and its breaker.
//!
//! A target is a team's host and port, so that no team can close another's. It never decides about a
//! job: one that may not be called now is given back as it was, with a later due time. Nothing here
//! outlives the process or is decided for another; every puller learns for itself, and `targets` only
//! tells what it has learned.

mod known;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::sync::Notify;
use tokio::time::Instant;
use url::Url;

use super::settle::News;
use super::{clock, random};
use crate::domain::breaker::{Deferral, Leave, Sign, Stand};
use crate::domain::principal::Team;
use crate::domain::throttled::{Phase, Throttled};
use crate::domain::verdict::Outcome;
use crate::telemetry::metrics as names;
use known::Known;

/// How many targets are remembered. Beyond them a new one is called without a breaker and a ceiling,
/// until others are forgotten.
const MOST: usize = 10_000;
/// How long a job that found its target at its ceiling waits at least.
const CEILING_WAIT: Duration = Duration::from_millis(50);

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

    /// The number alone.
    pub fn most(self) -> usize {
        let (Self::Hard(most) | Self::Share(most)) = self;
        most
    }
}

/// Every target that this puller has called lately.
#[derive(Debug)]
pub struct Targets {
    ceiling: Ceiling,
    known: Mutex<HashMap<Arc<Key>, Known>>,
    /// Told whenever a breaker moves.
    moved: Notify,
}

/// A team's host and port.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Key {
    team: Team,
    host: String,
    port: u16,
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
        Arc::new(Self { ceiling, known: Mutex::default(), moved: Notify::new() })
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
        let Some(key) = key(team, url) else { return Ok(call(None, false)) };
        let mut known = self.known();
        if known.len() >= MOST && !known.contains_key(&key) {
            known.retain(|_, target| !target.is_idle());
            if known.len() >= MOST {
                return Ok(call(None, false));
            }
        }
        let key = Arc::new(key);
        let target = known.entry(Arc::clone(&key)).or_default();
        let leave = if target.is_full(self.ceiling, started) {
            target.was_full(now);
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
                    self.tell_of_move(&known);
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

    /// The targets that calls are held back from just now, at most `most` of them: those whose
    /// breaker is not closed come before those that are only at their ceiling.
    pub fn throttled(&self, now: DateTime<Utc>, most: usize) -> Vec<(Team, Throttled)> {
        let known = self.known();
        let told = known.iter().filter_map(|(key, target)| {
            let name = || format!("{}:{}", key.host, key.port);
            Some((key.team.clone(), target.throttled(name, self.ceiling, now)?))
        });
        let mut told: Vec<_> = told.collect();
        drop(known);
        told.sort_by_key(|(_, target)| target.phase == Phase::Closed);
        told.truncate(most);
        told
    }

    /// Waits until a breaker has moved since the last time.
    pub async fn moved(&self) {
        self.moved.notified().await;
    }

    fn tell_of_move(&self, known: &HashMap<Arc<Key>, Known>) {
        gauge(known);
        self.moved.notify_one();
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
        let (before, stand) = target.learn((sign, news), (self.number.0, self.is_probe), now);
        if stand != before {
            self.targets.tell_of_move(&known);
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
            self.targets.moved.notify_one();
        }
        if target.is_idle() && known.len() > MOST / 2 {
            known.remove(key);
        }
    }
}

/// How many breakers stand how: the states are few and the targets are not named.
fn gauge(known: &HashMap<Arc<Key>, Known>) {
    let mut counts = BTreeMap::from([(Phase::Open, 0_u32), (Phase::HalfOpen, 0)]);
    for target in known.values() {
        if let Some(count) = counts.get_mut(&Phase::from(target.breaker.stand())) {
            *count += 1;
        }
    }
    for (phase, count) in counts {
        metrics::gauge!(names::BREAKERS, "state" => phase.as_str()).set(f64::from(count));
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
}
