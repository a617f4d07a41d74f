//! The thread of the admin listener.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::JoinHandle;
use std::time::Duration;

use actix_web::dev::ServerHandle;
use anyhow::Context as _;
use tokio::time::sleep;

use super::parts::store_settings;
use super::stop::Stop;
use crate::config::Config;
use crate::engine::health::Probe;
use crate::hints::Redis;
use crate::http::health::{self, Health};
use crate::telemetry::install_metrics;

/// How often the metrics' summaries are kept small.
const UPKEEP: Duration = Duration::from_secs(5);

/// Serves health and metrics on `listener` until the handle is told to stop.
pub fn start(
    listener: TcpListener,
    config: &Config,
    redis: Option<Redis>,
    (serving, stop): (&Arc<AtomicBool>, &Stop),
) -> anyhow::Result<(ServerHandle, JoinHandle<()>)> {
    let prometheus = install_metrics();
    let settings = store_settings(config, "health");
    let (serving, draining) = (Arc::clone(serving), Arc::clone(&stop.draining));
    let (sender, receiver) = std::sync::mpsc::channel();
    let serve = move || {
        let run = async {
            let render = prometheus.clone();
            let health = Health {
                probe: Probe::new(&settings)?,
                serving,
                draining,
                redis,
                metrics: Arc::new(move || render.render()),
            };
            let server = health::serve(listener, health)?;
            sender.send(server.handle()).context("nobody waits for the admin listener")?;
            let upkeep = async {
                loop {
                    sleep(UPKEEP).await;
                    prometheus.run_upkeep();
                }
            };
            tokio::select! {
                ended = server => ended.context("the admin listener"),
                () = upkeep => Ok(()),
            }
        };
        if let Err(error) = actix_web::rt::System::new().block_on(run) {
            tracing::error!(%error, "the admin listener ended");
        }
    };
    let thread = std::thread::Builder::new().name("admin".into()).spawn(serve)?;
    let handle = receiver.recv().context("the admin listener did not start")?;
    Ok((handle, thread))
}
