//! The database goes away, comes back, takes no writes, or has another schema. These tests have a
//! PostgreSQL of their own, which they may hurt.

use std::time::Duration;

use axle::dev::{Cluster, Durability, Options};
use axle::store::{Store, StoreSettings, migrate};
use reqwest::Method;
use rustix::process::Signal;
use serde_json::json;
use tempfile::TempDir;
use tokio::time::Instant;

use super::job;
use crate::support::db::Db;
use crate::support::process::{MARGIN, Server};
use crate::support::program::{axle, eventually};
use crate::support::target::{PATIENCE, Target, ok};

/// A migrated database on a cluster that nobody else uses; the folder goes with the value.
pub(super) async fn own_cluster() -> (Cluster, Db, TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let cluster = Cluster::start(Options {
        data_dir: dir.path().to_path_buf(),
        durability: Durability::Ephemeral,
        pg_bin: None,
        max_connections: 50,
        settings: vec![("log_checkpoints".to_owned(), "off".to_owned())],
    });
    let cluster = cluster.await.unwrap();
    let url = cluster.url("axle");
    let settings = StoreSettings {
        url: url.clone(),
        pool_size: 1,
        statement_timeout: Duration::from_secs(30),
        application_name: "axle-tests".to_owned(),
    };
    migrate::up(&Store::new(&settings).unwrap(), [7; 32]).await.unwrap();
    (cluster, Db::at(url), dir)
}

async fn count(db: &Db, what: &str) -> i64 {
    db.ask(&format!("SELECT count(*) FROM {what}")).await.get(0)
}

#[tokio::test]
async fn b078_b101_a_restart_of_postgresql_loses_no_job_and_no_result() {
    const RUNS: usize = 50;
    let (mut cluster, db, _dir) = own_cluster().await;
    let target = Target::start().await;
    let gate = target.gate("/work");
    // A lease that outlives the restart: no run may be sent again before it ends.
    let mut server = Server::start(&db.url, "all", &[("AXLE_LEASE", "1m")]).await;
    server.api().create_many(&job(&target.url("/work")), RUNS).await;
    let mut held = Vec::new();
    for _ in 0..RUNS {
        held.push(gate.arrived().await);
    }
    let late = held.split_off(RUNS / 2);
    cluster.kill().await.unwrap();
    server.wait_ready(false).await;
    assert_eq!(server.admin("/livez").await, Some((200, "ok\n".to_owned())));
    // These answers come while there is nowhere to write them.
    assert!(held.into_iter().all(|call| call.release(ok())));
    let refused = server.api().post("/v1/jobs", &job(&target.url("/work"))).await;
    assert_eq!((refused.0, &refused.1["code"]), (503, &json!("database-unavailable")));
    cluster.start_again().await.unwrap();
    let back = Instant::now();
    server.wait_ready(true).await;
    assert!(late.into_iter().all(|call| call.release(ok())));

    eventually("every result is stored", PATIENCE, async || {
        (count(&db, "done WHERE state = 'SUCCESS'").await == 50).then_some(())
    })
    .await;
    println!("recovered within {:?}", back.elapsed());
    assert_eq!(target.calls("/work").len(), RUNS, "nothing was sent again");
    assert_eq!((count(&db, "runs").await, count(&db, "live").await), (50, 0));
    target.script("/work", ok());
    let next = server.api().create(&job(&target.url("/work"))).await;
    server.api().wait_state(&next, "SUCCESS").await;

    // With PostgreSQL gone, a stop is still heard and still ends.
    cluster.kill().await.unwrap();
    server.signal(Signal::TERM);
    let told = Instant::now();
    let status = server.ended(Duration::from_secs(25) + MARGIN).await;
    assert_eq!(status.code(), Some(0), "{status}");
    println!("B155: ended {:?} after the signal", told.elapsed());
}

