//! What an owner does with schedules: create, look, change, delete; pause and resume are in `steer`,
//! what became of their slots in `history`.
//!
//! Each change locks the schedule's row first. What was due before it is handled by the old rule,
//! in the same transaction, so an edit that races a fire comes wholly before or wholly after it, and
//! no slot is lost in between (bug B045).

mod edit;
mod history;
mod steer;

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::audit::{self, Deed, show};
use super::error::{allow, allow_queue};
use super::once::{Answer, Key, once};
use super::{Ctx, Error, place, privacy, random, secrets};
use crate::domain::id::{ScheduleId, Shard};
use crate::domain::principal::{Act, Principal};
use crate::domain::schedule::doc::{CalendarDoc, Draft, ScheduleDoc};
use crate::domain::schedule::preview::Preview;
use crate::domain::schedule::record::{Schedule, ScheduleState};
use crate::domain::schedule::timetable::Timetable;
use crate::store::idempotency::Kept;
use crate::store::schedules::Which;
use crate::store::{Session, calendars, schedules};

pub use edit::{Put, change, delete, put};
pub use history::{Expected, FiresPage, FiresQuery, fires};
pub use steer::{pause, resume};

/// Which schedule of a team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ident {
    /// By id.
    Id(ScheduleId),
    /// By name.
    Name(String),
}

impl Ident {
    /// Reads a path's part: what is an id is an id; no name looks like one.
    pub fn read(text: &str) -> Self {
        text.parse().map_or_else(|_| Self::Name(text.to_owned()), Self::Id)
    }

    /// The shard in which it lives.
    pub(super) fn shard(&self, ctx: &Ctx, who: &Principal) -> Shard {
        match self {
            Self::Id(id) => id.shard(),
            Self::Name(name) => place::by_key(ctx, &who.team, name),
        }
    }

    fn which(&self) -> Which<'_> {
        match self {
            Self::Id(id) => Which::Id(*id),
            Self::Name(name) => Which::Name(name),
        }
    }
}

/// Which schedules of a team to list.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// In any of these states; empty means all.
    pub states: Vec<ScheduleState>,
    /// With this in their name.
    pub name_part: Option<String>,
}

/// Creates a schedule. Its first slot lies after now, whatever its rule (bug B044).
pub async fn create(
    ctx: &Ctx,
    who: &Principal,
    key: Option<&Key>,
    mut draft: Draft,
    render: impl Fn(&Schedule) -> Kept,
) -> Result<Answer<Schedule>, Error> {
    allow(who, Act::Write)?;
    seal(ctx, who, &mut draft, None)?;
    let now = ctx.clock.now();
    let work = async |session: &Session| {
        let new = born(ctx, session, who, &draft, now).await?;
        if schedules::insert(session, &new).await? {
            ctx.quotas.check_schedules(session, &who.team).await?;
            let stands = show::schedule(ctx, &new);
            record(session, who, ("create", new.id, None), (Value::Null, stands), now).await?;
            return Ok(new);
        }
        let which = Which::Name(&draft.name);
        match schedules::lock(session, new.id.shard(), &who.team, which).await? {
            Some(existing) if !reaches(who, &existing) => Err(Error::TakenElsewhere("name")),
            Some(existing) => Err(Error::NameTaken { existing: existing.id }),
            None => Err(Error::Busy("a schedule of this name came and went".into())),
        }
    };
    let answer = once(ctx, key, now, work, render).await?;
    if let Answer::Fresh(schedule, _) = &answer {
        hint(ctx, schedule);
    }
    Ok(answer)
}

/// One schedule.
pub async fn get(ctx: &Ctx, who: &Principal, ident: &Ident) -> Result<Schedule, Error> {
    allow(who, Act::Read)?;
    let found = schedules::get(&ctx.store, ident.shard(ctx, who), &who.team, ident.which()).await?;
    found.filter(|schedule| reaches(who, schedule)).ok_or(MISSING)
}

/// The zone of a schedule of the caller's team that names none: the team's own default, or the
/// installation's.
pub fn default_time_zone(ctx: &Ctx, who: &Principal) -> String {
    let settings = ctx.roster.settings(&who.team);
    let own = settings.default_time_zone.as_ref();
    own.unwrap_or(&ctx.limits.default_time_zone).clone()
}

/// A page of schedules, newest first, and whether there are more.
pub async fn list(
    ctx: &Ctx,
    who: &Principal,
    filter: &Filter,
    (before, limit): (Option<ScheduleId>, usize),
) -> Result<(Vec<Schedule>, bool), Error> {
    allow(who, Act::Read)?;
    let one_more = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let all = ScheduleState::ALL;
    let states = if filter.states.is_empty() { &all[..] } else { &filter.states };
    let filter = (states, filter.name_part.as_deref(), who.scope.queues());
    let mut page = schedules::list(&ctx.store, &who.team, filter, before, one_more).await?;
    let more = page.len() > limit;
    page.truncate(limit);
    Ok((page, more))
}

