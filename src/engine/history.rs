//! The upkeep of the history: parts for the weeks to come, and the removal of what has been kept long
//! enough. Any process that sweeps does it, one at a time.
//!
//! A week all of whose jobs have been kept long enough is dropped as a whole. So a week is first only
//! read, to learn when that will be, and nothing is removed job by job that the drop will take soon:
//! only what should have gone a `GRACE` ago, because its team keeps less than others, or a job that
//! is unfinished keeps its week. A job is removed with its runs and events in one transaction, and only
//! if it is finished: nobody ever sees half of one.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use tokio::time::Instant;
use uuid::Uuid;

use super::{Ctx, Error, clock};
use crate::domain::id::{JobId, Shard};
use crate::domain::principal::Team;
use crate::domain::retention::Retention;
use crate::domain::week::{LENGTH, Week};
use crate::store::history::{self, Gone, Part};
use crate::store::{self, Session, teams};
use crate::telemetry::metrics as names;

/// How often an idle system is looked at.
const PERIOD: Duration = Duration::from_hours(1);
/// When to come back if somebody else is at it, or a lock was not to be had.
const AGAIN: Duration = Duration::from_mins(5);
/// How long a lock on a whole table is waited for. Everybody who needs the table waits as long.
const PATIENCE: Duration = Duration::from_millis(200);
/// This week and the two after it have parts: a system may be without pullers for so long.
const WEEKS: usize = 3;
/// A job is removed by itself only so long after its time: a week's jobs end over a week and, but for
/// the slowest, a day, and until then the drop of the whole may come.
const GRACE: TimeDelta = TimeDelta::days(8);
/// Nothing is removed one by one of what will be dropped so soon.
const SOON: TimeDelta = TimeDelta::days(1);
/// Looked at in one transaction, and of these removed.
const PAGE: i64 = 1_000;
/// The same where that took too long: of large payloads.
const FEW: i64 = 20;
/// So many rows are removed of a page at most, and a few: a job can have a thousand runs.
const ROWS: i64 = 5_000;
/// A pause of so many times as long follows: nobody waits for what is removed, others need the disk.
const PAUSE: u32 = 3;

/// One step: makes a part that is missing, or looks at one page of a part that is to be looked
/// through.
pub async fn step(ctx: &Ctx) -> Result<Duration, Error> {
    let now = ctx.clock.now();
    let parts = history::list(&ctx.store).await?;
    if !prepare(ctx, &parts, now).await? {
        return Ok(AGAIN);
    }
    let Some(next) = parts.first() else { return Ok(PERIOD) };
    if next.look_at > now {
        return Ok(PERIOD.min(clock::until(now, next.look_at)));
    }
    let started = Instant::now();
    let looked = match look(ctx, &next.name, PAGE, now).await {
        Err(Error::Busy(why)) => {
            tracing::debug!(part = next.name, why, "a page of the history took too long");
            look(ctx, &next.name, FEW, now).await?
        }
        looked => looked?,
    };
    Ok(if looked { started.elapsed() * PAUSE } else { AGAIN })
}

/// Why there is no such job or run: by its id it would not be kept any more, or it never was.
pub(super) fn missing(ctx: &Ctx, team: &Team, id: JobId, noun: &'static str) -> Error {
    let settings = ctx.roster.settings(team);
    let retention = Retention::new(ctx.limits.retention, [(team, &*settings)]);
    match retention.until(team, id.made_at()) {
        Some(until) if until <= ctx.clock.now() => Error::Expired { noun },
        Some(_) | None => Error::Missing { noun },
    }
}

/// Makes the parts that are missing; returns whether it could.
async fn prepare(ctx: &Ctx, parts: &[Part], now: DateTime<Utc>) -> Result<bool, Error> {
    let mut week = Week::of(now);
    for _ in 0..WEEKS {
        let id = week.first_id();
        if !parts.iter().any(|part| part.ids.0 <= id && id < part.ids.1) && !open(ctx, week).await?
        {
            return Ok(false);
        }
        week = week.next();
    }
    Ok(true)
}

