//! Queues: described, paused with a reason, resumed.

use serde_json::{Value, json};

use crate::support::api::Api;

const MAIL: &str = "/v1/queues/mail";

#[tokio::test]
async fn a_queue_that_nobody_has_changed_has_the_defaults() {
    let api = Api::start().await;
    let queue = api.as_team("acme").get(MAIL).await;
    assert_eq!(queue.status, 200);
    let expected = json!({
        "name": "mail", "paused": false, "pause_reason": null, "description": null, "version": 0,
        "updated_at": null,
    });
    assert_eq!(queue.json, expected);
}

#[tokio::test]
async fn describing_and_pausing_leave_each_other_alone() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let described = acme.put(MAIL, &json!({"description": "for mail ✉"})).await.json;
    assert_eq!(
        (&described["description"], &described["version"]),
        (&json!("for mail ✉"), &json!(1))
    );
    let paused = acme.post(&format!("{MAIL}/pause"), &json!({"reason": "provider is down"})).await;
    assert_eq!(paused.json["paused"], true);
    assert_eq!(paused.json["pause_reason"], "provider is down");
    assert_eq!(paused.json["description"], "for mail ✉");
    let described = acme.put(MAIL, &json!({})).await.json;
    assert_eq!((&described["paused"], &described["description"]), (&json!(true), &Value::Null));
    let again = acme.post(&format!("{MAIL}/pause"), &json!({"reason": "still"})).await.json;
    assert_eq!((&again["paused"], &again["pause_reason"]), (&json!(true), &json!("still")));
    let resumed = acme.act(&format!("{MAIL}/resume")).await.json;
    assert_eq!((&resumed["paused"], &resumed["pause_reason"]), (&json!(false), &Value::Null));
    assert_eq!(resumed["version"], 5);
    assert_eq!(acme.get(MAIL).await.json, resumed);
}

#[tokio::test]
async fn a_paused_queue_takes_jobs() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    acme.post(&format!("{MAIL}/pause"), &json!({"reason": "maintenance"})).await;
    assert_eq!(acme.create(json!({"queue": "mail"})).await["state"], "PENDING");
}

#[tokio::test]
async fn a_pause_needs_a_reason_and_texts_have_a_limit() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let long = "x".repeat(1_001);
    for (body, code) in [
        (json!({}), "required"),
        (json!({"reason": null}), "required"),
        (json!({"reason": " \n"}), "required"),
        (json!({"reason": 5}), "wrong-type"),
        (json!({"reason": long}), "out-of-range"),
        (json!({"reason": "a\u{0}b"}), "out-of-range"),
    ] {
        let reply = acme.post(&format!("{MAIL}/pause"), &body).await;
        assert_eq!(reply.status, 422, "{body}");
        assert_eq!(reply.faults(), [("#/reason".to_owned(), code.to_owned())], "{body}");
    }
    let reply = acme.put(MAIL, &json!({"description": long, "size": 1})).await;
    let expected = [("#/description", "out-of-range"), ("#/size", "unknown-field")];
    assert_eq!(reply.faults(), expected.map(|(at, code)| (at.to_owned(), code.to_owned())));
    assert_eq!(acme.put(MAIL, &json!({"description": "x".repeat(1_000)})).await.status, 200);
}

#[tokio::test]
async fn what_is_no_name_of_a_queue_is_a_422() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let long = "q".repeat(64);
    for name in ["A", "-a", "a%20b", "%C3%A4", "a%00", "%ff", "a%2Fb", &long] {
        let path = format!("/v1/queues/{name}");
        for reply in [
            acme.get(&path).await,
            acme.put(&path, &json!({})).await,
            acme.post(&format!("{path}/pause"), &json!({"reason": "x"})).await,
            acme.act(&format!("{path}/resume")).await,
        ] {
            let expected = ("#/path/name".to_owned(), "out-of-range".to_owned());
            assert_eq!((reply.status, reply.faults()), (422, vec![expected]), "{name}");
        }
    }
}
