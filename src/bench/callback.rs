//! Targets that take a job on with 202 and say later how it went: a call to the target and one back
//! for each job, and none of them may be lost.

use anyhow::bail;
use futures_util::future::{Either, select, try_join_all};
use serde::Serialize;
use tokio::time::Instant;

use super::api::Api;
use super::bare::Bare;
use super::figures::{Figures, What, number};
use super::stage::Stage;
use super::{bare, drain, enqueue, pair};
use crate::wire::request::JobRequest;

/// Connections on which targets call back.
const CONNECTIONS: usize = 16;
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
    let mut connections = stage.api.connect_all(CONNECTIONS).await?;
    let started = Instant::now();
    let callers = connections.iter_mut().map(|connection| call_back(stage, connection));
    let finished = async {
        drain::drain(stage, jobs).await?;
        anyhow::Ok(started.elapsed())
    };
    let took = match select(Box::pin(finished), Box::pin(try_join_all(callers))).await {
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

/// Calls back where the sink was told to.
async fn call_back(stage: &Stage, connection: &mut Bare) -> anyhow::Result<()> {
    while let Some(path) = stage.sink.next_callback().await {
        let body = serde_json::to_vec(&Said { status: "succeeded" })?;
        let request = bare::post(stage.api.address, &path, None, &body);
        Api::check(&connection.ask(&request).await?)?;
    }
    Ok(())
}
