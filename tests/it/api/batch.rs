//! Many jobs in one request.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::api::{Api, Reply, job};

const PATH: &str = "/v1/jobs/batch";

async fn send(api: &Api, atomic: Option<bool>, jobs: Vec<Value>) -> Reply {
    let body = match atomic {
        Some(atomic) => json!({"atomic": atomic, "jobs": jobs}),
        None => json!({"jobs": jobs}),
    };
    api.as_team("acme").post(PATH, &body).await
}

async fn count(api: &Api) -> i64 {
    api.engine.db.ask("SELECT count(*) FROM jobs").await.get(0)
}

fn statuses(reply: &Reply) -> Vec<u64> {
    let results = reply.json["results"].as_array().unwrap();
    results.iter().map(|item| item["status"].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn a_thousand_jobs_are_made_in_their_order() {
    let api = Api::start().await;
    let jobs = (0..1_000).map(|n| job(json!({"name": n.to_string(), "payload": n}))).collect();
    let reply = send(&api, None, jobs).await;
    assert_eq!((reply.status, &reply.json["created"]), (200, &json!(1_000)), "{}", reply.text);
    assert_eq!(statuses(&reply), [201; 1_000]);
    let mut ids = BTreeSet::new();
    for (n, item) in reply.json["results"].as_array().unwrap().iter().enumerate() {
        assert_eq!(item["job"]["name"], n.to_string());
        assert_eq!(item["job"].get("payload"), None, "payloads are left out");
        ids.insert(item["job"]["id"].as_str().unwrap());
    }
    assert_eq!((ids.len(), count(&api).await), (1_000, 1_000));
    let one = ids.first().unwrap();
    let read = api.as_team("acme").job(one).await;
    assert_eq!(read["payload"].to_string(), read["name"].as_str().unwrap());
}

#[tokio::test]
async fn an_atomic_batch_is_made_whole_or_not_at_all() {
    let api = Api::start().await;
    let bad = job(json!({"priority": 10, "nam": 1}));
    let jobs = vec![job(Value::Null), bad, json!(5), job(Value::Null), json!({})];
    for atomic in [None, Some(true)] {
        let reply = send(&api, atomic, jobs.clone()).await;
        let expected = [
            ("#/jobs/1/nam", "unknown-field"),
            ("#/jobs/1/priority", "out-of-range"),
            ("#/jobs/2", "wrong-type"),
            ("#/jobs/4/target", "required"),
        ];
        let expected = expected.map(|(at, code)| (at.to_owned(), code.to_owned()));
        assert_eq!((reply.status, reply.faults()), (422, expected.to_vec()));
    }
    assert_eq!(count(&api).await, 0);
}

#[tokio::test]
async fn a_batch_that_is_not_atomic_answers_for_each_job() {
    let api = Api::start().await;
    let taken = api.as_team("acme").enqueue(json!({"unique_key": "k"})).await;
    let jobs = vec![
        job(Value::Null),
        job(json!({"priority": 10})),
        job(json!({"unique_key": "k"})),
        job(json!({"unique_key": "k", "on_duplicate": "reject"})),
        json!(null),
        job(json!({"payload": "x".repeat(300_000)})),
        job(json!({"name": "last"})),
    ];
    let reply = send(&api, Some(false), jobs).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert_eq!(statuses(&reply), [201, 422, 200, 409, 422, 422, 201]);
    let results = &reply.json["results"];
    assert_eq!(reply.json["created"], 2);
    assert_eq!(results[1]["errors"][0]["pointer"], "#/jobs/1/priority");
    assert_eq!(results[2]["job"]["id"], taken.as_str());
    assert_eq!(results[3]["existing_id"], taken.as_str());
    assert_eq!(results[4]["errors"][0]["pointer"], "#/jobs/4");
    assert_eq!(results[5]["errors"][0]["code"], "too-large");
    assert_eq!(results[6]["job"]["name"], "last");
    assert_eq!(count(&api).await, 3);
}

#[tokio::test]
async fn of_equal_unique_keys_within_a_batch_the_first_is_made() {
    let api = Api::start().await;
    let keyed = |name: &str, key: &str| job(json!({"name": name, "unique_key": key}));
    let jobs = vec![keyed("a", "k"), keyed("b", "k"), keyed("c", "l"), keyed("d", "k")];
    let reply = send(&api, None, jobs).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert_eq!(statuses(&reply), [201, 200, 201, 200]);
    let results = &reply.json["results"];
    for n in [1, 3] {
        assert_eq!(results[n]["job"]["id"], results[0]["job"]["id"]);
        assert_eq!(results[n]["job"]["name"], "a");
    }
    assert_eq!((&reply.json["created"], count(&api).await), (&json!(2), 2));
}

#[tokio::test]
async fn a_rejected_duplicate_refuses_an_atomic_batch() {
    let api = Api::start().await;
    let taken = api.as_team("acme").enqueue(json!({"unique_key": "k"})).await;
    let reject = job(json!({"unique_key": "k", "on_duplicate": "reject"}));
    let reply = send(&api, None, vec![job(Value::Null), reject]).await;
    assert_eq!((reply.status, reply.code()), (409, "duplicate-key"));
    assert_eq!(reply.json["existing_id"], taken.as_str());
    assert_eq!(count(&api).await, 1);
}

#[tokio::test]
async fn a_rejected_duplicate_within_an_atomic_batch_names_no_job_that_never_was() {
    let api = Api::start().await;
    let reject = job(json!({"unique_key": "k", "on_duplicate": "reject"}));
    let reply = send(&api, None, vec![reject.clone(), reject]).await;
    assert_eq!(reply.status, 422, "{}", reply.text);
    let expected = ("#/jobs/1/unique_key".to_owned(), "duplicate".to_owned());
    assert_eq!(reply.faults(), [expected]);
    assert_eq!(count(&api).await, 0);
}

#[tokio::test]
async fn a_batch_has_one_to_a_thousand_jobs() {
    let api = Api::start().await;
    let many: Vec<_> = (0..1_001).map(|_| job(Value::Null)).collect();
    for (body, at, code) in [
        (json!({}), "#/jobs", "out-of-range"),
        (json!({"jobs": []}), "#/jobs", "out-of-range"),
        (json!({"jobs": null}), "#/jobs", "out-of-range"),
        (json!({"jobs": {}}), "#/jobs", "out-of-range"),
        (json!({"jobs": many}), "#/jobs", "out-of-range"),
        (json!({"jobs": [job(Value::Null)], "atomic": "yes"}), "#/atomic", "wrong-type"),
        (json!({"jobs": [job(Value::Null)], "atomik": true}), "#/atomik", "unknown-field"),
    ] {
        let reply = api.as_team("acme").post(PATH, &body).await;
        let expected = vec![(at.to_owned(), code.to_owned())];
        assert_eq!((reply.status, reply.faults()), (422, expected), "{at}");
    }
    assert_eq!(count(&api).await, 0);
}

#[tokio::test]
async fn a_batch_that_is_too_large_is_a_413() {
    let api = Api::start().await;
    let body = format!(r#"{{"jobs":["{}"]}}"#, "x".repeat(16 * 1024 * 1024));
    let reply = api.as_team("acme").send(Method::POST, PATH, body).await;
    assert_eq!((reply.status, reply.code()), (413, "payload-too-large"));
}
