//! `axle dev --try`: one real job, from its registration to its end.

use std::time::Duration;

use anyhow::{Context as _, bail};
use tokio::time::{Instant, sleep};

use crate::client::Client;
use crate::wire::request::{JobRequest, TargetRequest};

/// The job takes two seconds, so that every state can be seen.
const TARGET: &str = "/demo/slow?ms=2000";
const PATIENCE: Duration = Duration::from_secs(30);
const PERIOD: Duration = Duration::from_millis(50);

/// Registers a job at the server at `base` and says each state that it is seen in: words of one line.
pub async fn run(base: &str, mut say: impl FnMut(&str)) -> anyhow::Result<()> {
    let client = Client::new(base, None)?;
    let payload = serde_json::value::RawValue::from_string(r#"{"hello":"world"}"#.into())?;
    let job = JobRequest {
        name: Some("first-job".into()),
        target: TargetRequest { url: format!("{base}{TARGET}"), ..TargetRequest::default() },
        payload: Some(payload),
        // Time enough to be seen PENDING.
        delay_ms: Some(500),
        ..JobRequest::default()
    };
    let mut job = client.create_job(&job).await.context("registering a job")?;
    say(&format!("{}: {}", job.id, job.state));
    let deadline = Instant::now() + PATIENCE;
    while !matches!(job.state.as_str(), "SUCCESS" | "FAILED" | "CANCELLED") {
        if Instant::now() > deadline {
            bail!("the job is still {} after {PATIENCE:?}: {}", job.state, job.next_step);
        }
        sleep(PERIOD).await;
        let now = client.job(&job.id).await.context("reading the job")?;
        if now.state != job.state {
            say(&format!(" → {}", now.state));
        }
        job = now;
    }
    say("\n");
    if job.state != "SUCCESS" {
        bail!("the job ended {}: {}", job.state, job.next_step);
    }
    Ok(())
}
