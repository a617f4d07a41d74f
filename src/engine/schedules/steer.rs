//! Pausing and resuming a schedule.

use super::edit::catch_up;
use super::{Ident, hint, lock, record, timetable};
use crate::domain::principal::{Act, Principal};
use crate::domain::schedule::record::{Schedule, ScheduleState};
use crate::engine::audit::show;
use crate::engine::error::allow;
use crate::engine::fire::batch::Written;
use crate::engine::fire::standing::{go_on, stop};
use crate::engine::once::{Answer, Key, once};
use crate::engine::{Ctx, Error};
use crate::store::idempotency::Kept;
use crate::store::{Session, schedules};

/// Pauses a schedule for a reason. What was due before still fires; a paused one gets the new reason.
pub async fn pause(
    ctx: &Ctx,
    who: &Principal,
    key: Option<&Key>,
    (ident, reason): (&Ident, &str),
    render: impl Fn(&Schedule) -> Kept,
) -> Result<Answer<Schedule>, Error> {
    allow(who, Act::Write)?;
    let now = ctx.clock.now();
    let work = async |session: &Session| {
        let mut schedule = lock(ctx, session, who, ident).await?;
        let stood = show::schedule(ctx, &schedule);
        let written = match schedule.state {
            ScheduleState::Active => catch_up(session, who, &mut schedule, now).await?,
            ScheduleState::Paused | ScheduleState::Error => Written::default(),
            ScheduleState::Ended => return Err(refused(&schedule, "paused")),
        };
        stop(&mut schedule, ScheduleState::Paused, Some(reason.to_owned()));
        let paused = write(session, schedule, written, now).await?;
        let (id, stands) = (paused.0.id, show::schedule(ctx, &paused.0));
        record(session, who, ("pause", id, Some(reason)), (stood, stands), now).await?;
        Ok(paused)
    };
    steer(ctx, key, work, render).await
}

/// Resumes a schedule. What lay in the pause is told as skipped; with `catch_up` it is made up for,
/// by the schedule's rule for outages.
pub async fn resume(
    ctx: &Ctx,
    who: &Principal,
    key: Option<&Key>,
    (ident, catch_up_pause): (&Ident, bool),
    render: impl Fn(&Schedule) -> Kept,
) -> Result<Answer<Schedule>, Error> {
    allow(who, Act::Write)?;
    let now = ctx.clock.now();
    let work = async |session: &Session| {
        let mut schedule = lock(ctx, session, who, ident).await?;
        if schedule.state == ScheduleState::Active {
            return Ok((schedule, Written::default()));
        }
        let stood = show::schedule(ctx, &schedule);
        let timetable = timetable(session, who, &schedule.doc).await?;
        if schedule.is_spent() || timetable.next(now).is_none() {
            return Err(refused(&schedule, "resumed"));
        }
        let written = if catch_up_pause {
            Written::default()
        } else {
            catch_up(session, who, &mut schedule, now).await?
        };
        go_on(&mut schedule, &timetable);
        let resumed = write(session, schedule, written, now).await?;
        let (id, stands) = (resumed.0.id, show::schedule(ctx, &resumed.0));
        record(session, who, ("resume", id, None), (stood, stands), now).await?;
        Ok(resumed)
    };
    steer(ctx, key, work, render).await
}

async fn steer(
    ctx: &Ctx,
    key: Option<&Key>,
    work: impl AsyncFnOnce(&Session) -> Result<(Schedule, Written), Error>,
    render: impl Fn(&Schedule) -> Kept,
) -> Result<Answer<Schedule>, Error> {
    let now = ctx.clock.now();
    let answer = once(ctx, key, now, work, |(schedule, _)| render(schedule)).await?;
    Ok(match answer {
        Answer::Fresh((schedule, written), kept) => {
            hint(ctx, &schedule);
            written.tell(ctx, schedule.id.shard()).await;
            Answer::Fresh(schedule, kept)
        }
        Answer::Replayed(kept) => Answer::Replayed(kept),
    })
}

async fn write(
    session: &Session,
    mut schedule: Schedule,
    written: Written,
    now: chrono::DateTime<chrono::Utc>,
) -> Result<(Schedule, Written), Error> {
    schedules::change(session, &schedule, now).await?;
    schedule.version += 1;
    schedule.updated_at = now;
    Ok((schedule, written))
}

fn refused(schedule: &Schedule, wanted: &'static str) -> Error {
    Error::RefusedSchedule { id: schedule.id, state: schedule.state, wanted }
}
