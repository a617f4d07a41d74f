//! Targets that take a job on with 202 and say later how it went: a call to the target and one back
//! for each job, and none of them may be lost.

use std::time::Duration;

use anyhow::bail;
use futures_util::future::{Either, select, try_join_all};
use serde::Serialize;
use tokio::time::Instant;

use super::api::Api;
use super::figures::{Figures, What, number};
use super::stage::Stage;
use super::{bare, drain, enqueue, pair};
use crate::wire::request::JobRequest;

/// Connections on which targets call back.
const CONNECTIONS: usize = 16;
/// A connection that was idle for longer may have been closed by the API.
const FRESH: Duration = Duration::from_secs(1);
/// The queue of these jobs, so that their runs can be counted.
const QUEUE: &str = "bench-callback";

/// What a target says.
#[derive(Serialize)]
struct Said {
    status: &'static str,
}

/// Queues `jobs` jobs, lets the puller go on and calls back for each, until all are finished.
pub(super) async fn measure(
    stage: &Stage,
    jobs: usize,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    stage.hold_pullers().await?;
    enqueue::fill(&stage.api, 0..jobs, shape).await?;
    let started = Instant::now();
    let finished = async {
        drain::drain(stage, jobs).await?;
        anyhow::Ok(started.elapsed())
    };
    let took = match select(Box::pin(finished), Box::pin(answer(stage))).await {
        Either::Left((took, _)) => took?,
        Either::Right((ended, _)) => {
            ended?;
            bail!("the sink has ended")
        }
    };
    figures.add(What::Callback, number(jobs) / took.as_secs_f64());
    figures.add(What::CallbackLost, pair::not_once(stage, QUEUE).await?);
    Ok(())
}

fn shape(job: &mut JobRequest) {
    job.queue = Some(QUEUE.to_owned());
    job.completion = Some("callback".to_owned());
    if let Some((base, number)) = job.target.url.rsplit_once('/') {
        job.target.url = format!("{base}/callback/{number}");
    }
}

/// Calls back wherever the sink was told to, until it ends or one is refused.
pub(super) async fn answer(stage: &Stage) -> anyhow::Result<()> {
    try_join_all((0..CONNECTIONS).map(|_| call_back(stage))).await.map(drop)
}

async fn call_back(stage: &Stage) -> anyhow::Result<()> {
    let mut connection = stage.api.connect().await?;
    let mut used = Instant::now();
    while let Some(path) = stage.sink.next_callback().await {
        if used.elapsed() > FRESH {
            connection = stage.api.connect().await?;
        }
        let body = serde_json::to_vec(&Said { status: "succeeded" })?;
        let request = bare::post(&stage.api.host, &path, None, &body);
        Api::check(&connection.ask(&request).await?)?;
        used = Instant::now();
    }
    Ok(())
}
