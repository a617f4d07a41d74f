//! Schedules for tests of the engine: drafts, a scheduler that steps when told, what became of slots.

use std::collections::BTreeMap;

use axle::domain::id::JobId;
use axle::domain::job::{Completion, Spec, Target};
use axle::domain::retry::RetryPolicy;
use axle::domain::schedule::doc::{CatchUp, Draft, JobDoc, Overlap, RuleDoc, ScheduleDoc};
use axle::domain::schedule::record::{Fire, Schedule};
use axle::domain::state::State;
use axle::engine::Error;
use axle::engine::fire::Firing;
use axle::engine::once::Answer;
use axle::engine::schedules::{self, Expected, FiresQuery, Ident};
use axle::engine::trigger::{Triggered, trigger};
use axle::store::idempotency::Kept;
use bytes::Bytes;
use chrono::{DateTime, Utc};

use super::engine::Engine;

/// A cron schedule in UTC with every policy at its default.
pub fn cron(name: &str, line: &str) -> Draft {
    draft(name, RuleDoc::Cron { cron: line.to_owned(), seconds: false })
}

/// A schedule of an interval.
pub fn every(name: &str, every_ms: u64) -> Draft {
    draft(name, RuleDoc::Every { every_ms, anchor: None })
}

/// A schedule in UTC with every policy at its default.
pub fn draft(name: &str, rule: RuleDoc) -> Draft {
    let target = Target {
        url: "http://127.0.0.1:9/".to_owned(),
        method: "POST".to_owned(),
        headers: Vec::new(),
        secret_headers: Vec::new(),
    };
    let spec = Spec {
        target,
        content_type: "application/json".to_owned(),
        json: true,
        timeout_ms: 30_000,
        completion: Completion::Response,
        heartbeat_timeout_ms: None,
        retry: RetryPolicy { max_retries: 0, ..RetryPolicy::default() },
    };
    let job = JobDoc {
        name: None,
        queue: "default".to_owned(),
        spec,
        priority: 5,
        start_within_ms: None,
        owner_service: None,
        tags: BTreeMap::default(),
    };
    let doc = ScheduleDoc {
        rule,
        time_zone: "UTC".to_owned(),
        skip_gap: false,
        passes: (true, false),
        overlap: Overlap::Skip,
        catch_up: CatchUp::Last,
        catch_up_window_ms: 3_600_000,
        catch_up_max: 10,
        jitter_ms: 0,
        exclude: Vec::new(),
        shift: None,
        start_at: None,
        end_at: None,
        max_fires: None,
        pause_on_failure: false,
        job,
    };
    Draft { name: name.to_owned(), doc, payload: Bytes::from_static(b"{\"n\":1}"), paused: None }
}

/// An instant, from RFC 3339.
pub fn at(text: &str) -> DateTime<Utc> {
    text.parse().unwrap()
}

/// What became of a slot, in short: its time of day, its outcome, `×n` if it stands for several, and
/// `trigger` or `backfill` if it was not the timer's.
pub fn brief(fire: &Fire) -> String {
    let count = if fire.count > 1 { format!(" ×{}", fire.count) } else { String::new() };
    let by = if fire.origin == "timer" { String::new() } else { format!(" {}", fire.origin) };
    format!("{} {}{count}{by}", fire.at.format("%H:%M:%S"), fire.outcome)
}

impl Engine {
    /// A process that fires schedules; it does nothing until its `step` is called.
    pub fn firing(&self) -> Firing {
        Firing::new(self.ctx.clone())
    }

    /// One look at everything that is due.
    pub async fn fire(&self) {
        self.firing().step().await.unwrap();
    }

    /// Moves the clock to an instant and fires what is due then.
    pub async fn fire_at(&self, text: &str) {
        self.move_to(text);
        self.fire().await;
    }

    /// Moves the clock forward to an instant.
    pub fn move_to(&self, text: &str) {
        let ahead = at(text) - self.clock.now();
        self.pass(ahead.to_std().expect("the clock only goes forward"));
    }

