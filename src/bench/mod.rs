//! `axle bench`: how fast this build is on this machine, and how close to what the machine can do.
//!
//! It starts a PostgreSQL of its own with every commit on disk, an API and a puller as processes of
//! this same program, and a sink; it drives them over loopback only, as any caller would, and
//! measures the machine's limits in the same run. It uses no inner room of the server, so it
//! measures nothing that a stranger could not.

mod api;
mod bare;
mod beside;
mod callback;
mod churn;
mod command;
mod cost;
mod database;
mod delayed;
mod drain;
mod enqueue;
mod figures;

mod idle;
mod latency;
mod limit_drain;
mod limit_rows;
mod limits;
mod machine;
mod origin;
mod pair;
mod phase;
mod process;
mod ratio;
mod remote;
mod report;
mod sink;
mod slots;
mod snapshot;
mod stage;
mod statements;
mod sustained;
mod teams;
mod usage;
mod what;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use tokio::signal::unix::{SignalKind, signal};

use crate::dev::{Durability, Options as ClusterOptions};
use figures::Figures;
use machine::Machine;
use phase::Phase;
pub use remote::Server;
use stage::Stage;
use statements::Statements;

/// What is asked of a bench.
#[derive(Debug, Default)]
pub struct Options {
    /// Everything small and once: it shows that the bench runs, not how fast anything is.
    pub quick: bool,
    /// The names of the phases to measure; all if none is named.
    pub phases: Vec<String>,
    /// The server to measure as its caller, instead of one of our own.
    pub server: Option<Server>,
    /// A program to run against the servers of the bench instead of measuring, with its arguments.
    pub command: Vec<String>,
    /// Where to write every figure of every round.
    pub json: Option<PathBuf>,
    /// The folder in which the temporary database is made; the system's temporary folder if none is
    /// named. It decides which disk is measured.
    pub dir: Option<PathBuf>,
    /// How long the phase `churn` takes, in minutes; an hour if nobody says.
    pub minutes: Option<u16>,
    /// A Redis for the servers of the bench; none without.
    pub redis_url: Option<String>,
    /// The folder of PostgreSQL's programs; the usual places if none is named.
    pub pg_bin: Option<PathBuf>,
}

/// How much is measured.
#[derive(Clone, Copy, Debug)]
struct Size {
    /// How often everything is measured; the median counts.
    rounds: usize,
    /// For how long what has no end of its own is measured.
    seconds: u32,
    /// Jobs to fill the queue with, in batches.
    jobs: usize,
    /// Jobs in each of the two measurements of latency, and schedules with an instant of their own.
    timed: usize,
    /// Schedules that fire at the same instant.
    slot: usize,
    /// Schedules of the future that are no matter.
    others: i64,
    /// Jobs of the future, and finished ones, that are no matter.
    others_jobs: i64,
    /// Teams, where there are many.
    teams: i64,
    /// For how long one fill and drain follows another.
    churn: Duration,
    /// Claims of each shard for the limit of the drain.
    claims: i64,
    /// Fills and drains under a held snapshot.
    fills: usize,
    /// For how long an idle system is watched.
    idle: u32,
}

const FULL: Size = Size {
    rounds: 3,
    seconds: 4,
    jobs: 20_000,
    timed: 300,
    slot: 1_000,
    others: 100_000,
    others_jobs: 1_000_000,
    teams: 1_000,
    churn: Duration::from_hours(1),
    claims: 3,
    fills: 8,
    idle: 20,
};
const QUICK: Size = Size {
    rounds: 1,
    seconds: 1,
    jobs: 200,
    timed: 20,
    slot: 50,
    others: 1_000,
    others_jobs: 10_000,
    teams: 20,
    churn: Duration::from_secs(3),
    claims: 1,
    fills: 3,
    idle: 1,
};

