//! What the verbs send: definitions and patches from flags or from a file. A file's values reach the
//! server byte for byte, since a payload's spelling may matter to its target.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::words::{Create, Update, When};
use crate::cli::told::Failure;
use crate::config::parse_duration;

/// A JSON object whose values are kept as they were written.
type Document = BTreeMap<String, Box<RawValue>>;

/// How a file is read; its failure is for people.
pub(super) type ReadFile = fn(&Path) -> Result<String, String>;

#[derive(Serialize)]
struct Definition<'a> {
    name: &'a str,
    spec: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    time_zone: Option<&'a str>,
    job: JobOfUrl<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    overlap: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    paused: Option<bool>,
}

#[derive(Serialize)]
struct JobOfUrl<'a> {
    target: TargetOfUrl<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<Box<RawValue>>,
}

#[derive(Serialize)]
struct TargetOfUrl<'a> {
    url: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'a str>,
}

/// The body of a create.
pub(super) fn definition(words: &Create, read: ReadFile) -> Result<String, Failure> {
    if let Some(path) = &words.when.file {
        return named(document(path, read)?, &words.name);
    }
    let definition = Definition {
        name: &words.name,
        spec: spec(&words.when)?.unwrap_or_default(),
        time_zone: words.tz.as_deref(),
        job: JobOfUrl {
            target: TargetOfUrl {
                url: words.url.as_deref().unwrap_or_default(),
                method: words.method.as_deref(),
            },
            queue: words.queue.as_deref(),
            payload: words.data.as_deref().map(|data| payload(data, read)).transpose()?,
        },
        overlap: words.overlap.as_deref(),
        paused: words.paused.then_some(true),
    };
    spelt(&definition)
}

/// The body of an update.
pub(super) fn patch(words: &Update, read: ReadFile) -> Result<String, Failure> {
    if let Some(path) = &words.when.file {
        return spelt(&document(path, read)?);
    }
    let mut patch = serde_json::Map::new();
    if let Some(spec) = spec(&words.when)? {
        patch.insert("spec".to_owned(), spec);
    }
    for (key, value) in [("time_zone", &words.tz), ("overlap", &words.overlap)] {
        if let Some(value) = value {
            patch.insert(key.to_owned(), json!(value));
        }
    }
    spelt(&patch)
}

fn spec(when: &When) -> Result<Option<Value>, Failure> {
    if let Some(cron) = &when.cron {
        let seconds = when.seconds.then_some(true);
        return Ok(Some(match seconds {
            Some(seconds) => json!({"cron": cron, "seconds": seconds}),
            None => json!({"cron": cron}),
        }));
    }
    let Some(every) = &when.every else { return Ok(None) };
    let length = parse_duration(every).map_err(|e| Failure::Usage(format!("--every: {e}")))?;
    let ms = u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
    Ok(Some(json!({"every_ms": ms})))
}

/// JSON as it stands, or behind an `@` the file that has it.
fn payload(data: &str, read: ReadFile) -> Result<Box<RawValue>, Failure> {
    let text = match data.strip_prefix('@') {
        Some(path) => read(Path::new(path)).map_err(Failure::Usage)?,
        None => data.to_owned(),
    };
    serde_json::from_str(&text).map_err(|error| Failure::Usage(format!("--data: no JSON: {error}")))
}

fn document(path: &Path, read: ReadFile) -> Result<Document, Failure> {
    let text = read(path).map_err(Failure::Usage)?;
    serde_json::from_str(&text)
        .map_err(|error| Failure::Usage(format!("{}: not a JSON object: {error}", path.display())))
}

/// The document under this name; one that says another name was meant for something else.
fn named(mut document: Document, name: &str) -> Result<String, Failure> {
    let name = spelt(&name)?;
    let ours = RawValue::from_string(name).map_err(|e| Failure::Usage(e.to_string()))?;
    if let Some(theirs) = document.insert("name".to_owned(), ours.clone())
        && theirs.get() != ours.get()
    {
        let (theirs, ours) = (theirs.get(), ours.get());
        return Err(Failure::Usage(format!("the file names the schedule {theirs}, not {ours}")));
    }
    spelt(&document)
}

fn spelt(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(value).map_err(|error| Failure::Usage(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &Path) -> Result<String, String> {
        match path.to_str() {
            Some("d.json") => {
                Ok(r#"{"spec": {"cron": "@daily"}, "job": {"payload": 1.50}}"#.to_owned())
            }
            Some("other.json") => Ok(r#"{"name": "b"}"#.to_owned()),
            Some("p.json") => Ok("{ \"n\": 1e2 }".to_owned()),
            _ => Err("no such file".to_owned()),
        }
    }

    fn create(when: When) -> Create {
        Create {
            name: "a".to_owned(),
            url: Some("https://x.example/".to_owned()),
            when,
            tz: None,
            overlap: None,
            data: None,
            method: None,
            queue: None,
            paused: false,
        }
    }

    fn file(path: &str) -> When {
        When { file: Some(path.into()), ..When::default() }
    }

    #[test]
    fn flags_make_a_definition_with_nothing_that_was_not_said() {
        let cron = When { cron: Some("@daily".to_owned()), ..When::default() };
        assert_eq!(
            definition(&create(cron.clone()), read).unwrap(),
            r#"{"name":"a","spec":{"cron":"@daily"},"job":{"target":{"url":"https://x.example/"}}}"#
        );
        let mut all = create(When { seconds: true, ..cron });
        (all.tz, all.data) = (Some("UTC".to_owned()), Some("@p.json".to_owned()));
        (all.overlap, all.paused) = (Some("allow".to_owned()), true);
        assert_eq!(
            definition(&all, read).unwrap(),
            r#"{"name":"a","spec":{"cron":"@daily","seconds":true},"time_zone":"UTC","job":{"target":{"url":"https://x.example/"},"payload":{ "n": 1e2 }},"overlap":"allow","paused":true}"#
        );
        let every = When { every: Some("90s".to_owned()), ..When::default() };
        assert!(definition(&create(every), read).unwrap().contains(r#""every_ms":90000"#));
        let bare = When { every: Some("90".to_owned()), ..When::default() };
        assert!(definition(&create(bare), read).unwrap_err().to_string().contains("no unit"));
    }

    #[test]
    fn a_file_is_sent_as_it_was_written_under_the_name_that_was_said() {
        assert_eq!(
            definition(&create(file("d.json")), read).unwrap(),
            r#"{"job":{"payload": 1.50},"name":"a","spec":{"cron": "@daily"}}"#
        );
        let other = definition(&create(file("other.json")), read).unwrap_err();
        assert_eq!(other.to_string(), r#"the file names the schedule "b", not "a""#);
        assert!(definition(&create(file("none")), read).is_err());
    }

    #[test]
    fn a_patch_names_only_what_changes() {
        let words = |when, tz: Option<&str>| Update {
            which: "a".to_owned(),
            when,
            tz: tz.map(str::to_owned),
            overlap: None,
        };
        let zone = patch(&words(When::default(), Some("UTC")), read).unwrap();
        assert_eq!(zone, r#"{"time_zone":"UTC"}"#);
        let cron = When { cron: Some("0 3 * * *".to_owned()), ..When::default() };
        let cron = patch(&words(cron, None), read).unwrap();
        assert_eq!(cron, r#"{"spec":{"cron":"0 3 * * *"}}"#);
        let file = patch(&words(file("d.json"), None), read).unwrap();
        assert!(file.contains("1.50"), "{file}");
    }
}