    /// Creates a schedule.
    pub async fn schedule(&self, draft: Draft) -> Schedule {
        let made = schedules::create(&self.ctx, &self.who, None, draft, |_| Kept::default()).await;
        match made.unwrap() {
            Answer::Fresh(schedule, _) => schedule,
            other @ Answer::Replayed(_) => panic!("not new: {other:?}"),
        }
    }

    /// Creates or changes one by name.
    pub async fn put(&self, draft: Draft) -> (Schedule, schedules::Put) {
        schedules::put(&self.ctx, &self.who, None, draft).await.unwrap()
    }

    /// Reads one by name.
    pub async fn schedule_named(&self, name: &str) -> Schedule {
        schedules::get(&self.ctx, &self.who, &Ident::Name(name.to_owned())).await.unwrap()
    }

    /// What became of a schedule's slots, oldest first.
    pub async fn fires(&self, name: &str) -> Vec<Fire> {
        let query = FiresQuery { limit: 5_000, ..FiresQuery::default() };
        let ident = Ident::Name(name.to_owned());
        let page = schedules::fires(&self.ctx, &self.who, &ident, &query).await.unwrap();
        page.past.into_iter().rev().collect()
    }

    /// The same in short.
    pub async fn briefs(&self, name: &str) -> Vec<String> {
        self.fires(name).await.iter().map(brief).collect()
    }

    /// What is to come by the rule, before `to`.
    pub async fn expected(&self, name: &str, to: &str) -> Vec<Expected> {
        let query = FiresQuery { to: Some(at(to)), limit: 1, ..FiresQuery::default() };
        let ident = Ident::Name(name.to_owned());
        schedules::fires(&self.ctx, &self.who, &ident, &query).await.unwrap().expected
    }

    /// Triggers a schedule.
    pub async fn trigger(&self, name: &str, overlap: Option<Overlap>) -> Result<Triggered, Error> {
        let ident = Ident::Name(name.to_owned());
        let ask = (&ident, overlap);
        match trigger(&self.ctx, &self.who, None, ask, |_| Kept::default()).await? {
            Answer::Fresh(triggered, _) => Ok(triggered),
            other @ Answer::Replayed(_) => panic!("no key was given: {other:?}"),
        }
    }

    /// Pauses or resumes a schedule.
    pub async fn pause_schedule(&self, name: &str, reason: &str) -> Schedule {
        let ident = Ident::Name(name.to_owned());
        let ask = (&ident, reason);
        match schedules::pause(&self.ctx, &self.who, None, ask, |_| Kept::default()).await.unwrap()
        {
            Answer::Fresh(schedule, _) => schedule,
            other @ Answer::Replayed(_) => panic!("no key was given: {other:?}"),
        }
    }

    /// Resumes a schedule, making up for the pause or not.
    pub async fn resume_schedule(&self, name: &str, catch_up: bool) -> Result<Schedule, Error> {
        let ident = Ident::Name(name.to_owned());
        let ask = (&ident, catch_up);
        match schedules::resume(&self.ctx, &self.who, None, ask, |_| Kept::default()).await? {
            Answer::Fresh(schedule, _) => Ok(schedule),
            other @ Answer::Replayed(_) => panic!("no key was given: {other:?}"),
        }
    }

    /// Ends a job from outside.
    pub async fn cancel(&self, job: JobId) {
        axle::engine::moves::cancel(&self.ctx, &self.who, None, job, |_| Kept::default())
            .await
            .unwrap();
    }

    /// The states of a schedule's jobs, in the order of their fire times.
    pub async fn job_states(&self, name: &str) -> Vec<State> {
        let mut states = Vec::new();
        for job in self.fires(name).await.into_iter().filter_map(|fire| fire.job) {
            states.push(self.get(job).await.state());
        }
        states
    }
}
