//! The other ways in which common programs would have written a body: what a target verifies that
//! parses first and writes again, or reads the body with a line break at its end. Only for telling
//! why a signature does not fit: nothing that verifies so is taken for verified.

use std::fmt::Write as _;

use serde_json::Value;
use serde_json::value::RawValue;

/// Bodies with the content of this one, and how each is written, in words that go on after "the
/// same content". At most some dozen.
pub(super) fn rewritten(body: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let mut others = Vec::new();
    let trimmed = body.trim_ascii_end();
    if trimmed.len() < body.len() {
        others.push(("without the white space at its end", trimmed.to_vec()));
    }
    let Ok(text) = std::str::from_utf8(trimmed) else { return others };
    // Deeper than the reader goes, or no JSON: then nobody has parsed it either.
    let (Ok(_), Ok(value)) =
        (serde_json::from_str::<&RawValue>(text), serde_json::from_str::<Value>(text))
    else {
        return others;
    };
    let sorted = value.to_string();
    let orders = [
        ["without white space", "with a space after each comma and colon"],
        ["with sorted keys and no white space", "with sorted keys and spaces"],
    ];
    for (order, names) in [text, sorted.as_str()].into_iter().zip(orders) {
        for (spaced, name) in [false, true].into_iter().zip(names) {
            let laid = lay(order, spaced);
            for escaped in [raw(&laid), ascii(&laid)] {
                others.push((name, escaped.into_bytes()));
            }
            others.push((name, laid.into_bytes()));
        }
    }
    if let Ok(pretty) = serde_json::to_string_pretty(&value) {
        others.push(("indented", pretty.into_bytes()));
    }
    others.retain(|(_, other)| other != body);
    others
}

/// JSON without white space outside of strings, or as Python writes it: `{"a": 1, "b": 2}`.
fn lay(json: &str, spaced: bool) -> String {
    let mut laid = String::with_capacity(json.len() + json.len() / 8);
    let (mut inside, mut escaped) = (false, false);
    for c in json.chars() {
        if inside {
            laid.push(c);
            inside = escaped || c != '"';
            escaped = !escaped && c == '\\';
            continue;
        }
        if c.is_ascii_whitespace() {
            continue;
        }
        laid.push(c);
        inside = c == '"';
        if spaced && matches!(c, ',' | ':') {
            laid.push(' ');
        }
    }
    laid
}

/// Characters beyond ASCII as `\uXXXX`, as many encoders write them.
fn ascii(json: &str) -> String {
    let mut plain = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_ascii() {
            plain.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string does not fail.
                _ = write!(plain, "\\u{unit:04x}");
            }
        }
    }
    plain
}

/// The reverse: `\uXXXX` beyond ASCII as the character itself.
fn raw(json: &str) -> String {
    let mut plain = String::with_capacity(json.len());
    let mut rest = json;
    while let Some((before, after)) = rest.split_once('\\') {
        plain.push_str(before);
        if let Some((c, len)) = character(after).filter(|(c, _)| !c.is_ascii()) {
            plain.push(c);
            rest = after.get(len..).unwrap_or_default();
        } else {
            // The escaped character goes with its backslash: it may be one itself.
            let len = after.chars().next().map_or(0, char::len_utf8);
            plain.push('\\');
            plain.push_str(after.get(..len).unwrap_or_default());
            rest = after.get(len..).unwrap_or_default();
        }
    }
    plain + rest
}

/// The character that `uXXXX` or `uXXXX\uXXXX` at the beginning names, and how long its name is.
fn character(text: &str) -> Option<(char, usize)> {
    let unit = |at: usize| u16::from_str_radix(text.get(at..at + 4)?, 16).ok();
    let first = text.starts_with('u').then(|| unit(1)).flatten()?;
    let pair = text.get(5..7).filter(|mark| *mark == "\\u").and_then(|_| unit(7));
    let decode = |units: &[u16]| char::decode_utf16(units.iter().copied()).next()?.ok();
    match decode(&[first]) {
        Some(c) => Some((c, 5)),
        None => decode(&[first, pair?]).map(|c| (c, 11)),
    }
}
