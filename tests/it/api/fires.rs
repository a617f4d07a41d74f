//! What people do with a schedule's fires over HTTP: trigger, backfill, look.

use serde_json::{Value, json};

use super::recipes::schedule;
use crate::support::api::{Api, Caller, job};

const N: &str = "/v1/schedules/n";

/// A schedule that fires every day at 02:30 unless `more` says otherwise, and its owner.
async fn daily(api: &Api, more: Value) -> Caller<'_> {
    let acme = api.as_team("acme");
    let made = acme.put(N, &schedule(more)).await;
    assert_eq!(made.status, 201, "{}", made.text);
    acme
}

fn faults(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(at, code)| ((*at).to_owned(), (*code).to_owned())).collect()
}

#[tokio::test]
async fn a_trigger_makes_a_job_now() {
    let api = Api::start().await;
    let acme = daily(&api, json!({"job": job(json!({"payload": {"a": 1}, "priority": 7}))})).await;
    let made = acme.act(&format!("{N}/trigger")).await;
    assert_eq!((made.status, &made.json["outcome"]), (201, &json!("fired")), "{}", made.text);
    assert_eq!(made.json["waiting"], false);
    let id = made.json["job_id"].as_str().unwrap();
    assert_eq!(made.header("location"), Some(format!("/v1/jobs/{id}").as_str()));
    let job = acme.job(id).await;
    for (field, value) in [
        ("name", json!("n")),
        ("payload", json!({"a": 1})),
        ("priority", json!(7)),
        ("schedule_id", acme.get(N).await.json["id"].clone()),
        ("fire_at", made.json["fire_at"].clone()),
    ] {
        assert_eq!(job[field], value, "{field}");
    }
    // The earlier one is unfinished.
    let skipped = acme.act(&format!("{N}/trigger")).await;
    assert_eq!((skipped.status, skipped.header("location")), (200, None), "{}", skipped.text);
    let expected = (&json!("skipped_overlap"), &Value::Null);
    assert_eq!((&skipped.json["outcome"], &skipped.json["job_id"]), expected);
    let waits = acme.post(&format!("{N}/trigger"), &json!({"overlap": "queue_one"})).await;
    assert_eq!((waits.status, &waits.json["waiting"]), (201, &json!(true)), "{}", waits.text);
    let beside = acme.post(&format!("{N}/trigger"), &json!({"overlap": "allow"})).await;
    assert_eq!((beside.status, &beside.json["waiting"]), (201, &json!(false)), "{}", beside.text);

    let bad = acme.post(&format!("{N}/trigger"), &json!({"overlap": "never", "at": 1})).await;
    let expected = [("#/at", "unknown-field"), ("#/overlap", "out-of-range")];
    assert_eq!((bad.status, bad.faults()), (422, faults(&expected)));
    let items = acme.get(&format!("{N}/fires")).await.json["data"].clone();
    let told: Vec<_> = items.as_array().unwrap().iter().map(|fire| &fire["outcome"]).collect();
    assert_eq!(told, ["fired", "fired", "skipped_overlap", "fired"]);
    assert!(items.as_array().unwrap().iter().all(|fire| fire["origin"] == "trigger"));
}

#[tokio::test]
async fn a_trigger_with_a_key_is_made_once() {
    let api = Api::start().await;
    let acme = daily(&api, json!({"overlap": "allow"})).await.header("idempotency-key", "k1");
    let first = acme.act(&format!("{N}/trigger")).await;
    let second = acme.act(&format!("{N}/trigger")).await;
    assert_eq!((second.status, &second.text), (201, &first.text));
    assert_eq!(second.header("idempotent-replayed"), Some("true"));
    assert_eq!(second.header("location"), first.header("location"));
}

#[tokio::test]
async fn a_backfill_says_what_it_would_do_and_does_it() {
    let api = Api::start().await;
    let acme = daily(&api, Value::Null).await;
    let path = format!("{N}/backfill");
    let range = |more: Value| {
        let mut body = json!({"from": "2026-11-27T02:30:00Z", "to": "2026-11-30T02:00:00Z"});
        body.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
        body
    };
    let dry = acme.post(&path, &range(json!({"dry_run": true}))).await;
    assert_eq!(dry.status, 200, "{}", dry.text);
    assert_eq!((&dry.json["dry_run"], &dry.json["count"]), (&json!(true), &json!(3)));
    let at = |n: usize| json!(format!("2026-11-{:02}T02:30:00.000000Z", 27 + n));
    for n in 0..3 {
        assert_eq!(dry.json["fires"][n], json!({"fire_at": at(n), "job_id": null}));
    }
    assert_eq!(acme.get("/v1/jobs").await.json["data"], json!([]));
    let made = acme.post(&path, &range(json!({"max_per_second": 2}))).await;
    assert_eq!((&made.json["dry_run"], &made.json["count"]), (&json!(false), &json!(3)));
    for n in 0..3 {
        assert_eq!(made.json["fires"][n]["fire_at"], at(n));
        let job = acme.job(made.json["fires"][n]["job_id"].as_str().unwrap()).await;
        assert_eq!((&job["fire_at"], &job["name"]), (&at(n), &json!("n")));
        // One after another, as the policy of overlap wants it.
        assert_eq!(job["state"], if n == 0 { "PENDING" } else { "WAITING" }, "{job}");
    }
    // Each has its job now.
    let again = acme.post(&path, &range(Value::Null)).await;
    assert_eq!((again.status, &again.json["count"]), (200, &json!(0)));
}

