//! Being told to stop: the first signal stops in order, a second one at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// What the parts of a process watch.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    /// No new work from here on.
    pub token: CancellationToken,
    /// The same, for the readiness check.
    pub draining: Arc<AtomicBool>,
}

impl Stop {
    /// Stops everything that watches.
    pub fn now(&self) {
        self.draining.store(true, Ordering::Relaxed);
        self.token.cancel();
    }

    /// Waits for SIGTERM or SIGINT, then stops; a second one ends the process with 128 + its number.
    pub fn on_signals(&self) -> std::io::Result<()> {
        let mut term = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let stop = self.clone();
        let watch = async move {
            let mut told = false;
            loop {
                let status = tokio::select! {
                    _ = term.recv() => 143,
                    _ = interrupt.recv() => 130,
                };
                if told {
                    leave(status);
                }
                told = true;
                tracing::info!("stopping; a second signal stops at once");
                stop.now();
            }
        };
        spawn_watch(watch);
        Ok(())
    }
}

#[expect(clippy::disallowed_methods, reason = "it watches as long as the process lives")]
fn spawn_watch(watch: impl Future<Output = ()> + Send + 'static) {
    drop(tokio::spawn(watch));
}

#[expect(clippy::exit, clippy::disallowed_methods, reason = "the second signal means now")]
fn leave(status: i32) {
    std::process::exit(status);
}
