//! The commands of an operator and of a newcomer, run as a person runs them.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::callback::client;
use crate::support::db::Db;
use crate::support::process::{SECRET, Server, free_address};
use crate::support::program::{Program, axle, eventually};
use crate::support::target::PATIENCE;

#[tokio::test]
async fn bad_settings_are_all_named_with_what_they_may_be() {
    let env = [
        ("AXLE_CONCURRENCY", "many"),
        ("AXLE_LEASE", "5"),
        ("AXLE_ROLES", "api,pullers"),
        ("AXLE_JWT_SECRET", "short"),
    ];
    let ended = axle(&["config", "check", "--listen", "here"], &env).await;
    assert_eq!((ended.code, ended.out.as_str()), (Some(1), ""), "{ended:?}");
    for (key, origin, value) in [
        ("concurrency", "AXLE_CONCURRENCY", "\"many\""),
        ("lease", "AXLE_LEASE", "\"5\""),
        ("roles", "AXLE_ROLES", "\"api,pullers\""),
        ("listen", "--listen", "\"here\""),
        ("jwt_secret", "AXLE_JWT_SECRET", "at least 32"),
    ] {
        let line = ended.err.lines().find(|line| line.trim().starts_with(&format!("{key}: ")));
        let line = line.unwrap_or_else(|| panic!("{key} is not named in {}", ended.err));
        assert!(line.contains(origin) && line.contains(value), "{line}");
        assert!(line.contains("must be"), "{line}");
    }
    assert!(!ended.err.contains("short"), "a secret is printed: {}", ended.err);
}

#[tokio::test]
async fn good_settings_are_shown_with_their_origin_and_no_secret() {
    let env = [
        ("AXLE_CONCURRENCY", "7"),
        ("AXLE_CONCURENCY", "8"),
        ("AXLE_JWT_SECRET", SECRET),
        ("AXLE_DATABASE_URL", "postgres://axle:hunter2@db/axle"),
    ];
    let ended = axle(&["config", "show", "--origin", "--lease", "7s"], &env).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let has = |line: &str| assert!(ended.out.contains(line), "{line:?} in {}", ended.out);
    has("concurrency = 7  # AXLE_CONCURRENCY");
    has("lease = \"7s\"  # --lease");
    has("sweep_interval = \"1s\"  # default");
    for secret in [SECRET, "hunter2"] {
        assert!(!ended.out.contains(secret) && !ended.err.contains(secret), "{ended:?}");
    }
    let checked = axle(&["config", "check"], &env).await;
    assert_eq!(checked.code, Some(0), "{checked:?}");
    assert!(checked.err.contains("AXLE_CONCURENCY") && checked.err.contains("AXLE_CONCURRENCY"));
}

#[tokio::test]
async fn a_token_made_here_is_taken_there() {
    let made = axle(&["token", "--team", "acme", "--role", "writer"], &[]).await;
    assert_eq!(made.code, Some(1), "no secret: {made:?}");
    assert!(made.err.contains("AXLE_JWT_SECRET"), "{made:?}");
    let env = [("AXLE_JWT_SECRET", SECRET)];
    for wrong in [["--role", "king"], ["--ttl", "5"], ["--team", "a b"]] {
        let args = [&["token", "--team", "acme"][..], &wrong[..]].concat();
        assert_ne!(axle(&args, &env).await.code, Some(0), "{wrong:?}");
    }

    let db = Db::new().await;
    let server = Server::start(&db.url, "api", &[]).await;
    let job = json!({"target": {"url": "http://127.0.0.1:9/"}, "delay_ms": 3_600_000});
    for (team, role, status) in
        [("acme", "writer", 201), ("other", "admin", 201), ("acme", "viewer", 403)]
    {
        let args = ["token", "--team", team, "--role", role, "--ttl", "1h", "--subject", "me"];
        let made = axle(&args, &env).await;
        assert_eq!((made.code, made.err.as_str()), (Some(0), ""), "{made:?}");
        let api = server.api().with_token(made.out.trim());
        let (answered, body) = api.post("/v1/jobs", &job).await;
        assert_eq!(answered, status, "{team} {role}: {body}");
    }
    let other = [("AXLE_JWT_SECRET", "another secret of 32 bytes or more")];
    let forged = axle(&["token", "--team", "acme"], &other).await;
    let api = server.api().with_token(forged.out.trim());
    assert_eq!(api.post("/v1/jobs", &job).await.0, 401);
}

