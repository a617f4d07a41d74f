//! Calendars over HTTP: put, read, imported from iCalendar, deleted.

use reqwest::Method;
use serde_json::{Value, json};

use super::recipes::schedule;
use crate::support::api::Api;

const DE: &str = "/v1/calendars/de-holidays";

fn faults(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(at, code)| ((*at).to_owned(), (*code).to_owned())).collect()
}

#[tokio::test]
async fn a_calendar_is_put_read_and_listed() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let body = json!({
        "dates": ["2026-12-26", "2026-12-25", "2026-12-25"], "weekend": ["sun", "sat", "sun"],
    });
    let made = acme.put(DE, &body).await;
    assert_eq!(made.status, 200, "{}", made.text);
    let expected = json!({
        "name": "de-holidays", "dates": ["2026-12-25", "2026-12-26"], "weekend": ["sat", "sun"],
        "version": 1, "updated_at": "2026-11-30T02:00:00.000000Z",
    });
    assert_eq!(made.json, expected);
    assert_eq!(acme.get(DE).await.json, expected);
    assert_eq!(acme.put(DE, &body).await.json["version"], 1, "it says the same");
    assert_eq!(acme.put(DE, &json!({"weekend": ["fri"]})).await.json["version"], 2);
    acme.put("/v1/calendars/at", &json!({"dates": ["2026-10-26", "2027-10-26"]})).await;
    let list = acme.get("/v1/calendars").await.json["data"].clone();
    let brief = json!({
        "name": "at", "date_count": 2, "weekend": [], "last_date": "2027-10-26", "version": 1,
        "updated_at": "2026-11-30T02:00:00.000000Z",
    });
    assert_eq!((&list[0], &list[1]["name"]), (&brief, &json!("de-holidays")));
    assert_eq!(api.as_team("rival").get("/v1/calendars").await.json["data"], json!([]));
    assert_eq!(api.as_team("rival").get(DE).await.status, 404);
}

#[tokio::test]
async fn a_file_is_imported_and_what_is_not_taken_is_named() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let event = |lines: &str| format!("BEGIN:VEVENT\r\n{lines}END:VEVENT\r\n");
    let ics = format!(
        "BEGIN:VCALENDAR\r\n{}{}{}END:VCALENDAR\r\n",
        event("SUMMARY:Christmas\r\nDTSTART;VALUE=DATE:20201225\r\nRRULE:FREQ=YEARLY\r\n"),
        event("SUMMARY:Bridge\r\nDTSTART;VALUE=DATE:20270524\r\nDTEND;VALUE=DATE:20270526\r\n"),
        event("SUMMARY:Stand-up\r\nDTSTART:20270105T090000Z\r\n"),
    );
    let body = json!({
        "ics": ics, "years": {"from": 2026, "to": 2028}, "dates": ["2026-06-01"],
        "weekend": ["sat", "sun"],
    });
    let made = acme.put(DE, &body).await;
    assert_eq!(made.status, 200, "{}", made.text);
    let expected =
        ["2026-06-01", "2026-12-25", "2027-05-24", "2027-05-25", "2027-12-25", "2028-12-25"];
    assert_eq!(made.json["dates"], json!(expected));
    let left = &made.json["not_taken"];
    assert_eq!((&left[0]["line"], &left[0]["what"]), (&json!(12), &json!("Stand-up")), "{left}");
    assert!(left[0]["why"].as_str().unwrap().contains("all-day"), "{left}");
    assert_eq!(acme.get(DE).await.json.get("not_taken"), None);
    // Without years: from last year to ten years from now.
    let dates = acme.put(DE, &json!({"ics": ics})).await.json["dates"].clone();
    assert_eq!(
        (&dates[0], dates.as_array().unwrap().last().unwrap()),
        (&json!("2025-12-25"), &json!("2036-12-25"))
    );
    // A large file fits.
    let padded =
        ics.replace("END:VCALENDAR", &format!("X-PAD:{}\r\nEND:VCALENDAR", "x".repeat(900_000)));
    assert_eq!(acme.put(DE, &json!({"ics": padded})).await.status, 200);
}

