//! The folder of a private cluster: who may use it, and where things lie in it. It starts no
//! program.
//!
//! ```text
//! axle.lock      held while a process uses the folder; marks the folder as Axle's
//! password       the superuser's, readable by the owner only
//! secret_key     what the secrets in the database are encrypted with, if nobody sets AXLE_SECRET_KEY
//! data/          PostgreSQL's own; there only once it is complete
//! data.new/      a new one being made; what a crash leaves of it is thrown away
//! postgres.log   what the server prints, and postgres.log.1 of the start before
//! ```

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::account::Account;
use super::error::{Error, io_error};

/// How much of the end of a log or of a program's output goes into an error.
const TAIL_LINES: usize = 12;
/// No more than this is read to find those lines.
const TAIL_BYTES: u64 = 8 * 1024;

/// A data directory that this process holds until the value is dropped.
#[derive(Debug)]
pub(super) struct Home {
    dir: PathBuf,
    account: Option<Account>,
    // Held, not read. The kernel frees it when this process ends, however it ends; children do
    // not inherit it, so a server that outlives us does not keep it.
    _lock: File,
}

impl Home {
    /// Makes the folder if it is new, takes its lock and gives it to `account`.
    pub(super) fn open(dir: &Path, account: Option<Account>) -> Result<Self, Error> {
        fs::create_dir_all(dir).map_err(io_error("make the folder", dir))?;
        let dir = fs::canonicalize(dir).map_err(io_error("open the folder", dir))?;
        let above = dir.parent().unwrap_or(&dir);
        if let Some(account) = &account
            && let Some(blocked) = account.blocked_on_the_way_to(above)
        {
            return Err(Error::Unreachable { dir, blocked, account: account.name.clone() });
        }
        let lock = lock(&dir)?;
        if let Some(account) = &account {
            account.own(&dir)?;
        }
        fs::set_permissions(&dir, Permissions::from_mode(0o700))
            .map_err(io_error("close to others the folder", &dir))?;
        Ok(Self { dir, account, _lock: lock })
    }

    /// The account that servers of this folder run as, if not our own.
    pub(super) fn account(&self) -> Option<&Account> {
        self.account.as_ref()
    }

    /// The folder itself.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// PostgreSQL's data directory.
    pub(super) fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    /// A data directory in the making.
    pub(super) fn unfinished(&self) -> PathBuf {
        self.dir.join("data.new")
    }

    /// The file with the superuser's password.
    pub(super) fn password_file(&self) -> PathBuf {
        self.dir.join("password")
    }

    /// The server's log.
    pub(super) fn log(&self) -> PathBuf {
        self.dir.join("postgres.log")
    }

    /// The major version that made the data directory; `None` when there is none yet.
    pub(super) fn made_by(&self) -> Result<Option<u32>, Error> {
        let path = self.data().join("PG_VERSION");
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io_error("read", &path)(error)),
        };
        let major = text.trim().split('.').next().and_then(|major| major.parse().ok());
        major.map(Some).ok_or_else(|| Error::NotOurs { dir: self.dir.clone() })
    }

    /// The password kept by the start that made the cluster.
    pub(super) fn read_password(&self) -> Result<String, Error> {
        let path = self.password_file();
        let text = fs::read_to_string(&path).map_err(io_error("read", &path))?;
        Ok(text.trim().to_owned())
    }

    /// Keeps `password` on disk, for the owner's eyes only.
    pub(super) fn write_password(&self, password: &str) -> Result<(), Error> {
        let path = self.password_file();
        write_private(&path, password).map_err(io_error("write", &path))?;
        self.give(&path)
    }

    /// The key kept by an earlier start, or `new`, kept from now on.
    pub(super) fn secret_key(&self, new: &str) -> Result<String, Error> {
        let path = self.dir.join("secret_key");
        match fs::read_to_string(&path) {
            Ok(text) => return Ok(text.trim().to_owned()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(io_error("read", &path)(error)),
        }
        // In one step, so that a crash leaves no half of a key.
        let unfinished = self.dir.join("secret_key.new");
        write_private(&unfinished, new).map_err(io_error("write", &unfinished))?;
        fs::rename(&unfinished, &path).map_err(io_error("put in place", &path))?;
        Ok(new.to_owned())
    }

    /// Makes an empty folder for a data directory in the making, in place of any left by a crash.
    pub(super) fn make_unfinished(&self) -> Result<PathBuf, Error> {
        let path = self.unfinished();
        match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(io_error("remove the half-made folder", &path)(error));
            }
            _ => {}
        }
        fs::create_dir(&path).map_err(io_error("make the folder", &path))?;
        self.give(&path)?;
        Ok(path)
    }

    /// Declares the data directory complete, in one step that a crash cannot cut in two.
    pub(super) fn finish(&self) -> Result<(), Error> {
        let data = self.data();
        let rename = || {
            fs::rename(self.unfinished(), &data)?;
            File::open(&self.dir)?.sync_all()
        };
        rename().map_err(io_error("put in place", &data))
    }

    /// Begins a new log and keeps the last one.
    pub(super) fn rotate_log(&self) -> Result<(), Error> {
        let log = self.log();
        match fs::rename(&log, self.dir.join("postgres.log.1")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(io_error("rename", &log)(error))
            }
            _ => Ok(()),
        }
    }

    /// Opens the log for the server to write to.
    pub(super) fn open_log(&self) -> Result<File, Error> {
        let log = self.log();
        let mut options = OpenOptions::new();
        let file = options.append(true).create(true).mode(0o600).open(&log);
        file.map_err(io_error("open", &log))
    }

    /// The last lines of the log, or why they cannot be read.
    pub(super) fn log_tail(&self) -> String {
        let read = || {
            let mut file = File::open(self.log())?;
            let length = file.seek(SeekFrom::End(0))?;
            file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            Ok::<_, io::Error>(last_lines(&bytes))
        };
        read().unwrap_or_else(|error| format!("(unreadable: {error})"))
    }

    fn give(&self, path: &Path) -> Result<(), Error> {
        self.account.as_ref().map_or(Ok(()), |account| account.own(path))
    }
}

