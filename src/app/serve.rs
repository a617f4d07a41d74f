//! A server process: any of the roles api, puller, scheduler, started and stopped in order.

use std::future::ready;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::edge::Front;
use super::stop::Stop;
use super::{admin, parts};
use crate::config::Config;
use crate::engine::breaker::Ceiling;
use crate::engine::every::{every, never};
use crate::engine::fire::Firing;
use crate::engine::hint;
use crate::engine::invoke::Invoker;
use crate::engine::puller::Puller;
use crate::engine::{Ctx, Error, history, random, sweep};
use crate::hints::Redis;
use crate::http::{self, Api, Auth, Extra};
use crate::store::{self, migrate};
use crate::telemetry::metrics as names;

/// What is particular to one process.
pub struct Launch {
    /// The API's listener, if it has that role.
    pub api: Option<(TcpListener, Auth, Front)>,
    /// The admin listener.
    pub admin: TcpListener,
    /// Routes beside the API.
    pub extra: Option<Extra>,
    /// How long the API goes on answering after it has said that it is not ready, so that a load
    /// balancer has noticed before connections are refused.
    pub notice: Duration,
}

/// How often the clock asks the database.
const CLOCK_PERIOD: Duration = Duration::from_secs(5);
/// How often old connections are let go.
const POOL_PERIOD: Duration = Duration::from_secs(30);
/// How long what is left to do after the last run may take: a step under way, the last settle.
const LEAVE: Duration = Duration::from_secs(5);

/// Binds `address`, with a sentence if that fails.
pub fn bind(address: std::net::SocketAddr, what: &str) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address)
        .with_context(|| format!("{what} cannot listen on {address}; is another process there?"))
}

/// Runs until `stop`, then finishes what it has begun within the grace.
pub async fn serve(config: &Config, launch: Launch, stop: &Stop) -> anyhow::Result<()> {
    let serving = Arc::new(AtomicBool::new(false));
    let redis = parts::redis(config)?;
    let (admin, admin_thread) =
        admin::start(launch.admin, config, redis.clone(), (&serving, stop))?;
    let ctx = tokio::select! {
        ctx = parts::ctx(config, "server") => ctx?,
        // Told to stop while it still waits for its database: there is nothing to finish.
        () = stop.token.cancelled() => return Ok(()),
    };
    let migration = migrate::MIGRATIONS.last().map_or(0, |newest| newest.version);
    metrics::gauge!(names::MIGRATION_VERSION).set(f64::from(migration));
    metrics::gauge!(names::BUILD_INFO, "version" => env!("CARGO_PKG_VERSION")).set(1.0);
    let tasks = TaskTracker::new();
    upkeep(&ctx, &tasks, stop);
    pass_hints(config, &ctx, redis, (&tasks, stop)).await?;
    let puller =
        if config.roles.puller { Some(start_puller(config, &ctx, &tasks, stop)?) } else { None };
    if config.roles.scheduler {
        start_firing(&ctx, &tasks, stop);
    }
    if config.roles.puller || config.roles.scheduler {
        start_sweep(config, &ctx, &tasks, stop);
    }
    let api = match launch.api {
        Some((listener, auth, front)) => {
            // Before anybody is answered: what was revoked is refused from the first request on.
            ctx.access.refresh(&ctx).await.context("reading the revoked tokens")?;
            start_access(&ctx, &tasks, stop);
            let require_key = config.require_idempotency_key;
            let edge = Arc::new(front.open(&tasks, stop.token.clone()));
            let api = Api { ctx: ctx.clone(), auth, require_key, edge };
            let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
            let grace = config.shutdown_grace.as_secs();
            let server = http::serve(listener, api, launch.extra, (cores, grace))?;
            let handle = server.handle();
            tasks.spawn(async move {
                if let Err(error) = server.await {
                    tracing::error!(%error, "the API's listener ended");
                }
            });
            Some(handle)
        }
        None => None,
    };
    serving.store(true, Ordering::Relaxed);
    tracing::info!(roles = ?config.roles, "serving");
    stop.token.cancelled().await;
    let answer_the_rest = async {
        if let Some(api) = api {
            sleep(launch.notice).await;
            api.stop(true).await;
        }
    };
    let finish_the_runs = async {
        match puller {
            Some(pulling) => pulling.drain(config.shutdown_grace).await,
            None => true,
        }
    };
    let ((), drained) = tokio::join!(answer_the_rest, finish_the_runs);
    tasks.close();
    // Calls that outlast the grace would be waited for in vain.
    if drained && timeout(LEAVE, tasks.wait()).await.is_err() {
        tracing::warn!("some tasks did not end in time");
    }
    admin.stop(true).await;
    if tokio::task::spawn_blocking(move || admin_thread.join()).await.is_err() {
        tracing::warn!("the admin thread ended badly");
    }
    Ok(())
}

