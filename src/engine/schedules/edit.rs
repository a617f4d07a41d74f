//! Changing a schedule: by name and whole, or in part; and deleting it.

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::{Ident, MISSING, born, hint, lock, record, seal, timetable};
use crate::domain::principal::{Act, Principal};
use crate::domain::schedule::doc::Draft;
use crate::domain::schedule::record::{SKIPPED_PAUSED, Schedule, ScheduleState};
use crate::domain::schedule::timetable::Timetable;
use crate::engine::audit::show;
use crate::engine::error::allow;
use crate::engine::fire::batch::{self, Batch, Written};
use crate::engine::fire::standing::{account, account_idle, go_on, stop};
use crate::engine::{Ctx, Error};
use crate::store::{Session, schedules};

/// What became of a schedule that was put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// There was none of that name.
    Created,
    /// It has changed.
    Changed,
    /// It was so already: nothing has changed, its next fire included (bug B051).
    Same,
}

/// Why a schedule is paused that was put so.
const BY_DEFINITION: &str = "paused by its definition";

/// Creates or changes the schedule of a name. `expected` as for [`change`].
pub async fn put(
    ctx: &Ctx,
    who: &Principal,
    expected: Option<&str>,
    mut draft: Draft,
) -> Result<(Schedule, Put), Error> {
    allow(who, Act::Write)?;
    let now = ctx.clock.now();
    let ident = Ident::Name(draft.name.clone());
    let session = ctx.store.session().await?;
    session.begin();
    let work = async {
        match lock(ctx, &session, who, &ident).await {
            Ok(found) => {
                check(&found, expected)?;
                seal(ctx, who, &mut draft, Some(&found))?;
                edit(ctx, &session, who, (found, draft), ("put", now)).await
            }
            Err(Error::Missing { .. }) if expected.is_some() => Err(MISSING),
            Err(Error::Missing { .. }) => {
                seal(ctx, who, &mut draft, None)?;
                let new = born(ctx, &session, who, &draft, now).await?;
                if !schedules::insert(&session, &new).await? {
                    // Somebody else has created it this moment (bug B052).
                    let found = lock(ctx, &session, who, &ident).await?;
                    return edit(ctx, &session, who, (found, draft), ("put", now)).await;
                }
                ctx.quotas.check_schedules(&session, &who.team).await?;
                let stands = show::schedule(ctx, &new);
                record(&session, who, ("put", new.id, None), (Value::Null, stands), now).await?;
                Ok((new, Put::Created, Written::default()))
            }
            Err(error) => Err(error),
        }
    };
    finish(ctx, &session, work.await).await
}

/// Changes a schedule. `expected` lists the `ETag`s, with commas between, that the caller takes for
/// current; none means any.
pub async fn change(
    ctx: &Ctx,
    who: &Principal,
    ident: &Ident,
    expected: Option<&str>,
    changes: impl FnOnce(&Schedule) -> Result<Draft, Error>,
) -> Result<Schedule, Error> {
    allow(who, Act::Write)?;
    let now = ctx.clock.now();
    let session = ctx.store.session().await?;
    session.begin();
    let work = async {
        let found = lock(ctx, &session, who, ident).await?;
        check(&found, expected)?;
        let mut draft = changes(&found)?;
        seal(ctx, who, &mut draft, Some(&found))?;
        edit(ctx, &session, who, (found, draft), ("change", now)).await
    };
    let (schedule, _) = finish(ctx, &session, work.await).await?;
    Ok(schedule)
}

/// Deletes a schedule. Its jobs go on, those that wait for their turn too; its fires stay.
pub async fn delete(
    ctx: &Ctx,
    who: &Principal,
    ident: &Ident,
    expected: Option<&str>,
) -> Result<(), Error> {
    allow(who, Act::Write)?;
    let session = ctx.store.session().await?;
    session.begin();
    let found = match lock(ctx, &session, who, ident).await {
        Ok(found) => check(&found, expected).map(|()| found),
        Err(error) => Err(error),
    };
    match found {
        Ok(found) => {
            schedules::delete(&session, found.id).await?;
            let (stood, now) = (show::schedule(ctx, &found), ctx.clock.now());
            record(&session, who, ("delete", found.id, None), (stood, Value::Null), now).await?;
            Ok(session.commit().await?)
        }
        Err(error) => {
            session.rollback().await;
            Err(error)
        }
    }
}

fn check(schedule: &Schedule, expected: Option<&str>) -> Result<(), Error> {
    let etag = schedule.etag();
    match expected {
        Some(list) if list.split(',').all(|known| known.trim() != etag) => {
            Err(Error::ConditionFailed { current: etag })
        }
        _ => Ok(()),
    }
}

