//! "Why didn't it run?": what became of a schedule's slots, for the past from the rows that were
//! written when they passed, for the future from the rule.

use chrono::{DateTime, TimeDelta, Utc};

use super::{Ident, get, timetable};
use crate::domain::principal::Principal;
use crate::domain::schedule::record::{Fire, SKIPPED_PAUSED, Schedule, ScheduleState};
use crate::domain::schedule::slot::{Fate, Slot};
use crate::domain::schedule::timetable::Timetable;
use crate::engine::{Ctx, Error};
use crate::store::fires as rows;

/// Which slots to tell of.
#[derive(Clone, Debug, Default)]
pub struct FiresQuery {
    /// Not before this instant.
    pub from: Option<DateTime<Utc>>,
    /// Before this instant.
    pub to: Option<DateTime<Utc>>,
    /// The fire time at which the page before ended.
    pub before: Option<DateTime<Utc>>,
    /// So many rows.
    pub limit: usize,
}

/// What became of slots.
#[derive(Clone, Debug)]
pub struct FiresPage {
    /// The schedule.
    pub schedule: Schedule,
    /// Rows of the past, newest first.
    pub past: Vec<Fire>,
    /// Whether there are older ones.
    pub more: bool,
    /// What its rule says of slots that have no row yet, ascending; on the first page.
    pub expected: Vec<Expected>,
}

/// A slot to come, or one that nobody has accounted for yet.
#[derive(Clone, Debug)]
pub struct Expected {
    /// The slot.
    pub slot: Slot,
    /// `expected`, `skipped_gap`, `skipped_calendar` or `skipped_paused`.
    pub outcome: &'static str,
}

/// Slots told of the future if nobody says until when.
const NEXT: usize = 10;
/// And the most.
const EXPECTED_LIMIT: usize = 100;

/// What became of the slots of a schedule, and what is to come.
pub async fn fires(
    ctx: &Ctx,
    who: &Principal,
    ident: &Ident,
    query: &FiresQuery,
) -> Result<FiresPage, Error> {
    let schedule = get(ctx, who, ident).await?;
    let from = query.from.unwrap_or(DateTime::UNIX_EPOCH);
    let to = query.to.unwrap_or(FAR);
    let top = query.before.map_or(to, |before| before.min(to));
    let one_more = i64::try_from(query.limit).unwrap_or(i64::MAX).saturating_add(1);
    let mut past = rows::list(&ctx.store, schedule.id, (from, top), one_more).await?;
    let more = past.len() > query.limit;
    past.truncate(query.limit);
    let mut expected = Vec::new();
    if query.before.is_none() {
        let session = ctx.store.session().await?;
        // One that cannot be worked out has nothing to come.
        if let Ok(timetable) = timetable(&session, who, &schedule.doc).await {
            let limit = if query.to.is_some() { EXPECTED_LIMIT } else { NEXT };
            expected = to_come(&schedule, &timetable, (from, to), limit);
        }
    }
    Ok(FiresPage { schedule, past, more, expected })
}

/// After the year 2199, the last that a timetable knows.
const FAR: DateTime<Utc> = DateTime::<Utc>::MAX_UTC;
const INSTANT: TimeDelta = TimeDelta::microseconds(1);

fn to_come(
    schedule: &Schedule,
    timetable: &Timetable,
    (from, to): (DateTime<Utc>, DateTime<Utc>),
    limit: usize,
) -> Vec<Expected> {
    let paused = match schedule.state {
        ScheduleState::Active => false,
        ScheduleState::Paused => true,
        ScheduleState::Ended | ScheduleState::Error => return Vec::new(),
    };
    let after = schedule.accounted_until.max(from - INSTANT);
    let left = schedule.doc.max_fires.map_or(usize::MAX, |max| {
        usize::try_from(i64::from(max) - i64::from(schedule.fires)).unwrap_or(0)
    });
    let mut fires = 0;
    let slots = timetable.slots(after, to - INSTANT, limit).into_iter();
    let slots = slots.take_while(|slot| {
        fires += usize::from(slot.fate == Fate::Fires);
        fires <= left
    });
    slots
        .map(|slot| {
            let otherwise = if paused { SKIPPED_PAUSED } else { "expected" };
            Expected { outcome: slot.fate.skipped().unwrap_or(otherwise), slot }
        })
        .collect()
}