/// The clock and the pool.
fn upkeep(ctx: &Ctx, tasks: &TaskTracker, stop: &Stop) {
    let (c, token) = (ctx.clone(), stop.token.clone());
    tasks.spawn(async move { every("clock", token, never, || sync_clock(&c)).await });
    let (c, token) = (ctx.clone(), stop.token.clone());
    tasks.spawn(async move {
        every("pool", token, never, || ready(Ok(tidy_pool(&c)))).await;
    });
}

/// Hints to other processes, and from them for whoever works by hints.
async fn pass_hints(
    config: &Config,
    ctx: &Ctx,
    redis: Option<Redis>,
    (tasks, stop): (&TaskTracker, &Stop),
) -> anyhow::Result<()> {
    let listens = config.roles.puller || config.roles.scheduler;
    let token = || stop.token.clone();
    tasks.spawn(hint::tell(ctx.clone(), redis.clone(), token()));
    if listens {
        tasks.spawn(hint::listen(ctx.clone(), token()));
    }
    if let Some(redis) = redis {
        let redis = redis.within(&store::clock::key(&ctx.store).await?);
        tasks.spawn(hint::tell_sooner(ctx.clone(), redis.clone(), token()));
        if listens {
            tasks.spawn(hint::listen_sooner(ctx.clone(), redis, token()));
        }
    }
    Ok(())
}

async fn sync_clock(ctx: &Ctx) -> Result<Duration, Error> {
    ctx.clock.sync(&ctx.store).await?;
    Ok(CLOCK_PERIOD)
}

fn tidy_pool(ctx: &Ctx) -> Duration {
    ctx.store.tidy();
    let (size, idle) = ctx.store.connections();
    let count = |n| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    metrics::gauge!(names::DB_POOL_CONNECTIONS, "state" => "idle").set(count(idle));
    let busy = count(size.saturating_sub(idle));
    metrics::gauge!(names::DB_POOL_CONNECTIONS, "state" => "busy").set(busy);
    POOL_PERIOD
}

/// A puller at work.
struct Pulling {
    puller: Arc<Puller>,
    /// Ends when a stop was heard and the last claim is done.
    claiming: JoinHandle<()>,
    /// Told when nothing is held any more.
    renewing: CancellationToken,
}

impl Pulling {
    /// Lets it finish what it has begun within the grace, renewing meanwhile. Returns whether it has.
    async fn drain(self, grace: Duration) -> bool {
        let deadline = Instant::now() + grace;
        // A claim under way may still bring runs, which are then handed back.
        let claimed = timeout(grace, self.claiming).await.is_ok();
        let left = deadline.saturating_duration_since(Instant::now());
        let drained = self.puller.drain(left).await;
        self.renewing.cancel();
        claimed && drained
    }
}

fn start_puller(
    config: &Config,
    ctx: &Ctx,
    tasks: &TaskTracker,
    stop: &Stop,
) -> anyhow::Result<Pulling> {
    let invoker =
        Invoker::new(&ctx.limits.public_url, &ctx.limits.guard).context("the HTTP client")?;
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let name = format!("{host}-{:08x}", random::bits() >> 32);
    let ceiling = Ceiling::new(config.target_concurrency, config.concurrency);
    let settings = (name, config.concurrency, ceiling);
    let puller = Puller::new(ctx.clone(), invoker, settings, (tasks, &stop.token));
    let (p, c, token) = (Arc::clone(&puller), ctx.clone(), stop.token.clone());
    let claiming = tasks.spawn(async move {
        every("claim", token, || c.wake.jobs().here.news(), || p.step()).await;
    });
    let (teller, token) = (puller.teller(), stop.token.clone());
    tasks.spawn(async move {
        every("targets", token, || teller.news(), || teller.step()).await;
    });
    let renewing = CancellationToken::new();
    let (p, token) = (Arc::clone(&puller), renewing.clone());
    tasks.spawn(async move { every("renew", token, never, || p.renew()).await });
    Ok(Pulling { puller, claiming, renewing })
}

fn start_firing(ctx: &Ctx, tasks: &TaskTracker, stop: &Stop) {
    let (c, token) = (ctx.clone(), stop.token.clone());
    tasks.spawn(async move {
        let firing = Firing::new(c.clone());
        every("fire", token, || c.wake.slots().here.news(), || firing.step()).await;
    });
}

/// Keeps what this process knows of revoked tokens fresh.
fn start_access(ctx: &Ctx, tasks: &TaskTracker, stop: &Stop) {
    let (c, token) = (ctx.clone(), stop.token.clone());
    tasks.spawn(async move { every("access", token, never, || c.access.refresh(&c)).await });
}

fn start_sweep(config: &Config, ctx: &Ctx, tasks: &TaskTracker, stop: &Stop) {
    let (c, token, period) = (ctx.clone(), stop.token.clone(), config.sweep_interval);
    tasks.spawn(async move { every("sweep", token, never, || sweep::step(&c, period)).await });
    let (c, token) = (ctx.clone(), stop.token.clone());
    tasks.spawn(async move { every("tend", token, never, || sweep::tend(&c)).await });
    let (c, token) = (ctx.clone(), stop.token.clone());
    tasks.spawn(async move { every("history", token, never, || history::step(&c)).await });
}
