//! A host whose wall clock is five minutes off: the database's clock decides, so nothing changes.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::job;
use crate::support::db::Db;
use crate::support::process::Server;
use crate::support::target::{PATIENCE, Target};

#[tokio::test]
async fn b107_a_puller_whose_host_clock_is_wrong_starts_jobs_at_the_right_time() {
    for shift in ["+300s", "-300s"] {
        shifted(shift).await;
    }
}

async fn shifted(shift: &str) {
    const DELAY: Duration = Duration::from_secs(2);
    let db = Db::new().await;
    let target = Target::start().await;
    let api = Server::start(&db.url, "api", &[]).await;
    let library = library();
    let wrong_clock = [
        ("LD_PRELOAD", library.as_str()),
        ("FAKETIME", shift),
        // Only the wall clock is wrong: a monotonic one has no time of day to be wrong about.
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
    ];
    let puller = Server::launch(&db.url, "puller", &wrong_clock);
    puller.wait_ready(true).await;

    let mut delayed = job(&target.url("/work"));
    delayed["delay_ms"] = json!(DELAY.as_millis());
    let begun = Instant::now();
    let id = api.api().create(&delayed).await;
    let call = target.wait_calls("/work", 1, PATIENCE).await.remove(0);
    let waited = call.at - begun;
    let off = waited.as_secs_f64() - DELAY.as_secs_f64();
    assert!((-0.2..1.0).contains(&off), "{shift}: {waited:?}");
    let job = api.api().wait_state(&id, "SUCCESS").await;
    let sent: i64 = call.header("webhook-timestamp").unwrap().parse().unwrap();
    let now: f64 = db.ask("SELECT extract(epoch FROM now())::float8").await.get(0);
    let off = now - f64::from(i32::try_from(sent).unwrap());
    assert!((-2.0..=5.0).contains(&off), "{shift}: the call says {off} s ago; {job}");
    // The shift was real: the log's stamps, which nothing is decided by, tell.
    let line = puller.err.with("serving").await;
    let stamp = line.split_whitespace().next().unwrap().to_owned();
    let stamp = chrono::DateTime::parse_from_rfc3339(&stamp).unwrap();
    let skew = f64::from(i32::try_from(stamp.timestamp()).unwrap()) - now;
    assert!(skew.abs() > 200.0, "{shift}: {line}");
}

/// The library that `faketime` loads into a program. The command itself stays between us and what
/// it runs, where no signal of ours gets through.
pub(super) fn library() -> String {
    let output = std::process::Command::new("faketime").args(["-f", "+0s", "env"]).output();
    let Ok(output) = output else {
        panic!(
            "this test needs the program faketime, which `.ci/setup test` installs (Debian: \
             apt-get install faketime)"
        );
    };
    let text = String::from_utf8(output.stdout).unwrap();
    let library = text.lines().find_map(|line| line.strip_prefix("LD_PRELOAD="));
    library.expect("faketime names its library").to_owned()
}
