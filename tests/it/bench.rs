//! The bench, as far as its figures are no matter: it starts what it measures, finds its way to a
//! server that runs already, says so when it cannot, and leaves nothing behind.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use serde_json::Value;

use crate::support::program::{Program, axle};

/// Servers and a database are started, twice for the module that counts statements, on a machine that is busy with other tests.
const PATIENCE: Duration = Duration::from_mins(2);
/// Runs the bench as a caller of the servers that another bench has started.
const CALLER: &str = r#"exec "$0" bench --quick --phase latency --json "$1" --url "$AXLE_URL""#;

#[tokio::test]
async fn a_bench_measures_a_server_that_runs_as_its_caller() {
    let dir = tempfile::tempdir().expect("a folder");
    // PostgreSQL may run as another account.
    std::fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).expect("it is ours");
    let json = dir.path().join("figures.json");
    let (dir, json) = (dir.path().display().to_string(), json.display().to_string());
    let program = env!("CARGO_BIN_EXE_axle");
    let words = ["bench", "--dir", &dir, "--", "sh", "-c", CALLER, program, &json];
    let mut bench = Program::start(&words, &[]);
    let ended = bench.ended(PATIENCE).await;
    assert!(ended.success(), "{bench:?}");
    let report: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    let figures = report["figures"].as_array().unwrap();
    let key = |figure: &&Value| figure["key"] == "call_latency_p50";
    assert!(figures.iter().find(key).unwrap()["median"].as_f64().unwrap() > 0.0, "{report}");
    let left: Vec<_> =
        std::fs::read_dir(&dir).unwrap().flatten().map(|it| it.file_name()).collect();
    assert_eq!(left, ["figures.json"]);
}

#[tokio::test]
async fn a_bench_says_what_it_cannot_do() {
    for (words, says) in [
        (&["--phase", "drian"][..], "the phases are limits, enqueue"),
        (&["--url", "http://127.0.0.1:9", "--phase", "idle"], "the phases are enqueue, drain"),
        (&["--url", "https://127.0.0.1:9"], "plain HTTP"),
        (&["--url", "http://127.0.0.1:9"], "reaching 127.0.0.1:9"),
        (&["--sink-host", "here"], "--url"),
    ] {
        let ended = axle(&[&["bench"], words].concat(), &[]).await;
        assert_ne!(ended.code, Some(0), "{words:?}: {ended:?}");
        assert!(ended.err.contains(says), "{words:?}: {ended:?}");
    }
}
