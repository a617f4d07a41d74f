//! Reading a JSON object field by field, so that one answer names every fault: wrong types, values
//! out of range, unknown fields and fields given twice, each with its pointer.

use std::borrow::Cow;
use std::fmt;

use chrono::{DateTime, FixedOffset, Utc};
use serde::de::{Deserialize, DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::domain::check::escape;
use crate::domain::hidden::Hidden;
use crate::domain::invalid::Invalid;

/// The fields of an object that nobody has read yet, and the faults found so far.
#[derive(Debug)]
pub struct Fields<'a> {
    at: String,
    entries: Vec<(Cow<'a, str>, &'a RawValue)>,
    known: Vec<&'static str>,
    faults: Invalid,
}

impl<'a> Fields<'a> {
    /// Opens the object `raw`, which stands at the pointer `at`.
    pub fn read(raw: &'a RawValue, at: &str) -> Result<Self, Invalid> {
        let Entries(mut entries) =
            serde_json::from_str(raw.get()).or(Err(wrong_type(at, "an object", raw)))?;
        let mut faults = Invalid::default();
        let mut seen = std::collections::BTreeSet::new();
        entries.retain(|(key, _)| {
            let first = seen.insert(key.clone());
            if !first {
                let pointer = format!("{at}/{}", escape(key));
                faults.add(pointer, "duplicate-field", "is given twice; give it once");
            }
            first
        });
        Ok(Self { at: at.to_owned(), entries, known: Vec::new(), faults })
    }

    /// The pointer of a field.
    pub fn at(&self, key: &str) -> String {
        format!("{}/{}", self.at, escape(key))
    }

