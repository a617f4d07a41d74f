//! Writing what a puller's calls came to, in batches, so that no run costs a commit of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc};
use tokio::time::{Instant, sleep};
use tokio_util::task::TaskTracker;

use super::ceilings::Ceilings;
use super::settle::{self, BATCH, News};
use super::{Ctx, Error, every};
use crate::domain::id::{RunId, Shard};
use crate::telemetry::metrics as names;

/// How long the first of a batch of news waits for others.
const LINGER: Duration = Duration::from_millis(2);
/// Settles that are written at the same time, each of another shard.
const SETTLERS: usize = 2;

/// Takes news of runs in, and writes them.
pub(super) struct Settler {
    ctx: Ctx,
    held: Arc<Mutex<BTreeSet<RunId>>>,
    ceilings: Arc<Ceilings>,
}

impl Settler {
    pub(super) fn new(
        ctx: Ctx,
        held: Arc<Mutex<BTreeSet<RunId>>>,
        ceilings: Arc<Ceilings>,
    ) -> Self {
        Self { ctx, held, ceilings }
    }

    /// Until every sender is gone.
    pub(super) async fn run(self, mut inbox: mpsc::Receiver<News>) {
        let this = Arc::new(self);
        let writers = TaskTracker::new();
        let free = Arc::new(Semaphore::new(SETTLERS));
        let mut batch = Vec::with_capacity(BATCH);
        while let Some(first) = inbox.recv().await {
            batch.push(first);
            let linger = Instant::now() + LINGER;
            while batch.len() < BATCH {
                match tokio::time::timeout_at(linger, inbox.recv_many(&mut batch, BATCH)).await {
                    Ok(0) | Err(_) => break,
                    Ok(_) => {}
                }
            }
            let mut by_shard: BTreeMap<Shard, Vec<News>> = BTreeMap::new();
            for news in batch.drain(..) {
                by_shard.entry(news.run().shard()).or_default().push(news);
            }
            for (shard, news) in by_shard {
                // Bounded: what cannot be written fills the inbox, and then the permits.
                let Ok(permit) = Arc::clone(&free).acquire_owned().await else { return };
                let this = Arc::clone(&this);
                writers.spawn(async move {
                    this.write(shard, &news).await;
                    drop(permit);
                });
            }
        }
        writers.close();
        writers.wait().await;
    }

    /// Until it is written: the database may be away for a while, and a fence makes a repeat
    /// harmless (bug B078).
    async fn write(&self, shard: Shard, news: &[News]) {
        let started = Instant::now();
        let mut errors = 0;
        while let Err(error) = settle::write(&self.ctx, shard, news).await {
            errors += 1;
            tracing::warn!(%error, errors, count = news.len(), "a settle failed");
            if matches!(error, Error::Broken(_)) && errors > 3 {
                // Asking again cannot help; the sweep ends these runs when their leases have run out.
                break;
            }
            sleep(every::back_off(errors)).await;
        }
        metrics::histogram!(names::SETTLE_DURATION).record(started.elapsed().as_secs_f64());
        if self.ceilings.freed() {
            self.ctx.wake.jobs().here.nudge();
        }
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        for item in news {
            held.remove(&item.run());
        }
    }
}
