//! Schedules over HTTP: created, put, read, listed, changed, deleted.

use reqwest::Method;
use serde_json::{Value, json};

use super::recipes::schedule;
use crate::support::api::{Api, Caller, job};

const ALL: &str = "/v1/schedules";
const NIGHTLY: &str = "/v1/schedules/nightly";

async fn nightly(caller: &Caller<'_>, more: Value) -> (Value, String) {
    let reply = caller.put(NIGHTLY, &schedule(more)).await;
    assert!(matches!(reply.status, 200 | 201), "{}", reply.text);
    let etag = reply.header("etag").unwrap().to_owned();
    (reply.json, etag)
}

fn owned(faults: &[(&str, &str)]) -> Vec<(String, String)> {
    faults.iter().map(|(at, code)| ((*at).to_owned(), (*code).to_owned())).collect()
}

#[tokio::test]
async fn a_schedule_is_created_and_found_by_id_and_by_name() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let body = schedule(json!({"name": "nightly", "time_zone": "Europe/Berlin"}));
    let made = acme.post(ALL, &body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let id = made.json["id"].as_str().unwrap();
    assert!(id.starts_with("sch_"), "{id}");
    assert_eq!(made.header("location"), Some(format!("{ALL}/{id}").as_str()));
    for (field, value) in [
        ("name", json!("nightly")),
        ("team", json!("acme")),
        ("state", json!("ACTIVE")),
        ("paused", json!(false)),
        ("reason", Value::Null),
        ("description", json!("at 02:30 every day, Europe/Berlin")),
        ("tzdata", json!(axle::domain::schedule::zone::TZDATA_VERSION)),
        ("next_fire_at", json!("2026-12-01T01:30:00.000000Z")),
        ("next_fire_local", json!("2026-12-01T02:30:00+01:00")),
        ("last_fire_at", Value::Null),
        ("fires", json!(0)),
        ("accounted_until", json!("2026-11-30T02:00:00.000000Z")),
        ("version", json!(1)),
    ] {
        assert_eq!(made.json[field], value, "{field}");
    }
    for path in [format!("{ALL}/{id}"), NIGHTLY.to_owned()] {
        let read = acme.get(&path).await;
        assert_eq!((read.status, &read.json), (200, &made.json), "{path}");
        assert_eq!(read.header("etag"), Some("\"1-ACTIVE\""), "{path}");
    }
    let again = acme.post(ALL, &body).await;
    assert_eq!((again.status, again.code()), (409, "name-taken"));
    assert_eq!(again.json["existing_id"], id);
    // It is a name of one team only.
    assert_eq!(api.as_team("rival").post(ALL, &body).await.status, 201);
}

#[tokio::test]
async fn putting_the_same_twice_changes_nothing() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let body = schedule(json!({"overlap": "queue_one", "catch_up": {"policy": "all"}}));
    let first = acme.put(NIGHTLY, &body).await;
    let second = acme.put(NIGHTLY, &body).await;
    assert_eq!((first.status, second.status), (201, 200));
    let id = first.json["id"].as_str().unwrap();
    assert_eq!(first.header("location"), Some(format!("{ALL}/{id}").as_str()));
    assert_eq!((&second.json, second.header("etag")), (&first.json, first.header("etag")));

    // What is absent has its default again, save whether it is paused.
    let (paused, _) = nightly(&acme, json!({"paused": true})).await;
    assert_eq!((&paused["version"], &paused["overlap"]), (&json!(2), &json!("skip")));
    assert_eq!((&paused["state"], &paused["paused"]), (&json!("PAUSED"), &json!(true)));
    assert!(paused["reason"].is_string(), "{paused}");
    let (still, _) = nightly(&acme, Value::Null).await;
    assert_eq!((&still["version"], &still["paused"]), (&json!(2), &json!(true)));
    let (resumed, _) = nightly(&acme, json!({"paused": false})).await;
    assert_eq!((&resumed["state"], &resumed["reason"]), (&json!("ACTIVE"), &Value::Null));
}

#[tokio::test]
async fn a_put_may_have_a_condition() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let body = schedule(json!({"jitter_ms": 1}));
    for condition in ["*", "\"1-ACTIVE\""] {
        let caller = acme.clone().header("if-match", condition);
        assert_eq!(caller.put(NIGHTLY, &body).await.status, 404, "{condition}");
    }
    let (_, etag) = nightly(&acme, Value::Null).await;
    let changed = acme.clone().header("if-match", &etag).put(NIGHTLY, &body).await;
    assert_eq!((changed.status, &changed.json["jitter_ms"]), (200, &json!(1)));
    let stale = acme.clone().header("if-match", &etag).put(NIGHTLY, &body).await;
    assert_eq!((stale.status, stale.code()), (412, "version-conflict"));
    assert_eq!(stale.json["current_etag"], changed.header("etag").unwrap());
    assert_eq!(acme.clone().header("if-match", "*").put(NIGHTLY, &body).await.status, 200);
    let odd = acme.clone().header("if-match", "\"ä\"").put(NIGHTLY, &body).await;
    assert_eq!((odd.status, odd.code()), (400, "malformed-request"));
}