    /// The field as it came, `null` included.
    pub fn raw(&mut self, key: &'static str) -> Option<&'a RawValue> {
        self.known.push(key);
        let found = self.entries.iter().position(|(name, _)| name == key)?;
        Some(self.entries.swap_remove(found).1)
    }

    /// The field, unless it is absent or `null`; a value of another type is a fault and reads as
    /// absent. `expected` completes "must be …".
    pub fn get<T: DeserializeOwned>(&mut self, key: &'static str, expected: &str) -> Option<T> {
        let raw = self.raw(key).filter(|raw| raw.get() != "null")?;
        let value = serde_json::from_str(raw.get());
        if value.is_err() {
            self.add(wrong_type(&self.at(key), expected, raw));
        }
        value.ok()
    }

    /// A text field.
    pub fn text(&mut self, key: &'static str) -> Option<String> {
        self.get(key, "a string of Unicode text")
    }

    /// An instant, to the microsecond.
    pub fn instant(&mut self, key: &'static str) -> Option<DateTime<Utc>> {
        let expected = "an instant in RFC 3339, such as \"2026-12-01T08:00:00Z\"";
        let at: DateTime<FixedOffset> = self.get(key, expected)?;
        DateTime::from_timestamp_micros(at.timestamp_micros())
    }

    /// A field that is one of some words.
    pub fn word<T: Copy>(&mut self, key: &'static str, words: &[(&str, T)]) -> Option<T> {
        let list: Vec<_> = words.iter().map(|(word, _)| format!("{word:?}")).collect();
        let expected = format!("one of {}", list.join(", "));
        let given: String = self.get(key, &expected)?;
        let found = words.iter().find(|(word, _)| *word == given);
        if found.is_none() {
            let detail = format!("must be {expected}, got {given:?}");
            self.fault(key, "out-of-range", detail);
        }
        found.map(|(_, value)| *value)
    }

    /// The same for a field that must be there.
    pub fn required_word<T: Copy>(&mut self, key: &'static str, words: &[(&str, T)]) -> Option<T> {
        let word = self.word(key, words);
        if word.is_none() {
            let list: Vec<_> = words.iter().map(|(word, _)| format!("{word:?}")).collect();
            self.missing(key, format!("must be one of {}", list.join(", ")));
        }
        word
    }

    /// An object field, opened.
    pub fn object(&mut self, key: &'static str) -> Option<Fields<'a>> {
        let raw = self.raw(key).filter(|raw| raw.get() != "null")?;
        match Fields::read(raw, &self.at(key)) {
            Ok(fields) => Some(fields),
            Err(invalid) => {
                self.add(invalid);
                None
            }
        }
    }

    /// An array field, each item with its pointer; at most `limit` of them.
    pub fn items(
        &mut self,
        key: &'static str,
        limit: usize,
    ) -> Option<Vec<(String, &'a RawValue)>> {
        let raw = self.raw(key).filter(|raw| raw.get() != "null")?;
        let at = self.at(key);
        let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(raw.get()) else {
            self.add(wrong_type(&at, "an array", raw));
            return None;
        };
        if items.len() > limit {
            self.fault(key, "too-many", format!("at most {limit}, got {}", items.len()));
            return None;
        }
        let place = |(n, item): (usize, &'a RawValue)| (format!("{at}/{n}"), item);
        Some(items.into_iter().enumerate().map(place).collect())
    }

    /// An array field whose items are all of one type; none if one is not, which has its fault.
    /// `expected` completes "must be …".
    pub fn list<T: DeserializeOwned>(
        &mut self,
        key: &'static str,
        expected: &str,
        limit: usize,
    ) -> Option<Vec<T>> {
        let items = self.items(key, limit)?;
        let mut list = Vec::with_capacity(items.len());
        for (at, raw) in &items {
            match serde_json::from_str(raw.get()) {
                Ok(item) => list.push(item),
                Err(_) => self.add(wrong_type(at, expected, raw)),
            }
        }
        (list.len() == items.len()).then_some(list)
    }

    /// Whether the field is there, `null` excluded; it stays to be read.
    pub fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|(name, raw)| name == key && raw.get() != "null")
    }

    /// Whether the field is there, be it `null`; it stays to be read.
    pub fn has_any(&self, key: &str) -> bool {
        self.entries.iter().any(|(name, _)| name == key)
    }

    /// Takes away a field that does not belong here, with a fault unless it is `null`.
    pub fn refuse(&mut self, key: &str, code: &'static str, detail: &str) {
        if self.has(key) {
            self.fault(key, code, detail);
        }
        self.entries.retain(|(name, _)| name != key);
    }

    /// Every field that is left, as it came, and the faults found so far.
    pub fn into_entries(self) -> (Vec<(Cow<'a, str>, &'a RawValue)>, Invalid) {
        (self.entries, self.faults)
    }

    /// Every field that is left, each of which must be text: headers, tags. In the order they came.
    pub fn all_texts(&mut self) -> Vec<(String, String)> {
        let mut texts = Vec::new();
        for (key, raw) in std::mem::take(&mut self.entries) {
            match serde_json::from_str(raw.get()) {
                Ok(text) => texts.push((key.into_owned(), text)),
                Err(_) => self.add(wrong_type(&self.at(&key), "a string of Unicode text", raw)),
            }
        }
        texts
    }

    /// An object field whose values are secret texts; its faults do not repeat what was given.
    pub fn hidden_texts(&mut self, key: &'static str) -> Vec<(String, Hidden)> {
        let Some(raw) = self.raw(key).filter(|raw| raw.get() != "null") else { return Vec::new() };
        let Ok(mut inner) = Fields::read(raw, &self.at(key)) else {
            self.fault(key, "wrong-type", "must be an object");
            return Vec::new();
        };
        let mut texts = Vec::new();
        for (key, raw) in std::mem::take(&mut inner.entries) {
            match serde_json::from_str::<String>(raw.get()) {
                Ok(text) => texts.push((key.into_owned(), Hidden::new(text))),
                Err(_) => inner.fault(&key, "wrong-type", "must be a string of Unicode text"),
            }
        }
        self.add(inner.finish());
        texts
    }

    /// Notes a fault of a field.
    pub fn fault(&mut self, key: &str, code: &'static str, detail: impl Into<String>) {
        self.faults.add(self.at(key), code, detail);
    }

    /// Notes that a field must be there, unless what was there has its fault already.
    pub fn missing(&mut self, key: &str, detail: impl Into<String>) {
        let at = self.at(key);
        if self.faults.0.iter().all(|fault| fault.pointer != at) {
            self.faults.add(at, "required", detail);
        }
    }

    /// Notes faults found elsewhere.
    pub fn add(&mut self, more: Invalid) {
        self.faults.0.extend(more.0);
    }

    /// Every fault found, as [`Fields::finish`] has them, with those of `more` that are news: what
    /// could not be read stands at its default in the value that was checked, and has its fault.
    pub fn finish_with(self, more: Invalid) -> Invalid {
        let mut faults = self.finish();
        let known: Vec<_> = faults.0.iter().map(|fault| fault.pointer.clone()).collect();
        let is_news = |at: &str| !known.iter().any(|known| is_within(at, known));
        faults.0.extend(more.0.into_iter().filter(|fault| is_news(&fault.pointer)));
        faults
    }

    /// Every fault found; fields that nobody asked for are among them.
    pub fn finish(mut self) -> Invalid {
        for (key, _) in &self.entries {
            let near = nearest(key, &self.known);
            let near = near.map(|near| format!("; did you mean {near:?}?")).unwrap_or_default();
            let detail = format!("is no field of this object{near}");
            self.faults.add(format!("{}/{}", self.at, escape(key)), "unknown-field", detail);
        }
        self.faults
    }
}

/// Whether `pointer` names the value at `outer` or something inside it.
fn is_within(pointer: &str, outer: &str) -> bool {
    pointer.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

pub(super) fn wrong_type(at: &str, expected: &str, raw: &RawValue) -> Invalid {
    const SHOWN: usize = 40;
    let text = raw.get();
    let head = text.get(..text.floor_char_boundary(SHOWN)).unwrap_or_default();
    let tail = if text.len() > SHOWN { "…" } else { "" };
    Invalid::one(at, "wrong-type", format!("must be {expected}, got {head}{tail}"))
}

/// The known name that shares the most of its letters, if it shares more than half of them.
fn nearest(key: &str, known: &[&'static str]) -> Option<&'static str> {
    let pairs =
        |word: &str| -> Vec<(char, char)> { word.chars().zip(word.chars().skip(1)).collect() };
    let given = pairs(&key.to_lowercase());
    let score = |name: &&'static str| {
        let theirs = pairs(name);
        let shared = given.iter().filter(|pair| theirs.contains(pair)).count();
        2 * shared * 100 / (given.len() + theirs.len()).max(1)
    };
    known.iter().copied().max_by_key(score).filter(|name| score(name) > 50)
}

/// An object's entries in their order, repeated keys included.
struct Entries<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Entries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyObject;
        impl<'de> Visitor<'de> for AnyObject {
            type Value = Entries<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(key) = map.next_key::<String>()? {
                    entries.push((Cow::Owned(key), map.next_value()?));
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(AnyObject)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(json: &str, read: impl Fn(&mut Fields<'_>)) -> Vec<(String, &'static str)> {
        let raw: &RawValue = serde_json::from_str(json).unwrap();
        match Fields::read(raw, "#") {
            Ok(mut fields) => {
                read(&mut fields);
                fields.finish()
            }
            Err(invalid) => invalid,
        }
        .0
        .into_iter()
        .map(|fault| (fault.pointer, fault.code))
        .collect()
    }

    #[test]
    fn every_fault_is_found_at_once() {
        let json = r#"{"a":"x","a":"y","n":-1,"w":"red","a/b":1,"o":[],"when":"soon"}"#;
        let mut found = faults(json, |fields| {
            assert_eq!(fields.text("a"), Some("x".into()));
            assert_eq!(fields.get::<u64>("n", "a whole number"), None);
            assert_eq!(fields.word("w", &[("blue", 1)]), None);
            assert!(fields.object("o").is_none());
            assert_eq!(fields.instant("when"), None);
        });
        found.sort();
        let expected = [
            ("#/a", "duplicate-field"),
            ("#/a~1b", "unknown-field"),
            ("#/n", "wrong-type"),
            ("#/o", "wrong-type"),
            ("#/w", "out-of-range"),
            ("#/when", "wrong-type"),
        ];
        assert_eq!(found, expected.map(|(at, code)| (at.to_owned(), code)));
    }

    #[test]
    fn null_reads_as_absent_and_other_values_are_no_objects() {
        assert_eq!(faults(r#"{"a":null}"#, |f| assert_eq!(f.text("a"), None)), []);
        for json in ["[]", "1", "\"x\"", "null"] {
            assert_eq!(faults(json, |_| ()), [("#".to_owned(), "wrong-type")], "{json}");
        }
    }

    #[test]
    fn a_near_name_is_offered() {
        assert_eq!(nearest("prioritty", &["queue", "priority"]), Some("priority"));
        assert_eq!(
            nearest("payloadBase64", &["payload", "payload_base64"]),
            Some("payload_base64")
        );
        assert_eq!(nearest("zzz", &["queue", "priority"]), None);
    }
}
