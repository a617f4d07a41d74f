//! Making up for slots of the past that have made no job.

use std::collections::BTreeSet;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use super::audit::show;
use super::error::allow;
use super::fire::batch::{self, Batch, Cause, Written};
use super::once::{Answer, Key, once};
use super::schedules::{Ident, lock, record, timetable};
use super::{Ctx, Error, clock};
use crate::domain::id::ScheduleId;
use crate::domain::invalid::Invalid;
use crate::domain::principal::{Act, Principal};
use crate::domain::schedule::doc::Overlap;
use crate::domain::schedule::due::told_as;
use crate::domain::schedule::record::{BACKFILL, FIRED, Fire, Schedule};
use crate::domain::schedule::slot::Fate;
use crate::domain::schedule::timetable::Timetable;
use crate::store::idempotency::Kept;
use crate::store::{Session, fires};

/// Which slots are made up for, and how.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// The first instant.
    pub from: DateTime<Utc>,
    /// Where it ends, exclusive; not in the future.
    pub to: DateTime<Utc>,
    /// Whether it only says what it would do.
    pub dry_run: bool,
    /// No more jobs become due in a second.
    pub max_per_second: Option<u32>,
}

/// The most slots of one backfill.
pub const SLOTS_LIMIT: usize = 1_000;
/// Slots looked at to find them; the rest has made its job.
const LOOKED_AT: usize = 20_000;
const MICRO: Duration = Duration::from_micros(1);
const SECOND: Duration = Duration::from_secs(1);
const INSTANT: TimeDelta = TimeDelta::microseconds(1);

/// Makes a job for every slot in the range that has none, oldest first; returns the fires. Unless the
/// schedule allows overlap the jobs run one after another.
pub async fn backfill(
    ctx: &Ctx,
    who: &Principal,
    key: Option<&Key>,
    (ident, range): (&Ident, &Range),
    render: impl Fn(&Vec<Fire>) -> Kept,
) -> Result<Answer<Vec<Fire>>, Error> {
    allow(who, Act::Operate)?;
    let now = ctx.clock.now();
    if range.from >= range.to {
        return Err(Invalid::one("#/to", "out-of-range", "must lie after from").into());
    }
    if range.to > now {
        let detail = "must not lie in the future; what is to come fires by itself";
        return Err(Invalid::one("#/to", "out-of-range", detail).into());
    }
    let mut room = ctx.quotas.room(ctx, &who.team).await;
    let work = async |session: &Session| {
        let schedule = lock(ctx, session, who, ident).await?;
        let timetable = timetable(session, who, &schedule.doc).await?;
        let slots = open_slots(session, &schedule, &timetable, range).await?;
        if range.dry_run {
            let planned = |at: &DateTime<Utc>| planned(*at, now);
            let fires = slots.iter().map(planned).collect();
            return Ok((schedule.id, fires, Written::default()));
        }
        room.take(slots.len(), slots.len().saturating_mul(schedule.payload.len()))?;
        let filled = fill(session, &schedule, (&timetable, range), slots, now).await?;
        let made = json!({
            "from": show::instant(range.from),
            "to": show::instant(range.to),
            "jobs": filled.1.len(),
        });
        record(session, who, ("backfill", schedule.id, None), (Value::Null, made), now).await?;
        Ok(filled)
    };
    let answer = once(ctx, key, now, work, |(_, fires, _)| render(fires)).await?;
    Ok(match answer {
        Answer::Fresh((schedule, fires, written), kept) => {
            room.keep();
            owe(ctx, who, &written).await;
            written.tell(ctx, schedule.shard()).await;
            Answer::Fresh(fires, kept)
        }
        Answer::Replayed(kept) => Answer::Replayed(kept),
    })
}

/// The request itself was counted as one write; it is as many as it has made jobs.
async fn owe(ctx: &Ctx, who: &Principal, written: &Written) {
    let more = written.fires.len().saturating_sub(1);
    if let Err(error) = ctx.quotas.owe(ctx, &who.team, more).await {
        tracing::warn!(team = %who.team, more, %error, "writes were not charged");
    }
}

