//! Running a schedule now, outside its times.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use super::error::allow;
use super::fire::batch::{self, Batch, Cause, Written};
use super::once::{Answer, Key, once};
use super::schedules::{Ident, lock, record};
use super::{Ctx, Error};
use crate::domain::id::ScheduleId;
use crate::domain::principal::{Act, Principal};
use crate::domain::schedule::doc::Overlap;
use crate::domain::schedule::record::{Fire, Schedule, TRIGGER};
use crate::store::Session;
use crate::store::idempotency::Kept;

/// What became of a trigger.
#[derive(Clone, Debug)]
pub struct Triggered {
    /// Of which schedule.
    pub schedule: ScheduleId,
    /// Its row.
    pub fire: Fire,
    /// Whether its job waits for an earlier one.
    pub waits: bool,
}

/// Fires a schedule now, whatever its state, by its overlap policy or by `overlap`. Under the same
/// lock as the timer, so that of two at the same instant each sees the other's job.
pub async fn trigger(
    ctx: &Ctx,
    who: &Principal,
    key: Option<&Key>,
    (ident, overlap): (&Ident, Option<Overlap>),
    render: impl Fn(&Triggered) -> Kept,
) -> Result<Answer<Triggered>, Error> {
    allow(who, Act::Operate)?;
    let now = ctx.clock.now();
    let mut room = ctx.quotas.room(ctx, &who.team).await;
    let work = async |session: &Session| {
        let schedule = lock(ctx, session, who, ident).await?;
        room.take(1, schedule.payload.len())?;
        fire(session, who, (&schedule, overlap), now).await
    };
    let answer = once(ctx, key, now, work, |(triggered, _)| render(triggered)).await?;
    Ok(match answer {
        Answer::Fresh((triggered, written), kept) => {
            if triggered.fire.job.is_some() {
                room.keep();
            }
            written.tell(ctx, triggered.schedule.shard()).await;
            Answer::Fresh(triggered, kept)
        }
        Answer::Replayed(kept) => Answer::Replayed(kept),
    })
}

async fn fire(
    session: &Session,
    who: &Principal,
    (schedule, overlap): (&Schedule, Option<Overlap>),
    now: DateTime<Utc>,
) -> Result<(Triggered, Written), Error> {
    let shard = schedule.id.shard();
    let overlap = overlap.unwrap_or(schedule.doc.overlap);
    let mut at = beside_slots(now);
    // A fire of this very instant has the row: the next microsecond is free, or the one after.
    for _ in 0..TRIES {
        let mut others = batch::others(session, shard, &[schedule.id]).await?;
        let others = others.entry(schedule.id).or_default();
        let mut batch = Batch::default();
        let cause = Cause { origin: TRIGGER, at, due_at: now, overlap };
        batch.fire(schedule, cause, others, now);
        let written = batch.write(session, shard, now).await?;
        if let Some((_, fire)) = written.fires.first().cloned() {
            let waits = written.has_waiting();
            let made = json!({"outcome": fire.outcome, "job": fire.job.map(|id| id.to_string())});
            record(session, who, ("trigger", schedule.id, None), (Value::Null, made), now).await?;
            return Ok((Triggered { schedule: schedule.id, fire, waits }, written));
        }
        at = beside_slots(at + INSTANT);
    }
    Err(Error::Busy("too many triggers of this schedule at the same instant".into()))
}

const INSTANT: TimeDelta = TimeDelta::microseconds(1);
const TRIES: usize = 100;

/// An instant that no slot can have: slots lie on whole milliseconds.
fn beside_slots(at: DateTime<Utc>) -> DateTime<Utc> {
    if at.timestamp_subsec_micros().is_multiple_of(1_000) { at + INSTANT } else { at }
}
