//! Another program against the servers of the bench: a load generator finds a database of its own,
//! an API with authentication, a puller, and a target that answers and calls back.

use std::process::Stdio;

use anyhow::{Context as _, bail};
use futures_util::future::{Either, select};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Command;

use super::callback;
use super::stage::Stage;

/// Runs it to its end; fails if it does. It is told where the API is, which token to show, and the
/// base of the target: a number after it is answered 200, `/callback/` and a number 202, and its
/// callback follows.
pub(super) async fn run(stage: &Stage, words: &[String]) -> anyhow::Result<()> {
    let (program, arguments) = words.split_first().context("no command")?;
    let token = stage.api.token.as_deref().context("no token")?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).kill_on_drop(true);
    command.env("AXLE_URL", format!("http://{}", stage.api.host)).env("AXLE_TOKEN", token);
    command.env("SINK_URL", &stage.api.target);
    command.process_group(0);
    let mut child = command.spawn().with_context(|| format!("starting {program}"))?;
    let group = Group(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)));
    let ended = match select(Box::pin(child.wait()), Box::pin(callback::answer(stage))).await {
        Either::Left((status, _)) => status?,
        Either::Right((ended, _)) => return ended.context("calling back"),
    };
    drop(group);
    if !ended.success() {
        bail!("{program} ended with {ended}");
    }
    Ok(())
}

/// The program and whatever it has started: all of it ends when we do.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.0
            && let Err(error) = kill_process_group(leader, Signal::TERM)
        {
            tracing::debug!(%error, "the program has left nothing behind");
        }
    }
}
