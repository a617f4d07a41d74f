//! A puller: claims due jobs, has each called, and settles what came of it.
//!
//! It asks for no more jobs than it has permits to call at once, and than have become free within a
//! few milliseconds lately. What it has claimed it renews
//! until it is settled; when it stops it gives back what was not sent and waits for the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::breaker::{Call, Ceiling, Targets};
use super::ceilings::Ceilings;
use super::invoke::{Invoker, invoke};
use super::pace::Pace;
use super::rounds::Rounds;
use super::settle::{BATCH, News};
use super::settler::Settler;
use super::targets::Teller;
use super::{Ctx, Error, clock};
use crate::domain::id::{RunId, Shard};
use crate::domain::principal::Team;
use crate::store::live::{self, Claimed};
use crate::store::rounds;
use crate::telemetry::metrics as names;

/// What one puller process holds.
pub struct Puller {
    ctx: Ctx,
    /// Its name, new with every start, so that a restart is never mistaken for its predecessor
    /// (bug B064).
    name: String,
    invoker: Invoker,
    permits: Arc<Semaphore>,
    targets: Arc<Targets>,
    rounds: Mutex<Rounds>,
    next_look: Mutex<Instant>,
    rivalry: Mutex<Rivalry>,
    last: Mutex<Last>,
    ceilings: Arc<Ceilings>,
    ended: Pace,
    /// Runs that are claimed and not yet settled: their leases are renewed.
    held: Arc<Mutex<BTreeSet<RunId>>>,
    news: mpsc::Sender<News>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

/// The looks at who has something due, while there is more of it than permits.
#[derive(Default)]
struct Rivalry {
    /// When the last one ended, or when the backlog began; none while there is none.
    since: Option<Instant>,
    /// How long the last one took.
    took: Duration,
    /// Whether there were hints since: somebody may be new.
    news: bool,
    /// Where the next look goes on, if there are more teams than one can see.
    below: Option<Team>,
}

/// The last claim.
#[derive(Clone, Copy, Default)]
struct Last {
    began: Option<Instant>,
    count: usize,
}

/// How often every shard is looked at, hints or not.
const LOOK_PERIOD: Duration = Duration::from_secs(2);
/// A shard that said something was due and then gave nothing (another puller has it) rests so long.
const REST: Duration = Duration::from_millis(500);
/// While there is a backlog, how often to look who has something due; sooner after a hint.
const RIVALS_PERIOD: Duration = Duration::from_millis(40);
const RIVALS_AFTER_NEWS: Duration = Duration::from_millis(10);
/// The pause between two of these looks is at least so many times as long as the last one took: many
/// teams make them dear.
const RIVALS_PAUSE: u32 = 4;
/// When every permit was taken, how long to wait after one is free for more to become so; and, while
/// jobs come thick, how long after a small claim for more of them: many small claims cost more than one
/// larger.
const GATHER: Duration = Duration::from_millis(2);
/// Jobs come thick while so many calls end in 5 ms; claims of fewer rows than this are small; where more
/// shards than this have something due there is a backlog.
const THICK: usize = 5;
const SMALL: usize = 32;
const FEW: usize = 4;
/// How often a stopping puller looks whether it is done.
const DRAIN_PERIOD: Duration = Duration::from_millis(10);

impl Puller {
    /// A puller, and the task that writes its settles, which ends when the puller is dropped.
    pub fn new(
        ctx: Ctx,
        invoker: Invoker,
        (name, concurrency, ceiling): (String, usize, Ceiling),
        (tasks, stop): (&TaskTracker, &CancellationToken),
    ) -> Arc<Self> {
        let (news, inbox) = mpsc::channel(BATCH * 2);
        let held = Arc::new(Mutex::new(BTreeSet::new()));
        let ceilings = Arc::new(Ceilings::default());
        let settler = Settler::new(ctx.clone(), Arc::clone(&held), Arc::clone(&ceilings));
        tasks.spawn(settler.run(inbox));
        metrics::gauge!(names::INFLIGHT_RUNS_LIMIT, "target_kind" => "http")
            .set(f64::from(u32::try_from(concurrency).unwrap_or(u32::MAX)));
        Arc::new(Self {
            ctx,
            name,
            invoker,
            permits: Arc::new(Semaphore::new(concurrency)),
            targets: Targets::new(ceiling),
            rounds: Mutex::default(),
            next_look: Mutex::new(Instant::now()),
            rivalry: Mutex::default(),
            last: Mutex::default(),
            ceilings,
            ended: Pace::default(),
            held,
            news,
            tasks: tasks.clone(),
            stop: stop.clone(),
        })
    }

