//! What the server tells of itself: its version, the OpenAPI document and its pages, a page for
//! every kind of problem, and a problem for every address where there is nothing.

use std::sync::Arc;

use actix_web::http::header::CACHE_CONTROL;
use actix_web::{HttpRequest, HttpResponse, get, web};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa::openapi::OpenApi;
use utoipa_swagger_ui::{Config, SwaggerUi};

use super::problem::{KINDS, Kind, Problem};
use super::{Reply, invitation};
use crate::domain::schedule::zone::TZDATA_VERSION;

/// Routes that are no operations.
pub(super) fn routes(cfg: &mut web::ServiceConfig, document: &Arc<OpenApi>) {
    let text = Arc::<str>::from(document.to_pretty_json().unwrap_or_default());
    let openapi = move || {
        let text = Arc::clone(&text);
        async move { HttpResponse::Ok().content_type("application/json").body(text.as_bytes().to_vec()) }
    };
    cfg.route("/openapi.json", web::get().to(openapi))
        .route("/problems/{code}", web::get().to(problem_page))
        .route("/", web::get().to(to_docs))
        .route("/docs", web::get().to(to_docs))
        .route("/robots.txt", web::get().to(robots))
        .configure(invitation::routes)
        .service(
            // Without this the page would show the document to a validator on the internet.
            SwaggerUi::new("/docs/{_:.*}").config(
                Config::from("/openapi.json").try_it_out_enabled(true).validator_url("none"),
            ),
        );
}

/// Addresses that are no operations: each can be read, and nothing else.
const PAGES: [&str; 7] = [
    "/",
    "/docs",
    "/openapi.json",
    "/problems/{code}",
    "/robots.txt",
    invitation::PAGE,
    invitation::SCRIPT,
];

/// The paths that are served and their methods, to tell "no such method" from "nothing here".
#[derive(Clone, Debug)]
pub(super) struct Routes(Arc<Vec<(String, Vec<&'static str>)>>);

impl Routes {
    /// Those of the document, and the pages.
    pub(super) fn of(document: &OpenApi) -> Self {
        let methods = |item: &utoipa::openapi::PathItem| {
            let known = [
                ("GET", item.get.is_some()),
                ("POST", item.post.is_some()),
                ("PUT", item.put.is_some()),
                ("PATCH", item.patch.is_some()),
                ("DELETE", item.delete.is_some()),
            ];
            known.into_iter().filter(|(_, has)| *has).map(|(name, _)| name).collect()
        };
        let paths = document.paths.paths.iter().map(|(path, item)| (path.clone(), methods(item)));
        let pages = PAGES.map(|path| (path.to_owned(), vec!["GET"]));
        Self(Arc::new(paths.chain(pages).collect()))
    }

    /// The methods that the address of `path` has, if it is one of the API's.
    fn methods(&self, path: &str) -> Vec<&'static str> {
        let fits = |pattern: &str| {
            let (mut want, mut have) = (pattern.split('/'), path.split('/'));
            loop {
                match (want.next(), have.next()) {
                    (None, None) => return true,
                    (Some(w), Some(h)) if w == h || (w.starts_with('{') && !h.is_empty()) => {}
                    _ => return false,
                }
            }
        };
        self.0.iter().filter(|(pattern, _)| fits(pattern)).flat_map(|(_, m)| m.clone()).collect()
    }
}

/// Where there is nothing, or not by this method.
pub(super) async fn nothing_here(request: HttpRequest, routes: web::Data<Routes>) -> Reply {
    let methods = routes.methods(request.path());
    if methods.is_empty() {
        return Err(Problem::new("not-found", format!("There is nothing at {}.", request.path())));
    }
    let detail = format!("{} is not among {}.", request.method(), methods.join(", "));
    Err(Problem::new("method-not-allowed", detail).allowing(methods.join(", ")))
}

/// What runs here.
#[derive(Serialize, ToSchema)]
pub(super) struct VersionView {
    /// The version of Axle.
    #[schema(example = "0.1.0")]
    version: &'static str,
    /// The release of the IANA time zone table that schedules are computed with.
    #[schema(example = "2025b")]
    tzdata: &'static str,
}

/// Read the server's version
#[utoipa::path(
    operation_id = "getVersion", tag = "server", security(()),
    responses((status = 200, description = "The version", body = VersionView)),
)]
#[get("/v1/version")]
pub(super) async fn get_version() -> HttpResponse {
    let version = env!("CARGO_PKG_VERSION");
    HttpResponse::Ok().json(VersionView { version, tzdata: TZDATA_VERSION })
}

async fn problem_page(code: web::Path<String>) -> Reply {
    let kinds: Vec<_> = KINDS.iter().filter(|kind| kind.code == code.as_str()).collect();
    if kinds.is_empty() {
        return Err(Problem::new("not-found", "There is no such kind of problem."));
    }
    Ok(HttpResponse::Ok()
        .content_type("text/html; charset=utf-8")
        .insert_header((CACHE_CONTROL, "no-cache"))
        .body(page(&code, &kinds)))
}

/// Everything on it is ours, so nothing needs escaping but what the texts themselves hold.
fn page(code: &str, kinds: &[&Kind]) -> String {
    let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;");
    let part = |kind: &&Kind| {
        let retry = if kind.retryable { "may succeed later" } else { "will fail again" };
        format!(
            "<h1>{title}</h1><p>Code <code>{code}</code>, status {status}. The same request \
             {retry}.</p><p>{hint}</p>",
            title = escape(kind.title),
            status = kind.status,
            hint = escape(kind.hint),
        )
    };
    let parts: String = kinds.iter().map(part).collect();
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>{code}</title>{parts}</html>"
    )
}

async fn to_docs() -> HttpResponse {
    HttpResponse::PermanentRedirect().insert_header(("Location", "/docs/")).finish()
}

async fn robots() -> &'static str {
    "User-agent: *\nDisallow: /\n"
}
