//! Writing how runs went: the one way for a puller's answers, for callbacks and for the sweep.
//!
//! A batch is of one shard. Its rows are locked in id order; what is no longer that run's business
//! (another fence, another state) is left alone and counted; the rest moves, with its run's row, in
//! the same transaction.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::breaker::Deferred;
use super::{Ctx, Error, clock, random, turns};
use crate::domain::breaker::Deferral;
use crate::domain::id::{JobId, RunId, ScheduleId, Shard};
use crate::domain::job::Reason;
use crate::domain::retry::RetryPolicy;
use crate::domain::run::{Response, Run, RunError};
use crate::domain::state::State;
use crate::domain::verdict::{Outcome, Verdict, decide};
use crate::store::done::{self, Done};
use crate::store::live::{self, Acceptance, Live, Retry, Return};
use crate::store::{Session, events, runs, schedules};
use crate::telemetry::metrics as names;

/// What is known of how a run ended.
#[derive(Clone, Debug)]
pub struct Report {
    /// How it ended.
    pub outcome: Outcome,
    /// When the request was sent; none if it never was, or if that is on the row.
    pub sent_at: Option<DateTime<Utc>>,
    /// What the target answered.
    pub http_status: Option<i32>,
    /// Why it did not succeed.
    pub error: Option<RunError>,
    /// What the target answered, in full.
    pub response: Option<Response>,
    /// What the callback brought.
    pub result: Option<bytes::Bytes>,
}

impl Report {
    /// An outcome with its reason, and nothing else.
    pub fn bare(outcome: Outcome, error: Option<RunError>) -> Self {
        Self { outcome, sent_at: None, http_status: None, error, response: None, result: None }
    }
}

/// News of a run.
#[derive(Clone, Debug)]
pub enum News {
    /// The target has accepted it; a callback will come.
    Accepted(Acceptance),
    /// It ended.
    Ended {
        /// Which.
        run: RunId,
        /// When its job may be tried again.
        policy: RetryPolicy,
        /// How.
        report: Box<Report>,
    },
    /// It was claimed and never sent.
    HandedBack(RunId),
    /// It was claimed and not sent, since its target may not be called now.
    Deferred(RunId, Deferred),
}

impl News {
    /// The run that it is about.
    pub fn run(&self) -> RunId {
        match self {
            Self::Accepted(acceptance) => acceptance.run,
            Self::Ended { run, .. } | Self::HandedBack(run) | Self::Deferred(run, _) => *run,
        }
    }
}

/// What became of one piece of news.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// It changed the job.
    Moved,
    /// The run was no longer current.
    Stale,
}

/// So many rows at most in one statement (bug B094, mission B.15).
pub const BATCH: usize = 200;

/// What a batch does to the tables.
#[derive(Default)]
struct Plan {
    accepted: Vec<Acceptance>,
    handed_back: Vec<Return>,
    retries: Vec<Retry>,
    finished: Vec<RunId>,
    done: Vec<Done>,
    runs: Vec<Run>,
    /// Schedules of which a job ended for good.
    freed: Vec<ScheduleId>,
    /// Those of which one was given up, and why they pause if they want to.
    failed: Vec<(ScheduleId, String)>,
}

/// Writes news of runs of one shard, in one transaction; the answers are in the same order.
pub async fn write(ctx: &Ctx, shard: Shard, news: &[News]) -> Result<Vec<Settled>, Error> {
    let session = ctx.store.session().await?;
    let jobs: Vec<Uuid> = news.iter().map(|n| n.run().job.uuid()).collect();
    session.begin();
    let live = live::lock(&session, shard, &jobs).await?;
    let settled = write_locked(ctx, &session, (shard, live), news).await?;
    session.commit().await?;
    after_commit(ctx, shard, &settled).await;
    Ok(settled.answers)
}

/// What a transaction has done, to be told when it has committed.
#[derive(Default)]
pub struct Written {
    answers: Vec<Settled>,
    /// Retries, and when they are due.
    retries: Vec<Retry>,
    /// When jobs that were given back come due.
    deferred: Vec<DateTime<Utc>>,
    /// How runs ended, for the metrics.
    ended: Vec<Ending>,
    /// Schedules whose next waiting job may go.
    freed: Vec<ScheduleId>,
}

