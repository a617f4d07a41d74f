//! `axle targets`: which targets the server holds calls back from. One call of the API; what its words
//! mean is the server's business.

use clap::{Args, Subcommand};
use serde_json::Value;

use super::schedules::client;
use super::schedules::show::{head, table, text};
use super::told::{Failure, Told};
use crate::client::Ask;

/// `axle targets`.
#[derive(Args, Debug)]
pub struct Targets {
    /// Print JSON, for programs
    #[arg(long, global = true)]
    pub json: bool,
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// What to do with targets.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// List the targets that calls are held back from, by name; one that is well is not among them
    List(List),
}

/// `axle targets list`.
#[derive(Args, Debug)]
pub struct List {
    /// How many, 1 to 500
    #[arg(long, value_name = "COUNT", default_value_t = 50,
          value_parser = clap::value_parser!(u16).range(1..=500))]
    pub limit: u16,
}

/// Does what was asked.
pub async fn run(words: &Targets) -> Told {
    Told::from(list(words).await)
}

async fn list(words: &Targets) -> Result<String, Failure> {
    let Verb::List(List { limit }) = words.verb;
    let reply = client()?.call(&Ask::get(format!("/v1/targets?limit={limit}"))).await?;
    let page = reply.json()?;
    Ok(if words.json { reply.text.trim_end().to_owned() } else { show(&page) })
}

/// A line for each target and puller.
fn show(page: &Value) -> String {
    let targets = members(page, "data");
    if targets.is_empty() {
        return "no target is held back".to_owned();
    }
    let mut rows =
        vec![head(&["TARGET", "STATE", "SINCE", "NEXT PROBE", "CALLS", "PULLER", "LAST ERROR"])];
    for target in targets {
        for one in members(target, "pullers") {
            let or_none = |text: String| if text.is_empty() { "-".to_owned() } else { text };
            let error = one.get("last_error").unwrap_or(&Value::Null);
            rows.push(vec![
                text(target, "target"),
                text(one, "state"),
                text(one, "since"),
                or_none(text(one, "next_probe_at")),
                format!("{} of {}", text(one, "in_flight"), text(one, "ceiling")),
                text(one, "puller"),
                or_none(text(error, "message")),
            ]);
        }
    }
    let is_last = page.get("next_cursor").is_none_or(Value::is_null);
    let rest = if is_last { "" } else { "\n(there are more; --limit shows up to 500)" };
    format!("{}{rest}", table(&rows))
}

fn members<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_tells_of_one_puller_and_what_is_unknown_is_left_out() {
        assert_eq!(show(&json!({"data": [], "next_cursor": null})), "no target is held back");
        let page = json!({"next_cursor": "x", "data": [{"target": "h:443", "state": "open", "pullers": [
            {"puller": "p", "state": "open", "since": "S", "next_probe_at": "N", "in_flight": 0,
             "ceiling": 12, "last_error": {"class": "connect", "message": "refused"}},
            {"puller": "q", "state": "closed", "since": "S", "in_flight": 12, "ceiling": 12},
        ]}]});
        let shown = show(&page);
        let lines: Vec<_> = shown.lines().collect();
        assert_eq!(lines[1].split_whitespace().last(), Some("refused"), "{shown}");
        assert!(lines[2].contains("12 of 12") && lines[2].ends_with('-'), "{shown}");
        assert!(lines[3].contains("there are more"), "{shown}");
    }
}