    /// One step: claims what is due as far as permits go, and says when to come back.
    pub async fn step(self: &Arc<Self>) -> Result<Duration, Error> {
        if self.permits.available_permits() == 0 {
            self.wait_for_permits().await;
        }
        self.look().await?;
        while !self.stop.is_cancelled() {
            self.gather().await;
            self.hear();
            let now = self.ctx.clock.now();
            let freed = self.ceilings.look(&self.ctx, now).await?;
            self.rounds().merge(freed);
            let free = self.permits.available_permits();
            if free == 0 {
                return Ok(Duration::ZERO);
            }
            let free = (free + self.ended.ahead()).min(BATCH);
            if self.rounds().earliest().is_none_or(|due_at| due_at > now) {
                *self.rivalry() = Rivalry::default();
                return Ok(self.pause(now));
            }
            self.look_at_rivals(now).await?;
            let turn = self.rounds().next(now);
            let Some((shard, start)) = turn else { return Ok(self.pause(now)) };
            self.claim((shard, start.as_ref()), free, now).await?;
        }
        Ok(Duration::ZERO)
    }

    /// Renews the leases of what is claimed and not settled. A third of a lease between two of these
    /// leaves room for two to fail.
    pub async fn renew(&self) -> Result<Duration, Error> {
        let lease = self.ctx.limits.lease;
        let lease_until = clock::after(self.ctx.clock.now(), lease);
        let mut by_shard: BTreeMap<Shard, Vec<RunId>> = BTreeMap::new();
        for run in self.held().iter() {
            by_shard.entry(run.shard()).or_default().push(*run);
        }
        for (shard, runs) in by_shard {
            for batch in runs.chunks(BATCH) {
                live::renew(&self.ctx.store, shard, batch, lease_until).await?;
            }
        }
        Ok(lease / 3)
    }

    /// Tells other processes which targets this one holds calls back from.
    pub fn teller(&self) -> Teller {
        Teller::new(self.ctx.clone(), self.name.clone(), Arc::clone(&self.targets))
    }

    /// Waits until every call has ended and is settled, at most `grace`; what is left is left to its
    /// lease. Returns whether nothing is.
    pub async fn drain(&self, grace: Duration) -> bool {
        let settled = async {
            while !self.held().is_empty() {
                sleep(DRAIN_PERIOD).await;
            }
        };
        let drained = timeout(grace, settled).await.is_ok();
        if !drained {
            let left = self.held().len();
            tracing::warn!(left, "runs still going on are left to their leases");
        }
        drained
    }

    async fn wait_for_permits(&self) {
        let gathered = async {
            // The semaphore is never closed; should it be, the next look finds no permit.
            drop(self.permits.acquire().await);
            sleep(GATHER).await;
        };
        tokio::select! {
            () = self.stop.cancelled() => {}
            () = gathered => {}
        }
    }

    /// After a small claim, while jobs come thick and no backlog is known, waits a moment for more of
    /// them.
    async fn gather(&self) {
        let Last { began: Some(began), count } = *self.last() else { return };
        if count < SMALL && self.ended.ahead() >= THICK {
            let due = self.rounds().due(self.ctx.clock.now());
            if due.len() <= FEW {
                sleep_until(began + GATHER).await;
            }
        }
    }

    /// Takes hints in.
    fn hear(&self) {
        let hints = self.ctx.wake.jobs().here.take();
        if !hints.is_empty() {
            self.rounds().merge(hints);
            self.rivalry().news = true;
        }
    }

    /// Looks at every shard when it is time to.
    async fn look(&self) -> Result<(), Error> {
        let due = *self.next_look.lock().unwrap_or_else(PoisonError::into_inner) <= Instant::now();
        if due {
            let dues = live::next_dues(&self.ctx.store).await?;
            self.rounds().merge(dues.into_iter().collect());
            let next = Instant::now() + LOOK_PERIOD;
            *self.next_look.lock().unwrap_or_else(PoisonError::into_inner) = next;
        }
        Ok(())
    }

    /// Looks who has something due, when there has been a backlog for long enough.
    async fn look_at_rivals(&self, now: DateTime<Utc>) -> Result<(), Error> {
        let started = Instant::now();
        let below = {
            let mut rivalry = self.rivalry();
            let period = if rivalry.news { RIVALS_AFTER_NEWS } else { RIVALS_PERIOD };
            let pause = period.max(rivalry.took * RIVALS_PAUSE);
            if started < *rivalry.since.get_or_insert(started) + pause {
                return Ok(());
            }
            rivalry.below.take()
        };
        let due = self.rounds().due(now);
        let seen = rounds::rivals(&self.ctx.store, now, &due, below.as_ref()).await?;
        self.rounds().saw(seen.due, seen.below.is_none());
        let since = Instant::now();
        let (took, below) = (since - started, seen.below);
        *self.rivalry() = Rivalry { since: Some(since), took, news: false, below };
        Ok(())
    }

