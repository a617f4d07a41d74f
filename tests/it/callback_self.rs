//! The test target's callbacks and the helper that posts them, tested with the target itself as the
//! receiver.

use std::time::Duration;

use serde_json::{Value, json as value};

use crate::support::callback::{self, client};
use crate::support::target::{
    Answer, CallbackSent, PATIENCE, Play, Script, Target, accepted, json, ok, status,
};

/// Short, and long enough to be told from zero.
const MOMENT: Duration = Duration::from_millis(50);

/// A call in callback mode whose callbacks go to `/callback` of the same target.
async fn call_with_callback(target: &Target, answer: Answer) -> Vec<CallbackSent> {
    let expected = target.callbacks("/work").len() + 1;
    target.script("/work", answer);
    let request = client()
        .post(target.url("/work"))
        .header("Axle-Run-Id", "run_1")
        .header("Axle-Fence", "3")
        .header("Axle-Callback-Url", target.url("/v1/runs/run_1/callback?token=t"));
    assert_eq!(request.send().await.unwrap().status(), 202);
    target.wait_callbacks("/work", expected, PATIENCE).await
}

#[tokio::test]
async fn callbacks_are_posted_before_or_after_the_answer() {
    let target = Target::start().await;
    let receiver = "/v1/runs/run_1/callback";
    target.script(receiver, json(200, &value!({"applied": true})));

    let body = value!({"status": "succeeded"});
    let early = accepted().callback_first(body.clone()).delay(MOMENT);
    let sent = call_with_callback(&target, early).await;
    assert_eq!(sent[0].body, value!({"status": "succeeded", "run_id": "run_1", "fence": 3}));
    assert_eq!(sent[0].reply, Ok((200, value!({"applied": true}))));
    assert!(sent[0].at.elapsed() >= MOMENT, "the answer came after the callback's reply");
    let received = &target.calls(receiver)[0];
    assert_eq!(received.query.as_deref(), Some("token=t"));
    assert_eq!(received.json(), sent[0].body);

    let late = accepted().callback_after(MOMENT, value!({"status": "failed", "fence": 2}));
    let sent = call_with_callback(&target, late).await;
    assert_eq!(sent[1].body["fence"], 2, "what the script says is kept");
    let call = &target.calls("/work")[1];
    assert_eq!(sent[1].seq, call.seq);
    assert!(sent[1].at - call.at >= MOMENT);

    target.script(receiver, Play::Close);
    let sent = call_with_callback(&target, accepted().callback_first(body)).await;
    assert!(sent[2].reply.is_err(), "{sent:?}");
}

#[tokio::test]
async fn the_helper_posts_callbacks_and_heartbeats() {
    let target = Target::start().await;
    target.script("/v1/runs/r/callback", Script::new().then(json(409, &value!([1]))).then(ok()));
    target.script("/v1/runs/r/heartbeat", status(502).body("no gateway"));
    let url = target.url("/v1/runs/r/callback?token=t");
    let body = value!({"status": "progress"});
    assert_eq!(callback::post(&url, &body).await, (409, value!([1])));
    assert_eq!(callback::post(&url, &body).await, (200, Value::Null));
    assert_eq!(callback::heartbeat(&url, &body).await, (502, Value::from("no gateway")));
    let beat = &target.calls("/v1/runs/r/heartbeat")[0];
    assert_eq!((beat.query.as_deref(), beat.json()), (Some("token=t"), body));
}
