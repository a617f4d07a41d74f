//! `axle schedules`: the verbs, each one or two calls of the API. The documents of schedules pass
//! through as JSON; what they mean is the server's business.

mod documents;
pub mod explain;
pub mod show;
pub mod words;

use std::io::Read as _;
use std::path::Path;

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};

use super::told::{Failure, Told};
use crate::client::{Ask, Client, Error, Reply};
use crate::config::Remote;
use words::{Backfill, Create, Fires, List, Next, Pause, Resume, Schedules, Trigger, Update, Verb};

/// Does what was asked. `now` is for `explain` alone: what a server shows, it dates itself.
pub async fn run(words: &Schedules, now: DateTime<Utc>) -> Told {
    if let Verb::Explain(explain) = &words.verb {
        return explain::explain(explain, now, words.json).into();
    }
    Told::from(ask(words).await)
}

/// A client of the server that the environment names.
pub fn client() -> Result<Client, Failure> {
    let Remote { url, token } = Remote::load()?;
    Ok(Client::new(&url, token.map(|token| token.expose().to_owned()))?)
}

async fn ask(words: &Schedules) -> Result<String, Failure> {
    let verbs = Verbs { client: client()?, json: words.json };
    match &words.verb {
        // Needs no server; `run` has seen to it.
        Verb::Explain(_) => Ok(String::new()),
        Verb::Create(words) => verbs.create(words).await,
        Verb::List(words) => verbs.list(words).await,
        Verb::Get(one) => verbs.show(&Ask::get(path(&one.which, "")), show::schedule).await,
        Verb::Next(words) => verbs.next(words).await,
        Verb::Fires(words) => verbs.fires(words).await,
        Verb::Trigger(words) => verbs.trigger(words).await,
        Verb::Pause(words) => verbs.pause(words).await,
        Verb::Resume(words) => verbs.resume(words).await,
        Verb::Backfill(words) => verbs.backfill(words).await,
        Verb::Update(words) => verbs.update(words).await,
        Verb::Delete(one) => {
            verbs.client.call(&Ask::delete(path(&one.which, ""))).await?;
            Ok(if words.json { String::new() } else { format!("deleted {}", one.which) })
        }
    }
}

struct Verbs {
    client: Client,
    json: bool,
}

impl Verbs {
    async fn create(&self, words: &Create) -> Result<String, Failure> {
        let definition = documents::definition(words, read_file)?;
        self.show(&Ask::post(SCHEDULES, definition), show::schedule).await
    }

    /// One page, as long as was asked for.
    async fn list(&self, words: &List) -> Result<String, Failure> {
        let mut query = vec![("limit", words.limit.to_string())];
        query.extend(words.state.iter().map(|state| ("state", state.clone())));
        query.extend(words.name.iter().map(|name| ("name", name.clone())));
        self.show(&Ask::get(format!("{SCHEDULES}?{}", spelt(&query))), |page| {
            let more = !page.get("next_cursor").is_none_or(Value::is_null);
            let rest = if more { "\n(there are more; --limit shows up to 500)" } else { "" };
            format!("{}{rest}", show::schedules(rows(page)))
        })
        .await
    }

    /// The rule's own times, from the page of fires: it has them with calendars and clock changes.
    async fn next(&self, words: &Next) -> Result<String, Failure> {
        let query = spelt(&[("limit", "1".to_owned()), ("to", BEYOND.to_owned())]);
        let page =
            self.client.call(&Ask::get(path(&words.which, &format!("/fires?{query}")))).await?;
        let page = page.json()?;
        let slots = first_fires(page.get("expected"), words.count.into());
        Ok(if self.json { format!("{:#}", json!(slots)) } else { show::expected(&slots) })
    }

    async fn fires(&self, words: &Fires) -> Result<String, Failure> {
        let mut query = vec![("limit", words.limit.to_string())];
        query.extend(words.from.map(|at| ("from", utc(at))));
        query.extend(words.to.map(|at| ("to", utc(at))));
        let ask = Ask::get(path(&words.which, &format!("/fires?{}", spelt(&query))));
        self.show(&ask, |page| {
            let past = show::past(rows(page));
            match page.get("expected").and_then(Value::as_array) {
                Some(expected) if !expected.is_empty() => {
                    format!("{past}\n\nnext (local time, UTC):\n{}", show::expected(expected))
                }
                Some(_) | None => past,
            }
        })
        .await
    }

    async fn trigger(&self, words: &Trigger) -> Result<String, Failure> {
        let body = match &words.overlap {
            Some(overlap) => json!({"overlap": overlap}),
            None => json!({}),
        };
        self.act(&words.which, "trigger", &body, show::triggered).await
    }

