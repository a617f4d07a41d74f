//! A job as a claim brings it: all that its run needs, read off one row.

use chrono::{DateTime, Utc};
use tokio_postgres::Row;
use tokio_postgres::types::Json;
use uuid::Uuid;

use super::Error;
use super::live::{read_spent, read_team};
use crate::domain::id::{JobId, RunId, ScheduleId};
use crate::domain::job::Spec;
use crate::domain::principal::Team;
use crate::domain::verdict::Spent;

/// A claimed job: all that its run needs.
#[derive(Debug)]
pub struct Claimed {
    /// The run.
    pub run: RunId,
    /// Whose it is.
    pub team: Team,
    /// Where it waited.
    pub queue: String,
    /// What it has used up, this attempt included.
    pub spent: Spent,
    /// When this run was due.
    pub due_at: DateTime<Utc>,
    /// When the job was due first.
    pub first_due_at: DateTime<Utc>,
    /// What to do.
    pub spec: Spec,
    /// What to send.
    pub payload: Vec<u8>,
    /// The schedule that made it, and the nominal fire time that it was made for.
    pub fire: Option<(ScheduleId, DateTime<Utc>)>,
}

/// The jobs of a claim's answer, higher priorities first and then the earlier due: RETURNING has no
/// order of its own.
pub(super) fn read(rows: &[Row]) -> Result<Vec<Claimed>, Error> {
    let mut claimed = rows.iter().map(read_one).collect::<Result<Vec<_>, Error>>()?;
    claimed.sort_by_key(|(priority, job)| (std::cmp::Reverse(*priority), job.due_at));
    Ok(claimed.into_iter().map(|(_, job)| job).collect())
}

fn read_one(row: &Row) -> Result<(i16, Claimed), Error> {
    let job = JobId::from_uuid(row.try_get("job_id")?);
    let Json(spec) = row.try_get("spec")?;
    let schedule: Option<Uuid> = row.try_get("schedule_id")?;
    let claimed = Claimed {
        run: RunId { job, fence: row.try_get("fence")? },
        team: read_team(row)?,
        queue: row.try_get("queue")?,
        spent: read_spent(row)?,
        due_at: row.try_get("due_at")?,
        first_due_at: row.try_get("first_due_at")?,
        spec,
        payload: row.try_get("payload")?,
        fire: schedule.map(ScheduleId::from_uuid).zip(row.try_get("fire_at")?),
    };
    Ok((row.try_get("priority")?, claimed))
}
