//! The preview of schedules: what the rules of time zones make of them, before there is one.

use axle::domain::principal::Role;
use serde_json::{Value, json};

use super::recipes::schedule;
use crate::support::api::Api;

const PREVIEW: &str = "/v1/schedules/preview";

fn codes(fire: &Value) -> Vec<&str> {
    let notes = fire["notes"].as_array().unwrap().iter();
    notes.map(|note| note["code"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_time_that_clocks_skip_moves_to_the_end_of_the_gap() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let mut body = json!({
        "spec": {"cron": "30 2 * * *"}, "time_zone": "Europe/Berlin",
        "from": "2026-03-28T00:00:00Z", "count": 3,
    });
    let reply = acme.post(PREVIEW, &body).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert_eq!(reply.json["description"], "at 02:30 every day, Europe/Berlin");
    assert_eq!(reply.json["tzdata"], axle::domain::schedule::zone::TZDATA_VERSION);
    let fires = reply.json["fires"].as_array().unwrap();
    let times: Vec<_> = fires.iter().map(|fire| (&fire["at"], &fire["local"])).collect();
    let expected = [
        ("2026-03-28T01:30:00.000000Z", "2026-03-28T02:30:00+01:00"),
        ("2026-03-29T01:00:00.000000Z", "2026-03-29T03:00:00+02:00"),
        ("2026-03-30T00:30:00.000000Z", "2026-03-30T02:30:00+02:00"),
    ];
    let expected = expected.map(|(at, local)| (json!(at), json!(local)));
    assert_eq!(times, expected.iter().map(|(at, local)| (at, local)).collect::<Vec<_>>());
    assert_eq!(codes(&fires[1]), ["moved_from_gap", "offset_change"]);
    let text = fires[1]["notes"][0]["text"].as_str().unwrap();
    assert!(text.contains("02:30 does not exist on Sun 29 Mar 2026"), "{text}");
    assert!(fires.iter().all(|fire| fire["outcome"] == "expected"));
    let change = &reply.json["next_clock_change"];
    assert_eq!(change["at"], "2026-03-29T01:00:00.000000Z");
    assert_eq!((&change["from_offset_s"], &change["to_offset_s"]), (&json!(3_600), &json!(7_200)));
    let warnings = reply.json["warnings"].to_string();
    assert!(warnings.contains("moved-at-clock-change"), "{warnings}");

    body["on_gap"] = json!("skip");
    let fires = acme.post(PREVIEW, &body).await.json["fires"].clone();
    assert_eq!((&fires[1]["outcome"], codes(&fires[1])[0]), (&json!("skipped_gap"), "skipped_gap"));
    let fires = fires.as_array().unwrap().iter();
    assert_eq!(fires.filter(|fire| fire["outcome"] == "expected").count(), 3);
}

#[tokio::test]
async fn a_time_that_comes_twice_fires_as_often_as_asked() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    for (policy, expected) in [
        ("first", &["2026-10-25T00:30:00.000000Z"][..]),
        ("second", &["2026-10-25T01:30:00.000000Z"]),
        ("both", &["2026-10-25T00:30:00.000000Z", "2026-10-25T01:30:00.000000Z"]),
    ] {
        let body = json!({
            "spec": {"cron": "30 2 25 10 *"}, "time_zone": "Europe/Berlin",
            "on_overlap_hour": policy, "from": "2026-10-24T00:00:00Z", "count": expected.len(),
        });
        let reply = acme.post(PREVIEW, &body).await;
        let fires = reply.json["fires"].as_array().unwrap();
        let times: Vec<_> = fires.iter().map(|fire| fire["at"].as_str().unwrap()).collect();
        assert_eq!(times, expected, "{policy}");
        assert!(fires.iter().all(|fire| codes(fire).contains(&"repeated_hour")), "{}", reply.text);
    }
}

#[tokio::test]
async fn calendars_and_bounds_are_looked_at_too() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let days = json!({"dates": ["2026-12-25"], "weekend": ["sat", "sun"]});
    acme.put("/v1/calendars/de-holidays", &days).await;
    let body = json!({
        "spec": {"cron": "0 8 25 12 *"}, "exclude": ["de-holidays"], "shift": "next_business_day",
        "start_at": "2026-12-01T00:00:00Z", "end_at": "2027-01-01T00:00:00Z",
    });
    let reply = acme.post(PREVIEW, &body).await;
    let fires = reply.json["fires"].as_array().unwrap();
    let told: Vec<_> =
        fires.iter().map(|f| (f["at"].as_str().unwrap(), f["outcome"].as_str().unwrap())).collect();
    let expected = [
        ("2026-12-25T08:00:00.000000Z", "skipped_calendar"),
        ("2026-12-28T08:00:00.000000Z", "expected"),
    ];
    assert_eq!(told, expected, "{}", reply.text);
    assert_eq!((codes(&fires[0]), codes(&fires[1])), (vec!["holiday"], vec!["shifted"]));
}

