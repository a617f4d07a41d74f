//! Schedules in real processes: whatever happens to schedulers, their clocks and the database, each
//! slot has its row and makes its one job, and the delay is bounded.

#[cfg(target_os = "linux")] // where a library can stand between a program and its clock
mod clocks;
mod crashes;
mod cuts;
mod punctual;
mod stops;
mod travel;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use axle::domain::id::ScheduleId;
use axle::domain::schedule::doc::{CatchUp, Draft, Overlap, RuleDoc};
use axle::domain::schedule::record::{FIRED, Schedule};
use axle::engine::{Clock, clock};
use chrono::{DateTime, Utc};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::support::db::Db;
use crate::support::engine::Engine;
use crate::support::process::Server;
use crate::support::program::{Env, eventually};
use crate::support::schedule::draft;
use crate::support::target::PATIENCE;

/// Every slot of it makes a job of its own, however late and whatever else is unfinished.
fn each(name: &str, rule: RuleDoc) -> Draft {
    let mut draft = draft(name, rule);
    draft.doc.overlap = Overlap::Allow;
    draft.doc.catch_up = CatchUp::All;
    draft.doc.catch_up_max = 10_000;
    draft.doc.catch_up_window_ms = 400 * 24 * 3_600_000;
    draft
}

/// An engine beside the processes, by the same clock: the database's as it is now.
async fn beside(url: &str) -> Engine {
    let mut engine = Engine::on_with(Db::at(url.to_owned()), &[]).await;
    engine.ctx.clock = Clock::synced(&engine.store).await.unwrap();
    engine
}

/// Schedules of every second, half of them as an interval and half as a cron line, in many shards.
async fn every_second(engine: &Engine, count: usize) -> Vec<Schedule> {
    let mut made = Vec::new();
    for n in 0..count {
        let rule = if n % 2 == 0 {
            RuleDoc::Every { every_ms: 1_000, anchor: None }
        } else {
            RuleDoc::Cron { cron: "* * * * * *".to_owned(), seconds: true }
        };
        made.push(engine.schedule(each(&format!("s{n}"), rule)).await);
    }
    made
}

/// A process that fires schedules and calls nobody.
async fn scheduler(url: &str, extra: Env<'_>) -> Server {
    Server::start(url, "scheduler", extra).await
}

/// Lets every clock of an installation show another time, once it has asked the database.
async fn travel_to(db: &Db, to: DateTime<Utc>) {
    let client = db.connect().await;
    let shift = "UPDATE installation SET clock_shift_us = \
                 extract(epoch FROM $1::timestamptz - clock_timestamp()) * 1000000";
    client.execute(shift, &[&to]).await.unwrap();
}

/// The first slot of a schedule that lies at least `ahead` in the future.
fn slot_ahead(engine: &Engine, schedule: &Schedule, ahead: Duration) -> DateTime<Utc> {
    let from = clock::after(engine.clock.now(), ahead);
    schedule.doc.timetable(&[]).unwrap().next(from).unwrap().at
}

/// Waits until every slot up to an instant has been handled.
async fn wait_accounted(db: &Db, until: DateTime<Utc>) {
    let client = db.connect().await;
    let open = "SELECT count(*) FROM schedules WHERE state = 'ACTIVE' AND next_slot_at <= $1";
    eventually(&format!("every slot up to {until} is handled"), PATIENCE, async || {
        (client.query_one(open, &[&until]).await.ok()?.get::<_, i64>(0) == 0).then_some(())
    })
    .await;
}

/// The same for so many seconds from now.
async fn wait_seconds(engine: &Engine, seconds: u64) -> DateTime<Utc> {
    let until = clock::after(engine.clock.now(), Duration::from_secs(seconds));
    wait_accounted(&engine.db, until).await;
    until
}

/// Each slot of these schedules from their birth to `until` has its one row, says the timetable; each
/// that fires has its one job, of that fire time; no job is there without a row. Returns how many
/// rows there are.
async fn check(db: &Db, made: &[Schedule], until: DateTime<Utc>) -> usize {
    let client = db.connect().await;
    let stopped = "SELECT count(*) FROM schedules WHERE state NOT IN ('ACTIVE', 'ENDED')";
    let stopped: i64 = client.query_one(stopped, &[]).await.unwrap().get(0);
    assert_eq!(stopped, 0, "every schedule goes on");
    let strays = "SELECT (SELECT count(*) FROM jobs WHERE schedule_id IS NOT NULL)
                       - (SELECT count(*) FROM fires WHERE job_id IS NOT NULL)";
    let strays: i64 = client.query_one(strays, &[]).await.unwrap().get(0);
    assert_eq!(strays, 0, "jobs without a row, or rows without their job");
    let rows = "SELECT f.schedule_id, f.fire_at, f.outcome, f.count, j.job_id IS NOT NULL
                  FROM fires f
                  LEFT JOIN jobs j ON j.shard = f.shard AND j.job_id = f.job_id
                                  AND j.schedule_id = f.schedule_id AND j.fire_at = f.fire_at
                 WHERE f.fire_at <= $1
                 ORDER BY f.fire_at";
    let mut found: BTreeMap<Uuid, Vec<Told>> = BTreeMap::new();
    for row in client.query(rows, &[&until]).await.unwrap() {
        let told = (row.get(1), row.get(2), row.get(3), row.get(4));
        found.entry(row.get(0)).or_default().push(told);
    }
    let mut count = 0;
    for schedule in made {
        let found = found.remove(&schedule.id.uuid()).unwrap_or_default();
        compare(schedule, &found, until);
        count += found.len();
    }
    assert!(found.is_empty(), "rows of schedules that were not asked for: {found:?}");
    count
}

/// A fire time, what became of it, how many slots its row tells, and whether its job is there.
type Told = (DateTime<Utc>, String, i32, bool);

fn compare(schedule: &Schedule, found: &[Told], until: DateTime<Utc>) {
    let timetable = schedule.doc.timetable(&[]).unwrap();
    let slots = timetable.slots(schedule.created_at, until, usize::MAX);
    let told = slots.iter().map(|slot| match slot.fate.skipped() {
        None => (slot.at, FIRED.to_owned(), 1, true),
        Some(outcome) => (slot.at, outcome.to_owned(), 1, false),
    });
    let expected: Vec<Told> = told.collect();
    if found != expected {
        let [found, expected] = [found, &expected].map(BTreeSet::<&Told>::from_iter);
        let holes: Vec<_> = expected.difference(&found).take(5).collect();
        let extra: Vec<_> = found.difference(&expected).take(5).collect();
        panic!("{}: not there: {holes:?}; there without cause: {extra:?}", schedule.name);
    }
}

/// The row of a fire that is written but not committed: whoever fires that slot waits for it, in the
/// middle of its transaction.
struct Hold(Client);

impl Hold {
    async fn on(db: &Db, schedule: ScheduleId, slot: DateTime<Utc>) -> Self {
        let client = db.connect().await;
        client.batch_execute("BEGIN").await.unwrap();
        let row =
            "INSERT INTO fires (shard, schedule_id, fire_at, outcome, origin, count, at_least,
                                      recorded_at)
                   VALUES ($1, $2, $3, 'fired', 'timer', 1, false, now())";
        client.execute(row, &[&schedule.shard().0, &schedule.uuid(), &slot]).await.unwrap();
        Self(client)
    }

    async fn let_go(self) {
        self.0.batch_execute("ROLLBACK").await.unwrap();
    }
}
