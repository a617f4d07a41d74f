//! What nobody else will end: runs that went silent, jobs that did not start in time, jobs of paused
//! queues and suspended teams, keys past their lifetime. Any number of processes sweep at once: rows are locked with
//! SKIP LOCKED, and what was decided on the locked row is written in the same transaction, so a run
//! that ends at this very moment ends once (bugs B056 to B058).

use std::time::Duration;

use chrono::{DateTime, Utc};

use super::settle::{self, BATCH, News, Report};
use super::wake::LONG_DUE;
use super::{Ctx, Error, suspension, turns};
use crate::domain::id::{RunId, Shard};
use crate::domain::job::Reason;
use crate::domain::principal::Team;
use crate::domain::run::RunError;
use crate::domain::state::State;
use crate::domain::verdict::Outcome;
use crate::store::done::{self, Done};
use crate::store::live::{self, Live};
use crate::store::{Session, events, idempotency, jobs, queues, schedules, sweep};
use crate::telemetry::metrics as names;

/// How often what may wait is looked after: an idle system asks its database little.
const TENDED: Duration = Duration::from_secs(5);

/// One step: ends what is overdue, in every shard that has something. A shard that fails, because of
/// a row that cannot be read or a node that is down, keeps none of the others waiting (bug B077); the
/// step then ends with its error.
pub async fn step(ctx: &Ctx, period: Duration) -> Result<Duration, Error> {
    let now = ctx.clock.now();
    let work = sweep::look(&ctx.store, now).await?;
    let mut more = false;
    let mut failed = None;
    for work in work {
        match shard(ctx, work, now).await {
            Ok(left) => more |= left,
            Err(error) => {
                tracing::warn!(shard = work.shard.0, %error, "a shard could not be swept");
                failed = Some(error);
            }
        }
    }
    match failed {
        Some(error) => Err(error),
        // A full batch means that there is more, and waiting would let it grow.
        None => Ok(if more { Duration::ZERO } else { period }),
    }
}

/// What may wait for some seconds: sets jobs aside whose queue is paused or whose team is suspended, and
/// measures the backlog.
pub async fn tend(ctx: &Ctx) -> Result<Duration, Error> {
    let now = ctx.clock.now();
    queues(ctx, now).await?;
    suspension::sweep(ctx, now).await?;
    gauges(ctx, now).await?;
    Ok(TENDED)
}

/// Sweeps one shard; returns whether there is more than one batch.
async fn shard(ctx: &Ctx, work: sweep::Work, now: DateTime<Utc>) -> Result<bool, Error> {
    let mut more = false;
    if work.overdue {
        more |= overdue(ctx, work.shard, now).await? == BATCH;
    }
    if work.unstarted {
        more |= unstarted(ctx, work.shard, now).await? == BATCH;
    }
    if work.waiting {
        turns::pass_on_any(ctx, work.shard, None).await?;
    }
    if work.expired_keys {
        idempotency::prune(&ctx.store, work.shard, now, limit()).await?;
    }
    Ok(more)
}

/// Sets jobs of paused queues aside, and gives those of resumed ones back.
async fn queues(ctx: &Ctx, now: DateTime<Utc>) -> Result<(), Error> {
    let unsettled = queues::unsettled(&ctx.store).await?;
    if unsettled.iter().any(|queue| queue.paused) {
        for shard in ctx.shards.iter() {
            while live::hold(&ctx.store, *shard, now, limit()).await? > 0 {}
        }
    }
    for queue in unsettled.iter().filter(|queue| !queue.paused) {
        give_back(ctx, (&queue.team, &queue.name)).await?;
        queues::settled(&ctx.store, &queue.team, &queue.name).await?;
    }
    Ok(())
}

/// Gives back every job of a resumed queue that was set aside.
pub(super) async fn give_back(ctx: &Ctx, queue: (&Team, &str)) -> Result<(), Error> {
    for shard in ctx.shards.iter() {
        while live::unhold(&ctx.store, *shard, queue, limit()).await? > 0 {}
        ctx.wake.due(*shard, LONG_DUE);
    }
    Ok(())
}

