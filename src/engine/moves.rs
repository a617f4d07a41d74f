//! What an owner does to a job that exists: change, cancel, run now, run again.
//!
//! Each locks the job's `live` row, decides by the state found, and moves it in the same
//! transaction, so that a racing claim or settle comes wholly before or wholly after.

use bytes::Bytes;
use chrono::{DateTime, Utc};

use super::audit::{self, Deed, show};
use super::error::allow;
use super::jobs::{duplicate, reaches, registered};
use super::once::{Answer, Key, once};
use super::register::{Registered, register};
use super::{Ctx, Error, history, privacy, turns};
use crate::domain::id::JobId;
use crate::domain::job::{Due, Job, NewJob, OnDuplicate, Reason};
use crate::domain::principal::{Act, Principal};
use crate::domain::run::RunState;
use crate::domain::state::{Event, State, next};
use crate::store::done::{self, Done};
use crate::store::idempotency::Kept;

pub use crate::store::jobs::Change;
use crate::store::live::{self, Live};
use crate::store::{Session, jobs, runs};

/// Changes a job that is not claimed. `expected` lists the `ETag`s, with commas between, that the
/// caller takes for current; none means any.
pub async fn change(
    ctx: &Ctx,
    who: &Principal,
    id: JobId,
    expected: Option<&str>,
    changes: impl FnOnce(&Job) -> Result<Change, Error>,
) -> Result<Job, Error> {
    allow(who, Act::Write)?;
    let now = ctx.clock.now();
    let mut room = ctx.quotas.room(ctx, &who.team).await;
    let veil = privacy::veil(ctx, who);
    let session = ctx.store.session().await?;
    session.begin();
    let changed = async {
        let (live, job) = lock(ctx, &session, who, id).await?;
        let etag = job.etag();
        if expected.is_some_and(|list| list.split(',').all(|known| known.trim() != etag)) {
            return Err(Error::ConditionFailed { current: etag });
        }
        let state = live.map_or(job.state(), |live| live.state);
        if state == State::Running || state.is_final() {
            return Err(Error::Refused { id, state, wanted: "changed" });
        }
        let mut change = changes(&job)?;
        let grows = |new: &Bytes| {
            new.len().saturating_sub(job.asked.payload.as_ref().map_or(0, Bytes::len))
        };
        room.take(0, change.payload.as_ref().map_or(0, grows))?;
        let payload = change.payload.as_deref().unwrap_or_default();
        veil.refuse_masks("#/payload", payload).into_result(())?;
        // A past due time means at once; it does not jump the queue.
        change.due_at = change.due_at.map(|due_at| due_at.max(now));
        live::change(&session, id, (change.due_at, change.priority), now).await?;
        jobs::change(&session, id, &who.team, &change).await?;
        let changed = read_back(ctx, &session, who, id).await?;
        record(&session, who, ("change", &job), show::job(&changed), now).await?;
        Ok(changed)
    };
    let job = ended(&session, changed.await).await?;
    room.keep();
    ctx.wake.due(id.shard(), job.standing.next_attempt_at.unwrap_or(now));
    Ok(job)
}

/// Stops a job. A running one is freed at once: its target is not told, but its later answer,
/// callback or heartbeat finds that it is not wanted any more. Cancelling twice is the same as once.
pub async fn cancel(
    ctx: &Ctx,
    who: &Principal,
    key: Option<&Key>,
    id: JobId,
    render: impl Fn(&Job) -> Kept,
) -> Result<Answer<Job>, Error> {
    allow(who, Act::Write)?;
    let now = ctx.clock.now();
    let work = async |session: &Session| {
        let (live, job) = lock(ctx, session, who, id).await?;
        let Some(live) = live else {
            let state = job.state();
            if state == State::Cancelled {
                return Ok(job);
            }
            return Err(Error::Refused { id, state, wanted: "cancelled" });
        };
        if next(live.state, Event::Cancel).next().is_none() {
            return Err(Error::Refused { id, state: live.state, wanted: "cancelled" });
        }
        cancel_locked(session, &live, Reason::ByUser, now).await?;
        let cancelled = read_back(ctx, session, who, id).await?;
        record(session, who, ("cancel", &job), show::job(&cancelled), now).await?;
        Ok(cancelled)
    };
    let answer = once(ctx, key, now, work, render).await?;
    if let Answer::Fresh(job, _) = &answer {
        turns::pass_on(ctx, id.shard(), job.asked.schedule_id.as_slice()).await;
    }
    Ok(answer)
}