/// The slots of the range that have made no job.
async fn open_slots(
    session: &Session,
    schedule: &Schedule,
    timetable: &Timetable,
    range: &Range,
) -> Result<Vec<DateTime<Utc>>, Error> {
    let fired = fires::fired(session, schedule.id, (range.from, range.to)).await?;
    let fired: BTreeSet<_> = fired.into_iter().collect();
    let slots = timetable.slots(range.from - INSTANT, range.to - INSTANT, LOOKED_AT);
    let too_many = slots.len() == LOOKED_AT;
    let fires = slots.into_iter().filter(|slot| slot.fate == Fate::Fires).map(|slot| slot.at);
    let open: Vec<_> = fires.filter(|at| !fired.contains(at)).take(SLOTS_LIMIT + 1).collect();
    if too_many || open.len() > SLOTS_LIMIT {
        let detail = format!("at most {SLOTS_LIMIT} slots at a time; make the range shorter");
        return Err(Invalid::one("#/to", "too-many", detail).into());
    }
    Ok(open)
}

async fn fill(
    session: &Session,
    schedule: &Schedule,
    (timetable, range): (&Timetable, &Range),
    slots: Vec<DateTime<Utc>>,
    now: DateTime<Utc>,
) -> Result<(ScheduleId, Vec<Fire>, Written), Error> {
    let shard = schedule.id.shard();
    make_room(session, schedule, (timetable, &slots), now).await?;
    let mut others = batch::others(session, shard, &[schedule.id]).await?;
    let others = others.entry(schedule.id).or_default();
    let allows = schedule.doc.overlap == Overlap::Allow;
    let overlap = if allows { Overlap::Allow } else { Overlap::QueueAll };
    let mut batch = Batch::default();
    for (n, at) in (0_u32..).zip(slots) {
        // Never the same instant: they take turns in the order of their due times.
        let step = range.max_per_second.map_or(MICRO, |rate| SECOND / rate.max(1));
        let spread = step * n;
        let cause = Cause { origin: BACKFILL, at, due_at: clock::after(now, spread), overlap };
        if !batch.fire(schedule, cause, others, now) {
            let detail = "more jobs of this schedule would wait than may; make the range shorter";
            return Err(Invalid::one("#/to", "too-many", detail).into());
        }
    }
    let written = batch.write_over(session, shard, now).await?;
    let fires = written.fires.iter().map(|(_, fire)| fire.clone()).collect();
    Ok((schedule.id, fires, written))
}

/// Splits rows that tell several slots at once around those that now get rows of their own.
async fn make_room(
    session: &Session,
    schedule: &Schedule,
    (timetable, slots): (&Timetable, &[DateTime<Utc>]),
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let (Some(first), Some(last)) = (slots.first().copied(), slots.last().copied()) else {
        return Ok(());
    };
    let taken = fires::take_ranges(session, schedule.id, (first, last + INSTANT)).await?;
    let mut pieces = Vec::new();
    for row in taken {
        let until = row.until.unwrap_or(row.at);
        for (after, until) in [(row.at - INSTANT, first - INSTANT), (last, until)] {
            if let Some(told) = told_as("missed", timetable, after, until) {
                let piece = Fire {
                    at: told.at,
                    until: told.until,
                    count: told.count,
                    at_least: told.at_least,
                    ..row.clone()
                };
                pieces.push((schedule.id, piece));
            }
        }
    }
    fires::insert(session, schedule.id.shard(), &pieces, now).await?;
    Ok(())
}

fn planned(at: DateTime<Utc>, now: DateTime<Utc>) -> Fire {
    Fire {
        at,
        outcome: FIRED.to_owned(),
        origin: BACKFILL.to_owned(),
        until: None,
        count: 1,
        at_least: false,
        job: None,
        recorded_at: now,
    }
}
