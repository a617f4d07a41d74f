//! The API's listener: who may connect, how long they may take, and how much they may send before
//! anybody looks at it.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::Server;
use actix_web::middleware::from_fn;
use actix_web::{App, HttpRequest, HttpServer, web};
use rustls::ServerConfig;
use utoipa_actix_web::AppExt;

use super::extract::Api;
use super::problem::Problem;
use super::{docs, document, envelope, operations, watch};
use crate::domain::proxy::Proxies;

/// Further routes of the process that are no part of the API: the demo target of `axle dev`.
pub type Extra = fn(&mut web::ServiceConfig);

/// How the listener meets those who connect.
#[derive(Clone, Debug, Default)]
pub struct Edge {
    /// The certificate and key, if it speaks TLS.
    pub tls: Option<ServerConfig>,
    /// The origins whose pages may call the API from a browser.
    pub origins: Vec<String>,
    /// The reverse proxies whose word about a caller's address is taken.
    pub proxies: Proxies,
    /// How many, and how slow.
    pub bounds: Bounds,
}

/// How many may be connected, and how slow they may be.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Connections, at most; shared out over the workers.
    pub connections: usize,
    /// From connecting to the end of the first request's head, the TLS handshake aside, which may
    /// take as long again.
    pub head: Duration,
    /// For the whole of a body.
    pub body: Duration,
    /// Between an answer and the next request, in which nothing comes.
    pub idle: Duration,
}

impl Default for Bounds {
    /// Idle for longer than load balancers keep their connections (most: 60 s), so that none sends a
    /// request into a connection that we are closing.
    fn default() -> Self {
        Self {
            connections: 4096,
            head: Duration::from_secs(10),
            body: Duration::from_mins(1),
            idle: Duration::from_secs(75),
        }
    }
}

/// What is still read of a refused body, so that its sender sees the answer instead of a reset.
const LINGER: Duration = Duration::from_secs(2);
/// The longest address: more than any filter needs, less than the framework's 64 KiB.
const MOST_ADDRESS: usize = 32 * 1024;
/// The header fields of a request together; the framework allows 128 KiB with the address, and 96
/// fields.
const MOST_HEADERS: usize = 64 * 1024;

/// Serves the API on `listener` with `workers` threads until its handle is told to stop. What is
/// being answered then is answered, for at most `grace` seconds.
pub fn serve(
    listener: TcpListener,
    api: Api,
    extra: Option<Extra>,
    (workers, grace): (usize, u64),
) -> std::io::Result<Server> {
    let document = Arc::new(document());
    let routes = docs::Routes::of(&document);
    let edge = Arc::clone(&api.edge);
    let Bounds { connections, head, idle, .. } = edge.bounds;
    let server = HttpServer::new(move || {
        let (app, _) = App::new().into_utoipa_app().configure(operations).split_for_parts();
        app.app_data(web::Data::new(api.clone()))
            .app_data(web::Data::new(routes.clone()))
            .configure(|cfg| docs::routes(cfg, &document))
            .configure(|cfg| extra.into_iter().for_each(|routes| routes(cfg)))
            .default_service(web::to(docs::nothing_here))
            .wrap(from_fn(envelope::envelope))
    })
    .on_connect(move |io, connection| watch::begin(io, connection, idle + head));
    let server = match &edge.tls {
        None => server.listen(listener)?,
        Some(tls) => server.listen_rustls_0_23(listener, tls.clone())?,
    };
    Ok(server
        .workers(workers)
        .max_connections(connections.div_ceil(workers.max(1)))
        .disable_signals()
        .shutdown_timeout(grace)
        .tls_handshake_timeout(head)
        .client_request_timeout(head)
        .client_disconnect_timeout(LINGER)
        .keep_alive(idle)
        .run())
}

/// A request whose head is too much to look at.
pub(super) fn check_head(request: &HttpRequest) -> Result<(), Problem> {
    let address = request.uri().path_and_query().map_or(0, |text| text.as_str().len());
    let headers = request.headers().iter();
    let headers: usize = headers.map(|(name, value)| name.as_str().len() + value.len()).sum();
    for (what, length, most) in
        [("address", address, MOST_ADDRESS), ("header fields", headers, MOST_HEADERS)]
    {
        if length > most {
            let detail = format!("Its {what} have {length} bytes; at most {most} are read.");
            return Err(Problem::new("malformed-request", detail));
        }
    }
    Ok(())
}