/// Writes a file that only its owner reads.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
    writeln!(file, "{text}")?;
    file.sync_all()
}

/// The last lines of a program's output.
pub(super) fn last_lines(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let tail = lines.iter().skip(lines.len().saturating_sub(TAIL_LINES)).copied();
    tail.collect::<Vec<_>>().join("\n")
}

/// Takes the folder's lock and writes our process id into it. A folder that has no lock file yet
/// must be empty, so that no foreign folder is ever given away to PostgreSQL's account.
fn lock(dir: &Path) -> Result<File, Error> {
    let path = dir.join("axle.lock");
    if !path.exists() {
        let mut entries = fs::read_dir(dir).map_err(io_error("list the folder", dir))?;
        if entries.next().is_some() {
            return Err(Error::NotOurs { dir: dir.to_path_buf() });
        }
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let mut file = options.open(&path).map_err(io_error("open", &path))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let holder = fs::read_to_string(&path).unwrap_or_default();
            let pid = if holder.trim().is_empty() { "of unknown id" } else { holder.trim() };
            return Err(Error::InUse { dir: dir.to_path_buf(), pid: pid.to_owned() });
        }
        Err(TryLockError::Error(error)) => return Err(io_error("lock", &path)(error)),
    }
    let sign = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
    sign.map_err(io_error("write", &path))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_somebody_else_is_refused_and_left_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("thesis.txt"), "mine").unwrap();
        let refused = Home::open(dir.path(), None).expect_err("it is not ours");
        assert!(matches!(refused, Error::NotOurs { .. }), "{refused}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_second_opening_is_refused_with_the_first_one_s_process_id() {
        let dir = tempfile::tempdir().unwrap();
        let first = Home::open(dir.path(), None).unwrap();
        let refused = Home::open(dir.path(), None).expect_err("the first lives").to_string();
        assert!(
            refused.contains(&format!("in use by process {}", std::process::id())),
            "{refused}"
        );
        drop(first);
        Home::open(dir.path(), None).expect("the first is gone");
    }

    #[test]
    fn a_half_made_data_directory_is_thrown_away() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::open(dir.path(), None).unwrap();
        let unfinished = home.make_unfinished().unwrap();
        fs::write(unfinished.join("PG_VERSION"), "15\n").unwrap();
        assert_eq!(home.made_by().unwrap(), None);
        assert_eq!(fs::read_dir(home.make_unfinished().unwrap()).unwrap().count(), 0);
    }

    #[test]
    fn only_the_last_lines_of_a_long_output_are_kept() {
        let text: Vec<String> = (0..100).map(|n| format!("line {n}")).collect();
        let tail = last_lines(text.join("\n").as_bytes());
        assert!(tail.starts_with("line 88\n") && tail.ends_with("line 99"), "{tail}");
    }
}