/// Handles what was due by the old rule, then lets the schedule go on by the new one. `verb` is what
/// the audit log calls it.
async fn edit(
    ctx: &Ctx,
    session: &Session,
    who: &Principal,
    (mut schedule, draft): (Schedule, Draft),
    (verb, now): (&'static str, DateTime<Utc>),
) -> Result<(Schedule, Put, Written), Error> {
    let was_paused = schedule.state == ScheduleState::Paused;
    let paused = draft.paused.unwrap_or(was_paused);
    let is_same = schedule.doc == draft.doc && schedule.payload == draft.payload;
    // One in error is looked at again: what was wrong may have been mended elsewhere.
    if is_same && paused == was_paused && schedule.state != ScheduleState::Error {
        return Ok((schedule, Put::Same, Written::default()));
    }
    // A target that stays is not judged anew: what has become forbidden must still be pausable.
    if schedule.doc.job.spec.target != draft.doc.job.spec.target {
        ctx.limits.guard.admit_target(&draft.doc.job.spec.target, "#/job")?;
    }
    let new = timetable(session, who, &draft.doc).await?;
    new.first(now, "#/spec")?;
    let stood = show::schedule(ctx, &schedule);
    let same_times = schedule.doc.has_times_of(&draft.doc);
    let written = catch_up(session, who, &mut schedule, now).await?;
    (schedule.doc, schedule.payload) = (draft.doc, draft.payload);
    if !same_times || schedule.state == ScheduleState::Ended {
        schedule.accounted_until = now.max(schedule.accounted_until);
    }
    let reason = schedule.reason.take().filter(|_| was_paused);
    stand(&mut schedule, &new, paused);
    if let (ScheduleState::Paused, Some(reason)) = (schedule.state, reason) {
        schedule.reason = Some(reason);
    }
    schedules::change(session, &schedule, now).await?;
    schedule.version += 1;
    schedule.updated_at = now;
    let stands = show::schedule(ctx, &schedule);
    record(session, who, (verb, schedule.id, None), (stood, stands), now).await?;
    Ok((schedule, Put::Changed, written))
}

/// Where a schedule stands that is as its owner wants it.
pub(super) fn stand(schedule: &mut Schedule, timetable: &Timetable, paused: bool) {
    if paused {
        stop(schedule, ScheduleState::Paused, Some(BY_DEFINITION.into()));
    } else {
        go_on(schedule, timetable);
    }
}

/// Handles every slot of a locked schedule up to `now`, by the rule that it has: an active one fires,
/// for one that stood still they are told.
pub(super) async fn catch_up(
    session: &Session,
    who: &Principal,
    schedule: &mut Schedule,
    now: DateTime<Utc>,
) -> Result<Written, Error> {
    let mut batch = Batch::default();
    let old = timetable(session, who, &schedule.doc).await;
    match (schedule.state, old) {
        (ScheduleState::Active, Ok(old)) => {
            let ids = [schedule.id];
            let mut others = batch::others(session, schedule.id.shard(), &ids).await?;
            let others = others.entry(schedule.id).or_default();
            account(&mut batch, schedule, &old, others, now);
        }
        (ScheduleState::Paused, Ok(old)) => {
            account_idle(&mut batch, schedule, &old, SKIPPED_PAUSED, now);
        }
        (ScheduleState::Error, Ok(old)) => account_idle(&mut batch, schedule, &old, "missed", now),
        // What it would have done cannot be worked out any more; an ended one had nothing to do.
        (_, Err(Error::Invalid(_))) | (ScheduleState::Ended, _) => {
            schedule.accounted_until = now.max(schedule.accounted_until);
        }
        (_, Err(error)) => return Err(error),
    }
    let written = batch.write(session, schedule.id.shard(), now).await?;
    schedules::advance(session, schedule.id.shard(), std::slice::from_ref(schedule), now).await?;
    Ok(written)
}

/// Commits what went well and tells of it, rolls back what did not.
pub(super) async fn finish(
    ctx: &Ctx,
    session: &Session,
    outcome: Result<(Schedule, Put, Written), Error>,
) -> Result<(Schedule, Put), Error> {
    match outcome {
        Ok((schedule, put, written)) => {
            session.commit().await?;
            hint(ctx, &schedule);
            written.tell(ctx, schedule.id.shard()).await;
            Ok((schedule, put))
        }
        Err(error) => {
            session.rollback().await;
            Err(error)
        }
    }
}