#[tokio::test]
async fn migrations_are_applied_once_and_their_status_is_an_exit_status() {
    let db = Db::empty().await;
    let env = [("AXLE_DATABASE_URL", db.url.as_str())];
    let status = axle(&["migrate", "status"], &env).await;
    assert_eq!(status.code, Some(1), "{status:?}");
    assert!(status.out.contains("0001 init pending"), "{status:?}");
    let up = axle(&["migrate", "up"], &env).await;
    assert_eq!(up.code, Some(0), "{up:?}");
    assert!(up.out.contains("applied 0001 init"), "{up:?}");
    let again = axle(&["migrate", "up"], &env).await;
    assert_eq!((again.code, again.out.trim()), (Some(0), "nothing to apply"), "{again:?}");
    let status = axle(&["migrate", "status"], &env).await;
    assert_eq!(status.code, Some(0), "{status:?}");
    assert!(status.out.contains("0001 init applied 2"), "{status:?}");

    let nowhere = axle(&["migrate", "up"], &[]).await;
    assert_eq!(nowhere.code, Some(1));
    assert!(nowhere.err.contains("--database-url"), "{nowhere:?}");
    let refused = format!("postgres://axle@{}/axle", free_address());
    let away = axle(&["migrate", "status"], &[("AXLE_DATABASE_URL", &refused)]).await;
    assert_eq!(away.code, Some(1), "{away:?}");
}

#[tokio::test]
async fn the_doctor_names_what_is_wrong_in_one_go() {
    let empty = Db::empty().await;
    let ended = axle(&["doctor"], &[("AXLE_DATABASE_URL", &empty.url)]).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    for words in ["WRONG callers", "ok    database", "WRONG schema", "axle migrate up"] {
        assert!(ended.out.contains(words), "{words:?} in {}", ended.out);
    }
    let db = Db::new().await;
    let env = [("AXLE_DATABASE_URL", db.url.as_str()), ("AXLE_JWT_SECRET", SECRET)];
    let ended = axle(&["doctor"], &env).await;
    for words in ["ok    callers", "ok    database", "ok    schema"] {
        assert!(ended.out.contains(words), "{words:?} in {}", ended.out);
    }
    assert!(ended.out.contains("ok    targets: closed"), "{ended:?}");
    let open = axle(&["doctor", "--allow-private-targets"], &env).await;
    assert!(open.out.contains("WRONG targets: allow_private_targets is on"), "{open:?}");
    // The tests' own PostgreSQL does not wait for the disk, and that must be said.
    assert!(ended.out.contains("WRONG durability") && ended.out.contains("fsync"), "{ended:?}");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let refused = format!("postgres://axle@{}/axle", free_address());
    let away = axle(&["doctor"], &[("AXLE_DATABASE_URL", &refused)]).await;
    assert!(away.code == Some(1) && away.out.contains("WRONG database"), "{away:?}");
}

#[tokio::test]
async fn a_health_check_is_an_exit_status() {
    let db = Db::new().await;
    let mut server = Server::start(&db.url, "api", &[]).await;
    let address = server.admin_address().to_string();
    let args = ["healthcheck", "--admin-listen", &address];
    let ready = axle(&args, &[]).await;
    assert_eq!((ready.code, ready.out.trim()), (Some(0), "ready"), "{ready:?}");
    db.execute("UPDATE schema_migrations SET checksum = 'x'").await;
    let unfit = axle(&args, &[]).await;
    assert!(unfit.code == Some(1) && unfit.err.contains("not ready"), "{unfit:?}");
    server.kill().await;
    let gone = axle(&args, &[]).await;
    assert!(gone.code == Some(1) && gone.err.contains("is the server running?"), "{gone:?}");
}

#[tokio::test]
async fn the_document_is_printed() {
    let printed = axle(&["openapi"], &[]).await;
    assert_eq!(printed.code, Some(0), "{printed:?}");
    let document: Value = serde_json::from_str(&printed.out).unwrap();
    assert_eq!(document["openapi"], "3.1.0");
    assert!(document["paths"]["/v1/jobs"]["post"].is_object());
}

