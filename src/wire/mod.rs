//! The API's wire types, shared by the server and the client: what is read is checked field by field
//! so that every fault is named at once; what is written is a plain struct.
//!
//! Nothing here decides anything or knows how it is transported.

pub mod audit;
pub mod batch;
pub mod calendar;
pub mod callback;
pub mod fields;
pub mod job;
pub mod key;
pub mod log;
pub mod login;
pub mod problem;
pub mod queue;
pub mod quota;
pub mod request;
pub mod run;
pub mod schedule;
pub mod signing;
pub mod target;
pub mod team;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, SecondsFormat, Utc};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::domain::redact::Veil;

/// An instant on the wire: RFC 3339, UTC with `Z`, microseconds.
pub fn instant(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Micros, true)
}

/// A page of a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct Page<T> {
    /// The items, newest first.
    pub data: Vec<T>,
    /// What to pass as `cursor` for the next page; null on the last one.
    pub next_cursor: Option<String>,
}

/// Bytes that are known to be JSON, as they are; null if they are not.
fn json(bytes: &[u8]) -> Option<Box<RawValue>> {
    serde_json::from_slice(bytes).ok()
}

/// A JSON document as the reader may see it. One that is withheld is shown as null, and its name is
/// among those of `withheld`.
fn veiled(
    document: &[u8],
    veil: &Veil,
    (name, withheld): (&'static str, &mut Vec<&'static str>),
) -> Option<Box<RawValue>> {
    let seen = veil.json(document);
    if seen.is_none() {
        withheld.push(name);
    }
    json(seen.as_deref().unwrap_or(b"null"))
}

/// A payload as the reader may see it: as JSON, or in base 64, as it came.
fn payload(
    (is_json, bytes): (bool, &[u8]),
    veil: &Veil,
    withheld: &mut Vec<&'static str>,
) -> (Option<Box<RawValue>>, Option<String>) {
    if is_json {
        return (veiled(bytes, veil, ("payload", withheld)), None);
    }
    let Some(seen) = veil.bytes(bytes) else {
        withheld.push("payload");
        return (json(b"null"), None);
    };
    (None, Some(STANDARD.encode(seen)))
}
