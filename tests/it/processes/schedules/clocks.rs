//! Schedulers whose hosts show wrong times, or times that jump: the database's clock decides.

use rustix::process::Signal;

use super::{beside, check, every_second, scheduler, wait_seconds};
use crate::processes::database::own_cluster;
use crate::processes::shift::library;
use crate::support::db::Db;
use crate::support::process::Server;
use crate::support::target::PATIENCE;

const HOUR: i64 = 3_600;

#[tokio::test]
async fn b033_b034_b035_b036_b049_b052_schedulers_with_wrong_clocks_make_one_job_per_slot() {
    let (_cluster, db, dir) = own_cluster().await;
    let engine = beside(&db.url).await;
    let made = every_second(&engine, 12).await;
    let library = library();
    let preload = ("LD_PRELOAD", library.as_str());
    // Only the wall clock is wrong: a monotonic one has no time of day to be wrong about.
    let wall_only = ("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    let file = dir.path().join("faketime");
    std::fs::write(&file, "+300").unwrap();
    let jumps = [
        preload,
        wall_only,
        ("FAKETIME_TIMESTAMP_FILE", file.to_str().unwrap()),
        ("FAKETIME_NO_CACHE", "1"),
    ];
    let mut jumps = Server::launch(&db.url, "scheduler", &jumps);
    let behind = Server::launch(&db.url, "scheduler", &[preload, wall_only, ("FAKETIME", "-300s")]);
    let right = scheduler(&db.url, &[]).await;
    jumps.wait_ready(true).await;
    behind.wait_ready(true).await;
    let crowd = [&jumps, &behind, &right];
    wait_seconds(&engine, 3).await;
    // Two hours back, while it fires.
    std::fs::write(&file, (-2 * HOUR).to_string()).unwrap();
    let until = wait_seconds(&engine, 4).await;
    let rows = check(&db, &made, until).await;
    let fired = r#"axle_schedule_fires_total{team="acme",result="fired"}"#;
    let mut shares = Vec::new();
    for process in crowd {
        shares.push(process.metric(fired).await);
    }
    println!("{rows} slots; fired by each process: {shares:?}");
    assert!(shares.iter().all(|share| *share > 0.0), "each process took part: {shares:?}");

    // The wrong clocks were real: the logs' stamps, which nothing is decided by, tell.
    assert!((skew(&db, &jumps, "serving").await - 300).abs() < 100);
    assert!((skew(&db, &behind, "serving").await + 300).abs() < 100);
    jumps.signal(Signal::TERM);
    assert!((skew(&db, &jumps, "a second signal").await + 2 * HOUR).abs() < 100);
    assert_eq!(jumps.ended(PATIENCE).await.code(), Some(0));
    // A slot that is written already is no error to anybody.
    let log = std::fs::read_to_string(dir.path().join("postgres.log")).unwrap();
    assert!(!log.contains("duplicate key"), "{log}");
}

/// How far the stamp of a line of its log lies ahead of the database's clock, in seconds.
async fn skew(db: &Db, process: &Server, words: &str) -> i64 {
    let line = process.err.with(words).await;
    let stamp = line.split_whitespace().next().unwrap();
    let stamp = chrono::DateTime::parse_from_rfc3339(stamp).unwrap().timestamp();
    stamp - db.ask("SELECT extract(epoch FROM now())::bigint").await.get::<_, i64>(0)
}
