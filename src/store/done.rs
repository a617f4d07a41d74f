//! How each finished job ended. Inserted once, by the transaction that took the job out of `live`.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{Error, Session, sql};
use crate::domain::id::{JobId, Shard};
use crate::domain::job::Reason;
use crate::domain::principal::Team;
use crate::domain::state::State;
use crate::domain::verdict::Spent;

/// How a job ended.
#[derive(Clone, Debug)]
pub struct Done {
    /// The job.
    pub id: JobId,
    /// Whose it is.
    pub team: Team,
    /// A final state.
    pub state: State,
    /// Why; none for success.
    pub reason: Option<Reason>,
    /// What it used up.
    pub spent: Spent,
    /// The fence of its last run; 0 if it never had one.
    pub fence: i32,
}

/// Keeps how jobs of one shard ended.
pub async fn insert(
    session: &Session,
    shard: Shard,
    done: &[Done],
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let ids: Vec<Uuid> = done.iter().map(|d| d.id.uuid()).collect();
    let teams: Vec<_> = done.iter().map(|d| d.team.as_str()).collect();
    let states: Vec<_> = done.iter().map(|d| d.state.as_str()).collect();
    let reasons: Vec<_> = done.iter().map(|d| d.reason.map(Reason::as_str)).collect();
    let attempts: Vec<_> = done.iter().map(|d| d.spent.attempt).collect();
    let failures: Vec<_> = done.iter().map(|d| d.spent.failures).collect();
    let fences: Vec<_> = done.iter().map(|d| d.fence).collect();
    let params: super::Params<'_> =
        &[&shard.0, &ids, &teams, &states, &reasons, &attempts, &failures, &fences, &now];
    session.query(sql!("done/insert"), params).await.map(drop)
}
