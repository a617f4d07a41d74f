//! `/demo/callback`: accepts a run with 202 and reports its outcome later to the address it was
//! given, as a target of a long task would. One try: Axle's own timeout covers a lost report.

use std::sync::LazyLock;
use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse, rt};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use url::Url;

use super::request::{BadRequest, Query, header};
use super::{DEFAULT_WAIT_MS, MAX_WAIT_MS};

/// How many reports may wait at a time; a call above that is answered 503.
const MAX_WAITING: usize = 10_000;
/// How long the report itself may take.
const REPORT_DEADLINE: Duration = Duration::from_secs(10);

static WAITING: Semaphore = Semaphore::const_new(MAX_WAITING);

/// One client for all reports. It keeps no connection: its users are the workers' runtimes, and a
/// connection dies with the one that opened it.
static CLIENT: LazyLock<reqwest::Result<reqwest::Client>> = LazyLock::new(|| {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // An error here means that somebody else was quicker, which serves as well.
        drop(rustls::crypto::ring::default_provider().install_default());
    }
    let builder = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0);
    builder.redirect(reqwest::redirect::Policy::none()).timeout(REPORT_DEADLINE).build()
});

/// How the run is to end.
#[derive(Debug, Clone, Copy)]
enum Status {
    Succeeded,
    Failed,
}

pub(super) async fn callback(request: HttpRequest) -> Result<HttpResponse, BadRequest> {
    let query = Query::of(&request, &["after_ms", "status"])?;
    let after_ms = query.number("after_ms", DEFAULT_WAIT_MS, 0..=MAX_WAIT_MS)?;
    let statuses = [("succeeded", Status::Succeeded), ("failed", Status::Failed)];
    let status = query.word("status", Status::Succeeded, &statuses)?;
    let report = Report::about(&request, status, after_ms)?;
    let Ok(place) = WAITING.try_acquire() else {
        let error = format!("{MAX_WAITING} callbacks are waiting already");
        return Ok(HttpResponse::ServiceUnavailable().json(json!({ "error": error })));
    };
    rt::spawn(async move {
        tokio::time::sleep(Duration::from_millis(after_ms)).await;
        report.send().await;
        drop(place);
    });
    let body = json!({ "accepted": true, "after_ms": after_ms });
    Ok(HttpResponse::Accepted().insert_header(("Axle-Completion", "callback")).json(body))
}

/// An outcome and where to send it.
struct Report {
    url: Url,
    body: Value,
}

impl Report {
    fn about(request: &HttpRequest, status: Status, after_ms: u64) -> Result<Self, BadRequest> {
        let (name, what) = ("Axle-Callback-Url", "the http or https address to report to");
        let url = Url::parse(header(request, name, what)?).ok();
        let url = url.filter(|url| matches!(url.scheme(), "http" | "https"));
        let url = url.ok_or(BadRequest::Header { name, what })?;
        let run_id = header(request, "Axle-Run-Id", "which names the run")?;
        let (name, what) = ("Axle-Fence", "the run's fence as a decimal number");
        let fence = header(request, name, what)?.parse::<u64>().ok();
        let fence = fence.ok_or(BadRequest::Header { name, what })?;
        let result = json!({ "waited_ms": after_ms });
        let body = match status {
            Status::Succeeded => {
                json!({ "run_id": run_id, "fence": fence, "status": "succeeded", "result": result })
            }
            Status::Failed => json!({
                "run_id": run_id, "fence": fence, "status": "failed", "result": result,
                "error": { "code": "demo", "message": "this call was asked to fail" },
            }),
        };
        Ok(Self { url, body })
    }

    async fn send(self) {
        // The URL carries the run's token, so it is not logged, neither here nor in an error.
        let host = self.url.host_str().unwrap_or_default().to_owned();
        let client = match &*CLIENT {
            Ok(client) => client,
            Err(error) => return tracing::warn!(%error, "the demo target has no HTTP client"),
        };
        match client.post(self.url).json(&self.body).send().await {
            Ok(answer) if answer.status().is_success() => {}
            Ok(answer) => {
                tracing::warn!(host, status = answer.status().as_u16(), "demo callback refused");
            }
            Err(error) => {
                tracing::warn!(host, error = %error.without_url(), "demo callback not delivered");
            }
        }
    }
}