/// How one run ended.
struct Ending {
    outcome: Outcome,
    verdict: Verdict,
    attempt: i32,
    took: Duration,
}

impl Written {
    /// What became of each piece of news.
    pub fn answers(&self) -> &[Settled] {
        &self.answers
    }
}

/// Writes news of runs whose jobs the open transaction has locked.
pub async fn write_locked(
    ctx: &Ctx,
    session: &Session,
    (shard, live): (Shard, Vec<Live>),
    news: &[News],
) -> Result<Written, Error> {
    let now = ctx.clock.now();
    let by_job: BTreeMap<JobId, Live> = live.into_iter().map(|row| (row.id, row)).collect();
    let mut plan = Plan::default();
    let mut written = Written::default();
    for item in news {
        let run = item.run();
        let current = by_job.get(&run.job).filter(|live| live.run() == Some(run));
        let Some(live) = current else {
            written.answers.push(Settled::Stale);
            continue;
        };
        written.answers.push(Settled::Moved);
        match item {
            News::Accepted(acceptance) => plan.accepted.push(acceptance.clone()),
            News::HandedBack(run) => plan.handed_back.push(Return { run: *run, later: None }),
            News::Deferred(run, Deferred { due_at, why }) => {
                written.deferred.push(*due_at);
                plan.handed_back.push(Return { run: *run, later: Some((*due_at, *why)) });
            }
            News::Ended { policy, report, .. } => {
                let verdict = decide(policy, live.spent, report.outcome, random::unit());
                let took = live.claimed_at.map_or(Duration::ZERO, |at| clock::until(at, now));
                let (outcome, attempt) = (report.outcome, live.spent.attempt);
                written.ended.push(Ending { outcome, verdict, attempt, took });
                plan.end(live, report, verdict, now);
            }
        }
    }
    // Six statements' futures side by side are large; they are kept off the callers' stacks.
    Box::pin(plan.write(session, shard, now)).await?;
    written.retries = plan.retries;
    written.freed = plan.freed;
    Ok(written)
}

/// Tells the pullers, the metrics and the jobs that wait for their turn, after the commit that made
/// it true.
pub async fn after_commit(ctx: &Ctx, shard: Shard, written: &Written) {
    let retries = written.retries.iter().map(|retry| &retry.due_at);
    if let Some(due_at) = retries.chain(&written.deferred).min() {
        ctx.wake.due(shard, *due_at);
    }
    written.ended.iter().for_each(Ending::count);
    let stale = written.answers.iter().filter(|answer| **answer == Settled::Stale).count();
    if stale > 0 {
        let stale = u64::try_from(stale).unwrap_or(u64::MAX);
        metrics::counter!(names::FENCE_REJECTIONS).increment(stale);
    }
    turns::pass_on(ctx, shard, &written.freed).await;
}

impl Ending {
    fn count(&self) {
        let outcome = self.outcome.as_str();
        metrics::counter!(names::RUNS, "outcome" => outcome, "target_kind" => "http").increment(1);
        metrics::histogram!(names::RUN_DURATION, "outcome" => outcome, "target_kind" => "http")
            .record(self.took.as_secs_f64());
        match self.verdict {
            Verdict::Retry { .. } => {
                let dispatch = self.outcome == Outcome::Unreached;
                let budget = if dispatch { "dispatch" } else { "business" };
                metrics::counter!(names::RETRIES, "budget" => budget).increment(1);
            }
            Verdict::Succeed | Verdict::Fail(_) => {
                metrics::histogram!(names::JOB_ATTEMPTS).record(f64::from(self.attempt));
            }
        }
    }
}

impl Plan {
    /// Ends a run, by its verdict.
    fn end(&mut self, live: &Live, report: &Report, verdict: Verdict, now: DateTime<Utc>) {
        let run_id = RunId { job: live.id, fence: live.fence };
        let mut run = run_row(live, report, now);
        match verdict {
            Verdict::Retry { delay, spent } => {
                let due_at = clock::after(now, delay.min(FARTHEST));
                run.retry_at = Some(due_at);
                self.retries.push(Retry { run: run_id, due_at, spent });
            }
            Verdict::Succeed => self.finish(live, run_id, State::Success, None),
            Verdict::Fail(reason) => self.finish(live, run_id, State::Failed, Some(reason)),
        }
        self.runs.push(run);
    }

