//! The audit log: a list for people, an export for an archive.

use actix_web::{HttpResponse, get};
use bytes::Bytes;
use futures_util::stream;
use utoipa::IntoParams;

use super::Reply;
use super::extract::Caller;
use super::list::{List, read_instant, read_text};
use super::openapi::{BadParameter, Refusals};
use crate::domain::audit::Link;
use crate::domain::principal::Principal;
use crate::engine::audit::{self, Filter};
use crate::engine::{Ctx, Error};
use crate::wire::Page;
use crate::wire::audit::AuditView;

/// The filters of the log; all must hold.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only the derived document is used; `read_filter` reads the query")]
struct AuditQuery {
    /// By whom: the subject of a token, the name of a key, or a credential (`key_…`, a `jti`).
    actor: Option<String>,
    /// What was done.
    #[param(example = "pause")]
    verb: Option<String>,
    /// To what.
    #[param(example = "queues/mail")]
    object: Option<String>,
    /// Not before this instant.
    since: Option<String>,
    /// Before this instant.
    until: Option<String>,
    /// 1 to 500; 50 if absent.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
}

/// List the audit log
///
/// Who did what to which thing, newest first. Registering jobs, callbacks and runs are not in it: a
/// job's own log tells those.
#[utoipa::path(
    operation_id = "listAudit", tag = "access", params(AuditQuery),
    responses(
        (status = 200, description = "A page of the team's log", body = Page<AuditView>,
         headers(("Link" = String, description = "The next page, as `rel=\"next\"`"))),
        Refusals, BadParameter,
    ),
)]
#[get("/v1/audit")]
pub(super) async fn list_audit(caller: Caller) -> Reply {
    let mut filter = Filter::default();
    let take = |key: &str, value: &str| read_filter(&mut filter, key, value);
    let list = List::read("/v1/audit", caller.query(), take)?;
    let page = (list.place()?, list.limit);
    let (found, more) = audit::list(&caller.ctx, &caller.who, &filter, page).await?;
    let last = found.last().filter(|_| more).map(|link| link.entry.seq.to_string());
    Ok(list.page(found.iter().map(AuditView::from).collect(), last))
}

fn read_filter(filter: &mut Filter, key: &str, value: &str) -> Result<bool, String> {
    match key {
        "actor" => filter.actor = Some(read_text(value)?),
        "verb" => filter.verb = Some(read_text(value)?),
        "object" => filter.object = Some(read_text(value)?),
        "since" => filter.since = Some(read_instant(value)?),
        "until" => filter.until = Some(read_instant(value)?),
        _ => return Ok(false),
    }
    Ok(true)
}

/// Export the audit log
///
/// The whole log, oldest first, an entry a line. With the last entry's hash kept elsewhere, it can be
/// proved later that nothing up to there was changed.
#[utoipa::path(
    operation_id = "exportAudit", tag = "access",
    responses(
        (status = 200, description = "The team's log, as JSON Lines",
         content_type = "application/x-ndjson", body = AuditView),
        Refusals,
    ),
)]
#[get("/v1/audit/export")]
pub(super) async fn export_audit(caller: Caller) -> Reply {
    // The first page before the answer begins, so that a refusal can still be said.
    let first = audit::export(&caller.ctx, &caller.who, 0).await?;
    let pages = stream::try_unfold((caller.ctx, caller.who, first), next_lines);
    Ok(HttpResponse::Ok().content_type("application/x-ndjson").streaming(pages))
}

type Place = (Ctx, Principal, Vec<Link>);

/// The lines of a page, and the page after it, which is read when those were sent. An error breaks the
/// answer off, so that nobody takes a part for the whole.
async fn next_lines((ctx, who, page): Place) -> Result<Option<(Bytes, Place)>, Error> {
    let Some(last) = page.last() else { return Ok(None) };
    let next = audit::export(&ctx, &who, last.entry.seq).await?;
    let mut lines = Vec::new();
    for link in &page {
        lines.extend(serde_json::to_vec(&AuditView::from(link)).unwrap_or_default());
        lines.push(b'\n');
    }
    Ok(Some((lines.into(), (ctx, who, next))))
}
