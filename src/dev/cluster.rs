//! A private PostgreSQL cluster: found, made, started and stopped as one value.

use std::fmt;
use std::path::{Path, PathBuf};

use super::binaries::{self, Binaries, Wanted};
use super::error::Error;
use super::home::Home;
use super::initdb::{self, SUPERUSER};
use super::server::{self, Server};
use super::{Options, account, leftover};

/// A private PostgreSQL cluster on a loopback port, with a superuser `axle`, its random password
/// and a database `axle`. It has no Unix socket, so that no path can be too long for one.
///
/// [`stop`](Self::stop) it to end it cleanly. Dropping it ends the server too, at once; and when
/// this process is killed, the next start stops the server that is left.
pub struct Cluster {
    // Before `home`: fields drop in order, and the lock must outlive the server's last signal.
    server: Option<Server>,
    home: Home,
    binaries: Binaries,
    settings: Vec<(String, String)>,
    password: String,
    port: u16,
}

impl Cluster {
    /// Starts the cluster of a data directory, which is made when it is new (about three seconds),
    /// and waits until it answers.
    ///
    /// The port is chosen anew. As root the server runs as `postgres`, else `nobody`. Whatever a
    /// crash left is cleared first: a half-made directory is made again, a server still running is
    /// stopped.
    pub async fn start(options: Options) -> Result<Self, Error> {
        let home = Home::open(&options.data_dir, account::for_servers()?)?;
        leftover::clear(&home.data()).await?;
        let wanted = Wanted {
            dir: options.pg_bin.as_deref(),
            account: home.account(),
            major: home.made_by()?,
        };
        let binaries = binaries::find(wanted).await?;
        let password = initdb::ensure(&home, &binaries, options.durability).await?;
        home.rotate_log()?;
        let port = server::free_port()?;
        let settings = all_settings(port, &options);
        let mut cluster = Self { server: None, home, binaries, settings, password, port };
        cluster.start_again().await?;
        Ok(cluster)
    }

    /// Removes the data directories in `parent` whose names begin with `prefix` and that no process
    /// holds, with any server that a killed process has left in them. One that is in use, or cannot
    /// be removed, stays.
    pub async fn clear_abandoned(parent: &Path, prefix: &str) {
        let Ok(entries) = std::fs::read_dir(parent) else { return };
        for entry in entries.flatten() {
            if !entry.file_name().to_string_lossy().starts_with(prefix) {
                continue;
            }
            let Ok(account) = account::for_servers() else { return };
            let Ok(home) = Home::open(&entry.path(), account) else { continue };
            if leftover::clear(&home.data()).await.is_ok()
                && let Err(error) = std::fs::remove_dir_all(home.dir())
            {
                tracing::debug!(%error, dir = %home.dir().display(), "an abandoned folder stays");
            }
        }
    }

    /// Where to reach `database`, whose name must need no escaping in a URL, as the superuser.
    /// Contains the password: not for logs.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://{SUPERUSER}:{}@127.0.0.1:{}/{database}", self.password, self.port)
    }

    /// The loopback port, the same for as long as this value lives.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The process id of the server while it runs; its other processes are children of this one.
    pub fn pid(&self) -> Option<u32> {
        self.server.as_ref().and_then(Server::pid)
    }

    /// A key of 256 bits that lasts as long as the data directory, for what Axle encrypts in it.
    pub fn secret_key(&self) -> Result<String, Error> {
        let new = initdb::random_password()? + &initdb::random_password()?;
        self.home.secret_key(&new)
    }

    /// Another program of the same PostgreSQL, such as `pgbench`, where it is installed.
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        self.binaries.other(name)
    }

    /// The account that the server runs as because this process is root; `None` when it is our own.
    pub fn account(&self) -> Option<&str> {
        self.home.account().map(|account| account.name.as_str())
    }

    /// Stops the server with a fast shutdown: clients are disconnected, nothing needs recovery.
    pub async fn stop(mut self) -> Result<(), Error> {
        match self.server.take() {
            Some(server) => server.stop().await,
            None => Ok(()),
        }
    }

    /// Stops the server at once, as a crash of PostgreSQL would; [`start_again`](Self::start_again)
    /// brings it back with all that was committed.
    pub async fn kill(&mut self) -> Result<(), Error> {
        match self.server.take() {
            Some(mut server) => server.quit().await,
            None => Ok(()),
        }
    }

    /// Starts the server again on the same port after [`kill`](Self::kill), and waits until it
    /// answers. A server that runs goes on running.
    pub async fn start_again(&mut self) -> Result<(), Error> {
        if self.server.is_some() {
            return Ok(());
        }
        let program = self.binaries.postgres();
        let mut command = server::command(&program, &self.home);
        // `leftover` knows our servers by this argument and the blank after it.
        command.arg("-D").arg(self.home.data());
        for (name, value) in &self.settings {
            command.arg("-c").arg(format!("{name}={value}"));
        }
        tracing::debug!(program = %program.display(), port = self.port, account = self.account(),
            "starting PostgreSQL");
        let mut server = Server::spawn(command, &self.home)?;
        server.wait_until_ready(&self.url("axle"), &self.home).await?;
        self.server = Some(server);
        Ok(())
    }
}

/// Without the password.
impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster")
            .field("home", &self.home)
            .field("port", &self.port)
            .finish_non_exhaustive()
    }
}

/// Every setting of the server's command line; a later one wins.
fn all_settings(port: u16, options: &Options) -> Vec<(String, String)> {
    let (port, max_connections) = (port.to_string(), options.max_connections.to_string());
    let ours = [
        ("listen_addresses", "127.0.0.1"),
        ("port", port.as_str()),
        ("unix_socket_directories", ""),
        ("max_connections", max_connections.as_str()),
        ("cluster_name", "axle"), // seen in `ps`
        ("logging_collector", "off"),
        ("log_destination", "stderr"),
    ];
    let owned = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
    let mut settings: Vec<_> = ours.iter().map(owned).collect();
    settings.extend(options.durability.settings().iter().map(owned));
    settings.extend_from_slice(&options.settings);
    settings
}