#[tokio::test]
async fn what_cannot_be_accepted_is_refused_with_every_fault() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let only_times =
        "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:20270105T090000Z\nEND:VEVENT\nEND:VCALENDAR\n";
    let days: Vec<_> = (0..5_001).map(|_| "2026-12-25").collect();
    let week = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
    for (body, expected) in [
        (
            json!({"dates": ["2026-02-29", 5], "weekend": ["saturday"], "days": []}),
            &[
                ("#/dates/0", "wrong-type"),
                ("#/dates/1", "wrong-type"),
                ("#/days", "unknown-field"),
                ("#/weekend/0", "out-of-range"),
            ][..],
        ),
        (json!({"dates": ["1969-12-31"]}), &[("#/dates", "out-of-range")]),
        (json!({"dates": days}), &[("#/dates", "too-many")]),
        (json!({"weekend": week}), &[("#/weekend", "out-of-range")]),
        (json!({"years": {"from": 2026}}), &[("#/years", "excluded")]),
        (
            json!({"ics": only_times, "years": {"from": 1900, "to": "x"}}),
            &[("#/years/from", "out-of-range"), ("#/years/to", "wrong-type")],
        ),
        (
            json!({"ics": only_times, "years": {"from": 2028, "to": 2027}}),
            &[("#/years/to", "out-of-range")],
        ),
        (json!({"ics": "hello"}), &[("#/ics", "malformed")]),
        (json!({"ics": only_times}), &[("#/ics", "malformed")]),
        (json!({"ics": "BEGIN:VCALENDAR\nEND:VEVENT\n"}), &[("#/ics", "malformed")]),
    ] {
        let reply = acme.put(DE, &body).await;
        assert_eq!((reply.status, reply.faults()), (422, faults(expected)), "{}", reply.text);
    }
    assert_eq!(acme.get(DE).await.status, 404);
    let long = "c".repeat(129);
    for name in ["-a", "a%20b", "%C3%A4", "a%00", "%ff", "a%2Fb", &long] {
        let path = format!("/v1/calendars/{name}");
        for reply in [
            acme.get(&path).await,
            acme.put(&path, &json!({})).await,
            acme.send(Method::DELETE, &path, "").await,
        ] {
            let expected = faults(&[("#/path/name", "out-of-range")]);
            assert_eq!((reply.status, reply.faults()), (422, expected), "{name}");
        }
    }
}

#[tokio::test]
async fn a_calendar_moves_the_schedules_that_use_it_and_stays_while_they_do() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    acme.put(DE, &json!({})).await;
    let path = "/v1/schedules/n";
    let made = acme.put(path, &schedule(json!({"exclude": ["de-holidays"]}))).await;
    assert_eq!(made.json["next_fire_at"], "2026-11-30T02:30:00.000000Z", "{}", made.text);
    acme.put(DE, &json!({"dates": ["2026-11-30", "2026-12-01"]})).await;
    assert_eq!(acme.get(path).await.json["next_fire_at"], "2026-12-02T02:30:00.000000Z");
    let fires = acme.get(&format!("{path}/fires")).await.json;
    assert_eq!(fires["expected"][0]["outcome"], "skipped_calendar");
    let kept = acme.send(Method::DELETE, DE, "").await;
    assert_eq!((kept.status, kept.code()), (409, "calendar-in-use"));
    assert!(kept.json["detail"].as_str().unwrap().contains('n'), "{}", kept.text);
    assert_eq!(acme.patch(path, "*", &json!({"exclude": null})).await.status, 200);
    assert_eq!(acme.send(Method::DELETE, DE, "").await.status, 204);
    let gone = acme.send(Method::DELETE, DE, "").await;
    assert_eq!((gone.status, &gone.json["retryable"]), (404, &Value::from(false)));
}
