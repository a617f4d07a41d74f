//! Where each unfinished job stands. Every move names the state that it leaves and, where a run is
//! concerned, the fence of that run; a row that no longer fits is left alone.

use chrono::{DateTime, Utc};
use serde_json::Value;
use tokio_postgres::Row;
use tokio_postgres::types::Json;
use uuid::Uuid;

use super::{Call, Error, Session, Store, claimed, sql};
use crate::domain::breaker::Deferral;
use crate::domain::id::{JobId, RunId, ScheduleId, Shard};
use crate::domain::principal::Team;
use crate::domain::run::Progress;
use crate::domain::state::State;
use crate::domain::verdict::Spent;

pub use super::claimed::Claimed;

/// A row of `live`, locked by the transaction that read it.
#[derive(Clone, Debug)]
pub struct Live {
    /// The job.
    pub id: JobId,
    /// Whose it is.
    pub team: Team,
    /// Where it stands.
    pub state: State,
    /// What it has used up, a running attempt included.
    pub spent: Spent,
    /// The fence of its newest claim.
    pub fence: i32,
    /// Who claimed it.
    pub puller: Option<String>,
    /// When.
    pub claimed_at: Option<DateTime<Utc>>,
    /// When the request was sent.
    pub sent_at: Option<DateTime<Utc>>,
    /// When the target accepted it.
    pub accepted_at: Option<DateTime<Utc>>,
    /// When the target was last heard of.
    pub heartbeat_at: Option<DateTime<Utc>>,
    /// When the accepted run times out.
    pub deadline_at: Option<DateTime<Utc>>,
    /// The status with which the target accepted it.
    pub http_status: Option<i32>,
    /// What the target last reported.
    pub progress: Option<Progress>,
    /// The schedule that made it.
    pub schedule: Option<ScheduleId>,
}

impl Live {
    /// The run that the job is having, if it is.
    pub fn run(&self) -> Option<RunId> {
        (self.state == State::Running).then_some(RunId { job: self.id, fence: self.fence })
    }
}

/// A run that its target has accepted.
#[derive(Clone, Debug)]
pub struct Acceptance {
    /// The run.
    pub run: RunId,
    /// When the request was sent.
    pub sent_at: DateTime<Utc>,
    /// The status answered.
    pub http_status: i32,
    /// When it times out.
    pub deadline_at: DateTime<Utc>,
    /// Until when it may stay silent.
    pub lease_until: DateTime<Utc>,
}

/// A retry: which run it follows, when, and what will have been used up.
#[derive(Clone, Debug)]
pub struct Retry {
    /// The run that ended.
    pub run: RunId,
    /// When the next may start.
    pub due_at: DateTime<Utc>,
    /// The counters as they will be.
    pub spent: Spent,
}

/// A run that was claimed and not sent.
#[derive(Clone, Copy, Debug)]
pub struct Return {
    /// The run.
    pub run: RunId,
    /// When its job comes due again and why not at once; none: as before.
    pub later: Option<(DateTime<Utc>, Deferral)>,
}

/// The unfinished jobs of a team that have these unique keys.
pub async fn find_unique(
    session: &Session,
    shard: Shard,
    team: &Team,
    keys: &[&str],
) -> Result<Vec<(String, JobId)>, Error> {
    let rows = session.query(sql!("live/find_unique"), &[&shard.0, &team.as_str(), &keys]).await?;
    rows.iter()
        .map(|row| Ok((row.try_get("unique_key")?, JobId::from_uuid(row.try_get("job_id")?))))
        .collect()
}

/// Claims up to `limit` due jobs of one shard for `puller`, in rounds by team that begin with `start`
/// (none: the team of the job that is due longest), and, in the same round trip, looks when the next
/// is due.
pub async fn claim(
    session: &Session,
    shard: Shard,
    (puller, limit): (&str, i64),
    (now, lease_until): (DateTime<Utc>, DateTime<Utc>),
    start: Option<&Team>,
) -> Result<(Vec<Claimed>, Option<DateTime<Utc>>), Error> {
    let times = (DateTime::UNIX_EPOCH, now, lease_until);
    claim_within(session, shard, (puller, limit), times, (start, &[])).await
}

