//! Schedulers whose connections are cut, or whose database goes away and comes back.

use std::time::Duration;

use axle::domain::schedule::doc::RuleDoc;
use axle::engine::clock;
use chrono::{DateTime, Utc};

use super::{Hold, beside, check, each, every_second, scheduler, slot_ahead, wait_seconds};
use crate::processes::database::own_cluster;
use crate::support::db::Db;
use crate::support::process::MARGIN;
use crate::support::program::eventually;
use crate::support::target::PATIENCE;

/// How often a scheduler looks at every shard, hints or not.
const LOOK: Duration = Duration::from_secs(5);

/// The longest wait after an error.
const REST: Duration = Duration::from_secs(5);

/// Ends sessions of the processes; returns how many.
async fn cut(db: &Db, which: &str) -> i64 {
    let end = format!(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
         WHERE datname = current_database() AND application_name LIKE 'axle server%' AND {which}"
    );
    db.ask(&end).await.get(0)
}

#[tokio::test]
async fn b048_b101_a_scheduler_goes_on_by_itself_after_cuts_and_a_restart_of_postgresql() {
    let (mut cluster, db, _dir) = own_cluster().await;
    let engine = beside(&db.url).await;
    let made = every_second(&engine, 10).await;
    let process = scheduler(&db.url, &[]).await;
    wait_seconds(&engine, 1).await;

    // In the middle of a fire.
    let slot = slot_ahead(&engine, &made[0], Duration::from_millis(500));
    let hold = Hold::on(&db, made[0].id, slot).await;
    db.wait_for_lock_waiters(1).await;
    assert!(cut(&db, "wait_event_type = 'Lock'").await >= 1);
    hold.let_go().await;
    wait_seconds(&engine, 1).await;
    // All at once, at any point of its work, the listening one too.
    for _ in 0..3 {
        assert!(cut(&db, "true").await >= 1);
        wait_seconds(&engine, 1).await;
    }
    check(&db, &made, engine.clock.now() - chrono::Duration::seconds(1)).await;

    cluster.kill().await.unwrap();
    process.wait_ready(false).await;
    cluster.start_again().await.unwrap();
    process.wait_ready(true).await;
    // An engine with connections of the time after.
    let after = beside(&db.url).await;
    let back = after.clock.now();
    let until = wait_seconds(&after, 2).await;
    let rows = check(&after.db, &made, until).await;
    let first = "SELECT min(recorded_at) FROM fires WHERE recorded_at > pg_postmaster_start_time()";
    let first: DateTime<Utc> = after.db.ask(first).await.get(0);
    let rested = clock::until(back, first);
    println!("{rows} slots; it fired again {rested:?} after PostgreSQL was ready");
    assert!(rested < REST + MARGIN, "{rested:?}");
}

#[tokio::test]
async fn b096_a_schedule_whose_hint_is_lost_fires_within_one_look() {
    let db = Db::new().await;
    let _process = scheduler(&db.url, &[]).await;
    // An engine that passes no hints on: its schedules are only there.
    let engine = beside(&db.url).await;
    eventually("it listens", PATIENCE, async || {
        let listeners = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                         AND application_name LIKE 'axle server%' AND query ILIKE '%listen %'";
        (db.ask(listeners).await.get::<_, i64>(0) == 1).then_some(())
    })
    .await;
    for round in 0..2 {
        let at = clock::after(engine.clock.now(), Duration::from_secs(1));
        let draft = each(&format!("s{round}"), RuleDoc::At(vec![at]));
        // In the first round the listening connection is lost at the same time.
        let listening = if round == 0 { "query ILIKE '%listen %'" } else { "false" };
        let (made, ended) = tokio::join!(engine.schedule(draft), cut(&db, listening));
        assert_eq!(ended, 1 - round);
        super::wait_accounted(&db, at).await;
        let row = "SELECT recorded_at FROM fires ORDER BY fire_at DESC LIMIT 1";
        let late = db.ask(row).await.get::<_, DateTime<Utc>>(0) - at;
        println!("fired {late} late");
        assert!(late >= chrono::Duration::zero(), "early by {late}");
        assert!(late.to_std().unwrap() < LOOK + MARGIN, "{late}");
        check(&db, &[made], at).await;
        db.execute("DELETE FROM fires; DELETE FROM jobs; DELETE FROM live").await;
    }
}
