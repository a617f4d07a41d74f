//! Putting jobs into the database: ids and shards are chosen here, unique keys are met here.

use std::collections::{BTreeMap, HashSet};

use chrono::{DateTime, Utc};

use super::{Ctx, Error, clock, place, random};
use crate::domain::id::{JobId, Shard};
use crate::domain::job::{Due, Job, NewJob};
use crate::domain::principal::Team;
use crate::store::entries::{self, Row, Rows};
use crate::store::{Bounds, Session, jobs, live};

/// What became of one registration.
#[derive(Clone, Debug)]
pub enum Registered {
    /// A new job.
    New(Job),
    /// An unfinished job of the team has the unique key; this is it.
    Existing(Job),
}

/// A registration on its way: its place in the request, its id, the job and when it is due.
struct Entry {
    place: usize,
    id: JobId,
    new: NewJob,
    due_at: DateTime<Utc>,
}

/// So many jobs without a key of a batch go to one shard together: one statement instead of many.
const CHUNK: usize = 100;
/// How often a unique key may turn out to be taken by a job that is gone when we look for it.
const LOOKS: usize = 3;

/// Registers `jobs` of a team in the open transaction; the answers are in the same order. `shard`
/// overrides where a job without a unique key goes.
pub async fn register(
    ctx: &Ctx,
    session: &Session,
    team: &Team,
    jobs: Vec<NewJob>,
    (shard, now): (Option<Shard>, DateTime<Utc>),
) -> Result<Vec<Registered>, Error> {
    let count = jobs.len();
    let mut by_shard: BTreeMap<Shard, Vec<Entry>> = BTreeMap::new();
    let mut anywhere = shard.unwrap_or_else(|| place::anywhere(ctx));
    for (place, new) in jobs.into_iter().enumerate() {
        if shard.is_none() && place % CHUNK == CHUNK - 1 {
            anywhere = place::anywhere(ctx);
        }
        let shard = match &new.unique_key {
            Some(key) => place::by_key(ctx, team, key),
            None => anywhere,
        };
        let id = JobId::new(now, shard, random::bits());
        let due_at = due_at(new.due, now);
        by_shard.entry(shard).or_default().push(Entry { place, id, new, due_at });
    }
    let mut answers: Vec<Option<Registered>> = vec![None; count];
    // Shards in order, and keys in order within one: transactions that meet do not wait in a ring.
    for (shard, mut entries) in by_shard {
        entries.sort_by(|a, b| a.new.unique_key.cmp(&b.new.unique_key));
        insert(session, team, (shard, now), entries, &mut answers).await?;
    }
    answers
        .into_iter()
        .map(|answer| answer.ok_or_else(|| Error::Busy("a unique key kept changing hands".into())))
        .collect()
}

/// When a job is due: what lies in the past means at once.
pub(super) fn due_at(due: Due, now: DateTime<Utc>) -> DateTime<Utc> {
    match due {
        Due::At(at) => at.map_or(now, |at| at.max(now)),
        Due::In(millis) => clock::after(now, std::time::Duration::from_millis(millis)),
    }
}

async fn insert(
    session: &Session,
    team: &Team,
    (shard, now): (Shard, DateTime<Utc>),
    mut entries: Vec<Entry>,
    answers: &mut [Option<Registered>],
) -> Result<(), Error> {
    for _ in 0..LOOKS {
        let taken_in = write(session, team, (shard, now), &entries).await?;
        let (new, kept_out): (Vec<_>, Vec<_>) =
            entries.into_iter().partition(|entry| taken_in.contains(&entry.id));
        for entry in new {
            let job = Job::registered(entry.id, team.clone(), &entry.new, (entry.due_at, now));
            set(answers, entry.place, Registered::New(job));
        }
        entries = find_existing(session, team, shard, kept_out, answers).await?;
        if entries.is_empty() {
            return Ok(());
        }
    }
    Ok(())
}

/// Writes what no unique key keeps out, and says what that is.
async fn write(
    session: &Session,
    team: &Team,
    (shard, now): (Shard, DateTime<Utc>),
    entries: &[Entry],
) -> Result<HashSet<JobId>, Error> {
    let rows = entries.iter();
    let rows = rows.map(|e| Row { id: e.id, team, new: &e.new, due_at: e.due_at, at: now });
    let mut rows = [(shard, rows.collect::<Vec<_>>())];
    if entries.iter().all(|entry| entry.new.unique_key.is_none()) {
        let taken_in = entries::insert(session, Bounds::Inside, Rows::Both, &rows).await?;
        return Ok(taken_in.into_iter().collect());
    }
    let taken_in = entries::insert(session, Bounds::Inside, Rows::Live, &rows).await?;
    let taken_in: HashSet<_> = taken_in.into_iter().collect();
    for (_, rows) in &mut rows {
        rows.retain(|row| taken_in.contains(&row.id));
    }
    if !taken_in.is_empty() {
        entries::insert(session, Bounds::Inside, Rows::Jobs, &rows).await?;
    }
    Ok(taken_in)
}

/// Answers with the jobs that have the keys; returns the entries whose job finished meanwhile.
async fn find_existing(
    session: &Session,
    team: &Team,
    shard: Shard,
    kept_out: Vec<Entry>,
    answers: &mut [Option<Registered>],
) -> Result<Vec<Entry>, Error> {
    let keys: Vec<_> = kept_out.iter().filter_map(|e| e.new.unique_key.as_deref()).collect();
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let found: BTreeMap<_, _> =
        live::find_unique(session, shard, team, &keys).await?.into_iter().collect();
    let mut gone = Vec::new();
    for entry in kept_out {
        let id = entry.new.unique_key.as_ref().and_then(|key| found.get(key));
        let job = match id {
            Some(id) => jobs::get(session, *id, team).await?,
            None => None,
        };
        match job {
            Some(job) => set(answers, entry.place, Registered::Existing(job)),
            None => gone.push(entry),
        }
    }
    Ok(gone)
}

fn set(answers: &mut [Option<Registered>], place: usize, answer: Registered) {
    if let Some(slot) = answers.get_mut(place) {
        *slot = Some(answer);
    }
}