#[tokio::test]
async fn a_put_is_by_name() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let (made, _) = nightly(&acme, json!({"name": "nightly"})).await;
    let id = made["id"].as_str().unwrap();
    let long = "n".repeat(129);
    for name in ["-a", "a%20b", "%C3%A4", "a%00", "%ff", "a%2Fb", "sch_x", "preview", id, &long] {
        let reply = acme.put(&format!("{ALL}/{name}"), &schedule(Value::Null)).await;
        let expected = owned(&[("#/path/schedule", "out-of-range")]);
        assert_eq!((reply.status, reply.faults()), (422, expected), "{name}");
        let reply = acme.get(&format!("{ALL}/{name}")).await;
        assert_eq!(reply.status, if name == id { 200 } else { 404 }, "{name}");
    }
    let other = acme.put(NIGHTLY, &schedule(json!({"name": "other"}))).await;
    assert_eq!((other.status, other.faults()), (422, owned(&[("#/name", "differs")])));
    for name in [Value::Null, json!("preview"), json!("sch_x"), json!("a b"), json!("")] {
        let code = if name.is_null() { "required" } else { "out-of-range" };
        let reply = acme.post(ALL, &schedule(json!({"name": name}))).await;
        assert_eq!((reply.status, reply.faults()), (422, owned(&[("#/name", code)])), "{name}");
    }
}

#[tokio::test]
async fn what_cannot_be_accepted_is_refused_with_every_fault() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let bomb = format!("{} * * * *", "0,".repeat(200));
    let at = |spec: Value| json!({"name": "n", "spec": spec});
    let cases: [(Value, &[(&str, &str)]); 12] = [
        (
            json!({"zone": "x", "overlap": "twice", "job": {"target": {}, "due_at": "2026-12-01T00:00:00Z"}}),
            &[
                ("#/job/due_at", "excluded"),
                ("#/job/target/url", "required"),
                ("#/name", "required"),
                ("#/overlap", "out-of-range"),
                ("#/zone", "unknown-field"),
            ],
        ),
        (at(json!({"cron": "0 30 2 * * *"})), &[("#/spec/cron", "malformed")]),
        (at(json!({"cron": "30 2 31 2 *"})), &[("#/spec/cron", "never-fires")]),
        (at(json!({"cron": "30 5-2 * * *"})), &[("#/spec/cron", "malformed")]),
        (at(json!({"cron": bomb})), &[("#/spec/cron", "out-of-range")]),
        (at(json!({"at": ["2026-11-30T02:00:00Z"]})), &[("#/spec", "never-fires")]),
        (at(json!({"every_ms": 999})), &[("#/spec/every_ms", "out-of-range")]),
        (
            json!({"name": "n", "spec": {"cron": "61 * * * *"}, "time_zone": "Europe/Berlim"}),
            &[("#/spec/cron", "malformed"), ("#/time_zone", "unknown-zone")],
        ),
        (json!({"name": "n", "end_at": "2026-11-30T01:00:00Z"}), &[("#/spec", "never-fires")]),
        (
            json!({"name": "n", "exclude": ["none", "nor-this"]}),
            &[("#/exclude/0", "unknown-calendar"), ("#/exclude/1", "unknown-calendar")],
        ),
        (
            json!({"name": "n", "spec": {"every_ms": 60_000}, "shift": "next_business_day"}),
            &[("#/shift", "out-of-range")],
        ),
        (
            json!({"name": "n", "job": job(json!({"unique_key": "k", "start_deadline": "x"}))}),
            &[("#/job/start_deadline", "excluded"), ("#/job/unique_key", "excluded")],
        ),
    ];
    for (more, expected) in cases {
        let reply = acme.post(ALL, &schedule(more.clone())).await;
        assert_eq!((reply.status, reply.faults()), (422, owned(expected)), "{more}");
    }
    let seconds = acme.post(ALL, &schedule(at(json!({"cron": "0 30 2 * * *"})))).await;
    assert!(seconds.text.contains("say seconds: true"), "{}", seconds.text);
    let zone = acme.post(ALL, &schedule(json!({"name": "n", "time_zone": "berlin"}))).await;
    assert!(zone.text.contains("write Europe/Berlin"), "{}", zone.text);
    let large = schedule(json!({"name": "n", "job": job(json!({"payload": "x".repeat(262_144)}))}));
    assert_eq!(acme.post(ALL, &large).await.status, 413);
    assert_eq!(acme.get(ALL).await.json["data"], json!([]));
}

