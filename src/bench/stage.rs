//! What is measured: one API process, one process that pulls and fires schedules (some phases have
//! others in its place), and the sink that they call.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::Duration;

use anyhow::Context as _;
use rustix::process::Signal;
use tokio::time::sleep;

use super::api::Api;
use super::figures::{Figures, What};
use super::process::{Process, run_once};
use super::sink::Sink;
use super::statements::Statements;
use super::usage::{self, Spent};
use crate::dev::Cluster;

/// What the processes are reached by.
pub(super) struct Stage {
    /// The database's URL, with its password.
    pub(super) database: String,
    /// `pgbench`, where it is installed.
    pub(super) pgbench: Option<std::path::PathBuf>,
    /// The target of every job.
    pub(super) sink: Sink,
    /// The API of the bench.
    pub(super) api: Api,
    /// Counts statements.
    pub(super) statements: Statements,
    /// Jobs that are not due for long and are to stay unfinished.
    pub(super) standing: i64,
    api_process: Process,
    pullers: Vec<Process>,
    postgres: Option<u32>,
    /// The settings that all processes share.
    env: Vec<(&'static str, String)>,
}

/// A puller that has had this long without work has no transaction open.
const SETTLE_DOWN: Duration = Duration::from_millis(50);

impl Stage {
    /// Brings the schema up, starts the processes and waits until they are ready.
    pub(super) async fn start(
        cluster: &Cluster,
        statements: Statements,
        redis_url: Option<&str>,
    ) -> anyhow::Result<Self> {
        let database = cluster.url("axle");
        let sink = Sink::start(Ipv4Addr::LOCALHOST.into())?;
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).map_err(|error| anyhow::anyhow!("no randomness: {error}"))?;
        let secret = secret.map(|byte| format!("{byte:02x}")).concat();
        let address = free()?;
        // All else stands at its default, AXLE_CONCURRENCY too.
        let mut env = vec![
            ("AXLE_DATABASE_URL", database.clone()),
            ("AXLE_JWT_SECRET", secret),
            ("AXLE_LOG", "warn".to_owned()),
            ("AXLE_LISTEN", address.to_string()), // pullers put it into callback URLs
            ("AXLE_TARGET_ALLOW", sink.address().ip().to_string()),
        ];
        env.extend(redis_url.map(|url| ("AXLE_REDIS_URL", url.to_owned())));
        run_once(&["migrate", "up"], &env).await?;
        let words = ["token", "--team", "bench", "--role", "writer", "--ttl", "12h"];
        let token = Some(run_once(&words, &env).await?.trim().to_owned());
        let target = format!("http://{}", sink.address());
        let mut stage = Self {
            database,
            pgbench: cluster.program("pgbench"),
            sink,
            api: Api {
                address,
                host: address.to_string(),
                prefix: String::new(),
                token,
                target,
                retries: true,
            },
            statements,
            standing: 0,
            api_process: serve("api", &env, None).await?,
            pullers: Vec::new(),
            postgres: cluster.pid(),
            env,
        };
        stage.set_pullers(1, None).await?;
        Ok(stage)
    }

    /// Ends the pullers that are there, which have nothing to do, and starts so many others, with
    /// this `AXLE_CONCURRENCY` if one is given.
    pub(super) async fn set_pullers(
        &mut self,
        count: usize,
        concurrency: Option<u16>,
    ) -> anyhow::Result<()> {
        self.pullers.clear();
        for _ in 0..count {
            self.pullers.push(serve("puller,scheduler", &self.env, concurrency).await?);
        }
        Ok(())
    }

    /// Holds the pullers still, so that jobs queue up.
    ///
    /// Not by pausing the queue: the sweep of a running puller sets the due jobs of a paused queue
    /// aside and gives them back after the resume, two more writes for each job, which a backlog
    /// that arose otherwise does not have. Nor by starting it late: then its start would be measured.
    pub(super) async fn hold_pullers(&self) -> anyhow::Result<()> {
        sleep(SETTLE_DOWN).await;
        self.pullers.iter().try_for_each(|puller| puller.signal(Signal::STOP))
    }

    /// Lets the pullers go on.
    pub(super) fn release_pullers(&self) -> anyhow::Result<()> {
        self.pullers.iter().try_for_each(|puller| puller.signal(Signal::CONT))
    }

    /// The CPU that each part has used so far.
    pub(super) fn spent(&self) -> Spent {
        Spent {
            api: usage::cpu(self.api_process.id()),
            puller: self.pullers.iter().map(|puller| usage::cpu(puller.id())).sum(),
            postgres: self.postgres.and_then(usage::cpu_of_family),
            bench: usage::cpu(std::process::id()),
        }
    }

    /// Notes the most memory that the two processes have had.
    pub(super) fn memory(&self, figures: &mut Figures) {
        figures.keep_most(What::ApiMemory, usage::peak_memory(self.api_process.id()));
        let pullers = self.pullers.iter().filter_map(|puller| usage::peak_memory(puller.id()));
        figures.keep_most(What::PullerMemory, pullers.reduce(f64::max));
    }
}

/// Starts a process of ours that is told where to tell its state.
async fn serve(
    roles: &str,
    env: &[(&'static str, String)],
    concurrency: Option<u16>,
) -> anyhow::Result<Process> {
    let admin = free()?;
    let mut env = env.to_vec();
    env.push(("AXLE_ADMIN_LISTEN", admin.to_string()));
    env.extend(concurrency.map(|count| ("AXLE_CONCURRENCY", count.to_string())));
    Process::serve(roles, &env, admin).await
}

/// A loopback address that is free now.
fn free() -> anyhow::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("finding a free port")?;
    Ok(listener.local_addr()?)
}
