//! Reads the query and headers of a call to the demo target, and says in one sentence what is
//! wrong with them.

use std::ops::RangeInclusive;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, ResponseError};
use url::form_urlencoded;

/// The longest header value that is taken; a callback URL with its token is far shorter.
const MAX_HEADER_BYTES: usize = 2048;

/// Why a call is answered 400.
#[derive(Debug, thiserror::Error)]
pub(super) enum BadRequest {
    #[error("there is no query value `{name}` here, only {allowed}")]
    UnknownValue { name: String, allowed: String },
    #[error("`{name}` is `{got}`, but it must be a whole number from {min} to {max}")]
    NotNumber { name: &'static str, got: String, min: u64, max: u64 },
    #[error("`{name}` is `{got}`, but it must be one of {allowed}")]
    NotAllowed { name: &'static str, got: String, allowed: String },
    #[error("this address needs the header `{name}`, {what}")]
    Header { name: &'static str, what: &'static str },
}

impl ResponseError for BadRequest {
    fn status_code(&self) -> StatusCode {
        StatusCode::BAD_REQUEST
    }

    fn error_response(&self) -> HttpResponse {
        HttpResponse::BadRequest()
            .content_type("text/plain; charset=utf-8")
            .body(format!("{self}\n"))
    }
}

/// The query values of a call, all of them known by name.
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    /// Reads the query of `request`, in which only the `allowed` names may occur.
    pub(super) fn of(request: &HttpRequest, allowed: &[&str]) -> Result<Self, BadRequest> {
        let pairs = form_urlencoded::parse(request.query_string().as_bytes()).into_owned();
        let values: Vec<(String, String)> = pairs.collect();
        match values.iter().find(|(name, _)| !allowed.contains(&name.as_str())) {
            Some((name, _)) => {
                Err(BadRequest::UnknownValue { name: name.clone(), allowed: listed(allowed) })
            }
            None => Ok(Self(values)),
        }
    }

    /// The whole number `name`, or `default` when it is not given.
    pub(super) fn number(
        &self,
        name: &'static str,
        default: u64,
        range: RangeInclusive<u64>,
    ) -> Result<u64, BadRequest> {
        let Some(text) = self.get(name) else { return Ok(default) };
        let (min, max) = (*range.start(), *range.end());
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| BadRequest::NotNumber { name, got: text.to_owned(), min, max })
    }

    /// The word `name`, as its meaning in `allowed`, or `default` when it is not given.
    pub(super) fn word<T: Copy>(
        &self,
        name: &'static str,
        default: T,
        allowed: &[(&str, T)],
    ) -> Result<T, BadRequest> {
        let Some(text) = self.get(name) else { return Ok(default) };
        let found = allowed.iter().find(|(word, _)| *word == text).map(|&(_, meaning)| meaning);
        found.ok_or_else(|| {
            let words: Vec<&str> = allowed.iter().map(|&(word, _)| word).collect();
            BadRequest::NotAllowed { name, got: text.to_owned(), allowed: listed(&words) }
        })
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }
}

/// The value of a header that this call must have; `what` says what it is for.
pub(super) fn header<'a>(
    request: &'a HttpRequest,
    name: &'static str,
    what: &'static str,
) -> Result<&'a str, BadRequest> {
    let value = request.headers().get(name).and_then(|value| value.to_str().ok());
    let value = value.filter(|value| !value.is_empty() && value.len() <= MAX_HEADER_BYTES);
    value.ok_or(BadRequest::Header { name, what })
}

fn listed(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
