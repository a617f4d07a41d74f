//! Targets that calls are held back from.

use std::str::FromStr;

use actix_web::get;
use utoipa::IntoParams;

use super::Reply;
use super::extract::Caller;
use super::list::List;
use super::openapi::{BadParameter, Refusals};
use crate::engine::targets::{self, Target};
use crate::wire::Page;
use crate::wire::target::{HeldView, TargetView};

/// The pages of a list of targets.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only the derived document is used; `List` reads the query")]
struct TargetsQuery {
    /// 1 to 500; 50 if absent.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
}

/// List targets that calls are held back from
///
/// Hosts and ports that the team's jobs call and that pullers leave alone just now, because their
/// breaker is open or being tried, or because they have as many calls as they may have; by name. A
/// target that is called as usual is not here. What a puller says is seen within a second, and for
/// ten seconds after its death.
#[utoipa::path(
    operation_id = "listTargets", tag = "targets", params(TargetsQuery),
    responses(
        (status = 200, description = "A page of targets", body = Page<TargetView>,
         headers(("Link" = String, description = "The next page, as `rel=\"next\"`"))),
        Refusals, BadParameter,
    ),
)]
#[get("/v1/targets")]
pub(super) async fn list_targets(caller: Caller) -> Reply {
    let list = List::read("/v1/targets", caller.query(), |_, _| Ok(false))?;
    let after = list.place::<Place>()?;
    let after = after.as_ref().map(|Place(after)| after.as_str());
    let (found, more) = targets::list(&caller.ctx, &caller.who, (after, list.limit)).await?;
    let last = found.last().filter(|_| more).map(|target| target.name.clone());
    Ok(list.page(found.iter().map(view).collect(), last))
}

/// The name of the target at which a page ended.
struct Place(String);

impl FromStr for Place {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        // Whoever makes a cursor up may have put U+0000 into it, which no text of the database holds.
        if text.contains('\0') { Err(()) } else { Ok(Self(text.to_owned())) }
    }
}

fn view(target: &Target) -> TargetView {
    TargetView {
        target: target.name.clone(),
        state: target.phase().as_str(),
        pullers: target.pullers.iter().map(HeldView::from).collect(),
    }
}
