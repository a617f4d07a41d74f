//! The account that PostgreSQL runs under. PostgreSQL refuses to be root; so when this process is
//! root, its servers become `postgres`, else `nobody`. Otherwise they stay what this process is.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};

use tokio::process::Command;

use super::error::{Error, io_error};

/// Accounts to become, best first: the first is made by PostgreSQL's packages, the second exists
/// everywhere.
const CANDIDATES: [&str; 2] = ["postgres", "nobody"];

/// An unprivileged account of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Account {
    /// Its name in the password database.
    pub(super) name: String,
    uid: u32,
    gid: u32,
}

/// The account to become, or `None` when this process is not root and servers stay as it is.
pub(super) fn for_servers() -> Result<Option<Account>, Error> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let path = Path::new("/etc/passwd");
    let passwd = fs::read_to_string(path).map_err(io_error("read", path))?;
    let account = CANDIDATES.iter().find_map(|name| Account::parse(&passwd, name));
    account.map(Some).ok_or(Error::NoAccount)
}

impl Account {
    /// Makes `command` run as this account. The standard library also clears the supplementary
    /// groups when root sets a uid.
    pub(super) fn adopt(&self, command: &mut Command) {
        command.uid(self.uid).gid(self.gid);
    }

    /// Gives `path` to this account.
    pub(super) fn own(&self, path: &Path) -> Result<(), Error> {
        chown(path, Some(self.uid), Some(self.gid)).map_err(io_error("change the owner of", path))
    }

    /// The first folder on the way from the root into `dir`, `dir` included, that this account may
    /// not enter. Only the permission bits are looked at, not access control lists.
    pub(super) fn blocked_on_the_way_to(&self, dir: &Path) -> Option<PathBuf> {
        let mut way: Vec<&Path> = dir.ancestors().collect();
        way.reverse();
        way.into_iter().find(|folder| !self.may_enter(folder)).map(Path::to_path_buf)
    }

    fn may_enter(&self, folder: &Path) -> bool {
        let Ok(metadata) = fs::metadata(folder) else { return false };
        let bit = if metadata.uid() == self.uid {
            0o100
        } else if metadata.gid() == self.gid {
            0o010
        } else {
            0o001
        };
        metadata.mode() & bit != 0
    }

    /// Reads the account `name` from the text of a password file (passwd(5)).
    fn parse(passwd: &str, name: &str) -> Option<Self> {
        passwd.lines().find_map(|line| {
            let mut fields = line.split(':');
            let found = fields.next()?;
            let uid = fields.nth(1)?.parse().ok()?;
            let gid = fields.next()?.parse().ok()?;
            (found == name && uid != 0).then(|| Self { name: found.to_owned(), uid, gid })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_read_by_its_exact_name_and_is_never_root() {
        let passwd = "root:x:0:0::/root:/bin/sh\npostgres2:x:7:7::/:/bin/sh\nbroken\n\
                      postgres:x:101:104:x,,,:/var/lib/postgresql:/bin/bash\n";
        let found = Account::parse(passwd, "postgres");
        assert_eq!(found, Some(Account { name: "postgres".to_owned(), uid: 101, gid: 104 }));
        assert_eq!(Account::parse(passwd, "nobody"), None);
        assert_eq!(Account::parse(passwd, "root"), None);
    }
}