#[tokio::test]
async fn b101_ten_restarts_in_a_row_leave_a_working_service() {
    let (mut cluster, db, _dir) = own_cluster().await;
    let target = Target::start().await;
    let server = Server::start(&db.url, "all", &[]).await;
    for _ in 0..5 {
        let created = server.api().create(&job(&target.url("/work"))).await;
        cluster.kill().await.unwrap();
        cluster.start_again().await.unwrap();
        // Within 5 s of the last restart nothing fails any more.
        server.wait_ready(true).await;
        eventually("the API takes jobs again", Duration::from_secs(5) + MARGIN, async || {
            let reply = server.api().try_ask(Method::GET, "/v1/jobs", None).await;
            (reply?.0 == 200).then_some(())
        })
        .await;
        server.api().wait_state(&created, "SUCCESS").await;
    }
    for _ in 0..20 {
        server.api().create(&job(&target.url("/work"))).await;
    }
    eventually("every job is done", PATIENCE, async || {
        (count(&db, "done WHERE state = 'SUCCESS'").await == 25).then_some(())
    })
    .await;
}

#[tokio::test]
async fn b066_a_primary_that_takes_no_writes_stops_work_and_starts_it_again() {
    const READ_ONLY: Duration = Duration::from_secs(2);
    let (_cluster, db, _dir) = own_cluster().await;
    let target = Target::start().await;
    let gate = target.gate("/held");
    let server = Server::start(&db.url, "all", &[]).await;
    let api = server.api();
    let held = api.create(&job(&target.url("/held"))).await;
    let call = gate.arrived().await;
    let mut later = job(&target.url("/work"));
    later["delay_ms"] = json!(500);
    api.create_many(&later, 20).await;

    db.execute("ALTER SYSTEM SET default_transaction_read_only = on").await;
    db.ask("SELECT pg_reload_conf()").await;
    let since = Instant::now();
    eventually("the API says that it cannot write", PATIENCE, async || {
        let reply = api.post("/v1/jobs", &job(&target.url("/work"))).await;
        (reply.0 == 503).then_some(())
    })
    .await;
    call.release(ok());
    while since.elapsed() < READ_ONLY {
        assert_eq!(target.calls("/work").len(), 0, "nothing is called that was not claimed");
        assert_eq!(count(&db, "live WHERE state = 'RUNNING'").await, 1, "and nothing half claimed");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let write = "SET default_transaction_read_only = off; \
                 ALTER SYSTEM RESET default_transaction_read_only";
    // ALTER SYSTEM runs in no transaction of several statements.
    let client = db.connect().await;
    for statement in write.split(';') {
        client.batch_execute(statement).await.unwrap();
    }
    db.ask("SELECT pg_reload_conf()").await;
    eventually("every job is done", PATIENCE, async || {
        (count(&db, "live").await == 0).then_some(())
    })
    .await;
    api.wait_state(&held, "SUCCESS").await;
    assert_eq!(target.calls("/held").len(), 1);
    let runs = target.calls("/work").len();
    assert_eq!(count(&db, "runs").await, i64::try_from(runs + 1).unwrap());
}

#[tokio::test]
async fn a_schema_that_is_not_the_one_we_know_is_not_served() {
    let empty = Db::empty().await;
    let newer = Db::new().await;
    let row = "INSERT INTO schema_migrations VALUES (9999, 'from_the_future', '', '9.9', now())";
    newer.execute(row).await;
    let changed = Db::new().await;
    changed.execute("UPDATE schema_migrations SET checksum = 'x'").await;
    let cases = [
        (&empty, "run `axle migrate up` first"),
        (&newer, "start a newer one"),
        (&changed, "was changed after it was applied"),
    ];
    for (db, words) in cases {
        let env = [
            ("AXLE_DATABASE_URL", db.url.as_str()),
            ("AXLE_ROLES", "puller"),
            ("AXLE_ADMIN_LISTEN", "127.0.0.1:0"),
        ];
        let ended = axle(&["serve"], &env).await;
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.err.contains(words), "{words:?} in {}", ended.err);
    }
}

#[tokio::test]
async fn a_running_process_goes_on_through_an_upgrade_of_the_schema_and_a_new_one_refuses() {
    let db = Db::new().await;
    let mut server = Server::start(&db.url, "all", &[]).await;
    let target = Target::start().await;
    db.execute("INSERT INTO schema_migrations VALUES (9999, 'newer', '', '9.9', now())").await;
    server.wait_ready(true).await;
    let id = server.api().create(&job(&target.url("/work"))).await;
    server.api().wait_state(&id, "SUCCESS").await;

    server.kill().await;
    let mut refused = server.restart();
    let status = refused.ended(PATIENCE).await;
    assert_eq!(status.code(), Some(1), "{status}");
    refused.err.with("start a newer one").await;
}
