//! Why a captured call does not verify: `POST /v1/signing/verify` and `axle verify`.

use std::sync::Arc;
use std::time::Duration;

use axle::domain::principal::Role;
use axle::engine::signing;
use reqwest::Method;
use serde_json::{Value, json};

use super::{make, rotate, text};
use crate::support::engine::{With, principal};
use crate::support::program::axle;
use crate::support::rig::{PATH, Rig};
use crate::support::target::{Call, PATIENCE};

const PAYLOAD: &str = r#"{"order": 42, "note": "é"}"#;

/// A signed call, captured.
async fn captured(rig: &Rig) -> Arc<Call> {
    let n = rig.target.calls(PATH).len();
    rig.run(rig.job().with(|new| new.payload = PAYLOAD.into())).await;
    rig.target.wait_calls(PATH, n + 1, PATIENCE).await[n].clone()
}

/// What the API says of a call, with its body or another one.
async fn ask(
    rig: &Rig,
    call: &Call,
    change: impl FnOnce(&mut Value),
) -> (bool, Vec<String>, Value) {
    let body = String::from_utf8(call.body.to_vec()).unwrap();
    let mut request = json!({"headers": call.headers, "body": body});
    change(&mut request);
    let (status, found) = rig.tell(Method::POST, "/v1/signing/verify", &request).await;
    assert_eq!(status, 200, "{found}");
    let reasons = found["reasons"].as_array().unwrap().iter().map(|r| text(&r["code"]));
    (found["verified"] == true, reasons.collect(), found["signed_by"].clone())
}

