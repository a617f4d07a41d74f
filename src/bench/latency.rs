//! How soon a job that is due now reaches its target on an idle system: one job at a time.

use std::time::Duration;

use anyhow::Context as _;
use tokio::time::{Instant, sleep, timeout};

use super::api::Api;
use super::figures::{Figures, What, percentiles, signed_ms};
use super::sink::Sink;

/// A job that takes longer to arrive is lost.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between a job's arrival and the next job the system has time to become idle again: the settle,
/// its linger, and the pause that the API makes after a hint. The pauses differ, so that they fall
/// into step with no timer.
const PAUSE_MS: u64 = 30;
/// How many different pauses there are, a millisecond apart.
const PAUSES: u64 = 20;

/// Registers `jobs` jobs, one after the other, each when the one before has arrived.
pub(super) async fn measure(
    (api, sink): (&Api, &Sink),
    jobs: usize,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    let mut connection = api.connect().await?;
    let (mut from_call, mut from_answer) = (Vec::new(), Vec::new());
    for (number, step) in (0..jobs).zip((0..PAUSES).cycle()) {
        // Seven and the number of pauses have no common factor: every pause comes up.
        sleep(Duration::from_millis(PAUSE_MS + step * 7 % PAUSES)).await;
        let request = api.post("/v1/jobs", &api.job(number)?)?;
        let called = Instant::now();
        Api::check(&connection.ask(&request).await?)?;
        let answered = Instant::now();
        let arrival = timeout(PATIENCE, sink.wait_for(number)).await;
        let arrival = arrival.with_context(|| format!("job {number} did not arrive"))?;
        from_call.push(signed_ms(arrival.at, called));
        // Negative when the puller is faster than the answer.
        from_answer.push(signed_ms(arrival.at, answered));
    }
    let (p50, p99) = percentiles(from_answer);
    figures.add(What::LatencyP50, p50);
    figures.add(What::LatencyP99, p99);
    let (p50, p99) = percentiles(from_call);
    figures.add(What::CallLatencyP50, p50);
    figures.add(What::CallLatencyP99, p99);
    Ok(())
}
