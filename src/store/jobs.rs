//! What was asked, and the one way to read a job: what was asked beside where it stands.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use tokio_postgres::Row;
use tokio_postgres::types::Json;
use uuid::Uuid;

use super::runs::read_error;
use super::{Error, Session, Store, live, sql};
use crate::domain::breaker::Deferral;
use crate::domain::id::{JobId, ScheduleId, Shard};
use crate::domain::job::{Asked, Job, Reason, Spec, Standing};
use crate::domain::principal::Team;
use crate::domain::run::{LastRun, Progress, RunState};
use crate::domain::state::State;

/// Which jobs of a team to list.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// In any of these states; empty means all.
    pub states: Vec<State>,
    /// Of this queue.
    pub queue: Option<String>,
    /// Of this name.
    pub name: Option<String>,
    /// With this tag: key, and value if one is wanted.
    pub tag: Option<(String, String)>,
    /// Of this owner.
    pub owner_service: Option<String>,
    /// Made by this schedule.
    pub schedule_id: Option<ScheduleId>,
    /// Created at this instant or later.
    pub since: Option<DateTime<Utc>>,
    /// Created before this instant.
    pub until: Option<DateTime<Utc>>,
}

/// What an owner changes; none leaves a value as it is.
#[derive(Clone, Debug, Default)]
pub struct Change {
    /// When it is to run.
    pub due_at: Option<DateTime<Utc>>,
    /// How urgently.
    pub priority: Option<i16>,
    /// What a run needs to know.
    pub spec: Option<Spec>,
    /// What is sent.
    pub payload: Option<Bytes>,
}

/// A job of a team.
pub async fn get(session: &Session, id: JobId, team: &Team) -> Result<Option<Job>, Error> {
    let params: super::Params<'_> = &[&id.shard().0, &id.uuid(), &team.as_str()];
    session.query_opt(sql!("jobs/get"), params).await?.as_ref().map(read).transpose()
}

/// A page of a team's jobs, newest first, with ids below `before`. Of these queues, if any are named;
/// the filter's own does not count.
pub async fn list(
    store: &Store,
    (team, queues): (&Team, Option<&[String]>),
    filter: &Filter,
    before: Option<JobId>,
    limit: i64,
) -> Result<Vec<Job>, Error> {
    let top = filter.until.map_or(Uuid::max(), JobId::floor);
    let top = before.map_or(top, |id| id.uuid().min(top));
    let bottom = filter.since.map_or(Uuid::nil(), JobId::floor);
    // Each once, however often the caller named it: the statement goes state by state.
    let wanted = |state: &State| filter.states.is_empty() || filter.states.contains(state);
    let words: Vec<_> = State::ALL.into_iter().filter(wanted).map(State::as_str).collect();
    let tag = filter.tag.as_ref().map(|(key, value)| Json(BTreeMap::from([(key, value)])));
    let params: super::Params<'_> = &[
        &team.as_str(),
        &top,
        &bottom,
        &words,
        &queues,
        &filter.name,
        &filter.owner_service,
        &tag,
        &filter.schedule_id.map(ScheduleId::uuid),
        &limit,
    ];
    store.query(sql!("jobs/list"), params).await?.iter().map(read).collect()
}

/// What runs of these jobs of one shard need to know.
pub async fn specs(
    session: &Session,
    shard: Shard,
    jobs: &[Uuid],
) -> Result<Vec<(JobId, Spec)>, Error> {
    let rows = session.query(sql!("jobs/specs"), &[&shard.0, &jobs]).await?;
    rows.iter()
        .map(|row| {
            let Json(spec) = row.try_get("spec")?;
            Ok((JobId::from_uuid(row.try_get("job_id")?), spec))
        })
        .collect()
}

/// Where a job stands, whoever owns it.
pub async fn state(session: &Session, id: JobId) -> Result<Option<State>, Error> {
    let row = session.query_opt(sql!("jobs/state"), &[&id.shard().0, &id.uuid()]).await?;
    let Some(row) = row else { return Ok(None) };
    Ok(State::parse(row.try_get("state")?))
}

/// Changes what was asked; the caller holds the lock of the job.
pub async fn change(
    session: &Session,
    id: JobId,
    team: &Team,
    change: &Change,
) -> Result<(), Error> {
    let spec = change.spec.as_ref().map(Json);
    let params: super::Params<'_> = &[
        &id.shard().0,
        &id.uuid(),
        &team.as_str(),
        &change.due_at,
        &change.priority,
        &spec,
        &change.payload.as_deref(),
    ];
    session.query(sql!("jobs/change"), params).await.map(drop)
}

fn read(row: &Row) -> Result<Job, Error> {
    let Json(spec): Json<Spec> = row.try_get("spec")?;
    let payload: Option<Vec<u8>> = row.try_get("payload")?;
    let tags: Option<Json<BTreeMap<String, String>>> = row.try_get("tags")?;
    let rerun_of: Option<Uuid> = row.try_get("rerun_of")?;
    let schedule_id: Option<Uuid> = row.try_get("schedule_id")?;
    Ok(Job {
        id: JobId::from_uuid(row.try_get("job_id")?),
        team: live::read_team(row)?,
        asked: Asked {
            name: row.try_get("name")?,
            queue: row.try_get("queue")?,
            spec: Arc::new(spec),
            payload: payload.map(Bytes::from),
            due_at: row.try_get("due_at")?,
            priority: row.try_get("priority")?,
            start_deadline: row.try_get("start_deadline")?,
            unique_key: row.try_get("unique_key")?,
            owner_service: row.try_get("owner_service")?,
            tags: tags.map(|Json(tags)| tags).unwrap_or_default(),
            rerun_of: rerun_of.map(JobId::from_uuid),
            schedule_id: schedule_id.map(ScheduleId::from_uuid),
            fire_at: row.try_get("fire_at")?,
            version: row.try_get("version")?,
            created_at: row.try_get("created_at")?,
        },
        standing: read_standing(row)?,
    })
}

fn read_standing(row: &Row) -> Result<Standing, Error> {
    let progress: Option<Json<Progress>> = row.try_get("progress")?;
    let reason: Option<&str> = row.try_get("reason")?;
    Ok(Standing {
        state: Some(State::parse(row.try_get("state")?).ok_or_else(|| Error::corrupt("state"))?),
        reason: reason.and_then(Reason::parse),
        attempt: row.try_get("attempt")?,
        failures: row.try_get("failures")?,
        fence: row.try_get("fence")?,
        held: row.try_get("held")?,
        deferred: row.try_get::<_, Option<&str>>("deferred")?.and_then(Deferral::parse),
        next_attempt_at: row.try_get("next_attempt_at")?,
        updated_at: row.try_get("updated_at")?,
        finished_at: row.try_get("finished_at")?,
        claimed_at: row.try_get("claimed_at")?,
        accepted_at: row.try_get("accepted_at")?,
        deadline_at: row.try_get("deadline_at")?,
        progress: progress.map(|Json(progress)| progress),
        last: read_last(row)?,
    })
}

fn read_last(row: &Row) -> Result<Option<LastRun>, Error> {
    let state: Option<&str> = row.try_get("last_state")?;
    let Some(state) = state.and_then(RunState::parse) else { return Ok(None) };
    let result: Option<Vec<u8>> = row.try_get("result")?;
    Ok(Some(LastRun {
        state,
        http_status: row.try_get("last_status")?,
        error: read_error(row)?,
        result: result.map(Bytes::from),
    }))
}