#[tokio::test]
async fn a_backfill_has_its_bounds() {
    let api = Api::start().await;
    let acme = daily(&api, json!({"spec": {"every_ms": 60_000}})).await;
    for (body, expected) in [
        (json!({}), &[("#/from", "required"), ("#/to", "required")][..]),
        (
            json!({"from": "soon", "to": "2026-11-30T00:00:00Z", "max_per_second": 0, "x": 1}),
            &[
                ("#/from", "wrong-type"),
                ("#/max_per_second", "out-of-range"),
                ("#/x", "unknown-field"),
            ],
        ),
        (
            json!({"from": "2026-11-30T00:00:00Z", "to": "2026-11-30T00:00:00Z"}),
            &[("#/to", "out-of-range")],
        ),
        (
            json!({"from": "2026-11-30T00:00:00Z", "to": "2026-11-30T02:00:01Z"}),
            &[("#/to", "out-of-range")],
        ),
        (
            json!({"from": "2026-11-01T00:00:00Z", "to": "2026-11-30T00:00:00Z", "dry_run": true}),
            &[("#/to", "too-many")],
        ),
        (
            json!({"from": "1800-01-01T00:00:00Z", "to": "2026-11-30T00:00:00Z"}),
            &[("#/from", "out-of-range")],
        ),
    ] {
        let reply = acme.post(&format!("{N}/backfill"), &body).await;
        assert_eq!((reply.status, reply.faults()), (422, faults(expected)), "{body}");
    }
    assert_eq!(acme.get(&format!("{N}/fires")).await.json["data"], json!([]));
}

#[tokio::test]
async fn fires_are_paged_and_what_is_expected_stands_on_the_first_page() {
    let api = Api::start().await;
    let acme = daily(&api, json!({"overlap": "allow"})).await;
    let range = json!({"from": "2026-11-20T00:00:00Z", "to": "2026-11-25T00:00:00Z"});
    assert_eq!(acme.post(&format!("{N}/backfill"), &range).await.json["count"], 5);
    let first = acme.get(&format!("{N}/fires?limit=2")).await;
    assert_eq!(first.json["accounted_until"], "2026-11-30T02:00:00.000000Z");
    assert_eq!(first.json["created_at"], "2026-11-30T02:00:00.000000Z");
    let expected = first.json["expected"].as_array().unwrap();
    assert_eq!((expected.len(), &expected[0]["at"]), (10, &json!("2026-11-30T02:30:00.000000Z")));
    let mut seen = Vec::new();
    let mut page = first.json.clone();
    assert!(first.header("link").unwrap().contains("/v1/schedules/n/fires?limit=2&cursor="));
    loop {
        let items = page["data"].as_array().unwrap().iter();
        seen.extend(items.map(|fire| fire["fire_at"].as_str().unwrap().to_owned()));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        page = acme.get(&format!("{N}/fires?limit=2&cursor={cursor}")).await.json;
        assert_eq!(page["expected"], json!([]));
    }
    let days = [24, 23, 22, 21, 20].map(|day| format!("2026-11-{day}T02:30:00.000000Z"));
    assert_eq!(seen, days);

    let within = "from=2026-11-21T02:30:00Z&to=2026-11-23T02:30:00Z";
    let within = acme.get(&format!("{N}/fires?{within}")).await.json;
    assert_eq!(within["data"].as_array().unwrap().len(), 2, "{within}");
    assert_eq!(within["expected"], json!([]));
    let ahead = acme.get(&format!("{N}/fires?to=2026-12-02T02:30:00Z")).await.json;
    assert_eq!(ahead["expected"].as_array().unwrap().len(), 2, "{ahead}");
    acme.post(&format!("{N}/pause"), &json!({"reason": "x"})).await;
    let paused = acme.get(&format!("{N}/fires")).await.json;
    assert_eq!(paused["expected"][0]["outcome"], "skipped_paused");

    let bad = acme.get(&format!("{N}/fires?from=x&until=y&limit=501")).await;
    let expected = [
        ("#/query/from", "out-of-range"),
        ("#/query/limit", "out-of-range"),
        ("#/query/until", "unknown-parameter"),
    ];
    assert_eq!((bad.status, bad.faults()), (422, faults(&expected)));
    let cursor = first.json["next_cursor"].as_str().unwrap();
    let foreign = acme.get(&format!("{N}/fires?from=2026-11-21T00:00:00Z&cursor={cursor}")).await;
    assert_eq!((foreign.status, foreign.code()), (400, "invalid-cursor"));
}
