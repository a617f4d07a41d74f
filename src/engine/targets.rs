//! Which targets calls are held back from, for people to see. Every puller tells what it has learned,
//! when one of its breakers moves and every few seconds while one is not closed; whoever asks is shown
//! what all of them have told lately. Nothing here decides about a call.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::sleep;

use super::breaker::Targets;
use super::error::{allow, allow_everywhere};
use super::{Ctx, Error, clock};
use crate::domain::principal::{Act, Principal};
use crate::domain::throttled::{Phase, Throttled};
use crate::store::targets;
use crate::telemetry::metrics as names;

/// How often what is held back is said again.
const PERIOD: Duration = Duration::from_secs(3);
/// How long what was said is good: two repeats may fail.
const GOOD: Duration = Duration::from_secs(10);
/// When a breaker moves, how long to wait for others to move, so that many cost one statement.
const GATHER: Duration = Duration::from_millis(200);
/// Rows of dead pullers that are dropped at a time.
const PRUNED: i64 = 1_000;
/// The most targets that one puller tells of.
const MOST: usize = 1_000;

/// Tells what one puller holds back.
pub struct Teller {
    ctx: Ctx,
    puller: String,
    targets: Arc<Targets>,
    /// Whether anything that it has told may still stand.
    has_told: AtomicBool,
}

impl Teller {
    /// Of the puller of this name, which has told nothing yet.
    pub fn new(ctx: Ctx, puller: String, targets: Arc<Targets>) -> Self {
        Self { ctx, puller, targets, has_told: AtomicBool::new(false) }
    }

    /// Waits until there may be something new to tell.
    pub async fn news(&self) {
        self.targets.moved().await;
        sleep(GATHER).await;
    }

    /// Tells what is held back now, and takes back what is not any more. While there is nothing, and
    /// was nothing, the database is not asked.
    pub async fn step(&self) -> Result<Duration, Error> {
        let now = self.ctx.clock.now();
        let throttled = self.targets.throttled(now, MOST);
        let count = u32::try_from(throttled.len()).unwrap_or(u32::MAX);
        metrics::gauge!(names::TARGET_THROTTLED).set(f64::from(count));
        if throttled.is_empty() && !self.has_told.load(Ordering::Relaxed) {
            return Ok(PERIOD);
        }
        self.has_told.store(true, Ordering::Relaxed);
        let session = self.ctx.store.session().await?;
        targets::tell(&session, &self.puller, &throttled, clock::after(now, GOOD)).await?;
        targets::forget(&session, &self.puller, &throttled).await?;
        targets::prune(&session, now, PRUNED).await?;
        self.has_told.store(!throttled.is_empty(), Ordering::Relaxed);
        Ok(PERIOD)
    }
}

/// A target, as all pullers that hold calls back from it see it.
#[derive(Clone, Debug)]
pub struct Target {
    /// Host and port.
    pub name: String,
    /// What each puller says, by the puller's name; at least one.
    pub pullers: Vec<(String, Throttled)>,
}

impl Target {
    /// The worst that a puller says of it.
    pub fn phase(&self) -> Phase {
        let phases = self.pullers.iter().map(|(_, throttled)| throttled.phase);
        phases.max().unwrap_or(Phase::Closed)
    }
}

/// A page of the targets of the caller's team that calls are held back from, by name, after one if it
/// is given; and whether there are more.
pub async fn list(
    ctx: &Ctx,
    who: &Principal,
    (after, limit): (Option<&str>, usize),
) -> Result<(Vec<Target>, bool), Error> {
    allow(who, Act::Read)?;
    allow_everywhere(who, "targets")?;
    let one_more = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let now = ctx.clock.now();
    let rows = targets::list(&ctx.store, &who.team, now, (after, one_more)).await?;
    let mut found: Vec<Target> = Vec::new();
    for (puller, throttled) in rows {
        match found.last_mut() {
            Some(last) if last.name == throttled.target => last.pullers.push((puller, throttled)),
            _ => {
                let name = throttled.target.clone();
                found.push(Target { name, pullers: vec![(puller, throttled)] });
            }
        }
    }
    let more = found.len() > limit;
    found.truncate(limit);
    Ok((found, more))
}
