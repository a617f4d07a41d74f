//! The upgrade of a database that has a history: nothing of it is lost, and what was going on goes on.

use std::time::Duration;

use axle::domain::id::JobId;
use axle::domain::job::Spec;
use axle::domain::state::State;
use axle::domain::verdict::Outcome;
use axle::engine::jobs::{self, Filter};
use axle::store::migrate::{self, MIGRATIONS};
use chrono::TimeDelta;

use super::{URL, names, rows};
use crate::support::db::Db;
use crate::support::engine::{Engine, START, job};

/// Everything up to the version before the history was divided.
const BEFORE: [&str; 11] = [
    include_str!("../../../migrations/0001_init.sql"),
    include_str!("../../../migrations/0002_schedules.sql"),
    include_str!("../../../migrations/0003_people.sql"),
    include_str!("../../../migrations/0004_limits.sql"),
    include_str!("../../../migrations/0005_secrets.sql"),
    include_str!("../../../migrations/0006_teams.sql"),
    include_str!("../../../migrations/0007_quotas.sql"),
    include_str!("../../../migrations/0008_targets.sql"),
    include_str!("../../../migrations/0009_signing_kinds.sql"),
    include_str!("../../../migrations/0010_suspension.sql"),
    include_str!("../../../migrations/0011_privacy.sql"),
];

/// A database as the version before left it.
async fn before() -> Db {
    let db = Db::empty().await;
    db.execute(include_str!("../../../src/store/migrate/ledger.sql")).await;
    let client = db.connect().await;
    for (migration, text) in MIGRATIONS.iter().zip(BEFORE) {
        db.execute(text).await;
        let record = "INSERT INTO schema_migrations VALUES ($1, $2, sha256($3), 'before', now())";
        let name = migration.name;
        client.execute(record, &[&migration.version, &name, &text.as_bytes()]).await.unwrap();
    }
    db.execute("INSERT INTO installation (callback_key) VALUES (sha256('key'))").await;
    db
}

/// Jobs of shard 0, a minute apart, the first at an instant; every third is unfinished and due.
fn fill(first: &str, count: usize) -> String {
    let spec: Spec = job(URL).spec;
    let spec = serde_json::to_string(&spec).unwrap();
    format!(
        "CREATE TEMP TABLE made AS
         SELECT n, at, (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '70008000'
                        || lpad(to_hex(n), 9, '0') || '000')::uuid AS job_id
           FROM generate_series(0, {count} - 1) n,
                LATERAL (SELECT timestamptz '{first}' + n * interval '1 min' AS at) t;
         INSERT INTO jobs (shard, job_id, team, queue, spec, payload, due_at, priority, created_at)
         SELECT 0, job_id, 'acme', 'default', '{spec}', 'p', '{first}', 5, at FROM made;
         INSERT INTO live (shard, job_id, team, queue, state, priority, due_at, updated_at)
         SELECT 0, job_id, 'acme', 'default', 'PENDING', 5, '{first}', at FROM made WHERE n % 3 = 0;
         INSERT INTO done (shard, job_id, team, state, reason, attempt, failures, fence, finished_at)
         SELECT 0, job_id, 'acme', 'SUCCESS', NULL, 1, 0, 1, at FROM made WHERE n % 3 > 0;
         INSERT INTO runs (shard, job_id, fence, attempt, state, finished_at)
         SELECT 0, job_id, 1, 1, 'SUCCESS', at FROM made WHERE n % 3 > 0;
         INSERT INTO events (shard, job_id, fence, kind, first_at, last_at)
         SELECT 0, job_id, 1, 'stale_callback', at, at FROM made WHERE n % 3 = 1;
         DROP TABLE made"
    )
}

#[tokio::test]
async fn a_history_is_divided_and_nothing_is_lost() {
    let db = before().await;
    db.execute(&fill(&(START - TimeDelta::hours(5)).to_rfc3339(), 300)).await;
    let sum = "SELECT (SELECT md5(string_agg(j::text, '/' ORDER BY job_id)) FROM jobs j)
                      || (SELECT md5(string_agg(d::text, '/' ORDER BY job_id)) FROM done d)
                      || (SELECT md5(string_agg(r::text, '/' ORDER BY job_id)) FROM runs r)
                      || (SELECT md5(string_agg(e::text, '/' ORDER BY job_id)) FROM events e)
                      || (SELECT md5(string_agg(s::text, '/' ORDER BY job_id)) FROM standing s)";
    let was: String = db.ask(sum).await.get(0);
    // An older process that is still there.
    let old = db.connect().await;
    let asked = old.prepare("SELECT count(*) FROM jobs WHERE shard = $1").await.unwrap();
    assert_eq!(old.query_one(&asked, &[&0]).await.unwrap().get::<_, i64>(0), 300);
    let applied = migrate::up(&db.store, [1; 32]).await.unwrap();
    assert_eq!(applied.first().map(|migration| migration.version), Some(12));
    assert_eq!(db.ask(sum).await.get::<_, String>(0), was, "byte for byte");
    assert_eq!(old.query_one(&asked, &[&0]).await.unwrap().get::<_, i64>(0), 300);
    let engine = Engine::on(db).await;
    let claimed = engine.claim(100).await;
    assert_eq!(claimed.len(), 100, "what was due is claimed");
    let run = claimed[7].run;
    engine.settle(run, Outcome::Succeeded).await;
    assert_eq!(engine.get(run.job).await.state(), State::Success);
    assert_eq!(rows(&engine, run.job).await, (Some("jobs_first".to_owned()), 3));
    let filter = Filter { states: vec![State::Success], ..Filter::default() };
    let (page, more) = jobs::list(&engine.ctx, &engine.who, &filter, (None, 500)).await.unwrap();
    assert_eq!((page.len(), more), (201, false));
    engine.enqueue(job(URL)).await;
    // The first part goes as a whole one day like any other.
    for run in claimed.iter().map(|job| job.run).filter(|other| *other != run) {
        engine.settle(run, Outcome::Succeeded).await;
    }
    engine.db.execute("DELETE FROM live").await;
    engine.pass(Duration::from_hours(100 * 366 * 24));
    super::upkeep(&engine).await;
    assert!(!names(&engine).await.contains(&"first".to_owned()));
    assert_eq!(super::count(&engine).await, 0);
}

#[tokio::test]
async fn ids_of_a_clock_that_was_ahead_are_in_the_first_part_too() {
    let db = before().await;
    db.execute(&fill("2031-05-01T00:00:00Z", 30)).await;
    migrate::up(&db.store, [1; 32]).await.unwrap();
    let engine = Engine::on(db).await;
    assert_eq!(names(&engine).await, ["20310505", "20310512", "first", "rest"]);
    let id: uuid::Uuid = engine.db.ask("SELECT job_id FROM done LIMIT 1").await.get(0);
    assert_eq!(rows(&engine, JobId::from_uuid(id)).await.0.as_deref(), Some("jobs_first"));
    // No other part is wanted for the weeks that it holds.
    super::upkeep(&engine).await;
    assert_eq!(names(&engine).await, ["20310505", "20310512", "first", "rest"]);
}