    async fn claim(
        self: &Arc<Self>,
        (shard, start): (Shard, Option<&Team>),
        free: usize,
        now: DateTime<Utc>,
    ) -> Result<(), Error> {
        let started = Instant::now();
        let limit = i64::try_from(free).unwrap_or(1);
        let lease_until = clock::after(now, self.ctx.limits.lease);
        let session = self.ctx.store.session().await?;
        let times = (self.rounds().floor(shard), now, lease_until);
        let rooms = self.ceilings.rooms();
        let within = (start, &rooms[..]);
        let (claimed, next) =
            live::claim_within(&session, shard, (&self.name, limit), times, within).await?;
        drop(session);
        metrics::histogram!(names::CLAIM_DURATION).record(started.elapsed().as_secs_f64());
        let count = claimed.len();
        *self.last() = Last { began: Some(started), count };
        metrics::histogram!(names::CLAIM_BATCH_SIZE)
            .record(f64::from(u32::try_from(count).unwrap_or(u32::MAX)));
        let (claimed, surplus) = self.ceilings.divide(&self.ctx, claimed).await;
        for job in surplus {
            self.hold(job.run);
            self.tell(News::HandedBack(job.run)).await;
        }
        {
            let mut rounds = self.rounds();
            rounds.set(shard, next);
            rounds.served(claimed.iter().map(|job| &job.team).chain(start));
        }
        if claimed.is_empty() && next.is_some_and(|due_at| due_at <= now) {
            // Due, but not to be had: somebody else is at it, or its team is at its ceiling.
            let rest = clock::after(now, REST);
            let until = self.ceilings.next_due(&self.ctx, shard, rest).await?;
            self.rounds().rest(shard, until);
        }
        for job in claimed {
            self.hold(job.run);
            // First the permit: what waits for one takes nothing of its target's ceiling.
            let permit = tokio::select! {
                () = self.stop.cancelled() => {
                    self.tell(News::HandedBack(job.run)).await;
                    continue;
                }
                permit = Arc::clone(&self.permits).acquire_owned() => permit,
            };
            let permit = permit.or(Err(Error::Broken("the permits are gone".into())))?;
            let target = (&job.team, job.spec.target.url.as_str());
            let call = match self.targets.ask(target, now) {
                Ok(call) => call,
                Err(deferred) => {
                    self.tell(News::Deferred(job.run, deferred)).await;
                    continue;
                }
            };
            let lag = clock::until(job.due_at, now).as_secs_f64();
            metrics::histogram!(names::SCHEDULE_LAG).record(lag);
            metrics::gauge!(names::INFLIGHT_RUNS, "target_kind" => "http").increment(1.0);
            self.tasks.spawn(Arc::clone(self).run(job, permit, call));
        }
        Ok(())
    }

    /// One run, from its claim to the news of how it went.
    async fn run(self: Arc<Self>, job: Claimed, permit: OwnedSemaphorePermit, call: Call) {
        let news = if self.stop.is_cancelled() {
            News::HandedBack(job.run)
        } else {
            invoke(&self.ctx, &self.invoker, job).await
        };
        call.tell(&news, self.ctx.clock.now());
        metrics::gauge!(names::INFLIGHT_RUNS, "target_kind" => "http").decrement(1.0);
        self.tell(news).await;
        drop(permit);
        self.ended.count();
    }

    async fn tell(&self, news: News) {
        // Nobody listens only if the settler died; then the lease runs out.
        if self.news.send(news).await.is_err() {
            tracing::error!("the settler is gone");
        }
    }

    /// When the next thing is due, or the next look.
    fn pause(&self, now: DateTime<Utc>) -> Duration {
        let look = *self.next_look.lock().unwrap_or_else(PoisonError::into_inner);
        let look = look.saturating_duration_since(Instant::now());
        let look = self.ceilings.pause().map_or(look, |soon| soon.min(look));
        self.rounds().earliest().map_or(look, |due| clock::until(now, due).min(look))
    }

    fn hold(&self, run: RunId) {
        self.held().insert(run);
    }

    fn held(&self) -> MutexGuard<'_, BTreeSet<RunId>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn last(&self) -> MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn rivalry(&self) -> MutexGuard<'_, Rivalry> {
        self.rivalry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn rounds(&self) -> MutexGuard<'_, Rounds> {
        self.rounds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
