//! Jobs on their way in: what a registration writes into `live` and `jobs`, for any number of shards
//! in one flight.

use chrono::{DateTime, Utc};
use tokio_postgres::types::{Json, ToSql};
use uuid::Uuid;

use super::{Bounds, Call, Error, Session, sql};
use crate::domain::id::{JobId, Shard};
use crate::domain::job::{NewJob, Spec};
use crate::domain::principal::Team;

/// A job on its way in.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// Its id, which says its shard.
    pub id: JobId,
    /// Whose it is.
    pub team: &'a Team,
    /// What was asked.
    pub new: &'a NewJob,
    /// When it is due.
    pub due_at: DateTime<Utc>,
    /// When it was registered.
    pub at: DateTime<Utc>,
}

/// Which rows to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Where the jobs stand.
    Live,
    /// What was asked.
    Jobs,
    /// Both: right only for jobs that no unique key can keep out.
    Both,
}

/// Writes rows of the jobs of each shard; returns the jobs that are in `live` now. One whose unique
/// key an unfinished job of its team has is left out.
pub async fn insert(
    session: &Session,
    bounds: Bounds,
    rows: Rows,
    shards: &[(Shard, Vec<Row<'_>>)],
) -> Result<Vec<JobId>, Error> {
    let columns: Vec<_> = shards.iter().map(|(shard, jobs)| Columns::new(*shard, jobs)).collect();
    let live: Vec<_> = columns.iter().map(Columns::live).collect();
    let jobs: Vec<_> = columns.iter().map(Columns::jobs).collect();
    let mut calls = Vec::with_capacity(2 * shards.len());
    if rows != Rows::Jobs {
        calls.extend(live.iter().map(|params| Call::new(sql!("entries/live"), params)));
    }
    if rows != Rows::Live {
        calls.extend(jobs.iter().map(|params| Call::new(sql!("entries/jobs"), params)));
    }
    let answers = session.flight(bounds, &calls).await?;
    let rows = answers.iter().flatten();
    rows.map(|row| Ok(JobId::from_uuid(row.try_get("job_id")?))).collect()
}

type Param<'a> = &'a (dyn ToSql + Sync);

/// The jobs of one shard, column by column.
struct Columns<'a> {
    shard: i32,
    ids: Vec<Uuid>,
    teams: Vec<&'a str>,
    queues: Vec<&'a str>,
    states: Vec<&'static str>,
    priorities: Vec<i16>,
    dues: Vec<DateTime<Utc>>,
    deadlines: Vec<Option<DateTime<Utc>>>,
    keys: Vec<Option<&'a str>>,
    schedules: Vec<Option<Uuid>>,
    fires: Vec<Option<DateTime<Utc>>>,
    names: Vec<Option<&'a str>>,
    specs: Vec<Json<&'a Spec>>,
    payloads: Vec<&'a [u8]>,
    owners: Vec<Option<&'a str>>,
    tags: Vec<Option<Json<&'a std::collections::BTreeMap<String, String>>>>,
    reruns: Vec<Option<Uuid>>,
    ats: Vec<DateTime<Utc>>,
}

impl<'a> Columns<'a> {
    fn new(shard: Shard, jobs: &[Row<'a>]) -> Self {
        let new = || jobs.iter().map(|job| job.new);
        Self {
            shard: shard.0,
            ids: jobs.iter().map(|job| job.id.uuid()).collect(),
            teams: jobs.iter().map(|job| job.team.as_str()).collect(),
            queues: new().map(|new| new.queue.as_str()).collect(),
            states: new().map(|new| new.first_state().as_str()).collect(),
            priorities: new().map(|new| new.priority).collect(),
            dues: jobs.iter().map(|job| job.due_at).collect(),
            deadlines: new().map(|new| new.start_deadline).collect(),
            keys: new().map(|new| new.unique_key.as_deref()).collect(),
            schedules: new().map(|new| new.fire.map(|fire| fire.schedule.uuid())).collect(),
            fires: new().map(|new| new.fire.map(|fire| fire.at)).collect(),
            names: new().map(|new| new.name.as_deref()).collect(),
            specs: new().map(|new| Json(&new.spec)).collect(),
            payloads: new().map(|new| new.payload.as_ref()).collect(),
            owners: new().map(|new| new.owner_service.as_deref()).collect(),
            tags: new().map(|new| (!new.tags.is_empty()).then_some(Json(&new.tags))).collect(),
            reruns: new().map(|new| new.rerun_of.map(JobId::uuid)).collect(),
            ats: jobs.iter().map(|job| job.at).collect(),
        }
    }

    fn live(&self) -> [Param<'_>; 11] {
        [
            &self.shard,
            &self.ids,
            &self.teams,
            &self.queues,
            &self.states,
            &self.priorities,
            &self.dues,
            &self.deadlines,
            &self.keys,
            &self.schedules,
            &self.ats,
        ]
    }

    fn jobs(&self) -> [Param<'_>; 17] {
        [
            &self.shard,
            &self.ids,
            &self.teams,
            &self.queues,
            &self.names,
            &self.specs,
            &self.payloads,
            &self.dues,
            &self.priorities,
            &self.deadlines,
            &self.keys,
            &self.owners,
            &self.tags,
            &self.reruns,
            &self.schedules,
            &self.fires,
            &self.ats,
        ]
    }
}
