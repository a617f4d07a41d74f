//! How connections are made: timeouts on everything, keep-alives that notice a cut cable, TLS
//! unless the server is on this host, and each connection driven by the main runtime rather than by
//! whichever HTTP worker happened to ask first.

use std::str::FromStr;
use std::time::Duration;

use deadpool_postgres::{
    Connect, Manager, ManagerConfig, Pool, QueueMode, RecyclingMethod, Runtime, Timeouts,
};
use futures_util::future::BoxFuture;
use rustls::ClientConfig;
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{Client, Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::Error;

/// How to reach the database.
#[derive(Clone, Debug)]
pub struct StoreSettings {
    /// A `postgres://` URL or a key-value connection string.
    pub url: String,
    /// Connections at most.
    pub pool_size: usize,
    /// The longest that the server may work on one statement.
    pub statement_timeout: Duration,
    /// The name under which the connections show in `pg_stat_activity`.
    pub application_name: String,
}

/// A handle on the database; cheap to clone.
#[derive(Clone)]
pub struct Store {
    pool: Pool,
    config: Config,
    statement_timeout: Duration,
}

/// How long to wait for a connection, to make one, to look at an old one.
const WAIT: Duration = Duration::from_secs(5);
/// The longest wait for a row lock: whoever holds one is in the middle of a short transaction.
const LOCK_TIMEOUT: Duration = Duration::from_secs(3);
/// Connections older than this, or idle for longer, are replaced, so that a failover or a change of
/// an address is noticed.
const MAX_AGE: Duration = Duration::from_mins(20);
const MAX_IDLE: Duration = Duration::from_mins(5);
/// Every hot statement is written for an index. `live` is analysed while it is all but empty, and a
/// plan made then, which lives as long as its connection, reads the whole table for each shard once
/// it has filled. With sequential scans ruled out only such tables are read whole as have no fitting
/// index; that makes their costs look absurd, which must not bring the JIT compiler in. By the same
/// costs a plan for the arguments at hand looks cheaper than the one for all, and a claim would be
/// planned anew each time.
const PLANNING: &str = "-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c jit=off";

impl Store {
    /// A store that connects when it is first used. Fails on an unusable URL only.
    pub fn new(settings: &StoreSettings) -> Result<Self, Error> {
        let mut config = Config::from_str(&settings.url)
            .map_err(|error| Error::Broken(format!("the database URL cannot be used: {error}")))?;
        let statement_timeout = settings.statement_timeout;
        config
            .application_name(&settings.application_name)
            .connect_timeout(WAIT)
            .keepalives_idle(Duration::from_secs(10))
            .keepalives_interval(Duration::from_secs(5))
            .keepalives_retries(3)
            .tcp_user_timeout(Duration::from_secs(15))
            .options(format!(
                "-c statement_timeout={} -c lock_timeout={} \
                 -c idle_in_transaction_session_timeout={} {PLANNING}",
                statement_timeout.as_millis(),
                LOCK_TIMEOUT.min(statement_timeout).as_millis(),
                // A process that fell asleep holds its locks for so long: by default for half the
                // time within which a slot still counts as handled on time.
                statement_timeout.as_millis(),
            ));
        if !settings.url.contains("sslmode") && !is_local(&config) {
            config.ssl_mode(SslMode::Require);
        }
        let manager = Manager::from_connect(
            config.clone(),
            Connector { tls: tls()?, runtime: Handle::current() },
            ManagerConfig { recycling_method: RecyclingMethod::Fast },
        );
        let pool = Pool::builder(manager)
            .max_size(settings.pool_size)
            // The one that was used last: its server process has its plans and caches at hand.
            .queue_mode(QueueMode::Lifo)
            .runtime(Runtime::Tokio1)
            .timeouts(Timeouts { wait: Some(WAIT), create: Some(WAIT), recycle: Some(WAIT) })
            .build()
            .map_err(|error| Error::Broken(error.to_string()))?;
        Ok(Self { pool, config, statement_timeout })
    }

    /// Lets go of connections that are old or have long been idle. Called now and then.
    pub fn tidy(&self) {
        self.pool.retain(|_, metrics| metrics.age() < MAX_AGE && metrics.last_used() < MAX_IDLE);
    }

    /// Connections in the pool, and of these idle.
    pub fn connections(&self) -> (usize, usize) {
        let status = self.pool.status();
        (status.size, status.available)
    }

    pub(super) fn pool(&self) -> &Pool {
        &self.pool
    }

    pub(super) fn statement_timeout(&self) -> Duration {
        self.statement_timeout
    }

    /// A connection of its own, outside the pool: for LISTEN, which needs to see the messages.
    pub async fn dedicated(&self) -> Result<Dedicated, Error> {
        let connector = MakeRustlsConnect::new(tls()?);
        let connected = tokio::time::timeout(WAIT, self.config.connect(connector)).await;
        Ok(connected.map_err(|_elapsed| Error::closed())??)
    }
}

/// A client and the connection that its owner must drive.
pub type Dedicated = (
    Client,
    tokio_postgres::Connection<
        tokio_postgres::Socket,
        <MakeRustlsConnect as tokio_postgres::tls::MakeTlsConnect<tokio_postgres::Socket>>::Stream,
    >,
);

struct Connector {
    tls: ClientConfig,
    runtime: Handle,
}

impl Connect for Connector {
    fn connect(
        &self,
        config: &Config,
    ) -> BoxFuture<'_, Result<(Client, JoinHandle<()>), tokio_postgres::Error>> {
        let config = config.clone();
        Box::pin(async move {
            if config.get_ssl_mode() == SslMode::Disable {
                let (client, connection) = config.connect(NoTls).await?;
                Ok((client, self.runtime.spawn(drive(connection))))
            } else {
                let tls = MakeRustlsConnect::new(self.tls.clone());
                let (client, connection) = config.connect(tls).await?;
                Ok((client, self.runtime.spawn(drive(connection))))
            }
        })
    }
}

/// A lost connection shows at its next use; here it is only noted.
async fn drive<S, T>(connection: tokio_postgres::Connection<S, T>)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
    T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a database connection ended");
    }
}

fn tls() -> Result<ClientConfig, Error> {
    let broken = |error: rustls::Error| Error::Broken(format!("TLS cannot be set up: {error}"));
    Ok(ClientConfig::builder_with_provider(rustls::crypto::ring::default_provider().into())
        .with_safe_default_protocol_versions()
        .map_err(broken)?
        .with_platform_verifier()
        .map_err(broken)?
        .with_no_client_auth())
}

/// Whether every host is this machine: then plain text is fine, else it must be asked for.
fn is_local(config: &Config) -> bool {
    config.get_hosts().iter().all(|host| match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => matches!(name.as_str(), "localhost" | "127.0.0.1" | "::1"),
    })
}
