//! Runs: one row per ended run, and the one that is going on, read off its job's `live` row.

use std::collections::BTreeMap;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use tokio_postgres::Row;
use tokio_postgres::types::Json;
use uuid::Uuid;

use super::live::{self, Live};
use super::{Error, Session, Store, sql};
use crate::domain::id::{JobId, RunId, Shard};
use crate::domain::principal::Team;
use crate::domain::run::{Progress, Response, Run, RunError, RunState};

/// Keeps how runs of one shard ended. `finished_at` of each is `now`.
pub async fn insert(
    session: &Session,
    shard: Shard,
    runs: &[Run],
    now: DateTime<Utc>,
) -> Result<(), Error> {
    fn column<'a, T>(runs: &'a [Run], value: impl Fn(&'a Run) -> T) -> Vec<T> {
        runs.iter().map(value).collect()
    }
    fn answer<T>(run: &Run, value: impl Fn(&Response) -> T) -> Option<T> {
        run.response.as_ref().map(value)
    }
    let ids: Vec<Uuid> = column(runs, |r| r.id.job.uuid());
    let fences = column(runs, |r| r.id.fence);
    let attempts = column(runs, |r| r.attempt);
    let states = column(runs, |r| r.state.as_str());
    let pullers = column(runs, |r| r.puller.as_deref());
    let claimed = column(runs, |r| r.claimed_at);
    let sent = column(runs, |r| r.sent_at);
    let accepted = column(runs, |r| r.accepted_at);
    let beats = column(runs, |r| r.heartbeat_at);
    let deadlines = column(runs, |r| r.deadline_at);
    let retries = column(runs, |r| r.retry_at);
    let statuses = column(runs, |r| r.http_status);
    let classes = column(runs, |r| r.error.as_ref().map(|e| e.class.as_str()));
    let messages = column(runs, |r| r.error.as_ref().map(|e| e.message.as_str()));
    let headers = column(runs, |r| r.response.as_ref().map(|a| Json(&a.headers)));
    let bodies = column(runs, |r| r.response.as_ref().map(|a| a.body.as_ref()));
    let truncated = column(runs, |r| answer(r, |a| a.truncated).unwrap_or(false));
    let results = column(runs, |r| r.result.as_deref());
    let progress = column(runs, |r| r.progress.as_ref().map(Json));
    let params: super::Params<'_> = &[
        &shard.0, &ids, &fences, &attempts, &states, &pullers, &claimed, &sent, &accepted, &beats,
        &deadlines, &retries, &statuses, &classes, &messages, &headers, &bodies, &truncated,
        &results, &progress, &now,
    ];
    session.query(sql!("runs/insert"), params).await.map(drop)
}

/// Ended runs of a job, newest first, with fences below `before`.
pub async fn list(
    store: &Store,
    job: JobId,
    team: &Team,
    before: i32,
    limit: i64,
) -> Result<Vec<Run>, Error> {
    let params: super::Params<'_> = &[&job.shard().0, &job.uuid(), &team.as_str(), &before, &limit];
    store.query(sql!("runs/list"), params).await?.iter().map(read).collect()
}

/// The run that a job is having, if it is.
pub async fn current(store: &Store, job: JobId, team: &Team) -> Result<Option<Run>, Error> {
    let params: super::Params<'_> = &[&job.shard().0, &job.uuid(), &team.as_str()];
    let rows = store.query(sql!("runs/current"), params).await?;
    Ok(rows.first().map(live::read).transpose()?.map(|live| going_on(&live)))
}

/// How a run ended, if it has.
pub async fn ended(session: &Session, run: RunId) -> Result<Option<RunState>, Error> {
    let params: super::Params<'_> = &[&run.shard().0, &run.job.uuid(), &run.fence];
    let Some(row) = session.query_opt(sql!("runs/ended"), params).await? else { return Ok(None) };
    Ok(RunState::parse(row.try_get("state")?))
}

/// How the newest ended run of a job went: its status and its error.
pub async fn previous(
    store: &Store,
    job: JobId,
) -> Result<Option<(Option<i32>, Option<RunError>)>, Error> {
    let rows = store.query(sql!("runs/previous"), &[&job.shard().0, &job.uuid()]).await?;
    rows.first().map(|row| Ok((row.try_get("http_status")?, read_error(row)?))).transpose()
}

/// The run that a `live` row is the record of, as far as it has come.
pub fn going_on(live: &Live) -> Run {
    let accepted = live.accepted_at.is_some();
    Run {
        id: RunId { job: live.id, fence: live.fence },
        attempt: live.spent.attempt,
        state: if accepted { RunState::Running } else { RunState::Dispatching },
        puller: live.puller.clone(),
        claimed_at: live.claimed_at,
        sent_at: live.sent_at,
        accepted_at: live.accepted_at,
        heartbeat_at: live.heartbeat_at,
        finished_at: None,
        deadline_at: live.deadline_at,
        http_status: live.http_status,
        error: None,
        response: None,
        result: None,
        progress: live.progress.clone(),
        retry_at: None,
    }
}

fn read(row: &Row) -> Result<Run, Error> {
    let job = JobId::from_uuid(row.try_get("job_id")?);
    let state = RunState::parse(row.try_get("state")?).ok_or_else(|| Error::corrupt("state"))?;
    let headers: Option<Json<BTreeMap<String, String>>> = row.try_get("response_headers")?;
    let body: Option<Vec<u8>> = row.try_get("response_body")?;
    let truncated = row.try_get("response_truncated")?;
    let result: Option<Vec<u8>> = row.try_get("result")?;
    let progress: Option<Json<Progress>> = row.try_get("progress")?;
    Ok(Run {
        id: RunId { job, fence: row.try_get("fence")? },
        attempt: row.try_get("attempt")?,
        state,
        puller: row.try_get("puller")?,
        claimed_at: row.try_get("claimed_at")?,
        sent_at: row.try_get("sent_at")?,
        accepted_at: row.try_get("accepted_at")?,
        heartbeat_at: row.try_get("heartbeat_at")?,
        finished_at: row.try_get("finished_at")?,
        deadline_at: row.try_get("deadline_at")?,
        http_status: row.try_get("http_status")?,
        error: read_error(row)?,
        response: headers.map(|Json(headers)| Response {
            headers,
            body: Bytes::from(body.unwrap_or_default()),
            truncated,
        }),
        result: result.map(Bytes::from),
        progress: progress.map(|Json(progress)| progress),
        retry_at: row.try_get("retry_at")?,
    })
}

pub(super) fn read_error(row: &Row) -> Result<Option<RunError>, Error> {
    let class: Option<String> = row.try_get("error_class")?;
    let message: Option<String> = row.try_get("error_message")?;
    Ok(class.map(|class| RunError { class, message: message.unwrap_or_default() }))
}
