//! Secret headers of targets: sent, never shown, and of no use elsewhere.

use axle::domain::run::RunState;
use reqwest::Method;
use serde_json::{Value, json};

use super::text;
use crate::support::api::{Api, job};
use crate::support::program::eventually;
use crate::support::rig::{PATH, Rig};
use crate::support::target::PATIENCE;

const VALUE: &str = "Bearer sk-canary-7f3a";

fn target(rig: &Rig) -> Value {
    json!({"url": rig.target.url(PATH), "secret_headers": {"Authorization": VALUE, "X-Key": "k2"}})
}

/// Everything that the database says of a table, as text.
async fn dump(rig: &Rig, table: &str) -> String {
    let question = format!("SELECT coalesce(string_agg(t::text, ' '), '') FROM {table} t");
    rig.db.ask(&question).await.get(0)
}

#[tokio::test]
async fn b133_a_secret_header_is_sent_and_shown_nowhere() {
    let rig = Rig::new().await;
    let new = json!({"target": target(&rig), "delay_ms": 0});
    let (status, made) = rig.tell(Method::POST, "/v1/jobs", &new).await;
    assert_eq!(status, 201, "{made}");
    rig.pull().await;
    let call = rig.target.wait_calls(PATH, 1, PATIENCE).await[0].clone();
    assert_eq!(call.header("authorization"), Some(VALUE));
    assert_eq!(call.header("x-key"), Some("k2"));

    let id = text(&made["id"]);
    for path in ["/v1/jobs".to_owned(), format!("/v1/jobs/{id}"), format!("/v1/jobs/{id}/runs")] {
        let shown = rig.text(&path).await;
        assert!(!shown.contains("canary"), "{path}: {shown}");
    }
    assert!(!made.to_string().contains("canary"), "{made}");
    let stored = dump(&rig, "jobs").await;
    assert!(stored.contains("secret_headers") && !stored.contains("canary"), "{stored}");

    // Equal values look equal, different ones do not; another team's look different.
    let shown = text(&made["target"]["secret_headers"]["Authorization"]);
    assert!(shown.starts_with("secret:") && shown.len() == 19, "{shown}");
    assert_ne!(made["target"]["secret_headers"]["X-Key"], json!(shown));
    let (_, again) = rig.tell(Method::POST, "/v1/jobs", &new).await;
    assert_eq!(again["target"]["secret_headers"]["Authorization"], json!(shown));
}

#[tokio::test]
async fn a_masked_value_sent_back_keeps_the_stored_one() {
    let rig = Rig::new().await;
    let mut definition = json!({
        "spec": {"cron": "0 0 1 1 *"}, "job": {"target": target(&rig), "payload": {"v": 1}},
    });
    let path = "/v1/schedules/nightly";
    let (status, made) = rig.tell(Method::PUT, path, &definition).await;
    assert_eq!(status, 201, "{made}");
    let masked = made["job"]["target"]["secret_headers"].clone();
    assert!(!made.to_string().contains("canary"), "{made}");
    // The same once more, in the open or masked: nothing has changed.
    for headers in [definition["job"]["target"]["secret_headers"].clone(), masked.clone()] {
        definition["job"]["target"]["secret_headers"] = headers;
        let (status, same) = rig.tell(Method::PUT, path, &definition).await;
        assert_eq!((status, &same["version"]), (200, &json!(1)), "{same}");
    }
    // PUT and PATCH that change something else, or one of the two.
    definition["job"]["payload"] = json!({"v": 2});
    let (status, _) = rig.tell(Method::PUT, path, &definition).await;
    assert_eq!(status, 200);
    let patch = json!({"job": {"priority": 7, "target": {"secret_headers": {"X-Key": "k3"}}}});
    let (status, patched) = rig.tell(Method::PATCH, path, &patch).await;
    assert_eq!(status, 200, "{patched}");
    let shown = &patched["job"]["target"]["secret_headers"];
    assert_eq!(shown["Authorization"], masked["Authorization"]);
    assert_ne!(shown["X-Key"], masked["X-Key"]);
    assert_eq!(rig.tell(Method::POST, &format!("{path}/trigger"), &json!({})).await.0, 201);
    rig.pull().await;
    let call = rig.target.wait_calls(PATH, 1, PATIENCE).await[0].clone();
    assert_eq!((call.header("authorization"), call.header("x-key")), (Some(VALUE), Some("k3")));
    // Null takes one away.
    let patch = json!({"job": {"target": {"secret_headers": {"X-Key": null}}}});
    let (_, patched) = rig.tell(Method::PATCH, path, &patch).await;
    assert_eq!(patched["job"]["target"]["secret_headers"].as_object().unwrap().len(), 1);
}

