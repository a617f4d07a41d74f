//! What calls are signed with: over which bytes, with which secrets, at which time.

use std::time::Duration;

use axle::domain::principal::Role;
use axle::engine::jobs;
use axle::store::idempotency::Kept;
use bytes::Bytes;
use proptest::test_runner::TestRunner;
use reqwest::Method;
use serde_json::{Value, json};

use super::{SECRETS, make, place, rotate, signatures, text};
use crate::support::engine::{With, principal};
use crate::support::rig::{PATH, Rig};
use crate::support::target::{PATIENCE, Script, ok, status};

#[tokio::test]
async fn b128_what_is_signed_is_what_is_sent() {
    use proptest::strategy::{Strategy as _, ValueTree as _};
    let rig = Rig::new().await;
    let secret = make(&rig, Value::Null).await;
    let mut payloads: Vec<String> = [
        r#"{ "z":1, "a":1.0, "b":12345678901234567890123, "é":"\u00e9", "a":1e400 }"#,
        " [1,  2]\n",
        "{\"a\":\n\n1}",
        "",
        "null",
        "not JSON: ünïcödé \u{0} 😀",
    ]
    .map(str::to_owned)
    .into();
    let mut runner = TestRunner::deterministic();
    for _ in 0..20 {
        payloads.push(".{0,200}".new_tree(&mut runner).unwrap().current());
    }
    for (n, payload) in payloads.iter().enumerate() {
        let new = rig.job().with(|new| {
            new.payload = Bytes::from(payload.clone());
            new.spec.json = false;
            new.spec.target.method = ["POST", "PUT", "DELETE"][n % 3].to_owned();
        });
        rig.run(new).await;
        let call = &rig.target.wait_calls(PATH, n + 1, PATIENCE).await[n];
        assert_eq!(call.body, payload.as_bytes());
        assert_eq!(place(call, &secret), Some(0), "{payload:?}");
    }
}

#[tokio::test]
async fn b134_a_retry_has_a_stamp_and_signatures_of_its_own_and_the_same_id() {
    let rig = Rig::new().await;
    let secret = make(&rig, Value::Null).await;
    rig.target.script(PATH, Script::new().then(status(500)).then(ok()));
    let new = rig.job().with(|new| new.spec.retry.base_ms = 600_000);
    let first = rig.run(new).await;
    let second = rig.next_run(first.id.job).await;
    rig.ended(second).await;
    let [one, two] = [first.id, second].map(|run| rig.call_of(run));
    assert_eq!(one.header("webhook-id"), two.header("webhook-id"));
    let stamp = |name| {
        let [one, two] =
            [&one, &two].map(|call| call.header(name).unwrap().parse::<i64>().unwrap());
        two - one
    };
    assert_eq!(stamp("webhook-timestamp"), 600);
    for call in [&one, &two] {
        assert_eq!(place(call, &secret), Some(0));
    }
    assert_ne!(one.header("webhook-signature"), two.header("webhook-signature"));
    assert_ne!(one.header("axle-signature"), two.header("axle-signature"));
}

#[tokio::test]
async fn b132_a_rotation_overlaps_and_then_only_the_new_secret_signs() {
    let rig = Rig::new().await;
    let old = make(&rig, Value::Null).await;
    rig.target.script(PATH, Script::new().then(status(500)));
    let new = rig.job().with(|new| new.spec.retry.base_ms = 60_000);
    let first = rig.run(new).await;
    let new = rotate(&rig, 90_000).await;
    assert_ne!(old, new);

    let second = rig.next_run(first.id.job).await;
    rig.ended(second).await;
    let third = rig.next_run(first.id.job).await;
    rig.ended(third).await;
    let [one, two, three] = [first.id, second, third].map(|run| rig.call_of(run));
    assert_eq!((place(&one, &old), place(&one, &new)), (Some(0), None));
    // Both, the new one first; after the overlap the new one alone.
    assert_eq!((place(&two, &new), place(&two, &old)), (Some(0), Some(1)));
    assert_eq!((place(&three, &new), place(&three, &old)), (Some(0), None));
    assert_eq!(signatures(&three, "webhook-signature").len(), 1);

    let (_, list) = rig.ask(Method::GET, SECRETS).await;
    let states: Vec<_> =
        list["data"].as_array().unwrap().iter().map(|one| text(&one["state"])).collect();
    assert_eq!(states, ["current", "ended"]);
    // A month later the old one is forgotten.
    rig.pass(Duration::from_hours(31 * 24));
    rotate(&rig, 0).await;
    let (_, list) = rig.ask(Method::GET, SECRETS).await;
    assert_eq!(list["data"].as_array().unwrap().len(), 2, "{list}");
}

