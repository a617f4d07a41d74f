//! Clears what a process that was killed left behind: a server that still runs in the data
//! directory is stopped, so that the next start owns what it uses, and a file that names a process
//! of somebody else is removed. It must never signal a process that is not a server of this
//! directory: process ids are used again, in containers at every start.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use tokio::process::Command;
use tokio::time::{Instant, sleep};

use super::error::{Error, io_error};

/// How long a fast shutdown may take, which ends with a checkpoint; then how long an immediate one.
const PATIENCE: [(Signal, Duration); 2] =
    [(Signal::INT, Duration::from_secs(30)), (Signal::QUIT, Duration::from_secs(10))];

/// How often a stopping server is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Makes sure that no server runs in `data` and that PostgreSQL will not think one does.
pub(super) async fn clear(data: &Path) -> Result<(), Error> {
    let pid_file = data.join("postmaster.pid");
    let Some(pid) = recorded_pid(&pid_file)? else { return Ok(()) };
    if serves(pid, data).await {
        tracing::warn!(%pid, data = %data.display(), "stopping PostgreSQL left by an earlier run");
        return stop(pid, data).await;
    }
    // A dead process's file is PostgreSQL's to handle, which also looks for orphaned backends. A
    // live stranger under the same number would make it refuse to start, for ever.
    if is_alive(pid) && !any_postgres_lives() {
        tracing::info!(%pid, "removing postmaster.pid: its process id is another program's now");
        fs::remove_file(&pid_file).map_err(io_error("remove", &pid_file))?;
    }
    Ok(())
}

async fn stop(pid: Pid, data: &Path) -> Result<(), Error> {
    for (signal, patience) in PATIENCE {
        // It may end between the look and the signal; then there is nothing to wait for.
        if kill_process(pid, signal).is_err() {
            return Ok(());
        }
        let deadline = Instant::now() + patience;
        while Instant::now() < deadline {
            if !serves(pid, data).await {
                return Ok(());
            }
            sleep(LOOK_EVERY).await;
        }
    }
    Err(Error::Leftover { dir: data.to_path_buf(), pid: pid.as_raw_nonzero().get() })
}

/// The process id in the first line of PostgreSQL's own lock file.
fn recorded_pid(pid_file: &Path) -> Result<Option<Pid>, Error> {
    match fs::read_to_string(pid_file) {
        Ok(text) => {
            let number = text.lines().next().and_then(|line| line.trim().parse().ok());
            Ok(number.and_then(Pid::from_raw))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error("read", pid_file)(error)),
    }
}

/// Whether a process has this id; one that we may not signal counts too.
fn is_alive(pid: Pid) -> bool {
    !matches!(test_kill_process(pid), Err(rustix::io::Errno::SRCH))
}

/// Whether `pid` is a server that was started, as ours are, with `-D <data>`. The command line is
/// asked, since the working directory of another account's process is hidden in many containers.
async fn serves(pid: Pid, data: &Path) -> bool {
    let command_line = command_line(pid).await;
    command_line.contains("postgres") && command_line.contains(&format!("-D {} ", data.display()))
}

/// The command line of a process, its words parted by blanks; empty when there is no such process.
async fn command_line(pid: Pid) -> String {
    if Path::new("/proc/self/cmdline").exists() {
        return read_command_line(&format!("/proc/{}/cmdline", pid.as_raw_nonzero()));
    }
    let mut ps = Command::new("ps");
    ps.args(["-o", "args=", "-p"]).arg(pid.as_raw_nonzero().to_string()).stdin(Stdio::null());
    let output = ps.output().await.map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&output).into_owned()
}

fn read_command_line(path: &str) -> String {
    let bytes = fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ")
}

/// Whether any PostgreSQL process runs on this machine, a server's child included. Without /proc
/// this cannot be told, and the cautious answer is yes.
fn any_postgres_lives() -> bool {
    let Ok(entries) = fs::read_dir("/proc") else { return true };
    entries.flatten().any(|entry| {
        let name = entry.file_name();
        let Some(pid) = name.to_str().filter(|name| name.bytes().all(|b| b.is_ascii_digit()))
        else {
            return false;
        };
        let command_line = read_command_line(&format!("/proc/{pid}/cmdline"));
        let program = command_line.split(' ').next().unwrap_or_default();
        program == "postgres:" || program.ends_with("postgres")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_process_that_is_not_the_directory_s_server_is_never_signalled() {
        let data = tempfile::tempdir().unwrap();
        let mut stranger = Command::new("sleep").arg("60").kill_on_drop(true).spawn().unwrap();
        let pid = stranger.id().unwrap();
        fs::write(data.path().join("postmaster.pid"), format!("{pid}\n/x\n")).unwrap();
        clear(data.path()).await.unwrap();
        assert!(stranger.try_wait().unwrap().is_none(), "the stranger still runs");
    }

    #[tokio::test]
    async fn a_file_that_names_no_process_is_left_to_postgresql() {
        let data = tempfile::tempdir().unwrap();
        let file = data.path().join("postmaster.pid");
        fs::write(&file, "not a number\n").unwrap();
        clear(data.path()).await.unwrap();
        assert!(file.exists());
    }
}
