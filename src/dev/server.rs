//! One running PostgreSQL server process: start it, wait until it answers, stop it. Dropping it
//! stops it at once. It knows no data directory layout beyond what [`Home`] tells.

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};
use tokio_postgres::error::SqlState;

use super::error::{Error, io_error};
use super::home::Home;

/// How long a server may take to answer. Recovery after a crash is part of it, and reads and syncs
/// the whole data directory.
const READY_DEADLINE: Duration = Duration::from_mins(2);
/// How often a starting server is tried.
const TRY_EVERY: Duration = Duration::from_millis(20);
/// How long one try may take.
const TRY_DEADLINE: Duration = Duration::from_secs(5);
/// How long a fast shutdown may take before it becomes an immediate one. It disconnects everybody
/// and ends with a checkpoint.
const STOP_DEADLINE: Duration = Duration::from_secs(30);
/// How long an immediate shutdown may take before the process is killed. PostgreSQL itself gives
/// its children 5 s.
const QUIT_DEADLINE: Duration = Duration::from_secs(10);

/// Ports are taken from below the ranges that Linux (32768) and macOS (49152) use for outgoing
/// connections: a server that is stopped and started again must find its port still free.
const PORTS: std::ops::Range<u16> = 15_000..32_000;
/// How many ports are tried.
const PORT_TRIES: u32 = 100;

/// A server process of ours.
#[derive(Debug)]
pub(super) struct Server {
    child: Child,
}

impl Server {
    /// Runs `command`, with the server's output going to the log of `home`.
    pub(super) fn spawn(mut command: Command, home: &Home) -> Result<Self, Error> {
        let log = home.open_log()?;
        let also = log.try_clone().map_err(io_error("open", &home.log()))?;
        command.stdin(Stdio::null()).stdout(log).stderr(also);
        // Ctrl-C in a terminal reaches the whole process group. In one of its own, the server
        // lives until we are done with it.
        command.process_group(0);
        let program = Path::new(command.as_std().get_program()).to_path_buf();
        let child = command.spawn().map_err(io_error("run", &program))?;
        Ok(Self { child })
    }

    /// Waits until the server takes a sign-in at `url`, ends, or has had its time.
    pub(super) async fn wait_until_ready(&mut self, url: &str, home: &Home) -> Result<(), Error> {
        let Ok(ready) = timeout(READY_DEADLINE, self.answer(url, home)).await else {
            return Err(Error::NotReady {
                seconds: READY_DEADLINE.as_secs(),
                log: home.log(),
                tail: home.log_tail(),
            });
        };
        ready
    }

    async fn answer(&mut self, url: &str, home: &Home) -> Result<(), Error> {
        loop {
            if let Some(status) = self.child.try_wait().map_err(io_error("watch", home.dir()))? {
                return Err(Error::Ended { status, log: home.log(), tail: home.log_tail() });
            }
            match timeout(TRY_DEADLINE, tokio_postgres::connect(url, tokio_postgres::NoTls)).await {
                Ok(Ok(_connected)) => return Ok(()),
                Ok(Err(error)) if is_final(&error) => {
                    let source = Box::new(error);
                    return Err(Error::SignIn { password_file: home.password_file(), source });
                }
                // Not listening yet, or still recovering.
                Ok(Err(_)) | Err(_) => sleep(TRY_EVERY).await,
            }
        }
    }

    /// Its process id, until it was waited for.
    pub(super) fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Stops the server with a checkpoint, and harder if that takes too long.
    pub(super) async fn stop(mut self) -> Result<(), Error> {
        self.signal(Signal::INT);
        if self.ends_within(STOP_DEADLINE).await?.is_none() {
            tracing::warn!("PostgreSQL does not stop; its next start will recover");
            self.quit().await?;
        }
        Ok(())
    }

    /// Stops the server at once, without a checkpoint: its next start recovers as after a crash.
    pub(super) async fn quit(&mut self) -> Result<(), Error> {
        self.signal(Signal::QUIT);
        if self.ends_within(QUIT_DEADLINE).await?.is_none() {
            self.child.kill().await.map_err(io_error("kill", Path::new("postgres")))?;
        }
        Ok(())
    }

    async fn ends_within(&mut self, patience: Duration) -> Result<Option<ExitStatus>, Error> {
        let Ok(ended) = timeout(patience, self.child.wait()).await else { return Ok(None) };
        ended.map(Some).map_err(io_error("wait for", Path::new("postgres")))
    }

    fn signal(&self, signal: Signal) {
        // Once the child was waited for it has no id any more, so the number cannot be another's.
        let pid = self.child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
        if let Some(pid) = pid
            && let Err(error) = kill_process(pid, signal)
        {
            tracing::debug!(%error, "PostgreSQL was gone before the signal");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Not SIGKILL: that would leave its shared memory and its children behind.
        self.signal(Signal::QUIT);
    }
}

/// `program`, to be run as the account of `home`, in a folder that account can read and without
/// our environment: nothing in it (`PGDATA`, `PGPORT` …) is meant for this cluster.
pub(super) fn command(program: &Path, home: &Home) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("HOME", home.dir()).env("LC_ALL", "C.UTF-8").env("TZ", "UTC");
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin").current_dir("/");
    if let Some(account) = home.account() {
        account.adopt(&mut command);
    }
    command
}

/// A loopback port that is free now.
pub(super) fn free_port() -> Result<u16, Error> {
    let width = PORTS.end - PORTS.start;
    for _ in 0..PORT_TRIES {
        let mut bytes = [0_u8; 2];
        fill_random(&mut bytes)?;
        let port = PORTS.start + u16::from_ne_bytes(bytes) % width;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    Err(Error::NoPort)
}

/// Fills `bytes` from the operating system's random source.
pub(super) fn fill_random(bytes: &mut [u8]) -> Result<(), Error> {
    getrandom::fill(bytes).map_err(|error| {
        let source = std::io::Error::other(error);
        io_error("read", Path::new("the system's random source"))(source)
    })
}

/// Whether trying again cannot help.
fn is_final(error: &tokio_postgres::Error) -> bool {
    error.code().is_some_and(|code| {
        *code == SqlState::INVALID_PASSWORD
            || *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION
            || *code == SqlState::INVALID_CATALOG_NAME
    })
}
