//! A merge patch (RFC 7396) of a schedule: laid over the definition as it is shown, and read again.
//!
//! It works on the text, so that a payload, from wherever it comes, stays byte for byte what it
//! was. Beside the RFC, `spec` and the payload are replaced whole.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

use super::read::{Terms, read_schedule};
use super::view::{STANDING, ScheduleView};
use crate::domain::check::escape;
use crate::domain::invalid::Invalid;
use crate::domain::redact::Veil;
use crate::domain::schedule::doc::Draft;
use crate::domain::schedule::record::Schedule;
use crate::wire::fields::Fields;

/// What the schedule is to be after the patch; whether it is paused stays open unless the patch
/// says it. The name in `terms` is that of the schedule, whatever stands there.
pub fn read_patch(raw: &RawValue, schedule: &Schedule, terms: Terms<'_>) -> Result<Draft, Invalid> {
    Fields::read(raw, "#")?;
    let mut twice = Invalid::default();
    let merged = to_raw_value(&ScheduleView::new(schedule, &Veil::lifted()))
        .and_then(|shown| merge(&shown, raw, "#", &mut twice).map(Cow::into_owned))
        .map_err(|error| Invalid::one("#", "malformed", error.to_string()))?;
    match read_schedule(&merged, Terms { name: Some(&schedule.name), ..terms }) {
        Ok(draft) => twice.into_result(draft),
        Err(invalid) => {
            twice.0.extend(invalid.0);
            Err(twice)
        }
    }
}

/// Values that are replaced whole.
const WHOLE: [&str; 2] = ["#/spec", "#/job/payload"];

/// Lays `patch` over `base`, values at the pointer `at`. It goes as deep as the base does, however
/// deep the patch is.
fn merge<'a>(
    base: &'a RawValue,
    patch: &'a RawValue,
    at: &str,
    twice: &mut Invalid,
) -> Result<Cow<'a, RawValue>, serde_json::Error> {
    let (Ok(old), Ok(new)) = (Fields::read(base, at), Fields::read(patch, at)) else {
        return Ok(Cow::Borrowed(patch));
    };
    if WHOLE.contains(&at) {
        return Ok(Cow::Borrowed(patch));
    }
    let (mut old, _) = old.into_entries();
    let (mut new, found) = new.into_entries();
    twice.0.extend(found.0);
    match at {
        "#" => old.retain(|(name, _)| name != "paused" && !STANDING.contains(&name.as_ref())),
        "#/job" => drop_other_payload(&mut old, &new),
        _ => {}
    }
    let is_null = |value: &RawValue| value.get() == "null";
    let mut laid = Vec::with_capacity(old.len() + new.len());
    for (name, was) in old {
        let change = new.iter().position(|(changed, _)| *changed == name);
        let value = match change.map(|place| new.remove(place).1) {
            None => Cow::Borrowed(was),
            Some(change) if is_null(change) => continue,
            Some(change) => merge(was, change, &format!("{at}/{}", escape(&name)), twice)?,
        };
        laid.push((name, value));
    }
    let added = new.into_iter().filter(|(_, value)| !is_null(value));
    laid.extend(added.map(|(name, value)| (name, Cow::Borrowed(value))));
    to_raw_value(&Object(laid)).map(Cow::Owned)
}

/// A JSON payload and one in base 64 stand in each other's place, with their media types.
fn drop_other_payload(job: &mut Entries<'_>, patch: &Entries<'_>) {
    let named = |field| patch.iter().any(|(name, value)| name == field && value.get() != "null");
    let is_bytes = job.iter().any(|(name, _)| name == "payload_base64");
    if named(if is_bytes { "payload" } else { "payload_base64" }) {
        job.retain(|(name, _)| {
            !matches!(name.as_ref(), "payload" | "payload_base64" | "content_type")
        });
    }
}

type Entries<'a> = Vec<(Cow<'a, str>, &'a RawValue)>;

/// An object of values as they are, in their order.
struct Object<'a>(Vec<(Cow<'a, str>, Cow<'a, RawValue>)>);

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}
