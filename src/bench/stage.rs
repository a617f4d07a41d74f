//! What is measured: one API process, one process that pulls and fires schedules, and the sink that
//! they call.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use rustix::process::Signal;
use serde::Serialize;
use tokio::time::sleep;

use super::bare::{self, Bare};
use super::figures::{Figures, What};
use super::process::{Process, run_once};
use super::sink::Sink;
use super::usage::{self, Spent};
use crate::dev::Cluster;
use crate::wire::request::{JobRequest, TargetRequest};

/// What the processes are reached by.
pub(super) struct Stage {
    /// The database's URL, with its password.
    pub(super) database: String,
    /// `pgbench`, where it is installed.
    pub(super) pgbench: Option<std::path::PathBuf>,
    /// The target of every job.
    pub(super) sink: Sink,
    api_address: SocketAddr,
    api: Process,
    puller: Process,
    postgres: Option<u32>,
    token: String,
}

/// A puller that has had this long without work has no transaction open.
const SETTLE_DOWN: Duration = Duration::from_millis(50);
/// Makes a job "an HTTP POST of about 200 bytes of JSON".
const PAYLOAD: &str = r#"{"event":"order.closed","order":4711,"customer":"c-90125","items":[{"sku":"A-1","n":2},{"sku":"B-7","n":1}],"total":{"amount":"129.90","currency":"EUR"},"note":"closed by the nightly run"}"#;

impl Stage {
    /// Brings the schema up, starts the processes and waits until they are ready.
    pub(super) async fn start(cluster: &Cluster) -> anyhow::Result<Self> {
        let database = cluster.url("axle");
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).map_err(|error| anyhow::anyhow!("no randomness: {error}"))?;
        let secret = secret.map(|byte| format!("{byte:02x}")).concat();
        let (api_address, api_admin, puller_admin) = (free()?, free()?, free()?);
        // All else stands at its default, AXLE_CONCURRENCY too.
        let mut env = vec![
            ("AXLE_DATABASE_URL", database.clone()),
            ("AXLE_JWT_SECRET", secret),
            ("AXLE_LOG", "warn".to_owned()),
            ("AXLE_LISTEN", api_address.to_string()),
            ("AXLE_ALLOW_PRIVATE_TARGETS", "true".to_owned()), // the sink is on loopback
        ];
        run_once(&["migrate", "up"], &env).await?;
        let words = ["token", "--team", "bench", "--role", "writer", "--ttl", "12h"];
        let token = run_once(&words, &env).await?.trim().to_owned();
        env.push(("AXLE_ADMIN_LISTEN", api_admin.to_string()));
        let api = Process::serve("api", &env, api_admin).await?;
        env.pop();
        env.push(("AXLE_ADMIN_LISTEN", puller_admin.to_string()));
        let puller = Process::serve("puller,scheduler", &env, puller_admin).await?;
        Ok(Self {
            database,
            pgbench: cluster.program("pgbench"),
            sink: Sink::start()?,
            api_address,
            api,
            puller,
            postgres: cluster.pid(),
            token,
        })
    }

    /// A connection to the API.
    pub(super) async fn connect(&self) -> anyhow::Result<Bare> {
        Bare::connect(self.api_address).await
    }

    /// A request of the API, ready to be sent, with the token.
    pub(super) fn post(&self, path: &str, body: &impl Serialize) -> anyhow::Result<Vec<u8>> {
        let body = serde_json::to_vec(body)?;
        Ok(bare::post(self.api_address, path, Some(&self.token), &body))
    }

    /// A read of the API, ready to be sent, with the token.
    pub(super) fn get(&self, path: &str) -> Vec<u8> {
        bare::get(self.api_address, path, Some(&self.token))
    }

    /// A job that calls the sink, which knows it by its number.
    pub(super) fn job(&self, number: usize) -> anyhow::Result<JobRequest> {
        let url = format!("http://{}/{number}", self.sink.address());
        Ok(JobRequest {
            queue: Some("bench".to_owned()),
            target: TargetRequest { url, ..TargetRequest::default() },
            payload: Some(serde_json::value::RawValue::from_string(PAYLOAD.to_owned())?),
            ..JobRequest::default()
        })
    }

    /// Holds the puller still, so that jobs queue up.
    ///
    /// Not by pausing the queue: the sweep of a running puller sets the due jobs of a paused queue
    /// aside and gives them back after the resume, two more writes for each job, which a backlog
    /// that arose otherwise does not have. Nor by starting it late: then its start would be measured.
    pub(super) async fn hold_puller(&self) -> anyhow::Result<()> {
        sleep(SETTLE_DOWN).await;
        self.puller.signal(Signal::STOP)
    }

    /// Lets the puller go on.
    pub(super) fn release_puller(&self) -> anyhow::Result<()> {
        self.puller.signal(Signal::CONT)
    }

    /// The CPU that each part has used so far.
    pub(super) fn spent(&self) -> Spent {
        Spent {
            api: usage::cpu(self.api.id()),
            puller: usage::cpu(self.puller.id()),
            postgres: self.postgres.and_then(usage::cpu_of_family),
            bench: usage::cpu(std::process::id()),
        }
    }

    /// Notes the most memory that the two processes have had.
    pub(super) fn memory(&self, figures: &mut Figures) {
        figures.add_some(What::ApiMemory, usage::peak_memory(self.api.id()));
        figures.add_some(What::PullerMemory, usage::peak_memory(self.puller.id()));
    }

    /// Fails if the answer to an enqueue is not that it was done.
    pub(super) fn check(answer: &bare::Answer) -> anyhow::Result<()> {
        let text = String::from_utf8_lossy(&answer.body);
        ensure!((200..300).contains(&answer.status), "the API answered {}: {text}", answer.status);
        Ok(())
    }
}

/// A loopback address that is free now.
fn free() -> anyhow::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("finding a free port")?;
    Ok(listener.local_addr()?)
}
