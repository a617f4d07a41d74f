//! The parts of the history, one for each week and a net for what has none, and the removal of what is
//! kept no longer. A part is of `jobs`, `done`, `runs` and `events` alike, so a job lies in one whole.

use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio_postgres::Row;
use uuid::Uuid;

use super::live::read_team;
use super::{Error, Session, Statement, Store, sql};
use crate::domain::id::{JobId, Shard};
use crate::domain::principal::Team;

/// The name of the net, which has a row like a part.
pub const NET: &str = "rest";

/// A part, and how far it has been looked through.
#[derive(Clone, Debug)]
pub struct Part {
    /// What the names of its tables end with.
    pub name: String,
    /// Its ids, the end exclusive; nothing for the net.
    pub ids: (Uuid, Uuid),
    /// No job in it was registered at this instant or later; none for the net.
    pub ends_at: Option<DateTime<Utc>>,
    /// When it is to be looked through, or that to be gone on with.
    pub look_at: DateTime<Utc>,
    /// When its last job ended; none if that is not known, or one is unfinished.
    pub ended_at: Option<DateTime<Utc>>,
    /// Where the look under way goes on: in this shard, after this id.
    pub place: Option<(Shard, Uuid)>,
    /// Whether no unfinished job pointed into it when the look began.
    pub settled: bool,
    /// Jobs that this look, or the last one, has met and left.
    pub kept: i64,
    /// When the last of these ended.
    pub last_end: Option<DateTime<Utc>>,
    /// When the first of these will have been kept long enough; none if all are kept for ever.
    pub soonest: Option<DateTime<Utc>>,
}

impl Part {
    /// Whether it is the net.
    pub fn is_net(&self) -> bool {
        self.name == NET
    }
}

/// A finished job, as far as its removal is concerned.
#[derive(Clone, Debug)]
pub struct Ended {
    /// The job.
    pub id: JobId,
    /// Whose it is.
    pub team: Team,
    /// The fence of its last run: it has no more runs than that.
    pub fence: i32,
    /// When it ended.
    pub at: DateTime<Utc>,
}

/// Every part, the one that is to be looked through next first.
pub async fn list(store: &Store) -> Result<Vec<Part>, Error> {
    store.query(sql!("history/list"), &[]).await?.iter().map(read).collect()
}

/// A part, for a transaction that looks after the history; none while another process does, or if
/// there is no such part.
pub async fn take(session: &Session, name: &str) -> Result<Option<Part>, Error> {
    session.query_opt(sql!("history/take"), &[&name]).await?.as_ref().map(read).transpose()
}

/// Sets how long the transaction waits for a lock from here on.
pub async fn patience(session: &Session, wait: Duration) -> Result<(), Error> {
    let wait = format!("{}ms", wait.as_millis());
    session.query(sql!("history/patience"), &[&wait]).await.map(drop)
}

/// Makes the part of the week that begins then; returns whether it has.
pub async fn open(session: &Session, week: DateTime<Utc>) -> Result<bool, Error> {
    said(session.query_opt(sql!("history/open"), &[&week]).await?, "opened")
}

/// Drops a part; returns whether it has, or an unfinished job points into it.
pub async fn drop_part(session: &Session, name: &str) -> Result<bool, Error> {
    said(session.query_opt(sql!("history/drop_part"), &[&name]).await?, "dropped")
}

/// Whether an unfinished job points into a part.
pub async fn unfinished(session: &Session, (first, end): (Uuid, Uuid)) -> Result<bool, Error> {
    said(session.query_opt(sql!("history/unfinished"), &[&first, &end]).await?, "unfinished")
}

/// Finished jobs of a part after a place in it, in the order of their ids.
pub async fn page(
    session: &Session,
    part: &Part,
    (shard, after): (Shard, Uuid),
    limit: i64,
) -> Result<Vec<Ended>, Error> {
    if part.is_net() {
        return page_rest(session, (shard, after), limit).await;
    }
    let params: super::Params<'_> = &[&shard.0, &after, &part.ids.1, &limit];
    session.query(sql!("history/page"), params).await?.iter().map(read_ended).collect()
}

/// The same of the net.
async fn page_rest(
    session: &Session,
    (shard, after): (Shard, Uuid),
    limit: i64,
) -> Result<Vec<Ended>, Error> {
    let params: super::Params<'_> = &[&shard.0, &after, &limit];
    session.query(sql!("history/page_rest"), params).await?.iter().map(read_ended).collect()
}

/// Jobs of one shard that are to be removed, and between which ids they lie.
#[derive(Clone, Copy, Debug)]
pub struct Gone<'a> {
    /// The shard.
    pub shard: Shard,
    /// Their ids, in order.
    pub ids: &'a [Uuid],
    /// The smallest and the largest.
    pub within: (Uuid, Uuid),
}

/// Removes what was asked.
pub async fn remove_jobs(session: &Session, gone: Gone<'_>) -> Result<(), Error> {
    remove(session, sql!("history/remove_jobs"), gone).await
}

/// Removes how they ended.
pub async fn remove_done(session: &Session, gone: Gone<'_>) -> Result<(), Error> {
    remove(session, sql!("history/remove_done"), gone).await
}

/// Removes their runs.
pub async fn remove_runs(session: &Session, gone: Gone<'_>) -> Result<(), Error> {
    remove(session, sql!("history/remove_runs"), gone).await
}

/// Removes their events.
pub async fn remove_events(session: &Session, gone: Gone<'_>) -> Result<(), Error> {
    remove(session, sql!("history/remove_events"), gone).await
}

async fn remove(session: &Session, statement: Statement, gone: Gone<'_>) -> Result<(), Error> {
    let Gone { shard, ids, within: (first, last) } = gone;
    let params: super::Params<'_> = &[&shard.0, &ids, &first, &last];
    session.query(statement, params).await.map(drop)
}

/// Notes how far a part has been looked through.
pub async fn put(session: &Session, part: &Part) -> Result<(), Error> {
    let (shard, after) = part.place.map(|(shard, after)| (shard.0, after)).unzip();
    let params: super::Params<'_> = &[
        &part.name,
        &part.look_at,
        &part.ended_at,
        &shard,
        &after,
        &part.settled,
        &part.kept,
        &part.last_end,
        &part.soonest,
    ];
    session.query(sql!("history/put"), params).await.map(drop)
}

fn said(row: Option<Row>, what: &str) -> Result<bool, Error> {
    Ok(row.map(|row| row.try_get(what)).transpose()?.unwrap_or(false))
}

fn read(row: &Row) -> Result<Part, Error> {
    let shard: Option<i32> = row.try_get("shard")?;
    Ok(Part {
        name: row.try_get("part")?,
        ids: (row.try_get("first_id")?, row.try_get("end_id")?),
        ends_at: row.try_get("ends_at")?,
        look_at: row.try_get("look_at")?,
        ended_at: row.try_get("ended_at")?,
        place: shard.map(Shard).zip(row.try_get("after_id")?),
        settled: row.try_get("settled")?,
        kept: row.try_get("kept")?,
        last_end: row.try_get("last_end")?,
        soonest: row.try_get("soonest")?,
    })
}

fn read_ended(row: &Row) -> Result<Ended, Error> {
    Ok(Ended {
        id: JobId::from_uuid(row.try_get("job_id")?),
        team: read_team(row)?,
        fence: row.try_get("fence")?,
        at: row.try_get("finished_at")?,
    })
}
