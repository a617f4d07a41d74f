//! What the other rows don't tell.

use chrono::{DateTime, Utc};

use super::{Error, Session, Store, sql};
use crate::domain::id::{JobId, RunId, Shard};
use crate::domain::run::LogEvent;

/// Keeps an uncommon event of some runs of one shard.
pub async fn record(
    session: &Session,
    shard: Shard,
    runs: &[RunId],
    event: (&str, Option<&str>),
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let jobs: Vec<_> = runs.iter().map(|run| run.job.uuid()).collect();
    let fences: Vec<_> = runs.iter().map(|run| run.fence).collect();
    let (kind, detail) = event;
    let params: super::Params<'_> = &[&shard.0, &jobs, &fences, &kind, &now, &detail];
    session.query(sql!("events/record"), params).await.map(drop)
}

/// The stored events of a job.
pub async fn list(store: &Store, job: JobId, limit: i64) -> Result<Vec<LogEvent>, Error> {
    let rows = store.query(sql!("events/list"), &[&job.shard().0, &job.uuid(), &limit]).await?;
    rows.iter()
        .map(|row| {
            let fence = row.try_get("fence")?;
            Ok(LogEvent {
                kind: row.try_get("kind")?,
                at: row.try_get("last_at")?,
                run: (fence > 0).then_some(RunId { job, fence }),
                count: row.try_get("count")?,
                detail: row.try_get("detail")?,
            })
        })
        .collect()
}
