//! What the machine can do at best, measured in the same run as everything else, so that a figure
//! can be read as a share of it.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::str::FromStr as _;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use futures_util::future::try_join_all;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::time::{Instant, timeout};
use tokio_postgres::Config;

use super::bare::{self, Bare};
use super::figures::{Figures, What, number, signed_ms};
use super::limit_rows::Template;
use super::stage::Stage;
use super::{database, limit_drain, limit_rows, usage};

/// Clients that commit single rows.
const CLIENTS: usize = 32;
/// Requests to the sink that are on their way at once.
const IN_FLIGHT: usize = 64;
/// How often a block is brought to the disk; the median counts.
const SYNCS: usize = 101;
/// The size of PostgreSQL's pages.
const BLOCK: [u8; 8192] = [0x5a; 8192];
/// What a run of pgbench may take beyond its time.
const GRACE: Duration = Duration::from_secs(30);

/// Measures the disk, the commits, the sink, and our own tables.
pub(super) async fn measure(
    stage: &Stage,
    scratch: &Path,
    (seconds, claims): (u32, i64),
    figures: &mut Figures,
) -> anyhow::Result<()> {
    let path = scratch.join("sync");
    figures.add(What::Sync, tokio::task::spawn_blocking(move || sync(&path)).await??);
    run(stage, include_str!("limit_table.sql")).await?; // new for each round
    let commits = match &stage.pgbench {
        Some(pgbench) => commits_by_pgbench(pgbench, stage, seconds).await?,
        None => commits_by_ourselves(stage, seconds).await?,
    };
    figures.add(What::Commits, commits);
    sink(stage, seconds, figures).await?;
    let template = Template::make(stage).await?;
    run(stage, include_str!("limit_schema.sql")).await?;
    limit_drain::measure(stage, &template, claims, figures).await?;
    limit_rows::measure(stage, &template, seconds, figures).await?;
    run(stage, include_str!("limit_drop.sql")).await
}

/// Milliseconds to bring one block to the disk.
fn sync(path: &Path) -> anyhow::Result<f64> {
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    let mut took = Vec::new();
    for _ in 0..SYNCS {
        let started = Instant::now();
        file.write_all(&BLOCK)?;
        file.sync_data()?;
        took.push(signed_ms(Instant::now(), started));
    }
    Ok(super::figures::percentiles(took).0)
}

async fn run(stage: &Stage, statements: &str) -> anyhow::Result<()> {
    database::with(&stage.database, async |client| Ok(client.batch_execute(statements).await?))
        .await
}

/// Single-row commits per second by PostgreSQL's own load generator, which costs the least CPU.
async fn commits_by_pgbench(pgbench: &Path, stage: &Stage, seconds: u32) -> anyhow::Result<f64> {
    let config = Config::from_str(&stage.database)?;
    let port = config.get_ports().first().context("no port")?;
    let password = config.get_password().context("no password")?;
    let mut command = Command::new(pgbench);
    // In the environment the password shows to nobody who lists processes.
    command.env_clear().env("PGPASSWORD", String::from_utf8_lossy(password).as_ref());
    command.args(["-h", "127.0.0.1", "-p", &port.to_string(), "-U", "axle", "-n"]);
    command.args(["-M", "prepared", "-c", &CLIENTS.to_string(), "-j", "2"]);
    command.args(["-T", &seconds.to_string(), "-f", "-", "axle"]).kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().context("starting pgbench")?;
    let script = include_str!("limit_insert.sql");
    child.stdin.take().context("no stdin")?.write_all(script.as_bytes()).await?;
    let limit = Duration::from_secs(seconds.into()) + GRACE;
    let output =
        timeout(limit, child.wait_with_output()).await.context("pgbench does not end")??;
    let printed = String::from_utf8_lossy(&output.stdout);
    let rate = printed.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next());
    match rate {
        Some(rate) if output.status.success() => Ok(rate.parse()?),
        _ => bail!("pgbench failed: {}", String::from_utf8_lossy(&output.stderr).trim()),
    }
}

/// The same without pgbench.
async fn commits_by_ourselves(stage: &Stage, seconds: u32) -> anyhow::Result<f64> {
    let started = Instant::now();
    let deadline = started + Duration::from_secs(seconds.into());
    let one = async || {
        database::with(&stage.database, async |client| {
            let insert = client.prepare(include_str!("limit_insert.sql")).await?;
            let mut count = 0;
            while Instant::now() < deadline {
                client.execute(&insert, &[]).await?;
                count += 1;
            }
            Ok(count)
        })
        .await
    };
    let all = try_join_all((0..CLIENTS).map(|_| one()));
    let counts = timeout(Duration::from_secs(seconds.into()) + GRACE, all).await??;
    Ok(number(counts.into_iter().sum()) / started.elapsed().as_secs_f64())
}

/// Requests per second of a bare client against the sink, and the CPU of both.
async fn sink(stage: &Stage, seconds: u32, figures: &mut Figures) -> anyhow::Result<()> {
    let to = stage.sink.address();
    let request = bare::post(to, "/0", None, &[b'x'; 200]);
    let mut connections = Vec::new();
    for _ in 0..IN_FLIGHT {
        connections.push(Bare::connect(to).await?);
    }
    let spent = usage::cpu(std::process::id());
    let started = Instant::now();
    let deadline = started + Duration::from_secs(seconds.into());
    let clients = connections.iter_mut().map(async |connection| {
        let mut count = 0;
        while Instant::now() < deadline {
            let answer = connection.ask(&request).await?;
            ensure!(answer.status == 200, "the sink answered {}", answer.status);
            count += 1;
        }
        anyhow::Ok(count)
    });
    let count: usize = try_join_all(clients).await?.into_iter().sum();
    figures.add(What::SinkRequests, number(count) / started.elapsed().as_secs_f64());
    let now = usage::cpu(std::process::id());
    let cpu = now.zip(spent).map(|(now, before)| (now - before) / number(count) * 1000.0);
    figures.add_some(What::RequestCpu, cpu);
    stage.sink.take();
    Ok(())
}