/// Makes the part of a week; returns whether it could.
async fn open(ctx: &Ctx, week: Week) -> Result<bool, Error> {
    let session = ctx.store.session().await?;
    session.begin();
    if history::take(&session, history::NET).await?.is_none() {
        session.rollback().await;
        return Ok(false);
    }
    history::patience(&session, PATIENCE).await?;
    match history::open(&session, week.begins()).await {
        Ok(opened) => {
            session.commit().await?;
            tracing::info!(week = %week.begins().date_naive(), opened, "a week of the history begins");
            Ok(true)
        }
        Err(store::Error::Locked(why)) => {
            session.rollback().await;
            tracing::info!(why, "a week of the history is made later: its tables are in use");
            Ok(false)
        }
        Err(error) => {
            // Jobs of the week are caught by the net. What must be mended by hand, as a role that owns no
            // tables, is said now and then and not all the time.
            session.rollback().await;
            tracing::warn!(%error, "a week of the history could not be made");
            Ok(false)
        }
    }
}

/// Looks at one page of a part; returns whether this process could.
async fn look(ctx: &Ctx, name: &str, limit: i64, now: DateTime<Utc>) -> Result<bool, Error> {
    let known = teams::described(&ctx.store).await?;
    let teams = known.iter().map(|known| (&known.team, &known.settings));
    let retention = Retention::new(ctx.limits.retention, teams);
    let session = ctx.store.session().await?;
    session.begin();
    let taken = history::take(&session, name).await?;
    let Some(mut part) = taken.filter(|part| part.look_at <= now) else {
        session.rollback().await;
        return Ok(false);
    };
    let mut removed = 0;
    match part.place {
        Some(_) => {
            let walk = Walk { retention: &retention, shards: &ctx.shards, now };
            removed = walk.go_on(&session, &mut part, limit).await?;
        }
        None if is_over(&part, &retention, now) => return drop_part(&session, part, now).await,
        None => begin(ctx, &session, &mut part, (&retention, now)).await?,
    }
    history::put(&session, &part).await?;
    session.commit().await?;
    metrics::counter!(names::JOBS_REMOVED).increment(u64::try_from(removed).unwrap_or(0));
    Ok(true)
}

/// Whether a part can be dropped: no job can end in it any more, and none that did is kept.
fn is_over(part: &Part, retention: &Retention, now: DateTime<Utc>) -> bool {
    let Some(ended_at) = part.ended_at else { return false };
    part.kept == 0 || retention.end_for_all(ended_at).is_some_and(|end| end <= now)
}

/// Begins to look through a part, unless nothing of it can have been kept long enough.
async fn begin(
    ctx: &Ctx,
    session: &Session,
    part: &mut Part,
    (retention, now): (&Retention, DateTime<Utc>),
) -> Result<(), Error> {
    let begins = retention.end_for_some(part.ends_at.unwrap_or(DateTime::UNIX_EPOCH));
    if begins.is_none_or(|begins| begins > now) {
        part.look_at = soon(begins, now);
        return Ok(());
    }
    // Of the net it cannot be said: jobs may still come.
    part.settled = !part.is_net() && !history::unfinished(session, part.ids).await?;
    part.ended_at = part.ended_at.filter(|_| part.settled);
    let drops_at = part.ended_at.and_then(|ended_at| retention.end_for_all(ended_at));
    if let Some(drops_at) = drops_at.filter(|drops_at| *drops_at <= now + SOON) {
        part.look_at = drops_at;
        return Ok(());
    }
    part.place = ctx.shards.iter().min().map(|shard| (*shard, part.ids.0));
    (part.kept, part.last_end, part.soonest) = (0, None, None);
    Ok(())
}

/// Drops a part. The lock that this takes keeps everybody away from the history for a moment.
async fn drop_part(session: &Session, mut part: Part, now: DateTime<Utc>) -> Result<bool, Error> {
    history::patience(session, PATIENCE).await?;
    match history::drop_part(session, &part.name).await {
        Ok(true) => {
            session.commit().await?;
            let (name, jobs) = (&part.name, part.kept);
            tracing::info!(part = name, jobs, "a part of the history was dropped");
            metrics::counter!(names::JOBS_REMOVED).increment(u64::try_from(jobs).unwrap_or(0));
            metrics::counter!(names::HISTORY_PARTS_DROPPED).increment(1);
            Ok(true)
        }
        Ok(false) => {
            // Nobody registers a job of the past, unless a clock was set back.
            (part.ended_at, part.look_at) = (None, soon(None, now));
            history::put(session, &part).await?;
            session.commit().await?;
            Ok(true)
        }
        Err(store::Error::Locked(why)) => {
            session.rollback().await;
            tracing::info!(part = part.name, why, "a part is dropped later: its tables are in use");
            Ok(false)
        }
        Err(error) => Err(error.into()),
    }
}