#[tokio::test]
async fn a_stored_secret_goes_nowhere_else() {
    let rig = Rig::new().await;
    let definition = json!({"spec": {"cron": "0 0 1 1 *"}, "job": {"target": target(&rig)}});
    let path = "/v1/schedules/nightly";
    let (_, made) = rig.tell(Method::PUT, path, &definition).await;
    let masked = made["job"]["target"]["secret_headers"].clone();
    let at = "#/job/target/secret_headers/Authorization";
    let refused = async |method: Method, body: Value| {
        let (status, reply) = rig.tell(method, path, &body).await;
        assert_eq!(status, 422, "{reply}");
        let errors = reply["errors"].as_array().unwrap();
        assert!(
            errors.iter().any(|e| e["pointer"] == at && e["code"] == "unknown-secret"),
            "{reply}"
        );
    };
    // Whoever may write a schedule cannot read its secrets by pointing it at a place of their own.
    for url in ["http://127.0.0.2:9/", "https://127.0.0.1:9/", "http://127.0.0.1:9/work"] {
        refused(Method::PATCH, json!({"job": {"target": {"url": url}}})).await;
    }
    // Another path of the same place is no other place.
    let patch = json!({"job": {"target": {"url": format!("{}?x=1", rig.target.url(PATH))}}});
    assert_eq!(rig.tell(Method::PATCH, path, &patch).await.0, 200);
    // What is shown of one header is no value for another, nor for a job.
    let target = json!({"secret_headers": {"Authorization": masked["X-Key"]}});
    refused(Method::PATCH, json!({"job": {"target": target}})).await;
    let job = json!({"target": {"url": rig.target.url(PATH), "secret_headers": masked}});
    let (status, reply) = rig.tell(Method::POST, "/v1/jobs", &job).await;
    assert_eq!((status, &reply["errors"][0]["code"]), (422, &json!("unknown-secret")));
}

#[tokio::test]
async fn a_row_that_was_moved_or_altered_does_not_open() {
    // To another team, to another place, to another header, with a byte changed.
    let moves = [
        "UPDATE live SET team = 'rival'",
        "UPDATE jobs SET spec = replace(spec::text, '127.0.0.1', 'localhost')::json",
        "UPDATE jobs SET spec = replace(spec::text, '\"Authorization\"', '\"X-Leak\"')::json",
        "UPDATE jobs SET spec = regexp_replace(spec::text, '(\"sealed\":\"[0-9a-f]+.)....', '\\1AAAA')::json",
        "UPDATE jobs SET spec = regexp_replace(spec::text, '\"sealed\":\"[0-9a-f]+', '\"sealed\":\"00000000')::json",
        "UPDATE jobs SET spec = regexp_replace(spec::text, '\"sealed\":\"[^\"]*', '\"sealed\":\"')::json",
    ];
    for change in moves {
        let rig = Rig::new().await;
        let mut target = target(&rig);
        target["secret_headers"] = json!({"Authorization": VALUE});
        let (_, made) = rig.tell(Method::POST, "/v1/jobs", &json!({"target": target})).await;
        rig.db.execute(change).await;
        rig.pull().await;
        let id = text(&made["id"]).parse::<axle::domain::id::JobId>().unwrap();
        let failed = eventually("the call fails", PATIENCE, async || {
            let found =
                rig.db.ask("SELECT count(*), max(error_class), max(error_message) FROM runs").await;
            (found.get::<_, i64>(0) == 1)
                .then(|| (found.get::<_, String>(1), found.get::<_, String>(2)))
        });
        let (class, message) = failed.await;
        assert_eq!(class, "secret", "{change}: {message}");
        assert!(message.contains("cannot be sent") && !message.contains("canary"), "{message}");
        assert_eq!(rig.target.calls(PATH).len(), 0, "{change}: {id}");
    }
}

#[tokio::test]
async fn secret_headers_obey_the_rules_of_headers_and_faults_do_not_repeat_them() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let many: serde_json::Map<_, _> = (0..65).map(|n| (format!("x-{n}"), json!("v"))).collect();
    for (headers, pointer) in [
        (json!({"webhook-id": "canary"}), "/webhook-id"),
        (json!({"Axle-Fence": "canary"}), "/Axle-Fence"),
        (json!({"hOsT": "canary"}), "/hOsT"),
        (json!({"X-A": "canary\r\nX-Injected: 1"}), "/X-A"),
        (json!({"X-A": ["canary"]}), "/X-A"),
        (json!({"X-A": 7_770_123}), "/X-A"),
        (json!({"X-A": "a", "x-a": "canary"}), "/x-a"),
        (json!({"X-Both": "canary"}), "/X-Both"),
        (json!("canary"), ""),
        (json!([{"canary": "canary"}]), ""),
    ] {
        let target = json!({"url": "http://127.0.0.1:9/", "headers": {"x-both": "1"}, "secret_headers": headers});
        let reply = acme.post("/v1/jobs", &job(json!({ "target": target }))).await;
        assert_eq!(reply.status, 422, "{}", reply.text);
        let at = format!("#/target/secret_headers{pointer}");
        assert!(reply.faults().iter().any(|(pointer, _)| *pointer == at), "{at}: {}", reply.text);
        assert!(!reply.text.contains("canary") && !reply.text.contains("777"), "{}", reply.text);
    }
    let target = json!({"url": "http://127.0.0.1:9/", "secret_headers": many});
    let reply = acme.post("/v1/jobs", &job(json!({ "target": target }))).await;
    assert_eq!(reply.faults(), [("#/target/secret_headers".to_owned(), "too-many".to_owned())]);
}

#[tokio::test]
async fn a_rerun_sends_the_same_secret() {
    let rig = Rig::new().await;
    let (_, made) = rig.tell(Method::POST, "/v1/jobs", &json!({"target": target(&rig)})).await;
    rig.pull().await;
    let run = format!("run_{}_1", text(&made["id"]).trim_start_matches("job_")).parse().unwrap();
    rig.wait_run(run, &[RunState::Success]).await;
    let (status, again) =
        rig.ask(Method::POST, &format!("/v1/jobs/{}/rerun", text(&made["id"]))).await;
    assert_eq!(status, 201, "{again}");
    rig.pull().await;
    let calls = rig.target.wait_calls(PATH, 2, PATIENCE).await;
    assert_eq!(calls[1].header("authorization"), Some(VALUE));
}