#[tokio::test]
async fn a_preview_needs_the_times_alone_and_has_its_faults_at_once() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let reply = acme.post(PREVIEW, &json!({"spec": {"every_ms": 3_600_000}})).await;
    assert_eq!(reply.json["fires"].as_array().unwrap().len(), 10);
    assert_eq!(reply.json["fires"][0]["at"], "2026-11-30T03:00:00.000000Z");
    assert_eq!(reply.json["next_clock_change"], Value::Null);
    let often = json!({"spec": {"cron": "* * * * * *", "seconds": true}, "count": 100});
    let reply = acme.post(PREVIEW, &often).await;
    assert_eq!(reply.json["fires"].as_array().unwrap().len(), 100);
    assert!(reply.text.contains("more-than-once-a-minute"), "{}", reply.text);

    let body = json!({
        "spec": {"cron": "* * * * * *"}, "count": 101, "from": "soon", "time_zone": "Moon",
        "job": {}, "start_at": "2027-01-01T00:00:00Z", "end_at": "2027-01-01T00:00:00Z",
    });
    let reply = acme.post(PREVIEW, &body).await;
    let expected = [
        ("#/count", "out-of-range"),
        ("#/end_at", "out-of-range"),
        ("#/from", "wrong-type"),
        ("#/job", "unknown-field"),
        ("#/spec/cron", "malformed"),
        ("#/time_zone", "unknown-zone"),
    ];
    assert_eq!(reply.faults(), expected.map(|(at, code)| (at.to_owned(), code.to_owned())));
    let never = acme.post(PREVIEW, &json!({"spec": {"at": ["2020-01-01T00:00:00Z"]}})).await;
    assert_eq!(never.faults(), [("#/spec".to_owned(), "never-fires".to_owned())]);
    let unknown = json!({"spec": {"cron": "0 8 * * *"}, "exclude": ["none"]});
    let unknown = acme.post(PREVIEW, &unknown).await;
    assert_eq!(unknown.faults(), [("#/exclude/0".to_owned(), "unknown-calendar".to_owned())]);
}

#[tokio::test]
async fn a_preview_shows_what_a_schedule_then_does() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let spec = json!({"day": "last_business_day", "time": "17:30"});
    let preview = acme.post(PREVIEW, &json!({"spec": spec, "time_zone": "Asia/Tokyo"})).await.json;
    let body = schedule(json!({"spec": spec, "time_zone": "Asia/Tokyo"}));
    let made = acme.put("/v1/schedules/n", &body).await.json;
    assert_eq!(made["description"], preview["description"]);
    assert_eq!(made["next_fire_at"], preview["fires"][0]["at"]);
    assert_eq!(made["next_fire_local"], preview["fires"][0]["local"]);
    let fires = acme.get("/v1/schedules/n/fires").await.json;
    assert_eq!(fires["expected"], preview["fires"]);
    let version = api.as_nobody().get("/v1/version").await.json;
    assert_eq!(version["tzdata"], made["tzdata"]);
}

#[tokio::test]
async fn a_team_has_a_default_zone_of_its_own() {
    let api = Api::start().await;
    let (acme, owner) = (api.as_team("acme"), api.as_team("acme").role(Role::Owner));
    let settle = async |zone: Value| {
        let body = json!({"settings": {"default_time_zone": zone}});
        assert_eq!(owner.patch("/v1/teams/acme", "*", &body).await.status, 200);
    };
    let put = async || {
        let reply = acme.put("/v1/schedules/nightly", &schedule(json!({}))).await;
        reply.json["time_zone"].as_str().unwrap_or(&reply.text).to_owned()
    };
    let asked = json!({"spec": {"cron": "30 2 * * *"}});
    let preview = async || acme.post(PREVIEW, &asked).await.json["description"].clone();
    assert_eq!((put().await.as_str(), preview().await), ("UTC", json!("at 02:30 every day, UTC")));
    settle(json!("Europe/Berlin")).await;
    let body = schedule(json!({"name": "weekly"}));
    let weekly = acme.post("/v1/schedules", &body).await.json;
    assert_eq!(weekly["time_zone"], "Europe/Berlin");
    assert_eq!(weekly["next_fire_local"], "2026-12-01T02:30:00+01:00");
    assert_eq!(preview().await, "at 02:30 every day, Europe/Berlin");
    let named = json!({"spec": {"cron": "30 2 * * *"}, "time_zone": "UTC"});
    let named = acme.post(PREVIEW, &named).await.json;
    assert_eq!(named["description"], "at 02:30 every day, UTC");
    let rival = api.as_team("rival").post("/v1/schedules", &body).await.json;
    assert_eq!(rival["time_zone"], "UTC");

    // A schedule keeps the zone that it got, until it is put again without one.
    settle(json!("Asia/Tokyo")).await;
    let changed = acme.patch("/v1/schedules/weekly", "*", &json!({"jitter_ms": 1})).await.json;
    assert_eq!(changed["time_zone"], "Europe/Berlin");
    let taken_back = json!({"time_zone": null});
    let changed = acme.patch("/v1/schedules/weekly", "*", &taken_back).await.json;
    assert_eq!((&changed["time_zone"], put().await.as_str()), (&json!("Asia/Tokyo"), "Asia/Tokyo"));
    settle(Value::Null).await;
    assert_eq!(put().await, "UTC");
}
