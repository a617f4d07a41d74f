//! What targets post back about their runs.
//!
//! A callback is taken only while its run is the job's current one; then it goes through the same
//! settle as an answer. One that arrives before our own reading of the answer is legal and wins. A
//! repeat of what ended the run is welcome and changes nothing; anything else about a run that is no
//! longer current is recorded and refused (conventions 2.6).

use bytes::Bytes;
use chrono::{DateTime, Utc};

use super::invoke::lease_until;
use super::settle::{self, News, Report, Settled};
use super::{Ctx, Error, run_token};
use crate::domain::id::RunId;
use crate::domain::run::{Progress, RunError, RunState};
use crate::domain::state::State;
use crate::domain::verdict::Outcome;
use crate::store::live::{self, Live};
use crate::store::{Session, events, jobs, runs};
use crate::telemetry::metrics as names;

/// What a target says about its run.
#[derive(Clone, Debug)]
pub enum Word {
    /// It worked.
    Succeeded {
        /// What came out of it: JSON, as it came.
        result: Option<Bytes>,
    },
    /// It did not.
    Failed {
        /// Why.
        error: RunError,
        /// Whether another attempt can help.
        retryable: bool,
        /// What came out of it all the same.
        result: Option<Bytes>,
    },
    /// It is still at it.
    Progress(Progress),
}

/// What a target is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// The job has moved, or the progress is noted.
    Applied,
    /// It had been said before.
    Duplicate,
}

/// Takes a callback.
pub async fn callback(ctx: &Ctx, run: RunId, token: &str, word: Word) -> Result<Heard, Error> {
    run_token::check(ctx, run, token)?;
    let session = ctx.store.session().await?;
    session.begin();
    let live = live::lock(&session, run.shard(), &[run.job.uuid()]).await?.pop();
    let Some(live) = live.filter(|live| live.run() == Some(run)) else {
        session.rollback().await;
        return not_current(ctx, &session, run, Some(&word)).await;
    };
    let report = match report(word) {
        Ok(report) => report,
        Err(progress) => {
            beat(ctx, &session, &live, run, Some(&progress)).await?;
            session.commit().await?;
            return Ok(Heard::Applied);
        }
    };
    let Some(policy) = policy(&session, run).await? else {
        return Err(Error::Missing { noun: "run" });
    };
    let news = [News::Ended { run, policy, report: Box::new(report) }];
    let written = settle::write_locked(ctx, &session, (run.shard(), vec![live]), &news).await?;
    session.commit().await?;
    settle::after_commit(ctx, run.shard(), &written).await;
    match written.answers() {
        [Settled::Moved] => Ok(Heard::Applied),
        _ => Err(Error::StaleRun { cancel_requested: false }),
    }
}

/// Takes a heartbeat; returns until when the run may go on at the latest.
pub async fn heartbeat(
    ctx: &Ctx,
    run: RunId,
    token: &str,
    progress: Option<&Progress>,
) -> Result<Option<DateTime<Utc>>, Error> {
    run_token::check(ctx, run, token)?;
    let session = ctx.store.session().await?;
    session.begin();
    let live = live::lock(&session, run.shard(), &[run.job.uuid()]).await?.pop();
    let Some(live) = live.filter(|live| live.run() == Some(run)) else {
        session.rollback().await;
        return not_current(ctx, &session, run, None).await.map(|_| None);
    };
    beat(ctx, &session, &live, run, progress).await?;
    session.commit().await?;
    Ok(live.deadline_at)
}

/// A sign of life moves the silence limit and never the deadline (bug B060). Before we have read the
/// target's answer the lease is the puller's, and stays (bug B061).
async fn beat(
    ctx: &Ctx,
    session: &Session,
    live: &Live,
    run: RunId,
    progress: Option<&Progress>,
) -> Result<(), Error> {
    let now = ctx.clock.now();
    let spec = jobs::specs(session, run.shard(), &[run.job.uuid()]).await?.pop();
    let silence = spec.and_then(|(_, spec)| spec.heartbeat_timeout_ms);
    let lease = match live.deadline_at {
        Some(deadline) => lease_until(now, deadline, silence),
        None => super::clock::after(now, ctx.limits.lease),
    };
    Ok(live::beat(session, run, (now, lease), progress).await?)
}

async fn policy(
    session: &Session,
    run: RunId,
) -> Result<Option<crate::domain::retry::RetryPolicy>, Error> {
    let found = jobs::specs(session, run.shard(), &[run.job.uuid()]).await?.pop();
    Ok(found.map(|(_, spec)| spec.retry))
}

/// How the run ended, or the progress of one that goes on.
fn report(word: Word) -> Result<Report, Progress> {
    match word {
        Word::Succeeded { result } => {
            Ok(Report { result, ..Report::bare(Outcome::Succeeded, None) })
        }
        Word::Failed { error, retryable, result } => {
            let outcome = Outcome::Failed { retryable, retry_after: None };
            Ok(Report { result, ..Report::bare(outcome, Some(error)) })
        }
        Word::Progress(progress) => Err(progress),
    }
}

/// What to say about a run that is not current: it ended, or its job did, or it never was.
async fn not_current(
    ctx: &Ctx,
    session: &Session,
    run: RunId,
    word: Option<&Word>,
) -> Result<Heard, Error> {
    let ended = runs::ended(session, run).await?;
    let Some(ended) = ended else {
        // Claimed once, or the token would not fit; handed back, or pruned since.
        return match jobs::state(session, run.job).await? {
            None => Err(Error::Missing { noun: "run" }),
            Some(state) => stale(ctx, session, run, state).await,
        };
    };
    let same = match word {
        Some(Word::Succeeded { .. }) => ended == RunState::Success,
        Some(Word::Failed { .. }) => ended == RunState::Failed,
        Some(Word::Progress(_)) | None => false,
    };
    if same {
        return Ok(Heard::Duplicate);
    }
    // Removed a moment ago: nothing is recorded of what is not there.
    let state = jobs::state(session, run.job).await?.ok_or(Error::Missing { noun: "run" })?;
    stale(ctx, session, run, state).await
}

async fn stale(ctx: &Ctx, session: &Session, run: RunId, job: State) -> Result<Heard, Error> {
    let now = ctx.clock.now();
    let detail = format!("a callback or heartbeat came while the job was {}", job.as_str());
    let event = ("stale_callback", Some(detail.as_str()));
    events::record(session, run.shard(), &[run], event, now).await?;
    metrics::counter!(names::STALE_CALLBACKS).increment(1);
    Err(Error::StaleRun { cancel_requested: job == State::Cancelled })
}