/// Ends runs of one shard that were silent past their lease; returns how many.
async fn overdue(ctx: &Ctx, shard: Shard, now: DateTime<Utc>) -> Result<usize, Error> {
    let session = ctx.store.session().await?;
    session.begin();
    let silent = live::overdue(&session, shard, now, limit()).await?;
    let count = silent.len();
    if count == 0 {
        session.rollback().await;
        return Ok(0);
    }
    let ids: Vec<_> = silent.iter().map(|live| live.id.uuid()).collect();
    let mut policies = jobs::specs(&session, shard, &ids).await?;
    let news: Vec<News> = silent
        .iter()
        .filter_map(|live| {
            let found = policies.iter().position(|(id, _)| *id == live.id)?;
            let (_, spec) = policies.swap_remove(found);
            let run = live.run()?;
            let (outcome, error) = why(live, now);
            let report = Box::new(Report::bare(outcome, Some(error)));
            Some(News::Ended { run, policy: spec.retry, report })
        })
        .collect();
    let written = settle::write_locked(ctx, &session, (shard, silent), &news).await?;
    session.commit().await?;
    settle::after_commit(ctx, shard, &written).await;
    for item in &news {
        if let News::Ended { report, .. } = item {
            let lost = report.outcome == Outcome::Lost;
            let name = if lost { names::LEASES_LOST } else { names::TIMEOUTS_SWEPT };
            metrics::counter!(name, "source" => "sweep").increment(1);
        }
    }
    Ok(count)
}

/// Two limits, two outcomes (bug B060): past its deadline a run has timed out; silent before that it
/// is lost.
fn why(live: &Live, now: DateTime<Utc>) -> (Outcome, RunError) {
    if live.deadline_at.is_some_and(|deadline| deadline <= now) {
        let message = "no callback came before the run's deadline";
        return (Outcome::TimedOut, RunError::new("timeout", message));
    }
    let message = if live.accepted_at.is_some() {
        "no heartbeat came within heartbeat_timeout_ms"
    } else {
        "its puller has not been heard of: it was stopped, or cut off from the database"
    };
    (Outcome::Lost, RunError::new("lost", message))
}

/// Ends jobs of one shard whose start deadline passed; returns how many.
async fn unstarted(ctx: &Ctx, shard: Shard, now: DateTime<Utc>) -> Result<usize, Error> {
    let session = ctx.store.session().await?;
    session.begin();
    let late = live::unstarted(&session, shard, now, limit()).await?;
    if late.is_empty() {
        session.rollback().await;
        return Ok(0);
    }
    expire(&session, shard, &late, now).await?;
    session.commit().await?;
    let freed: Vec<_> = late.iter().filter_map(|live| live.schedule).collect();
    turns::pass_on(ctx, shard, &freed).await;
    Ok(late.len())
}

async fn expire(
    session: &Session,
    shard: Shard,
    late: &[Live],
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let ids: Vec<_> = late.iter().map(|live| live.id).collect();
    let done: Vec<_> = late
        .iter()
        .map(|live| Done {
            id: live.id,
            team: live.team.clone(),
            state: State::Failed,
            reason: Some(Reason::Expired),
            spent: live.spent,
            fence: live.fence,
        })
        .collect();
    let failed: Vec<_> = late
        .iter()
        .filter_map(|live| Some((live.schedule?, format!("job {} did not start in time", live.id))))
        .collect();
    if !failed.is_empty() {
        schedules::pause_on_failure(session, shard, &failed, now).await?;
    }
    live::expire(session, shard, &ids, now).await?;
    done::insert(session, shard, &done, now).await?;
    let runs: Vec<_> = late.iter().map(|l| RunId { job: l.id, fence: l.fence }).collect();
    let event = ("expired", Some("the start deadline passed before a run could start"));
    events::record(session, shard, &runs, event, now).await?;
    Ok(())
}

async fn gauges(ctx: &Ctx, now: DateTime<Utc>) -> Result<(), Error> {
    let (due, oldest) = sweep::gauges(&ctx.store, now).await?;
    let due = u32::try_from(due).unwrap_or(u32::MAX);
    metrics::gauge!(names::DUE_JOBS).set(f64::from(due));
    let age = oldest.map_or(0.0, |at| super::clock::until(at, now).as_secs_f64());
    metrics::gauge!(names::OLDEST_DUE_AGE).set(age);
    Ok(())
}

fn limit() -> i64 {
    i64::try_from(BATCH).unwrap_or(i64::MAX)
}
