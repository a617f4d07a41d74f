//! What a target receives (conventions 2.6).

use axle::domain::run::Run;
use axle::domain::state::State;
use bytes::Bytes;
use chrono::{SecondsFormat, TimeDelta};

use crate::support::engine::With;
use crate::support::rig::{PATH, Rig};
use crate::support::target::{Call, PATIENCE, Script, ok, status};

#[tokio::test]
async fn b092_a_retry_keeps_the_job_s_id_and_has_a_run_id_fence_and_number_of_its_own() {
    let rig = Rig::new().await;
    rig.target.script(PATH, Script::new().then(status(500)).then(ok()));
    let first = rig.run(rig.job()).await;
    let second = rig.next_run(first.id.job).await;
    let second = rig.ended(second).await;
    let job = rig.wait_state(first.id.job, State::Success).await;
    assert_eq!((job.standing.attempt, job.standing.failures), (2, 0));

    assert_eq!(rig.target.calls(PATH).len(), 2);
    let [call_1, call_2] = [&first, &second].map(|run| rig.call_of(run.id));
    assert_ours(&call_1, &first, "1");
    assert_ours(&call_2, &second, "2");
    assert_eq!(call_1.header("axle-previous-status"), None);
    assert_eq!(call_1.header("axle-previous-error"), None);
    assert_eq!(call_2.header("axle-previous-status"), Some("500"));
    assert_eq!(call_2.header("axle-previous-error"), Some("the target answered 500"));
}

/// The headers that every call has.
fn assert_ours(call: &Call, run: &Run, nth: &str) {
    let job = run.id.job.to_string();
    let sent_at = run.sent_at.unwrap();
    let at = sent_at.timestamp().to_string();
    let deadline = sent_at + TimeDelta::seconds(30);
    let deadline = deadline.to_rfc3339_opts(SecondsFormat::Micros, true);
    let expected = [
        ("webhook-id", job.as_str()),
        ("webhook-timestamp", at.as_str()),
        ("axle-job-id", job.as_str()),
        ("axle-attempt", nth),
        ("axle-max-attempts", "4"),
        ("axle-fence", nth),
        ("axle-due-at", "2026-11-30T02:00:00.000000Z"),
        ("axle-deadline", deadline.as_str()),
        ("content-type", "application/json"),
        ("accept", "*/*"),
    ];
    for (name, value) in expected {
        assert_eq!(call.header(name), Some(value), "{name}");
    }
    let agent = call.header("user-agent").unwrap();
    assert!(agent.starts_with("Axle/") && agent.contains("(+http://"), "{agent}");
    assert!(call.callback_url().contains(&format!("/v1/runs/{}/callback?token=", run.id)));
    // A target behind middleware of that kind would replay its first answer to every retry.
    assert_eq!(call.header("idempotency-key"), None);
    // What is not asked for cannot be inflated.
    assert_eq!(call.header("accept-encoding"), None);
}

#[tokio::test]
async fn payload_content_type_and_headers_arrive_as_they_were_given() {
    let rig = Rig::new().await;
    let json = r#"{ "z":1, "a":123456789012345678901234567890.10, "a":"\u0000", "é":"😀" }"#;
    let binary: Vec<u8> = (0..=255).cycle().take(256 * 1024).collect();
    let cases = [
        ("application/json", Bytes::from_static(json.as_bytes())),
        ("application/cloudevents+json; charset=utf-8", Bytes::from_static(b"{}")),
        ("application/octet-stream", Bytes::from(binary)),
    ];
    for (n, (content_type, payload)) in cases.into_iter().enumerate() {
        let new = rig.job().with(|new| {
            new.spec.content_type = content_type.to_owned();
            new.payload = payload.clone();
            let headers = [("X-Shop", "7"), ("Authorization", "Bearer s3cr3t"), ("x-shop", "8")];
            new.spec.target.headers = headers.map(|(k, v)| (k.to_owned(), v.to_owned())).into();
        });
        rig.run(new).await;
        let call = &rig.target.calls(PATH)[n];
        assert_eq!(call.body, payload, "{content_type}");
        assert_eq!(call.header("content-type"), Some(content_type));
        assert_eq!(call.header("x-shop"), Some("7, 8"));
        assert_eq!(call.header("authorization"), Some("Bearer s3cr3t"));
    }
}

#[tokio::test]
async fn a_job_without_a_payload_sends_a_body_of_no_bytes() {
    let rig = Rig::new().await;
    for (n, method) in ["POST", "GET"].into_iter().enumerate() {
        let new = rig.job().with(|new| {
            new.payload = Bytes::new();
            new.spec.target.method = method.to_owned();
        });
        rig.run(new).await;
        let call = &rig.target.calls(PATH)[n];
        assert_eq!((&*call.body, call.header("content-type")), (&b""[..], None));
        let length = (method == "POST").then_some("0");
        assert_eq!(call.header("content-length"), length, "{method}");
    }
}

#[tokio::test]
async fn every_method_is_sent_as_asked() {
    let rig = Rig::new().await;
    rig.target.script(PATH, ok().body("an answer"));
    for (n, method) in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"].into_iter().enumerate() {
        let new = rig.job().with(|new| {
            new.spec.target.method = method.to_owned();
            new.spec.target.url += "?order=42&x=%20";
        });
        let run = rig.run(new).await;
        assert_eq!(run.state.as_str(), "SUCCESS", "{method}: {run:?}");
        let kept = run.response.unwrap().body;
        assert_eq!(kept, if method == "HEAD" { "" } else { "an answer" });
        let call = &rig.target.wait_calls(PATH, n + 1, PATIENCE).await[n];
        assert_eq!((call.method.as_str(), call.query.as_deref()), (method, Some("order=42&x=%20")));
    }
}
