//! How late jobs are that are due at an instant. Never early is part of it.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use tokio::time::{sleep, timeout};

use super::api::Api;
use super::figures::{Figures, What, number, percentiles, signed_ms};
use super::origin::Origin;
use super::stage::Stage;
use crate::wire::batch::BatchRequest;

/// The first job is due after this time, so that all are registered before.
const FIRST: Duration = Duration::from_secs(1);
/// And the last one so much later.
const SPREAD: Duration = Duration::from_secs(3);
/// All must have come by then.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often the sink is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Registers `jobs` jobs that are due one after the other, evenly apart.
pub(super) async fn measure(
    stage: &Stage,
    jobs: usize,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    stage.sink.take();
    let origin = Origin::now();
    let apart = SPREAD / u32::try_from(jobs)?;
    let dues: Vec<Duration> = (0_u32..).take(jobs).map(|n| FIRST + apart * n).collect();
    let mut batch = BatchRequest::default();
    for (number, due) in dues.iter().enumerate() {
        let mut job = stage.api.job(number)?;
        job.due_at = Some(origin.instant(*due));
        batch.jobs.push(job);
    }
    let request = stage.api.post("/v1/jobs/batch", &batch)?;
    Api::check(&stage.api.connect().await?.ask(&request).await?)?;
    ensure!(origin.monotonic.elapsed() < FIRST, "registering took so long that jobs were due");
    let all_came = async {
        while stage.sink.count() < jobs {
            sleep(LOOK_EVERY).await;
        }
    };
    timeout(PATIENCE, all_came).await.context("not every job came")?;
    let mut lateness = Vec::new();
    for arrival in stage.sink.take() {
        let due = dues.get(arrival.number).context("a job that was not registered")?;
        lateness.push(signed_ms(arrival.at, origin.monotonic + *due));
    }
    let early = lateness.iter().filter(|late| **late < 0.0).count();
    figures.add(What::Early, number(early));
    figures.add(What::Earliest, lateness.iter().copied().fold(f64::INFINITY, f64::min));
    let (p50, p99) = percentiles(lateness);
    figures.add(What::LatenessP50, p50);
    figures.add(What::LatenessP99, p99);
    Ok(())
}
