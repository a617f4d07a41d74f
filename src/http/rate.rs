//! The rate of a team at the API's door: which requests are writes, what their answers say of the
//! rate, and what the document says of it. How a rate is kept is the engine's.
//!
//! The headers are those of the IETF's draft on rate limits; it still moves, so they are written here
//! and nowhere else.

use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use actix_web::{HttpMessage as _, HttpRequest};
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::{Content, ObjectBuilder, OpenApi, Ref, Response, Type};

use super::acts;
use super::extract::api;
use crate::domain::principal::{Act, Principal, Team};
use crate::domain::quota::Quota;
use crate::domain::rate::{Standing, WINDOW_S};
use crate::engine::{Ctx, Error};

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// Where a POST changes nothing.
const QUESTIONS: [&str; 2] = ["/v1/schedules/preview", "/v1/signing/verify"];

/// Marks a request that was counted, for whoever dresses its answer.
struct Counted(Team);

/// Counts a request if it is a write of the caller's team: one that may change something, whatever
/// becomes of it. What an installation admin does to teams is none, or nobody could raise the rate of
/// their own team while it is used up.
pub(super) async fn count(ctx: &Ctx, who: &Principal, request: &HttpRequest) -> Result<(), Error> {
    let path = request.path();
    let installs = who.may(Act::Install) && path.starts_with("/v1/teams");
    if request.method().is_safe() || QUESTIONS.contains(&path) || installs {
        return Ok(());
    }
    request.extensions_mut().insert(Counted(who.team.clone()));
    ctx.quotas.write(ctx, &who.team).await
}

/// Tells how the rate stands, in the answer to a request that was counted, if its team has a rate.
pub(super) fn tell(request: &HttpRequest, answer: &mut HeaderMap) {
    let extensions = request.extensions();
    let (Some(Counted(team)), Ok(api)) = (extensions.get::<Counted>(), api(request)) else {
        return;
    };
    let Some(standing) = api.ctx.quotas.standing(team, api.ctx.clock.now()) else { return };
    let [policy, rest] = fields(&standing);
    for (name, text) in [(RATE_LIMIT_POLICY, policy), (RATE_LIMIT, rest)] {
        if let Ok(value) = HeaderValue::from_str(&text) {
            answer.insert(name, value);
        }
    }
}

/// `RateLimit-Policy` and `RateLimit`: lists of structured fields (RFC 9651) with one member each, a
/// string that names the policy, with integers as parameters.
fn fields(standing: &Standing) -> [String; 2] {
    let name = Quota::WritesPerSecond.policy();
    let (quota, left, reset) = (standing.rate.per_second(), standing.left, standing.reset_s);
    [format!("\"{name}\";q={quota};w={WINDOW_S}"), format!("\"{name}\";r={left};t={reset}")]
}

/// States in the document that every write may be refused for its rate.
pub(super) fn state(document: &mut OpenApi) {
    for item in document.paths.paths.values_mut() {
        for operation in
            [&mut item.put, &mut item.post, &mut item.patch, &mut item.delete].into_iter().flatten()
        {
            let act = operation.operation_id.as_deref().and_then(acts::act_of);
            if act.is_some_and(|act| act != Act::Read) {
                operation.responses.responses.insert("429".to_owned(), refused().into());
            }
        }
    }
}

fn refused() -> Response {
    let text = |what: &str| {
        let schema = ObjectBuilder::new().schema_type(Type::String);
        HeaderBuilder::new().schema(Some(schema)).description(Some(what)).build()
    };
    Response::builder()
        .description("The team makes more writes a second than it may.")
        .header("Retry-After", text("In how many seconds there is room for one"))
        .header("RateLimit-Policy", text("The rate, as `\"team-write\";q=100;w=1`"))
        .header("RateLimit", text("What is left of it, as `\"team-write\";r=0;t=1`"))
        .content(
            "application/problem+json",
            Content::new(Some(Ref::from_schema_name("ProblemView"))),
        )
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::rate::Rate;

    #[test]
    fn the_headers_are_structured_fields() {
        let standing = Standing { rate: Rate::new(600), left: 417, reset_s: 23 };
        let [policy, rest] = fields(&standing);
        assert_eq!(policy, r#""team-write";q=600;w=1"#);
        assert_eq!(rest, r#""team-write";r=417;t=23"#);
        // RFC 9651, sections 3.3.1 and 3.3.3: at most 15 digits, and nothing in a string to escape.
        let most = Standing { rate: Rate::new(u64::MAX), left: 0, reset_s: 0 };
        assert!(fields(&most)[0].is_ascii() && Quota::WritesPerSecond.most() < 10_u64.pow(15));
    }
}