/// What a schedule would do, without making one.
pub async fn preview(
    ctx: &Ctx,
    who: &Principal,
    doc: &ScheduleDoc,
    from: Option<DateTime<Utc>>,
    count: usize,
) -> Result<Preview, Error> {
    allow(who, Act::Read)?;
    let closed = closed(&ctx.store.session().await?, who, doc).await?;
    let timetable = doc.timetable(&closed)?;
    let from = from.unwrap_or_else(|| ctx.clock.now());
    timetable.first(from, "#/spec")?;
    Ok(timetable.preview(from, count))
}

/// Seals the secrets of a draft before anything of it is stored; those that it leaves as they were
/// are those of `stored`. A queue beyond the caller's and a new payload that holds masks are refused.
fn seal(
    ctx: &Ctx,
    who: &Principal,
    draft: &mut Draft,
    stored: Option<&Schedule>,
) -> Result<(), Error> {
    allow_queue(who, &draft.doc.job.queue)?;
    if stored.is_none_or(|schedule| schedule.payload != draft.payload) {
        let veil = privacy::veil(ctx, who);
        veil.refuse_masks("#/job/payload", &draft.payload).into_result(())?;
    }
    let stored = stored.map(|schedule| &schedule.doc.job.spec.target);
    let (vault, target) = (ctx.limits.vault.as_deref(), &mut draft.doc.job.spec.target);
    secrets::seal_target(vault, &who.team, target, (stored, "#/job"))
}

const MISSING: Error = Error::Missing { noun: "schedule" };

/// The calendars that a schedule of the caller's team excludes.
async fn closed(
    session: &Session,
    who: &Principal,
    doc: &ScheduleDoc,
) -> Result<Vec<CalendarDoc>, Error> {
    if doc.exclude.is_empty() {
        return Ok(Vec::new());
    }
    Ok(calendars::get(session, &who.team, &doc.exclude).await?)
}

/// The timetable of a schedule of the caller's team.
pub(super) async fn timetable(
    session: &Session,
    who: &Principal,
    doc: &ScheduleDoc,
) -> Result<Timetable, Error> {
    Ok(doc.timetable(&closed(session, who, doc).await?)?)
}

/// Locks a schedule of the caller's team.
pub(super) async fn lock(
    ctx: &Ctx,
    session: &Session,
    who: &Principal,
    ident: &Ident,
) -> Result<Schedule, Error> {
    let shard = ident.shard(ctx, who);
    let found = schedules::lock(session, shard, &who.team, ident.which()).await?;
    found.filter(|schedule| reaches(who, schedule)).ok_or(MISSING)
}

/// Whether the schedule's jobs go to a queue that the caller reaches; to others it does not exist.
fn reaches(who: &Principal, schedule: &Schedule) -> bool {
    who.scope.holds(&schedule.doc.job.queue)
}

/// A schedule as it begins.
async fn born(
    ctx: &Ctx,
    session: &Session,
    who: &Principal,
    draft: &Draft,
    now: DateTime<Utc>,
) -> Result<Schedule, Error> {
    ctx.limits.guard.admit_target(&draft.doc.job.spec.target, "#/job")?;
    let timetable = timetable(session, who, &draft.doc).await?;
    timetable.first(now, "#/spec")?;
    let shard = place::by_key(ctx, &who.team, &draft.name);
    let mut new = Schedule {
        id: ScheduleId::new(now, shard, random::bits()),
        team: who.team.clone(),
        name: draft.name.clone(),
        doc: draft.doc.clone(),
        payload: draft.payload.clone(),
        state: ScheduleState::Active,
        reason: None,
        accounted_until: now,
        next_slot_at: None,
        next_fire_at: None,
        fires: 0,
        last_fire_at: None,
        version: 1,
        created_at: now,
        updated_at: now,
    };
    edit::stand(&mut new, &timetable, draft.paused == Some(true));
    Ok(new)
}

/// Notes what was done to a schedule, as the last of its transaction; and why, if the caller said so.
/// `stood` and `stands`: as [`show::schedule`] shows them.
pub(super) async fn record(
    session: &Session,
    who: &Principal,
    (verb, id, reason): (&'static str, ScheduleId, Option<&str>),
    (stood, stands): (Value, Value),
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let deed = Deed::of(verb, format!("schedules/{id}")).change(stood, stands);
    Ok(audit::record(session, who, Deed { reason, ..deed }, now).await?)
}

/// Tells whoever fires schedules, after the commit that made it true.
pub(super) fn hint(ctx: &Ctx, schedule: &Schedule) {
    if let Some(slot_at) = schedule.next_slot_at {
        ctx.wake.slot(schedule.id.shard(), slot_at);
    }
}
