//! Every operation answers as the document says. The client compares each answer with its schema;
//! here every operation is called, so that none is left out.

use axle::domain::run::{Response, RunError};
use axle::domain::verdict::Outcome;
use axle::engine::settle::Report;
use serde_json::json;

use super::recipes::{able, call, prepare, recipe};
use crate::support::api::{Api, Caller};
use crate::support::contract::{Operation, operations};
use crate::support::engine::FAILED;

#[tokio::test]
async fn every_operation_answers_as_documented() {
    let api = Api::start().await;
    for operation in operations() {
        let path = prepare(&api, &operation).await;
        let recipe = recipe(&operation);
        let reply = call(&able(&api, "acme", &recipe), &operation, &path).await;
        assert_eq!(reply.status, recipe.status, "{}: {}", operation.id, reply.text);
        let described = operation.spec["responses"][reply.status.to_string()]["headers"].clone();
        for header in described.as_object().into_iter().flat_map(|all| all.keys()) {
            // The next page's link, and the mark of a duplicate, are not always there.
            let is_there = reply.header(header).is_some();
            assert!(is_there || header == "Link", "{} answers without {header}", operation.id);
        }
    }
}

#[tokio::test]
async fn every_operation_with_a_body_refuses_what_is_none() {
    let api = Api::start().await;
    let acme = api.as_team("acme").header("if-match", "*");
    for operation in operations().into_iter().filter(Operation::has_body) {
        let path = prepare(&api, &operation).await;
        let ask = async |caller: &Caller<'_>, body: &'static str| {
            let reply = caller.send(operation.method.clone(), &path, body).await;
            (reply.status, reply.code().to_owned())
        };
        let problem = |status, code: &str| (status, code.to_owned());
        assert_eq!(ask(&acme, "{").await, problem(400, "invalid-json"), "{}", operation.id);
        assert_eq!(ask(&acme, "[]").await, problem(422, "validation-failed"), "{}", operation.id);
        let text = acme.clone().header("content-type", "text/plain");
        let refused = problem(415, "unsupported-media-type");
        assert_eq!(ask(&text, "{}").await, refused, "{}", operation.id);
    }
}

#[tokio::test]
async fn a_job_answers_as_documented_in_every_state() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let id = acme.enqueue(json!({"retry": {"max_retries": 1, "base_ms": 0}})).await;
    let mut states = vec![acme.job(&id).await["state"].clone()];
    for outcome in [FAILED, Outcome::Succeeded] {
        let run = api.claim(&id).await;
        states.push(acme.job(&id).await["state"].clone());
        assert_eq!(acme.get(&format!("/v1/runs/{run}")).await.json["state"], "DISPATCHING");
        let error = (outcome != Outcome::Succeeded).then(|| RunError::new("http_status", "no"));
        let response = Response {
            headers: [("content-type".to_owned(), "text/plain".to_owned())].into(),
            body: bytes::Bytes::from_static(b"\xff\x00"),
            truncated: true,
        };
        let report = Report {
            http_status: Some(500),
            response: Some(response),
            sent_at: Some(api.engine.clock.now()),
            result: Some(bytes::Bytes::from_static(b"[1]")),
            ..Report::bare(outcome, error)
        };
        api.report(run, report).await;
        states.push(acme.job(&id).await["state"].clone());
        let run = acme.get(&format!("/v1/runs/{run}")).await.json;
        assert_eq!(run["response"]["body_base64"], "/wA=");
        assert_eq!(acme.get("/v1/jobs").await.json["data"][0]["id"], id.as_str());
    }
    assert_eq!(states, ["PENDING", "RUNNING", "RETRY_WAIT", "RUNNING", "SUCCESS"]);
    assert_eq!(acme.job(&id).await["result"], json!([1]));
    let runs = acme.get(&format!("/v1/jobs/{id}/runs")).await.json;
    assert_eq!(runs["data"].as_array().unwrap().len(), 2);
    assert_eq!(acme.get(&format!("/v1/jobs/{id}/events")).await.status, 200);
}