    async fn pause(&self, words: &Pause) -> Result<String, Failure> {
        let body = json!({"reason": words.reason});
        self.act(&words.which, "pause", &body, show::schedule).await
    }

    async fn resume(&self, words: &Resume) -> Result<String, Failure> {
        let body = if words.catch_up { json!({"catch_up": true}) } else { json!({}) };
        self.act(&words.which, "resume", &body, show::schedule).await
    }

    async fn backfill(&self, words: &Backfill) -> Result<String, Failure> {
        let mut body =
            json!({"from": utc(words.from), "to": utc(words.to), "dry_run": words.dry_run});
        if let (Some(rate), Some(body)) = (words.max_per_second, body.as_object_mut()) {
            body.insert("max_per_second".to_owned(), rate.into());
        }
        self.act(&words.which, "backfill", &body, show::backfill).await
    }

    /// Changes the version that it has read: somebody's change in between is refused with 412, not
    /// overwritten.
    async fn update(&self, words: &Update) -> Result<String, Failure> {
        let patch = documents::patch(words, read_file)?;
        let path = path(&words.which, "");
        let Some(etag) = self.client.call(&Ask::get(path.as_str())).await?.etag else {
            return Err(Failure::Answer("it has no ETag".to_owned()));
        };
        self.show(&Ask::patch(path, patch, &etag), show::schedule).await
    }

    async fn act(
        &self,
        which: &str,
        verb: &str,
        body: &Value,
        view: impl Fn(&Value) -> String,
    ) -> Result<String, Failure> {
        self.show(&Ask::post(path(which, &format!("/{verb}")), body.to_string()), view).await
    }

    async fn show(&self, ask: &Ask, view: impl Fn(&Value) -> String) -> Result<String, Failure> {
        let Reply { text, .. } = self.client.call(ask).await.map(checked)??;
        if self.json {
            return Ok(text.trim_end().to_owned());
        }
        let value = serde_json::from_str(&text).map_err(|e| Failure::Answer(e.to_string()))?;
        Ok(view(&value))
    }
}

/// An answer with a body that is JSON; so `--json` never prints anything else.
fn checked(reply: Reply) -> Result<Reply, Error> {
    reply.json()?;
    Ok(reply)
}

/// Where the API keeps schedules.
pub const SCHEDULES: &str = "/v1/schedules";

/// Later than any fire.
const BEYOND: &str = "2200-01-01T00:00:00Z";

fn path(which: &str, rest: &str) -> String {
    format!("{SCHEDULES}/{which}{rest}")
}

/// A query of an address, percent-encoded.
fn spelt(query: &[(&str, String)]) -> String {
    let mut text = url::form_urlencoded::Serializer::new(String::new());
    text.extend_pairs(query);
    text.finish()
}

fn utc(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::AutoSi, true)
}

/// The rows of a page, whichever of its two names they have.
fn rows(page: &Value) -> &[Value] {
    let rows = page.get("data");
    rows.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// As many slots as hold `count` fires; those between them that the rule leaves out come along. Of
/// a paused schedule, what would fire.
fn first_fires(slots: Option<&Value>, count: usize) -> Vec<Value> {
    let slots = slots.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let by_rule = ["expected", "skipped_paused"];
    let fires = slots.iter().enumerate();
    let mut fires =
        fires.filter(|(_, slot)| by_rule.contains(&show::text(slot, "outcome").as_str()));
    let last = fires.nth(count.saturating_sub(1));
    slots.iter().take(last.map_or(slots.len(), |(at, _)| at + 1)).cloned().collect()
}

/// A file, or standard input for `-`.
pub fn read_file(path: &Path) -> Result<String, String> {
    let text = if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(path)
    };
    text.map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_slots_as_hold_the_fires_that_were_asked_for() {
        let slot = |outcome: &str| json!({"outcome": outcome});
        let slots =
            json!([slot("expected"), slot("skipped_gap"), slot("expected"), slot("expected")]);
        let count = |count| first_fires(Some(&slots), count).len();
        assert_eq!([count(1), count(2), count(3), count(9)], [1, 3, 4, 4]);
        assert!(first_fires(None, 3).is_empty());
    }

    #[test]
    fn queries_are_encoded() {
        let query = spelt(&[("from", "2026-01-01T00:00:00+02:00".to_owned())]);
        assert_eq!(query, "from=2026-01-01T00%3A00%3A00%2B02%3A00");
    }
}
