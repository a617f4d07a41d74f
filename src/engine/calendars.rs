//! Calendars of closed days: put, look, delete. A changed calendar moves the schedules that use it.

use serde_json::Value;

use super::audit::{self, Deed, show};
use super::error::{allow, allow_everywhere};
use super::fire::standing::go_on;
use super::once::whole;
use super::{Ctx, Error};
use crate::domain::id::ScheduleId;
use crate::domain::principal::{Act, Principal};
use crate::domain::schedule::doc::CalendarDoc;
use crate::domain::schedule::record::{CalendarRecord, Schedule};
use crate::store::Session;
use crate::store::schedules::Which;
use crate::store::{calendars, schedules};

/// The most calendars of a list.
const LIST_LIMIT: i64 = 1_000;
const MISSING: Error = Error::Missing { noun: "calendar" };

/// Creates or replaces a calendar, then works out again when the schedules that use it come next.
/// Days that it closes are closed at once, since a slot asks for its calendars when it fires; should
/// this be interrupted, days that it opens are open to those that were reached, and doing it again
/// reaches the rest.
pub async fn put(
    ctx: &Ctx,
    who: &Principal,
    calendar: &CalendarDoc,
) -> Result<CalendarRecord, Error> {
    allow(who, Act::Write)?;
    allow_everywhere(who, "calendars")?;
    calendar.calendar().check("#").into_result(())?;
    let now = ctx.clock.now();
    let work = async |session: &Session| {
        let before = calendars::lock(session, &who.team, &calendar.name).await?;
        let put = calendars::put(session, &who.team, calendar, now).await?;
        if before.as_ref().is_none_or(|before| before.version != put.version) {
            let before = before.map(|before| show::calendar(&before.doc)).unwrap_or_default();
            let deed = Deed::of("put", object(&calendar.name));
            let deed = deed.change(before, show::calendar(&put.doc));
            audit::record(session, who, deed, now).await?;
        }
        Ok(put)
    };
    let put = whole(ctx, work).await?;
    for (schedule, _) in calendars::users(&ctx.store, &who.team, &calendar.name).await? {
        look_again(ctx, who, schedule).await?;
    }
    Ok(put)
}

async fn look_again(ctx: &Ctx, who: &Principal, id: ScheduleId) -> Result<(), Error> {
    let now = ctx.clock.now();
    let session = ctx.store.session().await?;
    session.begin();
    let found = schedules::lock(&session, id.shard(), &who.team, Which::Id(id)).await?;
    // One that is due asks for its calendars when it fires.
    let waits = |found: &Schedule| found.next_slot_at.is_some_and(|slot| slot > now);
    let Some(mut schedule) = found.filter(waits) else {
        session.rollback().await;
        return Ok(());
    };
    // No slot lay before now by the old days; one that would by the new ones is not to fire late.
    schedule.accounted_until = now.max(schedule.accounted_until);
    let timetable = super::schedules::timetable(&session, who, &schedule.doc).await?;
    go_on(&mut schedule, &timetable);
    schedules::advance(&session, id.shard(), std::slice::from_ref(&schedule), now).await?;
    session.commit().await?;
    super::schedules::hint(ctx, &schedule);
    Ok(())
}

/// One calendar.
pub async fn get(ctx: &Ctx, who: &Principal, name: &str) -> Result<CalendarRecord, Error> {
    allow(who, Act::Read)?;
    calendars::find(&ctx.store, &who.team, name).await?.ok_or(MISSING)
}

/// The calendars of the caller's team, by name.
pub async fn list(ctx: &Ctx, who: &Principal) -> Result<Vec<CalendarRecord>, Error> {
    allow(who, Act::Read)?;
    Ok(calendars::list(&ctx.store, &who.team, LIST_LIMIT).await?)
}

/// Deletes a calendar that no schedule uses.
pub async fn delete(ctx: &Ctx, who: &Principal, name: &str) -> Result<(), Error> {
    allow(who, Act::Write)?;
    allow_everywhere(who, "calendars")?;
    let now = ctx.clock.now();
    let work = async |session: &Session| {
        let before = calendars::lock(session, &who.team, name).await?;
        if !calendars::delete(session, &who.team, name).await? {
            return Ok(false);
        }
        let before = before.map(|before| show::calendar(&before.doc)).unwrap_or_default();
        let deed = Deed::of("delete", object(name)).change(before, Value::Null);
        audit::record(session, who, deed, now).await?;
        Ok(true)
    };
    if whole(ctx, work).await? {
        return Ok(());
    }
    match calendars::users(&ctx.store, &who.team, name).await?.first() {
        Some((_, by)) => Err(Error::InUse { noun: "calendar", by: format!("the schedule {by}") }),
        None => Err(MISSING),
    }
}

fn object(name: &str) -> String {
    format!("calendars/{name}")
}