#[tokio::test]
async fn a_change_needs_the_etag_last_read() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let (_, etag) = nightly(&acme, Value::Null).await;
    let bare = acme.send(Method::PATCH, NIGHTLY, r#"{"jitter_ms":1}"#).await;
    assert_eq!((bare.status, bare.code()), (428, "precondition-required"));
    let changed = acme.patch(NIGHTLY, &etag, &json!({"jitter_ms": 1})).await;
    assert_eq!((changed.status, &changed.json["version"]), (200, &json!(2)));
    let fresh = changed.header("etag").unwrap().to_owned();
    let stale = acme.patch(NIGHTLY, &etag, &json!({"jitter_ms": 2})).await;
    assert_eq!((stale.status, stale.code()), (412, "version-conflict"));
    assert_eq!(stale.json["current_etag"], fresh.as_str());
    let gone = acme.clone().header("if-match", &etag).send(Method::DELETE, NIGHTLY, "").await;
    assert_eq!(gone.status, 412);
    let gone = acme.clone().header("if-match", &fresh).send(Method::DELETE, NIGHTLY, "").await;
    assert_eq!((gone.status, gone.text.as_str()), (204, ""));
    assert_eq!(acme.get(NIGHTLY).await.status, 404);
    assert_eq!(acme.send(Method::DELETE, NIGHTLY, "").await.status, 404);
}

