//! `axle dev`: everything in one process on one machine, with a PostgreSQL of its own.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail};

use super::edge::Front;
use super::serve::{self, Launch};
use super::stop::Stop;
use super::{migrate, parts, trial};
use crate::cli::Dev;
use crate::config::{self, Config, Roles, Secret, mask_url};
use crate::dev::{Cluster, Durability, Options, default_data_dir, demo};
use crate::domain::principal::{Kind, Principal, Role, Subject, Team, Via};
use crate::domain::scope::Scope;
use crate::http::Auth;

/// How the folders of databases that are gone at the end begin.
const SCRATCH: &str = "axle-dev-";
/// How many ports after a taken one are tried.
const PORTS: u16 = 50;

/// Runs until a signal. `is_named`: the database of the settings was meant for Axle.
pub async fn run(mut config: Config, options: &Dev, is_named: bool) -> anyhow::Result<()> {
    if !config.listen.ip().is_loopback() {
        bail!(
            "axle dev asks nobody for a token, so it listens on loopback only: --listen 127.0.0.1:8080"
        );
    }
    let stop = Stop::default();
    stop.on_signals()?;
    let api = bind_near(config.listen, "the API")?;
    let admin = bind_near(config.admin_listen, "the admin listener")?;
    config.listen = api.local_addr()?;
    config.admin_listen = admin.local_addr()?;
    config.roles = Roles::ALL;
    // On loopback there is nobody between to hide from.
    (config.tls_cert, config.tls_key) = (None, None);
    // Targets under development are on this machine, and so is the demo's.
    config.allow_private_targets = true;
    config.target_allow.extend(config.listen.to_string().parse());
    let (cluster, scratch) = database(&mut config, options, is_named).await?;
    let served = run_on(&config, options, (api, admin), &stop).await;
    if let Some(cluster) = cluster {
        cluster.stop().await.context("stopping PostgreSQL")?;
    }
    if let Some(scratch) = scratch {
        std::fs::remove_dir_all(&scratch)
            .with_context(|| format!("removing {}", scratch.display()))?;
    }
    served
}

async fn run_on(
    config: &Config,
    options: &Dev,
    (api, admin): (TcpListener, TcpListener),
    stop: &Stop,
) -> anyhow::Result<()> {
    migrate::up(config).await.context("bringing the schema up to date")?;
    let auth = Auth::Loopback(developer()?);
    let launch = Launch {
        api: Some((api, auth, Front::default())),
        admin,
        extra: Some(demo::routes),
        notice: Duration::ZERO,
    };
    let base = parts::public_url(config);
    let serving = serve::serve(config, launch, stop);
    tokio::pin!(serving);
    let show = async {
        if options.r#try {
            trial::run(&base, say_on).await?;
        }
        greet(&base, config);
        anyhow::Ok(())
    };
    tokio::select! {
        ended = &mut serving => return ended,
        shown = show => shown.inspect_err(|_| stop.now())?,
    }
    serving.await
}

/// The database that was named, or one of our own; and the folder to remove at the end. What the
/// environment names for other programs (`DATABASE_URL`, `PG*`) is left alone.
async fn database(
    config: &mut Config,
    options: &Dev,
    is_named: bool,
) -> anyhow::Result<(Option<Cluster>, Option<PathBuf>)> {
    if is_named {
        if options.ephemeral || options.data_dir.is_some() {
            bail!(
                "--ephemeral and --data-dir are for a PostgreSQL of its own; a database is named"
            );
        }
        say(&format!("using the database {}", mask_url(config.database_url.expose())));
        return Ok((None, None));
    }
    let scratch = if options.ephemeral {
        let parent = std::env::temp_dir();
        Cluster::clear_abandoned(&parent, SCRATCH).await;
        Some(parent.join(format!("{SCRATCH}{}", std::process::id())))
    } else {
        None
    };
    let data_dir = match (&scratch, &options.data_dir) {
        (Some(scratch), _) => scratch.clone(),
        (None, Some(dir)) => std::path::absolute(dir)?,
        (None, None) => default_data_dir(config::home().as_deref()),
    };
    let durability = if options.ephemeral { Durability::Ephemeral } else { Durability::Full };
    say(&format!("starting PostgreSQL in {}", data_dir.display()));
    let cluster = Cluster::start(Options {
        data_dir,
        durability,
        pg_bin: config::pg_bin(),
        max_connections: 100,
        settings: Vec::new(),
    })
    .await?;
    if let Some(account) = cluster.account() {
        say(&format!("PostgreSQL runs as the user {account}, since it refuses to run as root"));
    }
    config.database_url = Secret::from(cluster.url("axle"));
    if config.secret_key.is_none() {
        config.secret_key = Some(cluster.secret_key()?.into());
    }
    Ok((Some(cluster), scratch))
}

/// Whoever calls from this machine.
fn developer() -> anyhow::Result<Principal> {
    Ok(Principal {
        team: Team::parse("demo")?,
        subject: Subject::parse("dev")?,
        role: Role::Owner,
        scope: Scope::default(),
        kind: Kind::Dev,
        installation_admin: true,
        via: Via::default(),
    })
}

/// The address, or the next free port after it, said aloud.
fn bind_near(address: SocketAddr, what: &str) -> anyhow::Result<TcpListener> {
    for port in address.port()..=address.port().saturating_add(PORTS) {
        let mut candidate = address;
        candidate.set_port(port);
        match TcpListener::bind(candidate) {
            Ok(listener) => {
                if port != address.port() {
                    say(&format!("port {} is taken; {what} listens on {port}", address.port()));
                }
                return Ok(listener);
            }
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {}
            Err(error) => return Err(error).with_context(|| format!("{what} on {candidate}")),
        }
    }
    bail!("{what} finds no free port from {} on", address.port())
}

fn greet(base: &str, config: &Config) {
    say(&format!("Axle serves {base} (docs at {base}/docs/), team demo, no token needed"));
    say(&format!("health and metrics: http://{}/metrics", parts::reachable(config.admin_listen)));
    say(&format!(
        "try: curl -s {base}/v1/jobs -H 'content-type: application/json' \
         -d '{{\"target\":{{\"url\":\"{base}/demo/flaky?fails=2\"}},\"retry\":{{\"base_ms\":1000}}}}'"
    ));
    say(&format!("and: curl -s {base}/v1/jobs"));
    say("Ctrl-C stops it");
}

/// Goes on with a line.
#[expect(clippy::print_stdout, reason = "axle dev talks to a person")]
fn say_on(words: &str) {
    use std::io::Write as _;
    print!("{words}");
    // A closed output is noticed by the next line.
    _ = std::io::stdout().flush();
}

#[expect(clippy::print_stdout, reason = "axle dev talks to a person")]
fn say(line: &str) {
    println!("{line}");
}
