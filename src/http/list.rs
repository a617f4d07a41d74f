//! The query of a list, read: each parameter once, every fault at once; and the pages of the answer,
//! whose cursors belong to the filters that they were made under.

use std::str::FromStr;

use actix_web::{HttpResponse, HttpResponseBuilder};
use chrono::{DateTime, Utc};

use super::cursor;
use super::problem::Problem;
use crate::domain::check::escape;
use crate::domain::invalid::Invalid;
use crate::wire::Page;

/// Which page of a list is asked for.
pub(super) struct List {
    /// How many items.
    pub(super) limit: usize,
    path: String,
    cursor: Option<String>,
    /// The filters as text: a cursor is bound to them, in whatever order they come.
    bound: String,
    given: Vec<(String, String)>,
}

/// The limit of a list that names none.
const LIMIT: usize = 50;

impl List {
    /// Reads the query of the list at `path`. `take` reads a filter: false for one that is none, an
    /// error for a value that cannot be accepted.
    pub(super) fn read(
        path: &str,
        pairs: Vec<(String, String)>,
        mut take: impl FnMut(&str, &str) -> Result<bool, String>,
    ) -> Result<Self, Problem> {
        let mut faults = Invalid::default();
        let (mut limit, mut cursor) = (LIMIT, None);
        for (n, (key, value)) in pairs.iter().enumerate() {
            let at = format!("#/query/{}", escape(key));
            if pairs.iter().take(n).any(|(before, _)| before == key) {
                faults.add(at, "duplicate-parameter", "is given twice; give it once");
                continue;
            }
            match key.as_str() {
                "cursor" => cursor = Some(value.clone()),
                "limit" => match value.parse() {
                    Ok(asked) if (1..=500).contains(&asked) => limit = asked,
                    _ => faults.add(at, "out-of-range", "must be 1 to 500"),
                },
                _ => match take(key, value) {
                    Ok(true) => {}
                    Ok(false) => {
                        faults.add(at, "unknown-parameter", "is no parameter of this list");
                    }
                    Err(detail) => faults.add(at, "out-of-range", detail),
                },
            }
        }
        let is_filter = |(key, _): &&(String, String)| !matches!(key.as_str(), "cursor" | "limit");
        let mut bound: Vec<_> = pairs.iter().filter(is_filter).collect();
        bound.sort();
        let bound =
            url::form_urlencoded::Serializer::new(String::new()).extend_pairs(bound).finish();
        let path = path.to_owned();
        Ok(faults.into_result(Self { limit, path, cursor, bound, given: pairs })?)
    }

    /// Where the page before ended, if this is not the first.
    pub(super) fn place<T: FromStr>(&self) -> Result<Option<T>, Problem> {
        let Some(text) = &self.cursor else { return Ok(None) };
        let place = cursor::decode(text, &cursor::list(&self.path, &self.bound))?;
        let bad = Problem::new("invalid-cursor", "The cursor does not hold a place.");
        Ok(Some(place.parse().or(Err(bad))?))
    }

    /// The cursor for the page after `last`; none if there is none.
    pub(super) fn next(&self, last: Option<String>) -> Option<String> {
        last.map(|place| cursor::encode(&place, &cursor::list(&self.path, &self.bound)))
    }

    /// The frame of a page, with a link to the next, which repeats what was given besides the
    /// cursor.
    pub(super) fn frame(&self, next: Option<&String>) -> HttpResponseBuilder {
        let mut reply = HttpResponse::Ok();
        if let Some(cursor) = next {
            let mut query = url::form_urlencoded::Serializer::new(String::new());
            query.extend_pairs(self.given.iter().filter(|(key, _)| key != "cursor"));
            let query = query.append_pair("cursor", cursor).finish();
            reply.insert_header(("Link", format!("<{}?{query}>; rel=\"next\"", self.path)));
        }
        reply
    }

    /// A page; `last` is the place at which it ends, if there are more.
    pub(super) fn page<T: serde::Serialize>(
        &self,
        data: Vec<T>,
        last: Option<String>,
    ) -> HttpResponse {
        let next_cursor = self.next(last);
        self.frame(next_cursor.as_ref()).json(Page { data, next_cursor })
    }
}

/// A filter that is an instant.
pub(super) fn read_instant(value: &str) -> Result<DateTime<Utc>, String> {
    let at = DateTime::parse_from_rfc3339(value);
    at.map(|at| at.to_utc()).or(Err("must be an instant in RFC 3339".to_owned()))
}

/// A filter that is any text.
pub(super) fn read_text(value: &str) -> Result<String, String> {
    if value.contains('\0') {
        return Err("must not hold U+0000".to_owned());
    }
    Ok(value.to_owned())
}
