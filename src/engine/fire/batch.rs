//! What fires of schedules of one shard do: their rows, the jobs that they make, the jobs that these
//! replace. Collected first and written at once, in the transaction that has locked the schedules:
//! the one way for the timer, for a trigger and for a backfill.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};

use crate::domain::id::{JobId, ScheduleId, Shard};
use crate::domain::job::{FireOf, NewJob, Reason};
use crate::domain::principal::Team;
use crate::domain::schedule::doc::Overlap;
use crate::domain::schedule::due::Passed;
use crate::domain::schedule::overlap::{Turn, Unfinished};
use crate::domain::schedule::record::{Fire, Schedule};
use crate::domain::schedule::timetable::Timetable;
use crate::domain::schedule::{jitter, record};
use crate::domain::state::State;
use crate::engine::{Ctx, Error, clock, moves, random, turns};
use crate::store::entries::{self, Row, Rows};
use crate::store::{self, Bounds, Session, fires, live};
use crate::telemetry::metrics as names;

/// A batch with so many fires, or so many bytes to send, takes no further schedule: those that make
/// up for a long outage must not make one transaction too large to end in time.
const FULL_FIRES: usize = 2_000;
const FULL_BYTES: usize = 16 * 1024 * 1024;

/// The unfinished jobs of a schedule, as seen under its lock.
#[derive(Debug, Default)]
pub struct Others {
    unfinished: Unfinished,
    ids: Vec<JobId>,
}

/// Where a fire comes from, and which instants it has.
#[derive(Clone, Copy, Debug)]
pub struct Cause {
    /// `timer`, `trigger` or `backfill`.
    pub origin: &'static str,
    /// The nominal time.
    pub at: DateTime<Utc>,
    /// When its job may run.
    pub due_at: DateTime<Utc>,
    /// What happens while an earlier job is unfinished.
    pub overlap: Overlap,
}

/// What is to be written.
#[derive(Default)]
pub struct Batch {
    fires: Vec<(ScheduleId, Fire)>,
    jobs: Vec<Made>,
    replaced: Vec<Replaced>,
    teams: BTreeMap<ScheduleId, Team>,
}

/// Jobs in whose place another comes.
struct Replaced {
    /// Which fire of which schedule makes it.
    by: (ScheduleId, DateTime<Utc>),
    jobs: Vec<JobId>,
}

/// A job on its way.
struct Made {
    id: JobId,
    schedule: ScheduleId,
    team: Team,
    new: NewJob,
    due_at: DateTime<Utc>,
}

/// What was written, to be told when it has been committed.
#[derive(Default)]
pub struct Written {
    /// The fires that nobody had written before.
    pub fires: Vec<(ScheduleId, Fire)>,
    teams: BTreeMap<ScheduleId, Team>,
    dues: Vec<DateTime<Utc>>,
    waiting: Vec<ScheduleId>,
    replaced: usize,
}

/// Reads the unfinished jobs of locked schedules of one shard.
pub async fn others(
    session: &Session,
    shard: Shard,
    schedules: &[ScheduleId],
) -> Result<BTreeMap<ScheduleId, Others>, Error> {
    let mut by_schedule: BTreeMap<ScheduleId, Others> = BTreeMap::new();
    for (schedule, job, state) in store::turns::unfinished(session, shard, schedules).await? {
        let others = by_schedule.entry(schedule).or_default();
        others.ids.push(job);
        if state == State::Waiting {
            others.unfinished.waiting += 1;
        } else {
            others.unfinished.active += 1;
        }
    }
    Ok(by_schedule)
}

/// When the job of a slot may run: the slot itself, spread by the schedule's jitter.
pub fn due_at(schedule: &Schedule, timetable: &Timetable, slot: DateTime<Utc>) -> DateTime<Utc> {
    let spread = schedule.doc.jitter_ms;
    if spread == 0 {
        return slot;
    }
    let next = timetable.next(slot).map(|next| next.at);
    clock::after(slot, jitter::jitter(schedule.id.uuid().as_bytes(), slot, next, spread))
}

impl Batch {
    /// Tells slots that make no job.
    pub fn pass(&mut self, schedule: &Schedule, passed: Passed, now: DateTime<Utc>) {
        let fire = Fire {
            at: passed.at,
            outcome: passed.outcome.to_owned(),
            origin: record::TIMER.to_owned(),
            until: passed.until,
            count: passed.count,
            at_least: passed.at_least,
            job: None,
            recorded_at: now,
        };
        self.note(schedule, fire);
    }

    fn note(&mut self, schedule: &Schedule, fire: Fire) {
        self.teams.insert(schedule.id, schedule.team.clone());
        self.fires.push((schedule.id, fire));
    }