#[tokio::test]
async fn a_patch_changes_what_it_names_and_keeps_the_payloads_bytes() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let body = r#"{"spec":{"cron":"30 2 * * *"},"job":{"target":{"url":"http://h/","headers":{"X-A":"1","X-B":"2"}},
        "payload": {"b" :1e400,"b":[ ]}}}"#;
    assert_eq!(acme.send(Method::PUT, NIGHTLY, body).await.status, 201);
    let kept = r#""payload":{"b" :1e400,"b":[ ]},"#;
    let patch = json!({
        "job": {"target": {"headers": {"X-A": null}}, "retry": {"max_retries": 9}},
        "overlap": "allow", "start_at": "2027-01-01T00:00:00Z",
    });
    let changed = acme.patch(NIGHTLY, "*", &patch).await;
    assert_eq!(changed.status, 200, "{}", changed.text);
    assert!(changed.text.contains(kept), "{}", changed.text);
    let read = acme.get(NIGHTLY).await;
    assert_eq!(read.text, changed.text);
    for part in [
        r#""headers":{"X-B":"2"}"#,
        r#""max_retries":9,"base_ms":30000"#,
        r#""next_fire_at":"2027-01-01T02:30:00.000000Z""#,
    ] {
        assert!(read.text.contains(part), "{part}: {}", read.text);
    }
    // The spec is not merged with the one before.
    let every = acme.patch(NIGHTLY, "*", &json!({"spec": {"every_ms": 60_000}})).await;
    assert!(every.text.contains(r#""spec":{"every_ms":60000}"#), "{}", every.text);
    assert!(every.text.contains(kept), "{}", every.text);
    let raw = acme.clone().header("if-match", "*");
    let raw = raw.send(Method::PATCH, NIGHTLY, r#"{"job":{"payload":[1 ,2]}}"#).await;
    assert!(raw.text.contains(r#""payload":[1 ,2],"#), "{}", raw.text);
}

#[tokio::test]
async fn a_patch_that_cannot_be_accepted_changes_nothing() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let (before, etag) = nightly(&acme, Value::Null).await;
    for (patch, expected) in [
        (
            json!({"name": "other", "spec": null}),
            &[("#/name", "differs"), ("#/spec", "required")][..],
        ),
        (
            json!({"state": "ACTIVE", "job": {"priority": 10}}),
            &[("#/job/priority", "out-of-range"), ("#/state", "read-only")],
        ),
        (json!({"exclude": ["none"]}), &[("#/exclude/0", "unknown-calendar")]),
        (json!({"end_at": "2026-11-30T02:00:00Z"}), &[("#/spec", "never-fires")]),
    ] {
        let reply = acme.patch(NIGHTLY, &etag, &patch).await;
        assert_eq!((reply.status, reply.faults()), (422, owned(expected)), "{patch}");
    }
    assert_eq!(acme.get(NIGHTLY).await.json, before);
    let same = acme.patch(NIGHTLY, &etag, &json!({})).await;
    assert_eq!((same.status, same.header("etag")), (200, Some(etag.as_str())));
}

#[tokio::test]
async fn lists_are_filtered_and_paged() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    for n in 0..5 {
        let more = json!({"name": format!("job-{n}"), "paused": n == 3, "job": job(json!({"payload": n}))});
        assert_eq!(acme.post(ALL, &schedule(more)).await.status, 201);
    }
    assert_eq!(api.as_team("rival").get(ALL).await.json["data"], json!([]));
    let names = |reply: &Value| -> Vec<String> {
        let data = reply["data"].as_array().unwrap().iter();
        data.map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    };
    let first = acme.get(&format!("{ALL}?limit=2")).await;
    let mut seen = names(&first.json);
    let mut cursor = first.json["next_cursor"].clone();
    assert!(first.header("link").unwrap().contains("rel=\"next\""));
    assert!(first.json["data"][0]["job"].get("payload").is_none(), "{}", first.text);
    while let Some(text) = cursor.as_str() {
        let page = acme.get(&format!("{ALL}?limit=2&cursor={text}")).await;
        seen.extend(names(&page.json));
        cursor = page.json["next_cursor"].clone();
    }
    seen.sort();
    assert_eq!(seen, ["job-0", "job-1", "job-2", "job-3", "job-4"]);
    for (query, expected) in [
        ("state=PAUSED", &["job-3"][..]),
        ("state=PAUSED,ENDED,ERROR&name=job", &["job-3"]),
        ("name=b-4", &["job-4"]),
        ("name=%25", &[]),
    ] {
        assert_eq!(names(&acme.get(&format!("{ALL}?{query}")).await.json), expected, "{query}");
    }
    let foreign = first.json["next_cursor"].as_str().unwrap();
    let foreign = acme.get(&format!("{ALL}?name=job&cursor={foreign}")).await;
    assert_eq!((foreign.status, foreign.code()), (400, "invalid-cursor"));
    let bad = acme.get(&format!("{ALL}?state=SLEEPING&limit=0&name=%00&q=1")).await;
    let expected = [
        ("#/query/limit", "out-of-range"),
        ("#/query/name", "out-of-range"),
        ("#/query/q", "unknown-parameter"),
        ("#/query/state", "out-of-range"),
    ];
    assert_eq!((bad.status, bad.faults()), (422, owned(&expected)));
}

#[tokio::test]
async fn another_team_sees_nothing_of_it() {
    let api = Api::start().await;
    let (acme, rival) = (api.as_team("acme"), api.as_team("rival"));
    let (made, _) = nightly(&acme, Value::Null).await;
    let id = made["id"].as_str().unwrap();
    for path in [NIGHTLY.to_owned(), format!("{ALL}/{id}")] {
        assert_eq!(rival.get(&path).await.status, 404);
        assert_eq!(rival.get(&format!("{path}/fires")).await.status, 404);
        assert_eq!(rival.patch(&path, "*", &json!({})).await.status, 404);
        assert_eq!(rival.send(Method::DELETE, &path, "").await.status, 404);
        assert_eq!(rival.act(&format!("{path}/trigger")).await.status, 404);
    }
    // By name it is another one.
    let theirs = rival.put(NIGHTLY, &schedule(Value::Null)).await;
    assert_eq!((theirs.status, &theirs.json["team"]), (201, &json!("rival")));
    assert_eq!(acme.get(NIGHTLY).await.json, made);
}

#[tokio::test]
async fn a_pause_has_a_reason_that_is_shown() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    nightly(&acme, Value::Null).await;
    let pause = format!("{NIGHTLY}/pause");
    for (body, code) in [
        (json!({}), "required"),
        (json!({"reason": " "}), "required"),
        (json!({"reason": "x".repeat(1_001)}), "out-of-range"),
    ] {
        let reply = acme.post(&pause, &body).await;
        assert_eq!((reply.status, reply.faults()), (422, owned(&[("#/reason", code)])), "{body}");
    }
    let paused = acme.post(&pause, &json!({"reason": "the printer is on fire"})).await;
    assert_eq!(paused.status, 200, "{}", paused.text);
    assert_eq!(paused.json["reason"], "the printer is on fire");
    assert_eq!(
        (&paused.json["state"], &paused.json["next_fire_at"]),
        (&json!("PAUSED"), &Value::Null)
    );
    assert_eq!(acme.get(NIGHTLY).await.json, paused.json);
    // Neither a patch nor a put that says nothing of it wakes it, or takes its reason away.
    let patched = acme.patch(NIGHTLY, "*", &json!({"jitter_ms": 9})).await;
    assert_eq!(patched.json["reason"], "the printer is on fire");
    let resume = format!("{NIGHTLY}/resume");
    let bad = acme.post(&resume, &json!({"catch_up": "yes", "when": 1})).await;
    let expected = [("#/catch_up", "wrong-type"), ("#/when", "unknown-field")];
    assert_eq!((bad.status, bad.faults()), (422, owned(&expected)));
    let resumed = acme.act(&resume).await;
    assert_eq!((&resumed.json["state"], &resumed.json["reason"]), (&json!("ACTIVE"), &Value::Null));
}
