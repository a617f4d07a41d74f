//! Cursors of lists: opaque, and bound to the filter that they were made under.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::problem::Problem;

/// What a list is, as text: its path and its filters.
pub fn list(path: &str, described: &str) -> String {
    format!("{path}?{described}")
}

/// A cursor that goes on after `place`, in the list that `list` describes.
pub fn encode(place: &str, list: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!("{}|{place}", mark(list, place)))
}

/// The place of a cursor, if it is one of this list.
pub fn decode(cursor: &str, list: &str) -> Result<String, Problem> {
    let bad =
        || Problem::new("invalid-cursor", "The cursor was altered, or made for another list.");
    let bytes = URL_SAFE_NO_PAD.decode(cursor).or(Err(bad()))?;
    let text = String::from_utf8(bytes).or(Err(bad()))?;
    let (found, place) = text.split_once('|').ok_or_else(bad)?;
    if found == mark(list, place) { Ok(place.to_owned()) } else { Err(bad()) }
}

/// Enough of a hash to notice a cursor that was altered or is another list's; it protects nothing.
fn mark(list: &str, place: &str) -> String {
    let hash = Sha256::digest(format!("{place}|{list}"));
    URL_SAFE_NO_PAD.encode(hash.get(..6).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_belongs_to_its_list() {
        let cursor = encode("job_1", "state=FAILED");
        assert_eq!(decode(&cursor, "state=FAILED").unwrap(), "job_1");
        for (cursor, filter) in
            [(cursor.as_str(), "state=SUCCESS"), ("%%%", ""), ("", ""), ("AAAA", "")]
        {
            assert!(decode(cursor, filter).is_err(), "{cursor} {filter}");
        }
        let text = String::from_utf8(URL_SAFE_NO_PAD.decode(&cursor).unwrap()).unwrap();
        let altered = URL_SAFE_NO_PAD.encode(text.replace("job_1", "job_2"));
        assert!(decode(&altered, "state=FAILED").is_err());
    }
}
