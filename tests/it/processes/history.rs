//! A puller looks after the history by itself, from its start.

use super::job;
use crate::support::db::Db;
use crate::support::process::Server;
use crate::support::program::eventually;
use crate::support::target::{PATIENCE, Target};

#[tokio::test]
async fn a_puller_drops_what_has_been_kept_long_enough_and_makes_what_will_be_needed() {
    let db = Db::new().await;
    let target = Target::start().await;
    let keep = [("AXLE_RETENTION", "2d")];
    let server = Server::start(&db.url, "all", &keep).await;
    let job = job(&target.url("/work"));
    for _ in 0..3 {
        let id = server.api().create(&job).await;
        server.api().wait_state(&id, "SUCCESS").await;
    }
    let weeks = "SELECT array_agg(part ORDER BY part) FROM history_parts WHERE part <> 'rest'";
    let before: Vec<String> = db.ask(weeks).await.get(0);
    // All processes travel together; this one looks at its history when it starts.
    db.execute("UPDATE installation SET clock_shift_us = 60 * 86400 * 1000000::bigint").await;
    let mut server = server;
    server.kill().await;
    let server = server.again().await;
    let after = eventually("the weeks are other ones", PATIENCE, async || {
        let now: Vec<String> = db.ask(weeks).await.get(0);
        (now.len() == 3 && now.iter().all(|week| !before.contains(week))).then_some(now)
    })
    .await;
    assert!(after.iter().all(|week| week.len() == 8), "{after:?}");
    assert_eq!(db.ask("SELECT count(*) FROM jobs").await.get::<_, i64>(0), 0);
    assert!((server.metric("axle_jobs_removed_total").await - 3.0).abs() < 0.1);
    assert!((server.metric("axle_history_parts_dropped_total").await - 3.0).abs() < 0.1);
    server.err.with("part=\"first\" jobs=3").await;
}
