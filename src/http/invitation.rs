//! The page behind the link of an invitation. The token stands in the fragment of the address, which
//! browsers send to nobody; the page's own script takes it from there and accepts.

use actix_web::{HttpResponse, web};

/// Where the page is, from the public URL.
pub(super) const PAGE: &str = "/invitation";
/// Its script.
pub(super) const SCRIPT: &str = "/invitation.js";

/// The two routes.
pub(super) fn routes(cfg: &mut web::ServiceConfig) {
    cfg.route(PAGE, web::get().to(page)).route(SCRIPT, web::get().to(script));
}

/// The link of an invitation to a server that people reach at `base`.
pub(super) fn link(base: &str, token: &str) -> String {
    format!("{base}{PAGE}#{token}")
}

async fn page() -> HttpResponse {
    let html = include_str!("invitation.html");
    HttpResponse::Ok().content_type("text/html; charset=utf-8").body(html)
}

async fn script() -> HttpResponse {
    let script = include_str!("invitation.js");
    HttpResponse::Ok().content_type("text/javascript; charset=utf-8").body(script)
}
