//! How the API meets those who connect, from settings: bounds, origins, proxies and TLS; and the
//! open files that its connections need.

use chrono::{DateTime, Utc};
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::certificate::{self, Renewal};
use crate::config::Config;
use crate::http::{Bounds, Edge};

/// Open files besides those of connections: the pool, targets, logs.
const OTHER_FILES: u64 = 1024;
/// A connection's socket, and the handle that watches it.
const FILES_PER_CONNECTION: u64 = 2;

/// What a listener is started with; by default, plain and for nobody else's pages.
#[derive(Default)]
pub struct Front {
    /// The listener's side of the settings.
    pub edge: Edge,
    renewal: Option<Renewal>,
}

impl Front {
    /// Reads and judges the certificate, if there is one, before anything listens.
    pub fn from_config(config: &Config, now: DateTime<Utc>) -> anyhow::Result<Self> {
        let (tls, renewal) = certificate::from_config(config, now)?.unzip();
        let bounds = Bounds { connections: config.max_connections, ..Bounds::default() };
        let (origins, proxies) = (config.cors_origins.clone(), config.trusted_proxies.clone());
        Ok(Self { edge: Edge { tls, origins, proxies, bounds }, renewal })
    }

    /// The edge, once this process may open the files that it needs, and renews its certificate.
    pub fn open(self, tasks: &TaskTracker, stop: CancellationToken) -> Edge {
        allow_files(self.edge.bounds.connections);
        if let Some(renewal) = self.renewal {
            tasks.spawn(async move { renewal.on_hangup(stop).await });
        }
        self.edge
    }
}

/// Lets this process open as many files as `connections` take; says so where the system will not.
fn allow_files(connections: usize) {
    let connections = u64::try_from(connections).unwrap_or(u64::MAX);
    let wanted = connections.saturating_mul(FILES_PER_CONNECTION).saturating_add(OTHER_FILES);
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= wanted) {
        return;
    }
    let allowed = limit.maximum.map_or(wanted, |most| most.min(wanted));
    limit.current = Some(allowed);
    let is_raised = setrlimit(Resource::Nofile, limit).is_ok();
    if !is_raised || allowed < wanted {
        tracing::warn!(
            allowed,
            wanted,
            "max_connections is more than the limit of open files allows"
        );
    }
}
