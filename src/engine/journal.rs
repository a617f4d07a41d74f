//! What happened to a job: its runs, and the log that is read off them.

use std::time::Duration;

use chrono::{DateTime, Utc};

use super::{Ctx, Error, clock, history, jobs};
use crate::domain::id::{JobId, RunId};
use crate::domain::job::Job;
use crate::domain::principal::Principal;
use crate::domain::run::{LogEvent, Run, RunState};
use crate::domain::state::State;
use crate::store::{events, runs};

/// A page of a job's runs, newest first, and whether there are more. `before` bounds the fence.
pub async fn runs(
    ctx: &Ctx,
    who: &Principal,
    id: JobId,
    (before, limit): (Option<i32>, usize),
) -> Result<(Vec<Run>, bool), Error> {
    let job = jobs::get(ctx, who, id).await?;
    let top = before.unwrap_or(i32::MAX);
    let one_more = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let mut page = Vec::new();
    if before.is_none() {
        page.extend(runs::current(&ctx.store, id, &who.team).await?);
    }
    page.extend(runs::list(&ctx.store, id, &who.team, top, one_more).await?);
    // A run that ended between the two looks stands in both.
    page.dedup_by_key(|run| run.id);
    let more = page.len() > limit;
    page.truncate(limit);
    for run in &mut page {
        set_deadline(run, &job);
    }
    Ok((page, more))
}

/// One run, going on or ended.
pub async fn run(ctx: &Ctx, who: &Principal, id: RunId) -> Result<Run, Error> {
    let missing = || Error::Missing { noun: "run" };
    let job = match jobs::get(ctx, who, id.job).await {
        Err(Error::Missing { .. } | Error::Expired { .. }) => {
            return Err(history::missing(ctx, &who.team, id.job, "run"));
        }
        job => job?,
    };
    // In this order: a run moves from the one table to the other, and never back.
    let current = runs::current(&ctx.store, id.job, &who.team).await?;
    let mut found = current.filter(|run| run.id == id);
    if found.is_none() {
        let top = id.fence.saturating_add(1);
        let ended = runs::list(&ctx.store, id.job, &who.team, top, 1).await?;
        found = ended.into_iter().find(|run| run.id == id);
    }
    let mut run = found.ok_or_else(missing)?;
    set_deadline(&mut run, &job);
    Ok(run)
}

/// A run that was not accepted has no deadline on its row: it is its claim's time and the timeout.
fn set_deadline(run: &mut Run, job: &Job) {
    let limit = Duration::from_millis(job.asked.spec.timeout_ms);
    run.deadline_at = run.deadline_at.or(run.claimed_at.map(|at| clock::after(at, limit)));
}

/// How many runs, and how many stored events, the log goes back.
const LOG_DEPTH: usize = 500;

/// The log of a job, newest first: most of it is read off the job and its runs, the rest was stored.
pub async fn events(ctx: &Ctx, who: &Principal, id: JobId) -> Result<Vec<LogEvent>, Error> {
    let job = jobs::get(ctx, who, id).await?;
    let (runs, _) = runs(ctx, who, id, (None, LOG_DEPTH)).await?;
    let depth = i64::try_from(LOG_DEPTH).unwrap_or(i64::MAX);
    let mut log = events::list(&ctx.store, id, depth).await?;
    log.push(line("registered", job.asked.created_at, None, None));
    log.extend(runs.iter().flat_map(of_run));
    log.extend(ending(&job));
    log.sort_by_key(|event| std::cmp::Reverse(place(event)));
    Ok(log)
}

/// The order of the log. Equal instants keep the order of the runs, and of a run's life.
fn place(event: &LogEvent) -> (DateTime<Utc>, i32, usize) {
    const LIFE: [&str; 12] = [
        "registered",
        "claimed",
        "sent",
        "accepted",
        "progress",
        "heartbeat",
        "succeeded",
        "failed",
        "timed_out",
        "lost",
        "run_cancelled",
        "retry_scheduled",
    ];
    let rank = LIFE.iter().position(|kind| *kind == event.kind).unwrap_or(LIFE.len());
    // What is no run's: a job begins before its runs and ends after them.
    let outside = if event.kind == "registered" { 0 } else { i32::MAX };
    (event.at, event.run.map_or(outside, |run| run.fence), rank)
}

fn of_run(run: &Run) -> Vec<LogEvent> {
    let detail = run.error.as_ref().map(|error| format!("{}: {}", error.class, error.message));
    let progress = run.progress.as_ref().and_then(|progress| progress.message.clone());
    let ended = match run.state {
        RunState::Success => "succeeded",
        RunState::Failed => "failed",
        RunState::Timeout => "timed_out",
        RunState::Lost => "lost",
        RunState::Cancelled => "run_cancelled",
        RunState::Dispatching | RunState::Running => "going_on",
    };
    let reported = run.heartbeat_at.filter(|_| run.progress.is_some());
    let steps = [
        ("claimed", run.claimed_at, run.puller.clone()),
        ("sent", run.sent_at, None),
        ("accepted", run.accepted_at, None),
        ("heartbeat", run.heartbeat_at, None),
        ("progress", reported, progress),
        (ended, run.finished_at, detail),
        ("retry_scheduled", run.finished_at.filter(|_| run.retry_at.is_some()), {
            run.retry_at.map(|at| format!("the next attempt may start at {}", instant(at)))
        }),
    ];
    steps
        .into_iter()
        .filter_map(|(kind, at, detail)| Some(line(kind, at?, Some(run.id), detail)))
        .collect()
}

/// What ended the job, where that was not its run.
fn ending(job: &Job) -> Option<LogEvent> {
    let at = job.standing.finished_at?;
    let reason = job.standing.reason?;
    let kind = if job.state() == State::Cancelled { "cancelled" } else { "given_up" };
    Some(line(kind, at, None, Some(reason.as_str().to_owned())))
}

fn line(kind: &str, at: DateTime<Utc>, run: Option<RunId>, detail: Option<String>) -> LogEvent {
    LogEvent { kind: kind.to_owned(), at, run, count: 1, detail }
}

fn instant(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}