/// Measures; `tell` gets a line for each step, and the answer is the table.
pub async fn run(options: &Options, tell: fn(&str)) -> anyhow::Result<String> {
    let mut size = if options.quick { QUICK } else { FULL };
    if let Some(minutes) = options.minutes {
        size.churn = Duration::from_mins(minutes.into());
    }
    let phases = Phase::chosen(&options.phases, options.server.is_some())?;
    if !options.command.is_empty() {
        return run_command(options, tell).await;
    }
    let (machine, figures) = match &options.server {
        None => run_all(options, &phases, size, tell).await?,
        Some(server) => {
            let figures = until_told(remote::measure(server, &phases, size, tell)).await?;
            (Machine::look(None).await?, figures)
        }
    };
    if let Some(path) = &options.json {
        let text = report::json(&machine, &figures, options.quick)?;
        fs::write(path, text).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(report::table(&machine, &figures, options.quick))
}

/// Starts everything, measures, and stops it.
async fn run_all(
    options: &Options,
    phases: &[Phase],
    size: Size,
    tell: fn(&str),
) -> anyhow::Result<(Machine, Figures)> {
    let scratch = Scratch::new(options.dir.as_deref())?;
    on_stage(options, &scratch, async |mut stage| {
        measure(&mut stage, (&scratch.0, phases), size, tell).await
    })
    .await
}

/// Starts everything, runs a program, and stops it.
async fn run_command(options: &Options, tell: fn(&str)) -> anyhow::Result<String> {
    let scratch = Scratch::new(options.dir.as_deref())?;
    on_stage(options, &scratch, async |stage| {
        tell(&format!("running {}", options.command.join(" ")));
        command::run(&stage, &options.command).await
    })
    .await?;
    Ok("it succeeded".to_owned())
}

/// Works with servers of our own, which end with the work.
async fn on_stage<T>(
    options: &Options,
    scratch: &Scratch,
    work: impl AsyncFnOnce(Stage) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let (cluster, statements) = Statements::load(ClusterOptions {
        data_dir: scratch.0.join("postgres"),
        durability: Durability::Full,
        pg_bin: options.pg_bin.clone(),
        max_connections: 200,
        settings: Vec::new(),
    })
    .await?;
    // Whatever ends the work drops it, and with it every process it has started.
    let all = async {
        work(Stage::start(&cluster, statements, options.redis_url.as_deref()).await?).await
    };
    let done = until_told(all).await;
    cluster.stop().await.context("stopping PostgreSQL")?;
    done
}

async fn measure(
    stage: &mut Stage,
    (scratch, phases): (&Path, &[Phase]),
    size: Size,
    tell: fn(&str),
) -> anyhow::Result<(Machine, Figures)> {
    let machine = Machine::look(Some(&stage.database)).await?;
    let mut figures = Figures::default();
    for round in 1..=size.rounds {
        for phase in phases.iter().filter(|phase| round == 1 || !phase.is_once()) {
            let name = phase.name();
            tell(&format!("round {round} of {}: {name}", size.rounds));
            let measured = phase.measure(stage, scratch, size, &mut figures);
            Box::pin(measured).await.with_context(|| format!("phase {name}"))?;
        }
    }
    Ok((machine, figures))
}

/// Works until it is done, or until a signal says that it is not wanted any more.
async fn until_told<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let mut term = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        done = Box::pin(work) => return done,
        _ = term.recv() => {}
        _ = interrupt.recv() => {}
    }
    bail!("stopped by a signal before it was done")
}

/// A folder of our own that is gone when the value is.
struct Scratch(PathBuf);

impl Scratch {
    fn new(above: Option<&Path>) -> anyhow::Result<Self> {
        let above = above.map_or_else(std::env::temp_dir, Path::to_path_buf);
        let above = std::path::absolute(above)?;
        let dir = above.join(format!("axle-bench-{}", std::process::id()));
        fs::create_dir_all(&dir).with_context(|| format!("making {}", dir.display()))?;
        Ok(Self(dir))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::warn!(%error, dir = %self.0.display(), "the scratch folder stays");
        }
    }
}
