//! What `axle dev` and the tests need beside Axle itself: a private PostgreSQL [`Cluster`] on
//! loopback, and a [`demo`] target to call.
//!
//! A leaf room: it uses no other room of the crate, reads no environment variable, and must never
//! be part of `axle serve`.

mod account;
mod binaries;
mod cluster;
pub mod demo;
mod error;
mod home;
mod initdb;
mod leftover;
mod server;

use std::path::{Path, PathBuf};

pub use binaries::Unfit;
pub use cluster::Cluster;
pub use error::Error;

/// How a [`Cluster`] is to be run.
#[derive(Debug, Clone)]
pub struct Options {
    /// The folder that holds the cluster, its password, lock and log. It is made when absent;
    /// when present it must be empty or made by an earlier start.
    pub data_dir: PathBuf,
    /// Whether a crash of the machine may cost data.
    pub durability: Durability,
    /// The folder of `postgres` and `initdb`; `None` looks in the usual places.
    pub pg_bin: Option<PathBuf>,
    /// PostgreSQL's `max_connections`.
    pub max_connections: u16,
    /// More PostgreSQL settings, name and value; they win over the ones set here. `port`,
    /// `listen_addresses` and `data_directory` must not be among them.
    pub settings: Vec<(String, String)>,
}

/// What survives a crash of the machine. A crash of PostgreSQL or of this process costs no committed
/// data either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// PostgreSQL's own defaults: every commit is on disk.
    Full,
    /// Nothing waits for the disk: several times faster, and lost with the machine.
    Ephemeral,
}

impl Durability {
    fn settings(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Full => &[],
            // `synchronous_commit` stays on: a commit is then at least handed to the operating
            // system, and survives `Cluster::kill`. Without fsync it costs next to nothing.
            Self::Ephemeral => &[("fsync", "off"), ("full_page_writes", "off")],
        }
    }
}

/// Where `axle dev` keeps its data when it is told nothing: a folder that PostgreSQL's account can
/// reach, so for root not its own home, which is closed to that account.
pub fn default_data_dir(home: Option<&Path>) -> PathBuf {
    match home {
        Some(home) if !rustix::process::geteuid().is_root() => home.join(".local/share/axle/dev"),
        _ => PathBuf::from("/var/lib/axle-dev"),
    }
}