/// Makes a waiting job due at once, whatever its time or back-off.
pub async fn run_now(
    ctx: &Ctx,
    who: &Principal,
    key: Option<&Key>,
    id: JobId,
    render: impl Fn(&Job) -> Kept,
) -> Result<Answer<Job>, Error> {
    allow(who, Act::Operate)?;
    let now = ctx.clock.now();
    let work = async |session: &Session| {
        let (live, job) = lock(ctx, session, who, id).await?;
        let state = live.map_or(job.state(), |live| live.state);
        if next(state, Event::Claim).next().is_none() {
            return Err(Error::Refused { id, state, wanted: "run now" });
        }
        live::change(session, id, (Some(now), None), now).await?;
        let due = read_back(ctx, session, who, id).await?;
        record(session, who, ("run-now", &job), show::job(&due), now).await?;
        Ok(due)
    };
    let answer = once(ctx, key, now, work, render).await?;
    if let Answer::Fresh(..) = &answer {
        ctx.wake.due(id.shard(), now);
    }
    Ok(answer)
}

/// Makes a new job of a finished one, linked to it. Each accepted request makes one (bug B089).
pub async fn rerun(
    ctx: &Ctx,
    who: &Principal,
    key: Option<&Key>,
    id: JobId,
    render: impl Fn(&Job) -> Kept,
) -> Result<Answer<Job>, Error> {
    allow(who, Act::Operate)?;
    let now = ctx.clock.now();
    let mut room = ctx.quotas.room(ctx, &who.team).await;
    let work = async |session: &Session| {
        let job = read_back(ctx, session, who, id).await?;
        if !job.state().is_final() {
            return Err(Error::Refused { id, state: job.state(), wanted: "run again" });
        }
        room.take(1, job.asked.payload.as_ref().map_or(0, Bytes::len))?;
        let place = (None, now);
        match register(ctx, session, &who.team, vec![again(&job)], place).await?.pop() {
            Some(Registered::New(new)) => {
                let made = serde_json::json!({"job": new.id.to_string()});
                record(session, who, ("rerun", &job), made, now).await?;
                Ok(new)
            }
            Some(Registered::Existing(job)) => Err(duplicate(who, &job)),
            None => Err(Error::Broken("a registration had no answer".into())),
        }
    };
    let answer = once(ctx, key, now, work, render).await?;
    if let Answer::Fresh(job, _) = &answer {
        room.keep();
        registered(ctx, std::iter::once(job), "rerun");
    }
    Ok(answer)
}

/// The same job once more, due at once.
fn again(job: &Job) -> NewJob {
    let asked = &job.asked;
    NewJob {
        name: asked.name.clone(),
        queue: asked.queue.clone(),
        spec: (*asked.spec).clone(),
        payload: asked.payload.clone().unwrap_or_default(),
        due: Due::At(None),
        priority: asked.priority,
        // It was a limit on the first start; running again by hand is a decision of its own.
        start_deadline: None,
        unique_key: asked.unique_key.clone(),
        on_duplicate: OnDuplicate::Reject,
        owner_service: asked.owner_service.clone(),
        tags: asked.tags.clone(),
        rerun_of: Some(job.id),
        fire: None,
    }
}

/// Notes what was done to a job, which is shown as it was before.
async fn record(
    session: &Session,
    who: &Principal,
    (verb, before): (&'static str, &Job),
    after: serde_json::Value,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let deed = Deed::of(verb, format!("jobs/{}", before.id)).change(show::job(before), after);
    Ok(audit::record(session, who, deed, now).await?)
}

/// Locks a job of the caller's team: its `live` row if it is unfinished, and the job.
async fn lock(
    ctx: &Ctx,
    session: &Session,
    who: &Principal,
    id: JobId,
) -> Result<(Option<Live>, Job), Error> {
    let live = live::lock(session, id.shard(), &[id.uuid()]).await?.pop();
    // Read after the lock: the state cannot change any more.
    let job = read_back(ctx, session, who, id).await?;
    Ok((live, job))
}

async fn read_back(ctx: &Ctx, session: &Session, who: &Principal, id: JobId) -> Result<Job, Error> {
    let found = jobs::get(session, id, &who.team).await?.filter(|job| reaches(who, job));
    found.ok_or_else(|| history::missing(ctx, &who.team, id, "job"))
}

/// Ends a job whose `live` row the open transaction has locked.
pub(super) async fn cancel_locked(
    session: &Session,
    live: &Live,
    reason: Reason,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let shard = live.id.shard();
    if live.run().is_some() {
        let mut run = runs::going_on(live);
        run.state = RunState::Cancelled;
        run.finished_at = Some(now);
        runs::insert(session, shard, &[run], now).await?;
    }
    let done = Done {
        id: live.id,
        team: live.team.clone(),
        state: State::Cancelled,
        reason: Some(reason),
        spent: live.spent,
        fence: live.fence,
    };
    live::cancel(session, live.id).await?;
    done::insert(session, shard, &[done], now).await?;
    Ok(())
}

/// Commits what went well, rolls back what did not.
async fn ended<T>(session: &Session, outcome: Result<T, Error>) -> Result<T, Error> {
    match outcome {
        Ok(value) => {
            session.commit().await?;
            Ok(value)
        }
        Err(error) => {
            session.rollback().await;
            Err(error)
        }
    }
}