/// The same, leaving out what is due before `floor`, with at most so many jobs of each of some teams.
pub async fn claim_within(
    session: &Session,
    shard: Shard,
    (puller, limit): (&str, i64),
    (floor, now, lease_until): (DateTime<Utc>, DateTime<Utc>, DateTime<Utc>),
    (start, rooms): (Option<&Team>, &[(Team, u64)]),
) -> Result<(Vec<Claimed>, Option<DateTime<Utc>>), Error> {
    let start = start.map(Team::as_str);
    let teams: Vec<&str> = rooms.iter().map(|(team, _)| team.as_str()).collect();
    let rooms: Vec<i64> =
        rooms.iter().map(|(_, room)| i64::try_from(*room).unwrap_or(i64::MAX)).collect();
    let claim: super::Params<'_> =
        &[&shard.0, &now, &limit, &lease_until, &puller, &start, &teams, &rooms, &floor];
    let next: super::Params<'_> = &[&shard.0, &floor];
    let calls = [Call::new(sql!("live/claim"), claim), Call::new(sql!("live/next_due"), next)];
    let answers = session.flight(super::Bounds::Inside, &calls).await?;
    let [claims, next] = answers.as_slice() else { return Err(Error::corrupt("answer")) };
    Ok((claimed::read(claims)?, next_due(next)?))
}

fn next_due(rows: &[Row]) -> Result<Option<DateTime<Utc>>, Error> {
    Ok(rows.first().map(|row| row.try_get("due_at")).transpose()?.flatten())
}

/// When the next waiting job of each shard is due; shards with none are left out.
pub async fn next_dues(store: &Store) -> Result<Vec<(Shard, DateTime<Utc>)>, Error> {
    let rows = store.query(sql!("live/next_dues"), &[]).await?;
    rows.iter().map(|row| Ok((Shard(row.try_get("shard")?), row.try_get("due_at")?))).collect()
}

/// Locks these jobs of one shard, in id order, and reads them.
pub async fn lock(session: &Session, shard: Shard, jobs: &[Uuid]) -> Result<Vec<Live>, Error> {
    read_all(&session.query(sql!("live/lock"), &[&shard.0, &jobs]).await?)
}

/// Locks up to `limit` running jobs of one shard that were silent past their lease.
pub async fn overdue(
    session: &Session,
    shard: Shard,
    now: DateTime<Utc>,
    limit: i64,
) -> Result<Vec<Live>, Error> {
    read_all(&session.query(sql!("live/overdue"), &[&shard.0, &now, &limit]).await?)
}

/// Locks up to `limit` jobs of one shard whose start deadline passed before a run.
pub async fn unstarted(
    session: &Session,
    shard: Shard,
    now: DateTime<Utc>,
    limit: i64,
) -> Result<Vec<Live>, Error> {
    read_all(&session.query(sql!("live/unstarted"), &[&shard.0, &now, &limit]).await?)
}

/// Renews the leases of runs of one shard that are being called.
pub async fn renew(
    store: &Store,
    shard: Shard,
    runs: &[RunId],
    lease_until: DateTime<Utc>,
) -> Result<(), Error> {
    let (ids, fences) = columns(runs);
    let params: super::Params<'_> = &[&shard.0, &ids, &fences, &lease_until];
    store.query(sql!("live/renew"), params).await.map(drop)
}

/// Marks runs of one shard as accepted by their targets.
pub async fn accept(
    session: &Session,
    shard: Shard,
    accepted: &[&Acceptance],
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let (ids, fences) = columns(&accepted.iter().map(|a| a.run).collect::<Vec<_>>());
    let sent: Vec<_> = accepted.iter().map(|a| a.sent_at).collect();
    let statuses: Vec<_> = accepted.iter().map(|a| a.http_status).collect();
    let deadlines: Vec<_> = accepted.iter().map(|a| a.deadline_at).collect();
    let leases: Vec<_> = accepted.iter().map(|a| a.lease_until).collect();
    let params: super::Params<'_> =
        &[&shard.0, &ids, &fences, &now, &sent, &statuses, &deadlines, &leases];
    session.query(sql!("live/accept"), params).await.map(drop)
}

/// Records a target's sign of life; the run is locked by the caller.
pub async fn beat(
    session: &Session,
    run: RunId,
    (now, lease_until): (DateTime<Utc>, DateTime<Utc>),
    progress: Option<&Progress>,
) -> Result<(), Error> {
    let progress = progress.map(Json);
    let params: super::Params<'_> =
        &[&run.shard().0, &run.job.uuid(), &run.fence, &now, &lease_until, &progress];
    session.query(sql!("live/beat"), params).await.map(drop)
}

/// Takes running jobs of one shard out, because their runs ended for good.
pub async fn finish(session: &Session, shard: Shard, runs: &[RunId]) -> Result<(), Error> {
    let (ids, fences) = columns(runs);
    session.query(sql!("live/finish"), &[&shard.0, &ids, &fences]).await.map(drop)
}

