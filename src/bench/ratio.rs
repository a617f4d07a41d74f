//! Drains compared with drains of the same run: what changes between the two is one thing, and the
//! share that is left is the figure.

use super::drain::{self, Drained};
use super::figures::{number, percentiles};
use super::stage::Stage;

/// Drains of one side of a comparison; the median counts.
const DRAINS: usize = 3;

/// Jobs drained per second, until the last call, after a smaller drain that is not counted: processes
/// that have just started connect and prepare their statements in it.
pub(super) async fn rate(stage: &Stage, jobs: usize) -> anyhow::Result<f64> {
    drain::fill_and_drain(stage, jobs / 4).await?;
    let mut rates = Vec::with_capacity(DRAINS);
    for _ in 0..DRAINS {
        rates.push(called(jobs, &drain::fill_and_drain(stage, jobs).await?));
    }
    Ok(percentiles(rates).0)
}

/// Jobs per second, until the last call.
pub(super) fn called(jobs: usize, drained: &Drained) -> f64 {
    number(jobs) / drained.called.as_secs_f64()
}