#[tokio::test]
async fn the_api_says_why() {
    let rig = Rig::new().await;
    make(&rig, Value::Null).await;
    let call = captured(&rig).await;
    let (verified, reasons, by) = ask(&rig, &call, |_| {}).await;
    assert!(verified && reasons.is_empty() && by.is_string(), "{reasons:?} {by}");
    let set = |name: &'static str, value: &'static str| {
        move |request: &mut Value| request["headers"][name] = json!(value)
    };
    let why = async |change: Box<dyn FnOnce(&mut Value)>| ask(&rig, &call, change).await.1;
    let body = |text: &'static str| Box::new(move |r: &mut Value| r["body"] = json!(text));
    assert_eq!(why(body(r#"{"order":42,"note":"é"}"#)).await, ["reserialized-body"]);
    assert_eq!(why(body(r#"{"note":"\u00e9","order":42.0e0}"#)).await, ["changed-body"]);
    assert_eq!(why(body(r#"{"note":"é", "order":42}"#)).await, ["reserialized-body"]);
    assert_eq!(why(body(r#"{"order": 43, "note": "é"}"#)).await, ["changed-body"]);
    assert_eq!(why(body("{\"order\": 42, \"note\": \"é\"}\n")).await, ["reserialized-body"]);
    assert_eq!(why(Box::new(set("axle-fence", "2"))).await, ["changed-run-headers"]);
    assert_eq!(why(Box::new(set("webhook-timestamp", "NaN"))).await, ["malformed-header"]);
    assert_eq!(why(Box::new(set("webhook-timestamp", "1796004001"))).await, ["wrong-secret"]);
    let bare = Box::new(|r: &mut Value| r["headers"] = json!({}));
    assert_eq!(why(bare).await, ["missing-header"; 3]);

    rig.pass(Duration::from_secs(301));
    assert_eq!(ask(&rig, &call, |_| {}).await.1, ["stale-time"]);
    let patient = |r: &mut Value| r["tolerance_ms"] = json!(3_600_000);
    assert!(ask(&rig, &call, patient).await.0);
    rig.pass(Duration::from_hours(2));
    rotate(&rig, 0).await;
    assert_eq!(ask(&rig, &call, |_| {}).await.1, ["stale-time", "ended-secret"]);
}

#[tokio::test]
async fn another_team_s_call_is_told_apart_and_nothing_of_it_is_told() {
    let rig = Rig::new().await;
    make(&rig, Value::Null).await;
    let call = captured(&rig).await;
    let rival = principal("rival", Role::Viewer);
    let headers: Vec<_> = call.headers.clone().into_iter().collect();
    let judged = signing::judge(&rig, &rival, (&headers, &call.body), 300).await.unwrap();
    let codes: Vec<_> = judged.reasons.iter().map(|(code, _)| *code).collect();
    assert_eq!(codes, ["no-match", "unknown-job", "no-secret"]);
    assert_eq!(judged.by, None);
}

#[tokio::test]
async fn another_queue_s_secret_is_told_apart() {
    let rig = Rig::new().await;
    let billing = make(&rig, json!("billing")).await;
    make(&rig, Value::Null).await;
    let call = captured(&rig).await;
    let stamp = call.header("webhook-timestamp").unwrap().parse().unwrap();
    let webhook = standardwebhooks::Webhook::new(&billing).unwrap();
    let forged = webhook.sign(call.job_id(), stamp, &call.body).unwrap();
    let change = |request: &mut Value| request["headers"]["webhook-signature"] = json!(forged);
    assert_eq!(ask(&rig, &call, change).await.1, ["other-queue"]);
}

#[tokio::test]
async fn what_is_no_captured_call_is_refused() {
    let rig = Rig::new().await;
    for (request, pointer) in [
        (json!({}), "#/headers"),
        (json!({"headers": []}), "#/headers"),
        (json!({"headers": {"a": 1}}), "#/headers/a"),
        (json!({"headers": {}, "body": {}}), "#/body"),
        (json!({"headers": {}, "body": "", "body_base64": ""}), "#/body_base64"),
        (json!({"headers": {}, "body_base64": "%"}), "#/body_base64"),
        (json!({"headers": {}, "tolerance_ms": 0}), "#/tolerance_ms"),
        (json!({"headers": {}, "secret": "x"}), "#/secret"),
    ] {
        let (status, reply) = rig.tell(Method::POST, "/v1/signing/verify", &request).await;
        assert_eq!((status, &reply["errors"][0]["pointer"]), (422, &json!(pointer)), "{reply}");
    }
}

#[tokio::test]
async fn the_command_says_why() {
    let rig = Rig::new().await;
    let secret = make(&rig, Value::Null).await;
    let call = captured(&rig).await;
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let good = write("good", &[call.head.as_ref(), &call.body].concat());
    let altered =
        write("altered", &[call.head.as_ref(), r#"{"order":42,"note":"é"}"#.as_bytes()].concat());
    let secrets = write("secrets", format!("whsec_{}\n\n{secret}\n", "A".repeat(32)).as_bytes());
    let other = format!("whsec_{}", "A".repeat(32));
    let now = "2026-11-30T02:00:00Z";
    for (args, code, words) in [
        (vec!["--secret", &secret, "--file", &good, "--at", now], 0, "verified"),
        (
            vec!["--secret-file", &secrets, "--file", &good, "--at", now],
            0,
            "verified with secret 2",
        ),
        (vec!["--secret", &secret, "--file", &altered, "--at", now], 1, "reserialized-body"),
        (vec!["--secret", &other, "--file", &good, "--at", now], 1, "no-match"),
        (
            vec!["--secret", &secret, "--file", &good, "--at", "2026-11-30T02:05:01Z"],
            1,
            "stale-time",
        ),
        (
            vec!["--secret", &secret, "--file", &good, "--at", "2026-11-30T01:58:00Z"],
            1,
            "future-time",
        ),
        (vec!["--secret", "whsec_x", "--file", &good], 2, "a signing secret is"),
        (vec!["--secret", &secret, "--file", &secrets], 2, "no captured request"),
        (vec!["--file", &good], 2, "--secret"),
    ] {
        let ended = axle(&[&["verify"][..], &args].concat(), &[]).await;
        assert_eq!(ended.code, Some(code), "{args:?}: {ended:?}");
        let said = if code == 0 { &ended.out } else { &ended.err };
        assert!(said.contains(words), "{args:?}: {ended:?}");
        assert!(!ended.err.contains(&secret), "{ended:?}");
    }
}
