//! The admin listener: liveness, readiness and metrics, on a thread and a runtime of their own, so
//! that a check never waits behind work (conventions 2.11). It speaks no TLS and asks for no token.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{CACHE_CONTROL, HeaderValue};
use actix_web::middleware::{Next, from_fn};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use serde::Serialize;
use tokio::time::timeout;

use super::headers;
use crate::engine::health::{Probe, Redis, check_database};

/// What the admin listener needs.
#[derive(Clone)]
pub struct Health {
    /// Looks at the database over a connection of its own.
    pub probe: Probe,
    /// Set when the process has begun its work.
    pub serving: Arc<AtomicBool>,
    /// Set when the process has been told to stop.
    pub draining: Arc<AtomicBool>,
    /// Redis, if one is set. Without it, work goes on.
    pub redis: Option<Redis>,
    /// Renders the metrics.
    pub metrics: Arc<dyn Fn() -> String + Send + Sync>,
}

/// A check that takes longer has failed.
const LIMIT: Duration = Duration::from_secs(1);
/// For the head of a request.
const HEAD: Duration = Duration::from_secs(5);
/// Connections, at most: probes and scrapers are few.
const CONNECTIONS: usize = 256;

/// Serves until its handle is told to stop. To be called on a thread and runtime of its own.
pub fn serve(listener: TcpListener, health: Health) -> std::io::Result<actix_web::dev::Server> {
    Ok(HttpServer::new(move || {
        App::new()
            .app_data(web::Data::new(health.clone()))
            .route("/livez", web::get().to(live))
            .route("/startupz", web::get().to(started))
            .route("/readyz", web::get().to(ready))
            .route("/metrics", web::get().to(metrics))
            .wrap(from_fn(dress))
    })
    .listen(listener)?
    .workers(1)
    .max_connections(CONNECTIONS)
    .client_request_timeout(HEAD)
    .disable_signals()
    .run())
}

async fn dress(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, actix_web::Error> {
    let mut answer = next.call(request).await?;
    headers::secure(answer.headers_mut());
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(answer)
}

async fn live() -> &'static str {
    "ok\n"
}

async fn started(health: web::Data<Health>) -> HttpResponse {
    if health.serving.load(Ordering::Relaxed) {
        HttpResponse::Ok().body("started\n")
    } else {
        HttpResponse::ServiceUnavailable().body("starting\n")
    }
}

#[derive(Serialize)]
struct Report {
    status: &'static str,
    checks: BTreeMap<&'static str, String>,
}

async fn ready(request: HttpRequest, health: web::Data<Health>) -> HttpResponse {
    let database = match timeout(LIMIT, check_database(&health.probe)).await {
        Ok(Ok(())) => "ok".to_owned(),
        Ok(Err(reason)) => reason,
        Err(_elapsed) => "no answer within a second".to_owned(),
    };
    let process = if health.draining.load(Ordering::Relaxed) {
        "draining"
    } else if health.serving.load(Ordering::Relaxed) {
        "ok"
    } else {
        "starting"
    };
    let is_ready = database == "ok" && process == "ok";
    let status = if is_ready { "ready" } else { "not ready" };
    let mut checks: BTreeMap<_, _> =
        [("database", database), ("process", process.to_owned())].into();
    if let Some(redis) = &health.redis {
        let found = if redis.is_up() { "ok" } else { "away: hints come by PostgreSQL alone" };
        checks.insert("redis", found.to_owned());
    }
    let report = Report { status, checks };
    let mut answer = if is_ready { HttpResponse::Ok() } else { HttpResponse::ServiceUnavailable() };
    let accept = request.headers().get("accept").and_then(|value| value.to_str().ok());
    if accept.is_some_and(|accept| accept.contains("application/json")) {
        return answer.json(report);
    }
    let mut text = String::new();
    if request.query_string().contains("verbose") {
        for (name, found) in &report.checks {
            text.extend([name, ": ", found, "\n"]);
        }
    }
    text.extend([status, "\n"]);
    answer.content_type("text/plain; charset=utf-8").body(text)
}

async fn metrics(health: web::Data<Health>) -> HttpResponse {
    let text = (health.metrics)();
    HttpResponse::Ok().content_type("text/plain; version=0.0.4; charset=utf-8").body(text)
}