#[tokio::test]
async fn no_secret_no_signature_and_a_queue_may_have_its_own() {
    let rig = Rig::new().await;
    let call = async |n: usize, queue: &str| {
        rig.run(rig.job().with(|new| queue.clone_into(&mut new.queue))).await;
        rig.target.wait_calls(PATH, n, PATIENCE).await[n - 1].clone()
    };
    let unsigned = call(1, "default").await;
    assert_eq!(
        (unsigned.header("webhook-signature"), unsigned.header("axle-signature")),
        (None, None)
    );
    let billing = make(&rig, json!("billing")).await;
    assert_eq!(call(2, "default").await.header("webhook-signature"), None);
    assert_eq!(place(&*call(3, "billing").await, &billing), Some(0));
    let team = make(&rig, Value::Null).await;
    assert_eq!(place(&*call(4, "default").await, &team), Some(0));
    let own = call(5, "billing").await;
    assert_eq!((place(&own, &billing), signatures(&own, "webhook-signature").len()), (Some(0), 1));

    // Another team's calls are none of this team's.
    let rival = principal("rival", Role::Admin);
    let made = jobs::create(&rig, &rival, None, rig.job(), |_| Kept::default()).await;
    made.unwrap();
    rig.pull().await;
    let theirs = rig.target.wait_calls(PATH, 6, PATIENCE).await[5].clone();
    assert_eq!(theirs.header("webhook-signature"), None);

    // Without its own again, the team's signs; without any, nothing does.
    let (_, list) = rig.ask(Method::GET, SECRETS).await;
    let mut all = list["data"].as_array().unwrap().clone();
    all.sort_by_key(|one| one["queue"].is_null());
    for (n, one) in all.iter().enumerate() {
        let path = format!("{SECRETS}/{}", text(&one["id"]));
        assert_eq!(rig.ask(Method::DELETE, &path).await.0, 204);
        assert_eq!(rig.ask(Method::DELETE, &path).await.0, 404);
        let seen = call(7 + n, "billing").await;
        let expected = if n == 0 { Some(0) } else { None };
        assert_eq!(place(&seen, &team), expected);
        assert_eq!(seen.header("webhook-signature").is_some(), n == 0);
    }
}

#[tokio::test]
async fn there_is_one_current_secret_and_few_retiring_ones() {
    let rig = Rig::new().await;
    let rotation = format!("{SECRETS}/rotate");
    let post = async |path: &str, body: Value| {
        let (status, reply) = rig.tell(Method::POST, path, &body).await;
        (status, reply["code"].as_str().unwrap_or_default().to_owned())
    };
    let conflict = (409, "signing-secret-conflict".to_owned());
    assert_eq!(post(&rotation, json!({})).await, (404, "not-found".to_owned()));
    make(&rig, Value::Null).await;
    assert_eq!(post(SECRETS, json!({})).await, conflict);
    for _ in 0..3 {
        rotate(&rig, 60_000).await;
    }
    assert_eq!(post(&rotation, json!({})).await.0, 201);
    assert_eq!(post(&rotation, json!({})).await, conflict);
    rig.pass(Duration::from_secs(61));
    rotate(&rig, 60_000).await;
    for (body, pointer) in [
        (json!({"overlap_ms": 2_592_000_001_u64}), "#/overlap_ms"),
        (json!({"overlap": "1h"}), "#/overlap"),
        (json!({"queue": "No Queue"}), "#/queue"),
    ] {
        let (status, reply) = rig.tell(Method::POST, &rotation, &body).await;
        assert_eq!((status, &reply["errors"][0]["pointer"]), (422, &json!(pointer)), "{reply}");
    }
}

#[tokio::test]
async fn rotations_at_the_same_time_leave_one_current_secret() {
    let rig = Rig::new().await;
    make(&rig, Value::Null).await;
    let path = format!("{SECRETS}/rotate");
    let body = json!({"overlap_ms": 0});
    let all = (0..8).map(|_| rig.tell(Method::POST, &path, &body));
    let replies = futures_util::future::join_all(all).await;
    let statuses: Vec<_> = replies.iter().map(|(status, _)| *status).collect();
    assert!(
        statuses.contains(&201) && statuses.iter().all(|s| [201, 503].contains(s)),
        "{statuses:?}"
    );
    let (_, list) = rig.ask(Method::GET, SECRETS).await;
    let current = list["data"].as_array().unwrap().iter().filter(|one| one["state"] == "current");
    assert_eq!(current.count(), 1, "{list}");
}