    fn finish(&mut self, live: &Live, run: RunId, state: State, reason: Option<Reason>) {
        let mut spent = live.spent;
        if matches!(reason, Some(Reason::TargetUnreachable | Reason::TargetForbidden)) {
            // The last call did not reach the target either: it is charged to that budget.
            spent.attempt -= 1;
            spent.failures += 1;
        }
        if let Some(schedule) = live.schedule {
            self.freed.push(schedule);
            let why = |reason: Reason| format!("job {} failed: {}", live.id, reason.as_str());
            self.failed.extend(reason.map(|reason| (schedule, why(reason))));
        }
        self.finished.push(run);
        let team = live.team.clone();
        self.done.push(Done { id: live.id, team, state, reason, spent, fence: live.fence });
    }

    /// The statements touch different rows or tables, so they go out together.
    async fn write(
        &self,
        session: &Session,
        shard: Shard,
        now: DateTime<Utc>,
    ) -> Result<(), Error> {
        let accepted: Vec<_> = self.accepted.iter().collect();
        let retries: Vec<_> = self.retries.iter().collect();
        tokio::try_join!(
            when(!accepted.is_empty(), live::accept(session, shard, &accepted, now)),
            when(!self.handed_back.is_empty(), self.give_back(session, shard, now)),
            when(!retries.is_empty(), live::retry(session, shard, &retries, now)),
            when(!self.finished.is_empty(), live::finish(session, shard, &self.finished)),
            when(!self.done.is_empty(), done::insert(session, shard, &self.done, now)),
            when(!self.runs.is_empty(), runs::insert(session, shard, &self.runs, now)),
            when(!self.failed.is_empty(), self.pause(session, shard, now)),
        )?;
        Ok(())
    }

    /// In the same transaction: no further fire comes between the failure and the pause.
    async fn pause(
        &self,
        session: &Session,
        shard: Shard,
        now: DateTime<Utc>,
    ) -> Result<(), crate::store::Error> {
        schedules::pause_on_failure(session, shard, &self.failed, now).await
    }

    async fn give_back(
        &self,
        session: &Session,
        shard: Shard,
        now: DateTime<Utc>,
    ) -> Result<(), crate::store::Error> {
        live::hand_back(session, shard, &self.handed_back, now).await?;
        let stopped = self.handed_back.iter().filter(|r| r.later.is_none()).map(|r| r.run);
        let stopped: Vec<_> = stopped.collect();
        let event = ("handed_back", Some("the puller stopped before the call was sent"));
        when(!stopped.is_empty(), events::record(session, shard, &stopped, event, now)).await?;
        // One row for a job however often it happens: a breaker may be open for days. A target at its
        // ceiling is everyday work and no event.
        let job = |r: &Return| RunId { job: r.run.job, fence: 0 };
        let unreachable = |r: &&Return| matches!(r.later, Some((_, Deferral::Unreachable)));
        let deferred: Vec<_> = self.handed_back.iter().filter(unreachable).map(job).collect();
        let event = ("deferred", Some("calls to its target failed in a row: it is left alone"));
        when(!deferred.is_empty(), events::record(session, shard, &deferred, event, now)).await
    }
}

/// No retry lies farther away, whatever a policy's arithmetic says.
const FARTHEST: Duration = Duration::from_hours(366 * 24);

async fn when(
    wanted: bool,
    statement: impl Future<Output = Result<(), crate::store::Error>>,
) -> Result<(), crate::store::Error> {
    if wanted { statement.await } else { Ok(()) }
}

/// The row of a run that has ended: what its `live` row knew, and the report.
fn run_row(live: &Live, report: &Report, now: DateTime<Utc>) -> Run {
    let mut run = runs::going_on(live);
    run.state = report.outcome.run_state();
    run.finished_at = Some(now);
    run.sent_at = report.sent_at.or(run.sent_at);
    run.http_status = report.http_status.or(run.http_status);
    run.error.clone_from(&report.error);
    run.response.clone_from(&report.response);
    run.result.clone_from(&report.result);
    run
}