    /// Fires: makes a job, or none, as the policy says. Returns whether it makes one.
    pub fn fire(
        &mut self,
        schedule: &Schedule,
        cause: Cause,
        others: &mut Others,
        now: DateTime<Utc>,
    ) -> bool {
        let turn = others.unfinished.turn(cause.overlap);
        if turn == Turn::Replace {
            let jobs = std::mem::take(&mut others.ids);
            self.replaced.push(Replaced { by: (schedule.id, cause.at), jobs });
        }
        let id = JobId::new(now, schedule.id.shard(), random::bits());
        let fires = turn != Turn::Skip;
        let outcome = if fires { record::FIRED } else { record::SKIPPED_OVERLAP };
        let fire = Fire {
            at: cause.at,
            outcome: outcome.to_owned(),
            origin: cause.origin.to_owned(),
            until: None,
            count: 1,
            at_least: false,
            job: fires.then_some(id),
            recorded_at: now,
        };
        self.note(schedule, fire);
        if fires {
            let doc = &schedule.doc.job;
            let mut new = doc.job(&schedule.name, schedule.payload.clone(), cause.due_at);
            let waits = turn == Turn::Wait;
            new.fire = Some(FireOf { schedule: schedule.id, at: cause.at, waits });
            let due_at = cause.due_at;
            self.jobs.push(Made {
                id,
                schedule: schedule.id,
                team: schedule.team.clone(),
                new,
                due_at,
            });
        }
        fires
    }

    /// Whether what it holds is enough for one transaction.
    pub fn is_full(&self) -> bool {
        let bytes: usize = self.jobs.iter().map(|made| made.new.payload.len()).sum();
        self.fires.len() >= FULL_FIRES || bytes >= FULL_BYTES
    }

    /// Writes everything in the open transaction. A fire that has a row already makes no job.
    pub async fn write(
        self,
        session: &Session,
        shard: Shard,
        now: DateTime<Utc>,
    ) -> Result<Written, Error> {
        let inserted = fires::insert(session, shard, &self.fires, now).await?;
        self.write_jobs(session, shard, inserted, now).await
    }

    /// The same for fires whose rows may be there, as long as they have made no job.
    pub async fn write_over(
        self,
        session: &Session,
        shard: Shard,
        now: DateTime<Utc>,
    ) -> Result<Written, Error> {
        let written = fires::insert_over(session, shard, &self.fires, now).await?;
        self.write_jobs(session, shard, written, now).await
    }

    async fn write_jobs(
        self,
        session: &Session,
        shard: Shard,
        inserted: Vec<(ScheduleId, DateTime<Utc>)>,
        now: DateTime<Utc>,
    ) -> Result<Written, Error> {
        // A hundred schedules that make up for a long outage have many fires.
        let inserted: BTreeSet<_> = inserted.into_iter().collect();
        let is_new = |id: ScheduleId, at: DateTime<Utc>| inserted.contains(&(id, at));
        // One whose fire was written before makes no job, and takes no job's place.
        let replaced = self.replaced.into_iter().filter(|replaced| {
            let (schedule, at) = replaced.by;
            is_new(schedule, at)
        });
        let replaced: Vec<_> = replaced.flat_map(|replaced| replaced.jobs).collect();
        let mut written = Written { replaced: replaced.len(), ..Written::default() };
        (written.fires, written.teams) = (self.fires, self.teams);
        written.fires.retain(|(id, fire)| is_new(*id, fire.at));
        cancel(session, shard, &replaced, now).await?;
        let mut rows = Vec::with_capacity(self.jobs.len());
        for made in &self.jobs {
            let fire = made.new.fire.filter(|fire| is_new(made.schedule, fire.at));
            let Some(fire) = fire else { continue };
            let (id, team, new, due_at) = (made.id, &made.team, &made.new, made.due_at);
            rows.push(Row { id, team, new, due_at, at: now });
            written.dues.push(made.due_at);
            written.waiting.extend(fire.waits.then_some(made.schedule));
        }
        if !rows.is_empty() {
            entries::insert(session, Bounds::Inside, Rows::Both, &[(shard, rows)]).await?;
        }
        Ok(written)
    }
}

async fn cancel(
    session: &Session,
    shard: Shard,
    replaced: &[JobId],
    now: DateTime<Utc>,
) -> Result<(), Error> {
    if replaced.is_empty() {
        return Ok(());
    }
    let ids: Vec<_> = replaced.iter().map(|id| id.uuid()).collect();
    for live in live::lock(session, shard, &ids).await? {
        moves::cancel_locked(session, &live, Reason::Superseded, now).await?;
    }
    Ok(())
}

impl Written {
    /// Whether a job of it waits for its turn.
    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Tells the pullers and the metrics, after the commit that made it true.
    pub async fn tell(&self, ctx: &Ctx, shard: Shard) {
        for due_at in &self.dues {
            ctx.wake.due(shard, *due_at);
        }
        let now = ctx.clock.now();
        for (id, fire) in &self.fires {
            let team = self.teams.get(id).map_or("", Team::as_str).to_owned();
            let count = u64::try_from(fire.count).unwrap_or(1);
            let labels = [("team", team.clone()), ("result", fire.outcome.clone())];
            metrics::counter!(names::SCHEDULE_FIRES, &labels).increment(count);
            if fire.job.is_some() {
                let labels = [("team", team), ("source", "schedule".to_owned())];
                metrics::counter!(names::JOBS_CREATED, &labels).increment(1);
            }
            if fire.job.is_some() && fire.origin == record::TIMER {
                let late = clock::until(fire.at, now).as_secs_f64();
                metrics::histogram!(names::SCHEDULE_FIRE_LAG).record(late);
            }
        }
        if self.replaced > 0 {
            tracing::debug!(shard = shard.0, count = self.replaced, "jobs were superseded");
        }
        turns::pass_on(ctx, shard, &self.waiting).await;
    }
}