/// A look through a part, shard by shard in the order of the ids.
struct Walk<'a> {
    retention: &'a Retention,
    shards: &'a [Shard],
    now: DateTime<Utc>,
}

impl Walk<'_> {
    /// Looks at so many jobs, or removes some of one shard; returns how many it has removed.
    async fn go_on(&self, session: &Session, part: &mut Part, limit: i64) -> Result<usize, Error> {
        let mut left = limit;
        while let Some(place) = part.place.filter(|_| left > 0) {
            let kept = part.kept;
            let removed = self.page(session, part, place, left).await?;
            if removed > 0 {
                return Ok(removed);
            }
            left -= part.kept - kept;
        }
        Ok(0)
    }

    /// One page: removes what has been kept for too long, counts the rest, and notes how far it came.
    /// Returns how many jobs it has removed.
    async fn page(
        &self,
        session: &Session,
        part: &mut Part,
        (shard, after): (Shard, Uuid),
        limit: i64,
    ) -> Result<usize, Error> {
        let page = history::page(session, part, (shard, after), limit).await?;
        let mut more = i64::try_from(page.len()).is_ok_and(|rows| rows == limit);
        let (mut gone, mut rows, mut last) = (Vec::new(), 0, after);
        // As long as it is not known when the whole can be dropped.
        let only_reads = part.settled && part.ended_at.is_none();
        for job in &page {
            if rows > ROWS {
                more = true;
                break;
            }
            last = job.id.uuid();
            let until = self.retention.until(&job.team, job.at);
            if !only_reads && until.is_some_and(|until| until + GRACE <= self.now) {
                gone.push(last);
                rows += i64::from(job.fence) + 1;
            } else {
                part.kept += 1;
                part.last_end = part.last_end.max(Some(job.at));
                part.soonest = part.soonest.into_iter().chain(until).min();
            }
        }
        remove(session, shard, &gone).await?;
        let next = self.shards.iter().filter(|other| **other > shard).min();
        part.place = if more { Some((shard, last)) } else { next.map(|next| (*next, part.ids.0)) };
        if part.place.is_none() {
            self.end(part);
        }
        Ok(gone.len())
    }

    /// Every shard has been looked at.
    fn end(&self, part: &mut Part) {
        let only_read = part.ended_at.is_none();
        part.ended_at = part.settled.then(|| part.last_end.unwrap_or(self.now));
        let end = part.ended_at.and_then(|at| self.retention.end_for_all(at));
        let overdue = part.soonest.map(|soonest| soonest + GRACE);
        let next = end.into_iter().chain(overdue).min();
        let at_once = part.settled && only_read && next.is_some_and(|next| next <= self.now);
        let at_once = at_once || is_over(part, self.retention, self.now);
        part.look_at = if at_once { self.now } else { soon(next, self.now) };
    }
}

/// When a part is to be looked through again that could be then: not at once, since that reads all of
/// it, and within a week, since a retention may be made shorter.
fn soon(then: Option<DateTime<Utc>>, now: DateTime<Utc>) -> DateTime<Utc> {
    let (least, most) = (clock::after(now, PERIOD), now + LENGTH);
    then.map_or(most, |then| then.clamp(least, most))
}

async fn remove(session: &Session, shard: Shard, ids: &[Uuid]) -> Result<(), Error> {
    let (Some(first), Some(last)) = (ids.first(), ids.last()) else { return Ok(()) };
    let gone = Gone { shard, ids, within: (*first, *last) };
    tokio::try_join!(
        history::remove_events(session, gone),
        history::remove_runs(session, gone),
        history::remove_done(session, gone),
        history::remove_jobs(session, gone),
    )?;
    Ok(())
}
