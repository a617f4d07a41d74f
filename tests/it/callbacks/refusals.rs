//! Callbacks that are refused: doubled, contradictory, forged, malformed, of nobody. A refusal is a
//! 4xx, so that a sender stops (bug B073), and changes nothing.

use axle::domain::id::{JobId, RunId};
use axle::domain::run::RunState;
use axle::domain::state::State;
use axle::engine::run_token;
use serde_json::{Value, json};

use super::{failed, succeeded};
use crate::support::callback::{self, client};
use crate::support::engine::SHARD;
use crate::support::rig::{PATH, Rig, standing};
use crate::support::target::accepted;

/// Posts bytes as they are, and returns the status and the problem's code.
async fn post_raw(url: &str, body: Vec<u8>) -> (u16, String) {
    let request = client().post(url).header("content-type", "application/json").body(body);
    let answer = request.send().await.unwrap();
    let status = answer.status().as_u16();
    let body: Value = answer.json().await.unwrap();
    (status, body["code"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn a_repeat_is_a_duplicate_and_a_contradiction_is_recorded_once_with_a_count() {
    let rig = Rig::new().await;
    rig.target.script(PATH, accepted());
    let both = [(succeeded(), failed()), (failed(), succeeded())];
    for (first, other) in both {
        let (run, call) = rig.accepted(rig.callback_job()).await;
        let [first, other] = [first, other].map(|body| call.callback(body));
        let url = call.callback_url();
        assert_eq!(callback::post(url, &first).await, (200, json!({"applied": true})));
        let job = standing(&rig.get(run.job).await);
        for _ in 0..2 {
            let again = callback::post(url, &first).await;
            assert_eq!(again, (200, json!({"applied": false, "duplicate": true})));
        }
        assert!(rig.log(run.job, "stale_callback").await.is_empty());
        for _ in 0..3 {
            let (status, problem) = callback::post(url, &other).await;
            assert_eq!((status, &problem["code"]), (409, &json!("stale-run")));
            assert_eq!(problem["cancel_requested"], false);
        }
        let recorded = rig.log(run.job, "stale_callback").await;
        assert_eq!(recorded.len(), 1, "{recorded:?}");
        assert_eq!((recorded[0].count, recorded[0].run), (3, Some(run)));
        assert_eq!(standing(&rig.get(run.job).await), job, "nothing has changed");
    }
}

#[tokio::test]
async fn a_forged_token_is_refused_whatever_it_is_about() {
    let rig = Rig::new().await;
    rig.target.script(PATH, accepted());
    let (run, call) = rig.accepted(rig.callback_job()).await;
    let (_, other) = rig.accepted(rig.callback_job()).await;
    let (base, token) = call.callback_url().split_once("?token=").unwrap();
    let (_, of_another_run) = other.callback_url().split_once("?token=").unwrap();
    let mut flipped = token.to_owned();
    flipped.replace_range(..1, if token.starts_with('A') { "B" } else { "A" });
    let longer = format!("{token}AA");
    let (shorter, _) = token.split_at(20);
    let forged = ["", "x", "\u{e9}", &flipped, &longer, shorter, of_another_run];
    for token in forged {
        let url = format!("{base}?token={token}");
        for body in [succeeded(), failed(), json!({"status": "progress"})] {
            let (status, problem) = callback::post(&url, &call.callback(body)).await;
            assert_eq!((status, &problem["code"]), (401, &json!("bad-run-token")), "{token:?}");
        }
        assert_eq!(callback::heartbeat(&url, &json!({})).await.0, 401, "{token:?}");
    }
    let without = callback::post(base, &call.callback(succeeded())).await;
    assert_eq!(without.0, 401, "{without:?}");
    // Who cannot prove to be its target learns nothing of a run that is not there.
    let nobody = RunId { job: JobId::new(rig.clock.now(), SHARD, 1), fence: 1 };
    let url = base.replace(&run.to_string(), &nobody.to_string());
    assert_eq!(callback::post(&format!("{url}?token={token}"), &succeeded()).await.0, 401);
    assert_eq!(rig.read(run).await.state, RunState::Running);
    assert!(rig.log(run.job, "stale_callback").await.is_empty());
}

#[tokio::test]
async fn an_unknown_run_is_not_found() {
    let rig = Rig::new().await;
    let run = RunId { job: JobId::new(rig.clock.now(), SHARD, 1), fence: 1 };
    let url = run_token::callback_url(&rig, run);
    let (status, problem) = callback::post(&url, &succeeded()).await;
    assert_eq!((status, &problem["code"]), (404, &json!("run-unknown")));
    assert_eq!(callback::heartbeat(&url, &json!({})).await.0, 404);
    for nonsense in ["run_1", "job_01KB9YQ6Z4F0R8M3T1C5W7X2V0", "%00", "..%2f"] {
        let url = url.replace(&run.to_string(), nonsense);
        assert_eq!(callback::post(&url, &succeeded()).await.0, 404, "{nonsense}");
    }
}

#[tokio::test]
async fn b073_what_can_never_succeed_is_a_4xx_and_changes_nothing() {
    let rig = Rig::new().await;
    rig.target.script(PATH, accepted());
    let (run, call) = rig.accepted(rig.callback_job()).await;
    let url = call.callback_url();
    let bad_request: [&[u8]; 7] =
        [b"", b"{", b"{} {}", b"\xff\xfe", b"{\"status\": succeeded}", b"\"\xc3\x28\"", b"\0"];
    for body in bad_request {
        assert_eq!(post_raw(url, body.to_vec()).await.0, 400, "{body:?}");
    }
    let large = format!("{{\"status\":\"succeeded\",\"result\":\"{}\"}}", "x".repeat(5 << 20));
    assert_eq!(post_raw(url, large.into_bytes()).await, (413, "payload-too-large".into()));
    assert_eq!(rig.read(run).await.state, RunState::Running);
    assert_eq!(callback::post(url, &call.callback(succeeded())).await.0, 200, "and still may");
}

#[tokio::test]
async fn values_that_cannot_be_accepted_are_named() {
    let rig = Rig::new().await;
    rig.target.script(PATH, accepted());
    let (run, call) = rig.accepted(rig.callback_job()).await;
    let cases = [
        (json!({"status": "succeeded", "run_id": "run_1"}), "#/run_id"),
        (json!({"status": "succeeded", "run_id": 7}), "#/run_id"),
        (json!({"status": "succeeded", "fence": 2}), "#/fence"),
        (json!({"status": "succeeded", "fence": "1"}), "#/fence"),
        (json!({"status": "done"}), "#/status"),
        (json!({"status": null}), "#/status"),
        (json!({}), "#/status"),
        (json!({"status": "progress", "progress": {"pct": 101}}), "#/progress/pct"),
        (json!({"status": "failed", "error": {"retryable": "no"}}), "#/error/retryable"),
        (json!({"status": "succeeded", "outcome": 1}), "#/outcome"),
    ];
    for (body, pointer) in cases {
        let (status, problem) = callback::post(call.callback_url(), &body).await;
        assert_eq!((status, &problem["code"]), (422, &json!("validation-failed")), "{body}");
        assert_eq!(problem["errors"][0]["pointer"], pointer, "{problem}");
    }
    for body in [json!([]), json!("succeeded"), json!(null), json!(1)] {
        let (status, _) = callback::post(call.callback_url(), &body).await;
        assert_eq!(status, 422, "{body}");
    }
    assert_eq!(rig.read(run).await.state, RunState::Running);
}

#[tokio::test]
async fn b105_hostile_texts_are_kept_or_cut_and_never_a_fault_of_ours() {
    let rig = Rig::new().await;
    rig.target.script(PATH, accepted());
    let deep = format!("{}1{}", "[".repeat(200_000), "]".repeat(200_000));
    let results = [
        deep.as_str(),
        r#"{"a":"\u0000"}"#,
        r#""\ud800""#,
        r#"{"a":1,"a":2}"#,
        "1e400",
        "123456789012345678901234567890",
    ];
    for result in results {
        let (run, call) = rig.accepted(rig.callback_job()).await;
        let body = format!(r#"{{"status":"succeeded","result":{result}}}"#);
        assert_eq!(post_raw(call.callback_url(), body.into_bytes()).await.0, 200, "{result}");
        assert_eq!(rig.read(run).await.result.unwrap(), result, "byte for byte");
        let shown = rig.text(&format!("/v1/jobs/{}", run.job)).await;
        assert!(shown.contains(&format!("\"result\":{result}")), "shown as it came");
    }
    let (run, call) = rig.accepted(rig.callback_job()).await;
    let error = json!({"code": "c\u{0}".repeat(100), "message": "\u{0}ä".repeat(50_000)});
    let body = json!({"status": "failed", "error": error});
    let (status, _) = callback::post(call.callback_url(), &call.callback(body)).await;
    assert_eq!(status, 200);
    let error = rig.read(run).await.error.unwrap();
    assert!(error.message.len() <= 2_000 && error.class.len() <= 64);
    assert_eq!(rig.get(run.job).await.state(), State::RetryWait);

    let (run, call) = rig.accepted(rig.callback_job()).await;
    let message = "\u{0}ä".repeat(50_000);
    let body = json!({"status": "progress", "progress": {"message": message}});
    assert_eq!(callback::post(call.callback_url(), &call.callback(body)).await.0, 200);
    assert!(rig.read(run).await.progress.unwrap().message.unwrap().len() <= 2_000);
}