/// Starts `axle dev` on the ports of `listen` and `admin`.
fn dev(args: &[&str], listen: &str, admin: &str) -> Program {
    let fixed = ["dev", "--listen", listen, "--admin-listen", admin];
    let args = [&fixed[..], args].concat();
    let path = std::env::var_os("PG_BIN").and_then(|path| path.into_string().ok());
    let env: Vec<_> = path.iter().map(|path| ("PG_BIN", path.as_str())).collect();
    Program::start(&args, &env)
}

/// The process id of the PostgreSQL server of a data directory, and whether it runs.
fn postmaster(dir: &Path) -> Option<i32> {
    let file = fs::read_to_string(dir.join("data/postmaster.pid")).ok()?;
    let pid: i32 = file.lines().next()?.trim().parse().ok()?;
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    (!line.is_empty()).then_some(pid)
}

#[tokio::test]
async fn dev_runs_a_job_to_success_on_the_next_free_port_and_leaves_nothing_behind() {
    let (listen, admin) = (free_address(), free_address());
    let _taken = std::net::TcpListener::bind(listen).unwrap();
    let (listen_text, admin) = (listen.to_string(), admin.to_string());
    let mut dev = dev(&["--ephemeral", "--try"], &listen_text, &admin);
    let dir = dev.out.with("starting PostgreSQL in ").await;
    let dir = Path::new(dir.split(" in ").nth(1).unwrap()).to_owned();
    let said = dev.out.with(&format!("port {} is taken", listen.port())).await;
    let port: u16 = said.rsplit(' ').next().unwrap().parse().unwrap();
    assert!(port > listen.port(), "{said}");
    dev.out.with("PENDING → RUNNING → SUCCESS").await;
    dev.out.with("Ctrl-C stops it").await;
    let base = format!("http://127.0.0.1:{port}");
    assert!(dev.out.so_far().contains(&format!("curl -s {base}/v1/jobs")), "{dev:?}");
    assert!(dev.out.so_far().lines().count() <= 14, "{dev:?}");

    // A loopback caller needs no token; the demo target is there.
    let job = json!({"target": {"url": format!("{base}/demo/callback?after_ms=50")}});
    let made: Value = client()
        .post(format!("{base}/v1/jobs"))
        .json(&job)
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    wait_success(&base, made["id"].as_str().unwrap()).await;

    let server = postmaster(&dir).expect("PostgreSQL runs");
    dev.signal(Signal::INT);
    let status = dev.ended(PATIENCE).await;
    assert_eq!(status.code(), Some(0), "{status}");
    assert!(!dir.exists(), "an ephemeral database is gone");
    assert!(!Path::new(&format!("/proc/{server}")).exists(), "PostgreSQL was stopped");
}

async fn wait_success(base: &str, id: &str) {
    eventually(&format!("{id} is SUCCESS"), PATIENCE, async || {
        let answer = client().get(format!("{base}/v1/jobs/{id}")).send().await.ok()?;
        let job: Value = answer.json().await.ok()?;
        (job["state"] == "SUCCESS").then_some(())
    })
    .await;
}

#[tokio::test]
async fn dev_goes_on_after_a_crash_where_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let (listen, admin) = (free_address().to_string(), free_address().to_string());
    let args = ["--data-dir", dir.path().to_str().unwrap()];
    let base = format!("http://{listen}");
    let mut crashed = dev(&args, &listen, &admin);
    crashed.out.with("Ctrl-C stops it").await;
    let job = json!({"target": {"url": format!("{base}/demo/echo")}, "delay_ms": 1_500});
    let made: Value = client()
        .post(format!("{base}/v1/jobs"))
        .json(&job)
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    crashed.kill().await;
    let left = postmaster(dir.path()).expect("the crash leaves PostgreSQL running");

    let mut again = dev(&args, &listen, &admin);
    again.out.with("Ctrl-C stops it").await;
    assert_ne!(postmaster(dir.path()), Some(left), "the old server was stopped");
    wait_success(&base, made["id"].as_str().unwrap()).await;
    again.signal(Signal::INT);
    assert_eq!(again.ended(Duration::from_secs(30)).await.code(), Some(0));
    assert_eq!(postmaster(dir.path()), None);
}

#[tokio::test]
async fn dev_listens_on_loopback_only() {
    let ended = axle(&["dev", "--ephemeral", "--listen", "0.0.0.0:8080"], &[]).await;
    assert!(ended.code == Some(1) && ended.err.contains("loopback"), "{ended:?}");
}
