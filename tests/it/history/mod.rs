//! The history by weeks, and the removal of what has been kept long enough. The clock of these tests
//! begins in 2100, beyond every week that the migration may have made.

mod beside;
mod migration;
mod parts;
mod removal;

use std::time::Duration;

use axle::domain::id::JobId;
use axle::domain::principal::Role;
use axle::domain::verdict::Outcome;
use axle::engine::register::{Registered, register};
use axle::engine::{Ctx, clock, history, settle};
use chrono::{DateTime, Utc};

use crate::support::engine::{Engine, SHARD, ended, job, principal};

/// Where jobs go that nobody calls.
const URL: &str = "http://127.0.0.1:1/";
/// The week in which the tests begin, from Monday 2100-01-04 on.
const WEEK: &str = "21000104";
/// Noon of its Monday.
const NOON: &str = "2100-01-04T12:00:00Z";

/// An engine at [`NOON`], whose history has been looked after.
async fn engine() -> Engine {
    let engine = Engine::new().await;
    at(&engine, NOON);
    upkeep(&engine).await;
    engine
}

/// Moves the clock on to an instant.
fn at(engine: &Engine, instant: &str) {
    let then: DateTime<Utc> = instant.parse().unwrap();
    engine.pass(clock::until(engine.clock.now(), then));
}

/// Does what there is to do for the history; returns when to come back.
async fn upkeep(ctx: &Ctx) -> Duration {
    loop {
        let wait = history::step(ctx).await.unwrap();
        if wait >= Duration::from_mins(1) {
            return wait;
        }
    }
}

/// Has a team's own retention stored.
async fn retention(engine: &Engine, team: &str, days: u64) {
    let ms = days * 86_400_000;
    let text = format!(
        "INSERT INTO teams (team, name, settings, created_at, updated_at)
         VALUES ('{team}', '{team}', '{{\"retention_ms\": {ms}}}', '{NOON}', '{NOON}')"
    );
    engine.db.execute(&text).await;
}

/// Registers jobs of a team in [`SHARD`], claims what is due there, and ends it well.
async fn finished(engine: &Engine, team: &str, count: usize) -> Vec<JobId> {
    let session = engine.store.session().await.unwrap();
    session.begin();
    let (who, place) = (principal(team, Role::Admin), (Some(SHARD), engine.clock.now()));
    let new = vec![job(URL); count];
    let made = register(&engine.ctx, &session, &who.team, new, place).await.unwrap();
    session.commit().await.unwrap();
    let claimed = engine.claim(i64::try_from(count).unwrap()).await;
    let news: Vec<_> = claimed.iter().map(|job| ended(job.run, Outcome::Succeeded)).collect();
    for news in news.chunks(settle::BATCH) {
        settle::write(&engine.ctx, SHARD, news).await.unwrap();
    }
    let id = |made: &Registered| match made {
        Registered::New(job) | Registered::Existing(job) => job.id,
    };
    made.iter().map(id).collect()
}

/// What the names of the parts end with, in the order of names.
async fn names(engine: &Engine) -> Vec<String> {
    let text = "SELECT array_agg(part ORDER BY part) FROM history_parts";
    engine.db.ask(text).await.get(0)
}

/// The table of a job's row, and how many rows of all four tables have its id.
async fn rows(engine: &Engine, id: JobId) -> (Option<String>, i64) {
    let id = id.uuid();
    let text = format!(
        "SELECT (SELECT tableoid::regclass::text FROM jobs WHERE job_id = '{id}'),
                (SELECT count(*) FROM jobs WHERE job_id = '{id}')
                + (SELECT count(*) FROM done WHERE job_id = '{id}')
                + (SELECT count(*) FROM runs WHERE job_id = '{id}')
                + (SELECT count(*) FROM events WHERE job_id = '{id}')"
    );
    let row = engine.db.ask(&text).await;
    (row.get(0), row.get(1))
}

/// How many jobs there are, finished or not.
async fn count(engine: &Engine) -> i64 {
    engine.db.ask("SELECT count(*) FROM jobs").await.get(0)
}
