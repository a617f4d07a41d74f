//! What belongs to another team is not there: the answer is the same as for what never was, in its
//! words and in its time.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::api::recipes::{call, prepare, recipe};
use crate::support::api::{Api, Caller, Reply};
use crate::support::contract::operations;

/// The same path with ids that nobody has. What they say of their time stays: an old one may have been
/// somebody's and is not kept any more.
fn of_nobody(path: &str) -> String {
    let altered = |part: &str| -> String {
        const IDS: [&str; 6] = ["job_", "run_", "sch_", "key_", "usr_", "sgn_"];
        let is_id = IDS.iter().any(|prefix| part.starts_with(prefix));
        if part == "acme" {
            return "nobodys".to_owned();
        }
        let place = if part.len() < 20 { 6..10 } else { 18..22 };
        let digits = part.chars().enumerate();
        digits.map(|(at, c)| if is_id && place.contains(&at) { '0' } else { c }).collect()
    };
    path.split('/').map(altered).collect::<Vec<_>>().join("/")
}

/// All that tells one answer from another, but for what the caller brought itself.
fn essence(reply: &Reply) -> (u16, Vec<String>, Value) {
    let mut body = reply.json.clone();
    let fields = body.as_object_mut().unwrap();
    fields.remove("request_id");
    fields.remove("instance");
    let mut names: Vec<_> = reply.headers.keys().map(ToString::to_string).collect();
    names.sort();
    (reply.status, names, body)
}

#[tokio::test]
async fn a_foreign_id_is_answered_as_an_id_of_nothing() {
    let api = Api::start().await;
    let rival = api.as_team("rival");
    let mut walked = 0;
    for operation in operations() {
        let by_name = recipe(&operation).subject.is_by_name();
        if operation.path_parameters().is_empty() || by_name || !operation.is_secured() {
            continue;
        }
        let foreign = prepare(&api, &operation).await;
        let nothing = of_nobody(&foreign);
        assert_ne!(foreign, nothing, "{}", operation.id);
        let theirs = call(&rival, &operation, &foreign).await;
        let nobodys = call(&rival, &operation, &nothing).await;
        assert_eq!(essence(&theirs), essence(&nobodys), "{}", operation.id);
        walked += 1;
    }
    assert!(walked >= 8, "the document has lost its operations on jobs and runs");
}

async fn timed(caller: &Caller<'_>, path: &str) -> Duration {
    let asked = Instant::now();
    assert_eq!(caller.get(path).await.status, 404, "{path}");
    asked.elapsed()
}

/// A smoke test: a query that is made only for what exists would show as another round trip.
#[tokio::test]
async fn a_foreign_id_takes_as_long_as_an_id_of_nothing() {
    const ROUNDS: usize = 100;
    let api = Api::start().await;
    let rival = api.as_team("rival");
    let id = api.as_team("acme").enqueue(json!({"delay_ms": 60_000})).await;
    let foreign = format!("/v1/jobs/{id}");
    let nothing = of_nobody(&foreign);
    let (mut theirs, mut nobodys) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        theirs.push(timed(&rival, &foreign).await);
        nobodys.push(timed(&rival, &nothing).await);
    }
    theirs.sort();
    nobodys.sort();
    let (theirs, nobodys) = (theirs[ROUNDS / 2], nobodys[ROUNDS / 2]);
    println!("medians: foreign {theirs:?}, nothing {nobodys:?}");
    let (less, more) = (theirs.min(nobodys), theirs.max(nobodys));
    assert!(more < less * 2 + Duration::from_millis(2), "foreign {theirs:?}, nothing {nobodys:?}");
}
