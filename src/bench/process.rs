//! Processes of this same program, each killed when its value is dropped.

use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};

use super::bare::{self, Bare};

/// How long a process may take to be ready, and a small command to end.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often a starting process is asked.
const ASK_EVERY: Duration = Duration::from_millis(20);

/// A server process of ours.
pub(super) struct Process {
    child: Child,
    id: u32,
}

impl Process {
    /// Starts `axle serve` with one role and waits until it says that it is ready.
    pub(super) async fn serve(
        role: &str,
        env: &[(&str, String)],
        admin: SocketAddr,
    ) -> anyhow::Result<Self> {
        let mut command = command(&["serve", "--roles", role], env)?;
        command.stdout(Stdio::null());
        let child = command.spawn().with_context(|| format!("starting the {role}"))?;
        let id = child.id().with_context(|| format!("the {role} ended at once"))?;
        let mut process = Self { child, id };
        process.wait_until_ready(role, admin).await?;
        Ok(process)
    }

    /// Its process id.
    pub(super) fn id(&self) -> u32 {
        self.id
    }

    /// Sends it a signal. As it is waited for only when the value is dropped, its id is not another's.
    pub(super) fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        let pid = i32::try_from(self.id).ok().and_then(Pid::from_raw);
        Ok(kill_process(pid.context("no process id")?, signal)?)
    }

    async fn wait_until_ready(&mut self, role: &str, admin: SocketAddr) -> anyhow::Result<()> {
        let deadline = Instant::now() + PATIENCE;
        let request = bare::get(admin, "/readyz", None);
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait()? {
                bail!("the {role} ended ({status})");
            }
            if let Ok(mut connection) = Bare::connect(admin).await
                && connection.ask(&request).await.is_ok_and(|answer| answer.status == 200)
            {
                return Ok(());
            }
            sleep(ASK_EVERY).await;
        }
        bail!("the {role} was not ready within {} s", PATIENCE.as_secs())
    }
}

/// Runs a small command of this program to its end; what it prints is the answer.
pub(super) async fn run_once(words: &[&str], env: &[(&str, String)]) -> anyhow::Result<String> {
    let name = words.join(" ");
    let output = timeout(PATIENCE, command(words, env)?.stdout(Stdio::piped()).output()).await;
    let output = output.with_context(|| format!("axle {name} does not end"))??;
    ensure!(output.status.success(), "axle {name} failed ({})", output.status);
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// This program, with no other settings than those given: whoever runs the bench may have a server
/// set up in the environment.
fn command(words: &[&str], env: &[(&str, String)]) -> anyhow::Result<Command> {
    let program = std::env::current_exe().context("finding this program")?;
    let mut command = Command::new(program);
    command.args(words).env_clear().stdin(Stdio::null()).kill_on_drop(true);
    command.envs(env.iter().map(|(name, value)| (*name, value)));
    Ok(command)
}