/// Sends running jobs of one shard back to wait for another run.
pub async fn retry(
    session: &Session,
    shard: Shard,
    retries: &[&Retry],
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let (ids, fences) = columns(&retries.iter().map(|r| r.run).collect::<Vec<_>>());
    let dues: Vec<_> = retries.iter().map(|r| r.due_at).collect();
    let attempts: Vec<_> = retries.iter().map(|r| r.spent.attempt).collect();
    let failures: Vec<_> = retries.iter().map(|r| r.spent.failures).collect();
    let lost: Vec<_> = retries.iter().map(|r| r.spent.lost).collect();
    let params: super::Params<'_> =
        &[&shard.0, &ids, &fences, &now, &dues, &attempts, &failures, &lost];
    session.query(sql!("live/retry"), params).await.map(drop)
}

/// Gives back claimed jobs of one shard that were not sent.
pub async fn hand_back(
    session: &Session,
    shard: Shard,
    returns: &[Return],
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let (ids, fences) = columns(&returns.iter().map(|r| r.run).collect::<Vec<_>>());
    let dues: Vec<_> = returns.iter().map(|r| r.later.map(|(due_at, _)| due_at)).collect();
    let whys: Vec<_> = returns.iter().map(|r| r.later.map(|(_, why)| why.as_str())).collect();
    let params: super::Params<'_> = &[&shard.0, &ids, &fences, &now, &dues, &whys];
    session.query(sql!("live/hand_back"), params).await.map(drop)
}

/// Takes a job out because it is cancelled.
pub async fn cancel(session: &Session, job: JobId) -> Result<(), Error> {
    session.query(sql!("live/cancel"), &[&job.shard().0, &job.uuid()]).await.map(drop)
}

/// Takes jobs of one shard out because their start deadline passed.
pub async fn expire(
    session: &Session,
    shard: Shard,
    jobs: &[JobId],
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let ids: Vec<Uuid> = jobs.iter().map(|job| job.uuid()).collect();
    session.query(sql!("live/expire"), &[&shard.0, &ids, &now]).await.map(drop)
}

/// Changes when and how urgently a job that is not claimed runs.
pub async fn change(
    session: &Session,
    job: JobId,
    (due_at, priority): (Option<DateTime<Utc>>, Option<i16>),
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let params: super::Params<'_> = &[&job.shard().0, &job.uuid(), &due_at, &priority, &now];
    session.query(sql!("live/change"), params).await.map(drop)
}

/// Sets due jobs of paused queues aside in one shard, as far as the first `depth` of each priority;
/// returns how many.
pub async fn hold(
    store: &Store,
    shard: Shard,
    now: DateTime<Utc>,
    depth: i64,
) -> Result<usize, Error> {
    Ok(store.query(sql!("live/hold"), &[&shard.0, &now, &depth]).await?.len())
}

/// Gives back up to `limit` jobs of a resumed queue in one shard; returns how many.
pub async fn unhold(
    store: &Store,
    shard: Shard,
    (team, queue): (&Team, &str),
    limit: i64,
) -> Result<usize, Error> {
    let params: super::Params<'_> = &[&shard.0, &team.as_str(), &queue, &limit];
    Ok(store.query(sql!("live/unhold"), params).await?.len())
}

pub(super) fn read(row: &Row) -> Result<Live, Error> {
    let progress: Option<Value> = row.try_get("progress")?;
    let schedule: Option<Uuid> = row.try_get("schedule_id")?;
    Ok(Live {
        id: JobId::from_uuid(row.try_get("job_id")?),
        team: read_team(row)?,
        state: State::parse(row.try_get("state")?).ok_or_else(|| Error::corrupt("state"))?,
        spent: read_spent(row)?,
        fence: row.try_get("fence")?,
        puller: row.try_get("puller")?,
        claimed_at: row.try_get("claimed_at")?,
        sent_at: row.try_get("sent_at")?,
        accepted_at: row.try_get("accepted_at")?,
        heartbeat_at: row.try_get("heartbeat_at")?,
        deadline_at: row.try_get("deadline_at")?,
        http_status: row.try_get("http_status")?,
        progress: progress.and_then(|value| serde_json::from_value(value).ok()),
        schedule: schedule.map(ScheduleId::from_uuid),
    })
}

fn read_all(rows: &[Row]) -> Result<Vec<Live>, Error> {
    rows.iter().map(read).collect()
}

pub(super) fn read_spent(row: &Row) -> Result<Spent, Error> {
    Ok(Spent {
        attempt: row.try_get("attempt")?,
        failures: row.try_get("failures")?,
        lost: row.try_get("lost")?,
    })
}

pub(super) fn read_team(row: &Row) -> Result<Team, Error> {
    Team::parse(row.try_get("team")?).or(Err(Error::corrupt("team")))
}

fn columns(runs: &[RunId]) -> (Vec<Uuid>, Vec<i32>) {
    runs.iter().map(|run| (run.job.uuid(), run.fence)).unzip()
}
