//! Makes the data directory of a new cluster: `initdb`, then the database `axle`, then one rename
//! that declares it complete. Whatever was interrupted before the rename is begun anew.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::time::timeout;

use super::Durability;
use super::binaries::Binaries;
use super::error::{Error, io_error};
use super::home::{Home, last_lines};
use super::server;

/// The superuser of a private cluster.
pub(super) const SUPERUSER: &str = "axle";

/// How long one step may take; `initdb` takes about three seconds on a busy machine.
const STEP_DEADLINE: Duration = Duration::from_mins(3);

/// Compares and sorts text the same on every machine. macOS has no `C.UTF-8`.
const LOCALE: &str = if cfg!(target_os = "macos") { "C" } else { "C.UTF-8" };

/// Makes the cluster if there is none yet, and returns the superuser's password.
pub(super) async fn ensure(
    home: &Home,
    binaries: &Binaries,
    durability: Durability,
) -> Result<String, Error> {
    if home.made_by()?.is_some() {
        return home.read_password();
    }
    tracing::info!(dir = %home.dir().display(), "making a new PostgreSQL cluster");
    let password = random_password()?;
    home.write_password(&password)?;
    let dir = home.make_unfinished()?;
    make_cluster(home, binaries, durability).await?;
    create_database(home, binaries, &dir).await?;
    home.finish()?;
    Ok(password)
}

async fn make_cluster(
    home: &Home,
    binaries: &Binaries,
    durability: Durability,
) -> Result<(), Error> {
    let program = binaries.initdb();
    let mut command = server::command(&program, home);
    command.arg("-D").arg(home.unfinished()).args(["--encoding=UTF8", "--auth=scram-sha-256"]);
    command.arg(format!("--username={SUPERUSER}")).arg(format!("--locale={LOCALE}"));
    command.arg("--pwfile").arg(home.password_file()).arg("--no-instructions");
    if durability == Durability::Ephemeral {
        command.arg("--no-sync");
    }
    run("initdb", command, "").await
}

/// Creates the database `axle` without a server on any port, so that it is part of what the rename
/// completes.
async fn create_database(home: &Home, binaries: &Binaries, dir: &Path) -> Result<(), Error> {
    let mut command = server::command(&binaries.postgres(), home);
    command.arg("--single").arg("-D").arg(dir);
    command.args(["-c", "exit_on_error=on", "-c", "log_min_messages=error", "postgres"]);
    run("creating the database", command, include_str!("create_database.sql")).await
}

/// Runs one step to its end with `input` on its standard input.
async fn run(step: &'static str, mut command: Command, input: &str) -> Result<(), Error> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let program = Path::new(command.as_std().get_program()).to_path_buf();
    let mut child = command.spawn().map_err(io_error("run", &program))?;
    let whole = async {
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(input.as_bytes()).await?;
        }
        child.wait_with_output().await
    };
    let Ok(ended) = timeout(STEP_DEADLINE, whole).await else {
        let output = format!("it did not end within {} s", STEP_DEADLINE.as_secs());
        return Err(Error::Setup { step, output });
    };
    let output = ended.map_err(io_error("run", &program))?;
    if output.status.success() {
        return Ok(());
    }
    let printed = [output.stdout, output.stderr].concat();
    Err(Error::Setup { step, output: last_lines(&printed) })
}

/// 128 random bits in hexadecimal: nothing to escape in a URL.
pub(super) fn random_password() -> Result<String, Error> {
    let mut bytes = [0_u8; 16];
    server::fill_random(&mut bytes)?;
    let mut text = String::with_capacity(32);
    for byte in bytes {
        // Writing to a String cannot fail.
        let _infallible = write!(text, "{byte:02x}");
    }
    Ok(text)
}
