//! The due schedules of one shard, a batch in one transaction.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::batch::{self, Batch};
use super::standing::{account, go_on, stop, why};
use crate::domain::id::{ScheduleId, Shard};
use crate::domain::principal::Team;
use crate::domain::schedule::doc::{CalendarDoc, Overlap};
use crate::domain::schedule::record::{Schedule, ScheduleState};
use crate::engine::{Ctx, Error};
use crate::store::{self, Session, calendars, schedules};

/// So many schedules are fired in one transaction, at most.
const BATCH: usize = 100;

/// Fires what is due in a shard; returns how many schedules it has moved, and when the next has a
/// slot.
pub(super) async fn fire(ctx: &Ctx, shard: Shard) -> Result<(usize, Option<DateTime<Utc>>), Error> {
    let mut moved = 0;
    loop {
        let now = ctx.clock.now();
        let (count, more) = match fire_batch(ctx, shard, (None, now)).await {
            // Something of one schedule cannot be written: the others are not to wait for it.
            Err(Error::Broken(cause)) => {
                fire_singly(ctx, shard, &cause, now).await?;
                (0, false)
            }
            step => step?,
        };
        moved += count;
        if !more {
            break;
        }
    }
    Ok((moved, schedules::next_slot(&ctx.store, shard).await?))
}

/// Fires due schedules that nobody else is firing, or the one that is named; returns how many it has
/// moved, and whether there may be more.
async fn fire_batch(
    ctx: &Ctx,
    shard: Shard,
    (only, now): (Option<ScheduleId>, DateTime<Utc>),
) -> Result<(usize, bool), Error> {
    let session = ctx.store.session().await?;
    session.begin();
    let found = schedules::due(&session, shard, (only, now), limit()).await?;
    let count = found.len();
    if count == 0 {
        session.rollback().await;
        return Ok((0, false));
    }
    let mut readable = Vec::with_capacity(count);
    let mut unreadable = Vec::new();
    for row in found {
        match row {
            Ok(schedule) => readable.push(schedule),
            Err((id, error)) => unreadable.push((id, error)),
        }
    }
    let (written, left) = move_on(&session, shard, readable, now).await?;
    session.commit().await?;
    drop(session);
    written.tell(ctx, shard).await;
    for (id, error) in unreadable {
        set_aside(ctx, id, &error, now).await?;
    }
    Ok((count - left, count == BATCH || left > 0))
}

/// Fires locked schedules and moves them on, in the open transaction, until the batch is full;
/// returns how many are left for the next one.
async fn move_on(
    session: &Session,
    shard: Shard,
    mut due: Vec<Schedule>,
    now: DateTime<Utc>,
) -> Result<(batch::Written, usize), Error> {
    // Where jobs may overlap nobody asks how many are unfinished, and they may be many.
    let asks = |schedule: &&Schedule| schedule.doc.overlap != Overlap::Allow;
    let ids: Vec<ScheduleId> = due.iter().filter(asks).map(|schedule| schedule.id).collect();
    let mut others = batch::others(session, shard, &ids).await?;
    let calendars = calendars_of(session, &due).await?;
    let mut batch = Batch::default();
    let mut moved = 0;
    for schedule in &mut due {
        if batch.is_full() {
            break;
        }
        moved += 1;
        let closed = calendars.get(&schedule.team).map_or(&[][..], Vec::as_slice);
        match schedule.doc.timetable(closed) {
            Ok(timetable) => {
                let others = others.entry(schedule.id).or_default();
                account(&mut batch, schedule, &timetable, others, now);
                go_on(schedule, &timetable);
            }
            Err(invalid) => stop(schedule, ScheduleState::Error, Some(why(&invalid))),
        }
        if let (ScheduleState::Error, Some(reason)) = (schedule.state, &schedule.reason) {
            tracing::error!(schedule = %schedule.id, reason, "a schedule is in error");
        }
    }
    let left = due.split_off(moved).len();
    let written = batch.write(session, shard, now).await?;
    schedules::advance(session, shard, &due, now).await?;
    Ok((written, left))
}

/// The calendars that some schedules exclude, by team.
async fn calendars_of(
    session: &Session,
    schedules: &[Schedule],
) -> Result<BTreeMap<Team, Vec<CalendarDoc>>, Error> {
    let mut wanted: BTreeMap<Team, Vec<String>> = BTreeMap::new();
    for schedule in schedules.iter().filter(|schedule| !schedule.doc.exclude.is_empty()) {
        let names = wanted.entry(schedule.team.clone()).or_default();
        names.extend(schedule.doc.exclude.iter().cloned());
    }
    let mut found = BTreeMap::new();
    for (team, names) in wanted {
        let calendars = calendars::get(session, &team, &names).await?;
        found.insert(team, calendars);
    }
    Ok(found)
}

/// One schedule in a transaction, each; one that cannot be written is set aside.
async fn fire_singly(
    ctx: &Ctx,
    shard: Shard,
    cause: &str,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    tracing::warn!(
        shard = shard.0,
        cause,
        "a batch of schedules failed; they are fired one by one"
    );
    for id in schedules::due_ids(&ctx.store, shard, now, limit()).await? {
        match fire_batch(ctx, shard, (Some(id), now)).await {
            Ok(_) => {}
            Err(Error::Broken(cause)) => {
                set_aside(ctx, id, &store::Error::Broken(cause), now).await?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn limit() -> i64 {
    i64::try_from(BATCH).unwrap_or(i64::MAX)
}

async fn set_aside(
    ctx: &Ctx,
    id: ScheduleId,
    error: &store::Error,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    tracing::error!(schedule = %id, %error, "a schedule is in error");
    Ok(schedules::set_aside(&ctx.store, id, &error.to_string(), now).await?)
}
