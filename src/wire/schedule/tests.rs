//! What is shown, read again, is the same; a patch changes what it names and nothing else; every
//! fault has its pointer.

use bytes::Bytes;
use chrono::DateTime;
use proptest::prelude::*;
use serde_json::json;
use serde_json::value::RawValue;

use super::patch::read_patch;
use super::read::{Terms, read_schedule};
use super::view::{STANDING, ScheduleView};
use crate::domain::invalid::Invalid;
use crate::domain::principal::Team;
use crate::domain::redact::Veil;
use crate::domain::schedule::doc::Draft;
use crate::domain::schedule::record::{Schedule, ScheduleState};

const TERMS: Terms<'_> = Terms { max_payload: 1_000, time_zone: "Europe/Berlin", name: None };

fn raw(text: &str) -> &RawValue {
    serde_json::from_str(text).unwrap()
}

fn stored(draft: &Draft) -> Schedule {
    Schedule {
        id: "sch_01KB9YQ6Z4F0R8M3T1C5W7X2V0".parse().unwrap(),
        team: Team::parse("acme").unwrap(),
        name: draft.name.clone(),
        doc: draft.doc.clone(),
        payload: draft.payload.clone(),
        state: if draft.paused == Some(true) {
            ScheduleState::Paused
        } else {
            ScheduleState::Active
        },
        reason: None,
        accounted_until: DateTime::UNIX_EPOCH,
        next_slot_at: None,
        next_fire_at: None,
        fires: 0,
        last_fire_at: None,
        version: 1,
        created_at: DateTime::UNIX_EPOCH,
        updated_at: DateTime::UNIX_EPOCH,
    }
}

/// The definition in a view, as a client that knows which fields it is made of would send it.
fn definition(schedule: &Schedule) -> String {
    let view = serde_json::to_string(&ScheduleView::new(schedule, &Veil::lifted())).unwrap();
    let (entries, _) = crate::wire::fields::Fields::read(raw(&view), "#").unwrap().into_entries();
    let own = entries.iter().filter(|(name, _)| !STANDING.contains(&name.as_ref()));
    let own: Vec<_> = own.map(|(name, value)| format!("{name:?}:{}", value.get())).collect();
    format!("{{{}}}", own.join(","))
}

fn read(text: &str) -> Draft {
    read_schedule(raw(text), TERMS).unwrap_or_else(|faults| panic!("{faults}: {text}"))
}

fn faults(invalid: Invalid) -> Vec<(String, &'static str)> {
    let mut faults: Vec<_> =
        invalid.0.into_iter().map(|fault| (fault.pointer, fault.code)).collect();
    faults.sort();
    faults
}

const MINIMAL: &str =
    r#"{"name":"n","spec":{"cron":"30 2 * * *"},"job":{"target":{"url":"http://h/"}}}"#;

/// Some of these texts, each of which may stand in a definition beside the others.
fn some_of(texts: &'static [&'static str]) -> impl Strategy<Value = Vec<&'static str>> {
    prop::sample::subsequence(texts, 0..=texts.len())
}

fn definitions() -> impl Strategy<Value = String> {
    let spec = prop::sample::select(vec![
        r#"{"cron":" 30 2 * * 1-5 "}"#,
        r#"{"cron":"*/5 0 2 * * *","seconds":true}"#,
        r#"{"cron":"@daily","seconds":false}"#,
        r#"{"every_ms":90000}"#,
        r#"{"every_ms":1000,"anchor":"2026-01-01T00:00:00.000001+02:00"}"#,
        r#"{"at":["2027-01-01T00:00:00.1234567Z","2026-12-31T23:00:00+01:00"]}"#,
        r#"{"day":"last_of_month","time":"02:00"}"#,
        r#"{"day":"nth_business_day","n":3,"time":"17:30:15"}"#,
        r#"{"any_of":[{"cron":"0 1 * * *"},{"every_ms":3600000},{"at":["2027-01-01T00:00:00Z"]}]}"#,
    ]);
    let rest = some_of(&[
        r#""time_zone":"America/New_York""#,
        r#""overlap":"queue_one""#,
        r#""catch_up":{"policy":"all","max":3}"#,
        r#""on_gap":"skip""#,
        r#""on_overlap_hour":"both""#,
        r#""jitter_ms":5000"#,
        r#""exclude":["de-holidays","Own.Days"]"#,
        r#""start_at":"2026-12-01T08:00:00+01:00","end_at":"2030-01-01T00:00:00.5Z""#,
        r#""max_fires":7"#,
        r#""paused":true"#,
        r#""pause_on_failure":true"#,
    ]);
    let job = some_of(&[
        r#""name":"other""#,
        r#""queue":"mail""#,
        r#""priority":0"#,
        r#""timeout_ms":1"#,
        r#""completion":"callback","heartbeat_timeout_ms":1000"#,
        r#""start_within_ms":60000"#,
        r#""owner_service":"billing ✉""#,
        r#""tags":{"b/a":"1","a~b":"2"}"#,
    ]);
    let payload = prop::sample::select(vec![
        "",
        r#""payload":null,"#,
        r#""payload":{"b" :1e400,"b":[ 2.50 ,"\u00e4"]},"#,
        r#""payload":"text","content_type":"application/x+json","#,
        r#""payload_base64":"AP8=","content_type":"application/octet-stream","#,
        r#""payload_base64":"","content_type":"text/plain","#,
    ]);
    let target = prop::sample::select(vec![
        r#""target":{"url":"https://h/a?b=c","method":"GET","headers":{"X-Z":"1","X-A":"2"}}"#,
        r#""target":{"url":"http://h/"}"#,
    ]);
    let factor = any::<u32>().prop_map(|n| {
        // With all the digits that a number can have: any rounding on the way would show.
        format!(r#""retry":{{"factor":{},"max_retries":1}}"#, 1.0 + f64::from(n) / 4.4e7)
    });
    (spec, rest, job, payload, target, factor).prop_map(
        |(spec, rest, job, payload, target, factor)| {
            let rest: Vec<_> = rest.iter().map(|text| format!(",{text}")).collect();
            let job: Vec<_> = job.iter().map(|text| format!(",{text}")).collect();
            format!(
                r#"{{"name":"n","spec":{spec},"job":{{{payload}{target},{factor}{}}}{}}}"#,
                job.concat(),
                rest.concat()
            )
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_shown_is_read_as_the_same(text in definitions()) {
        let first = read(&text);
        let shown = definition(&stored(&first));
        let again = read(&shown);
        prop_assert_eq!(&again.doc, &first.doc, "{}", shown);
        prop_assert_eq!(&again.payload, &first.payload);
        prop_assert_eq!(again.paused, Some(first.paused == Some(true)));
        // As the database keeps it: else the same definition put twice would seem to change.
        let kept = serde_json::to_vec(&first.doc).unwrap();
        let kept: crate::domain::schedule::doc::ScheduleDoc = serde_json::from_slice(&kept).unwrap();
        prop_assert_eq!(&kept, &first.doc);
    }

    #[test]
    fn an_empty_patch_changes_nothing(text in definitions()) {
        let first = read(&text);
        let patched = read_patch(raw("{}"), &stored(&first), TERMS).unwrap();
        prop_assert_eq!((&patched.doc, &patched.payload), (&first.doc, &first.payload));
        prop_assert_eq!(patched.paused, None);
    }
}

#[test]
fn what_is_absent_has_its_default() {
    let draft = read(MINIMAL);
    let view = serde_json::to_value(ScheduleView::new(&stored(&draft), &Veil::lifted())).unwrap();
    for (field, value) in [
        ("time_zone", json!("Europe/Berlin")),
        ("overlap", json!("skip")),
        ("catch_up", json!({"policy": "last", "window_ms": 3_600_000, "max": 10})),
        ("on_gap", json!("fire")),
        ("on_overlap_hour", json!("first")),
        ("jitter_ms", json!(0)),
        ("exclude", json!([])),
        ("shift", json!("skip")),
        ("max_fires", json!(null)),
        ("paused", json!(false)),
        ("pause_on_failure", json!(false)),
        ("description", json!("at 02:30 every day, Europe/Berlin")),
    ] {
        assert_eq!(view[field], value, "{field}");
    }
    assert_eq!((draft.paused, draft.payload), (None, Bytes::new()));
}

#[test]
fn every_fault_is_named_at_once() {
    let text = r#"{"name":"sch_x","id":"sch_1","spec":{"any_of":[{"cron":"61 * * * *"},
        {"every_ms":5,"n":1},{"any_of":[]},{}]},"time_zone":"Mars","overlap":"twice","jitter_ms":86400001,
        "catch_up":{"policy":"some","window_ms":31622400001,"max":0},"max_fires":0,
        "exclude":["a","a","b/c"],"start_at":"2027-01-01T00:00:00Z","end_at":"2026-01-01T00:00:00Z",
        "prioritty":1,"job":{"target":{},"due_at":"2026-12-01T08:00:00Z","unique_key":"k",
        "delay_ms":null,"priority":10,"start_within_ms":0}}"#;
    let found = faults(read_schedule(raw(text), TERMS).unwrap_err());
    let expected = [
        ("#/catch_up/max", "out-of-range"),
        ("#/catch_up/policy", "out-of-range"),
        ("#/catch_up/window_ms", "out-of-range"),
        ("#/end_at", "out-of-range"),
        ("#/exclude/1", "duplicate-item"),
        ("#/exclude/2", "out-of-range"),
        ("#/id", "read-only"),
        ("#/jitter_ms", "out-of-range"),
        ("#/job/due_at", "excluded"),
        ("#/job/priority", "out-of-range"),
        ("#/job/start_within_ms", "out-of-range"),
        ("#/job/target/url", "required"),
        ("#/job/unique_key", "excluded"),
        ("#/max_fires", "out-of-range"),
        ("#/name", "out-of-range"),
        ("#/overlap", "out-of-range"),
        ("#/prioritty", "unknown-field"),
        ("#/spec/any_of/1/n", "excluded"),
        ("#/spec/any_of/2/any_of", "excluded"),
        ("#/spec/any_of/2/cron", "required"),
        ("#/spec/any_of/3/cron", "required"),
        ("#/time_zone", "unknown-zone"),
    ];
    assert_eq!(found, expected.map(|(at, code)| (at.to_owned(), code)));
}

#[test]
fn a_spec_is_of_one_kind() {
    for (spec, expected) in [
        ("null", &[("#/spec", "required")][..]),
        ("[]", &[("#/spec", "wrong-type")]),
        ("{}", &[("#/spec/cron", "required")]),
        (
            r#"{"crom":"* * * * *"}"#,
            &[("#/spec/crom", "unknown-field"), ("#/spec/cron", "required")],
        ),
        (r#"{"cron":"* * * * *","every_ms":1000}"#, &[("#/spec/every_ms", "excluded")]),
        (
            r#"{"cron":"* * * * *","every_ms":1000,"anchor":"x"}"#,
            &[("#/spec/every_ms", "excluded")],
        ),
        (r#"{"cron":5}"#, &[("#/spec/cron", "wrong-type")]),
        (r#"{"cron":"0 0 31 2 *"}"#, &[("#/spec/cron", "never-fires")]),
        (r#"{"every_ms":1000,"seconds":true}"#, &[("#/spec/seconds", "excluded")]),
        (r#"{"at":[]}"#, &[("#/spec/at", "out-of-range")]),
        (
            r#"{"at":["soon",1,"2026-12-01T08:00:00Z"]}"#,
            &[("#/spec/at/0", "wrong-type"), ("#/spec/at/1", "wrong-type")],
        ),
        (r#"{"any_of":[]}"#, &[("#/spec/any_of", "out-of-range")]),
        (r#"{"any_of":[1,{"cron":"x"}]}"#, &[("#/spec/any_of/0", "wrong-type")]),
        (
            r#"{"any_of":[{"cron":"x"},{"cron":"y"}]}"#,
            &[("#/spec/any_of/0/cron", "malformed"), ("#/spec/any_of/1/cron", "malformed")],
        ),
        (r#"{"day":"first","time":"02:00"}"#, &[("#/spec/day", "out-of-range")]),
        (
            r#"{"day":"last_of_month","n":1}"#,
            &[("#/spec/n", "excluded"), ("#/spec/time", "required")],
        ),
        (r#"{"day":"nth_business_day","time":"02:00"}"#, &[("#/spec/n", "required")]),
        (r#"{"day":"nth_business_day","n":32,"time":"02:00"}"#, &[("#/spec/n", "out-of-range")]),
        (r#"{"day":"last_of_month","time":"2:00"}"#, &[("#/spec/time", "malformed")]),
    ] {
        let text = MINIMAL.replace(r#"{"cron":"30 2 * * *"}"#, spec);
        let found = faults(read_schedule(raw(&text), TERMS).unwrap_err());
        let expected: Vec<_> =
            expected.iter().map(|(at, code)| ((*at).to_owned(), *code)).collect();
        assert_eq!(found, expected, "{spec}");
    }
}

#[test]
fn bombs_are_refused_without_being_read_through() {
    let deep = format!("{}1{}", r#"{"any_of":["#.repeat(50_000), "]}".repeat(50_000));
    let text = MINIMAL.replace(r#"{"cron":"30 2 * * *"}"#, &deep);
    let found = faults(read_schedule(raw(&text), TERMS).unwrap_err());
    let expected = [("#/spec/any_of/0/any_of", "excluded"), ("#/spec/any_of/0/cron", "required")];
    assert_eq!(found, expected.map(|(at, code)| (at.to_owned(), code)));
    for (spec, at) in [
        (format!(r#"{{"any_of":[{}1]}}"#, "1,".repeat(100_000)), "#/spec/any_of"),
        (format!(r#"{{"at":[{}1]}}"#, "1,".repeat(100_000)), "#/spec/at"),
    ] {
        let text = MINIMAL.replace(r#"{"cron":"30 2 * * *"}"#, &spec);
        let found = faults(read_schedule(raw(&text), TERMS).unwrap_err());
        assert_eq!(found, [(at.to_owned(), "too-many")]);
    }
    let nested = format!("{}1{}", r#"{"job":"#.repeat(50_000), "}".repeat(50_000));
    read_patch(raw(&nested), &stored(&read(MINIMAL)), TERMS).unwrap_err();
}

#[test]
fn a_patch_changes_what_it_names() {
    let text = MINIMAL.replace(
        r#""job":{"#,
        r#""jitter_ms":5,"job":{"payload":{"b" :1e400,"b":1},"tags":{"a":"1","b":"2"},"#,
    );
    let before = read(&text);
    let patched = |patch: &str| read_patch(raw(patch), &stored(&before), TERMS).unwrap();
    let same = before.payload.clone();

    let after = patched(r#"{"job":{"tags":{"a":null,"c":"3"},"priority":9},"jitter_ms":null}"#);
    let tags: Vec<_> = after.doc.job.tags.into_iter().collect();
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    assert_eq!(tags, [pair("b", "2"), pair("c", "3")]);
    assert_eq!((after.doc.job.priority, after.doc.jitter_ms, after.payload), (9, 0, same.clone()));

    // Not merged with the cron line that was there.
    let after = patched(r#"{"spec":{"every_ms":1000}}"#);
    assert_eq!((after.doc.job, after.payload), (before.doc.job.clone(), same));

    let after = patched(r#"{"job":{"payload":{ "c":2 }}}"#);
    assert_eq!(after.payload, r#"{ "c":2 }"#);
    let after = patched(r#"{"job":{"payload":null}}"#);
    assert_eq!((after.payload, after.doc.job.spec.json), (Bytes::new(), true));
    assert_eq!(patched(r#"{"paused":true}"#).paused, Some(true));
    assert_eq!(patched(r#"{"name":"n"}"#).doc, before.doc);
}

#[test]
fn a_payload_may_change_its_kind() {
    let json = read(MINIMAL);
    let bytes = r#"{"job":{"payload_base64":"AP8=","content_type":"image/png"}}"#;
    let bytes = read_patch(raw(bytes), &stored(&json), TERMS).unwrap();
    assert_eq!((&bytes.payload[..], bytes.doc.job.spec.json), (&b"\x00\xff"[..], false));
    let other = r#"{"job":{"payload_base64":"AA=="}}"#;
    let other = read_patch(raw(other), &stored(&bytes), TERMS).unwrap();
    assert_eq!(other.doc.job.spec.content_type, "image/png");
    let back = read_patch(raw(r#"{"job":{"payload":[1]}}"#), &stored(&bytes), TERMS).unwrap();
    assert_eq!(back.doc.job.spec.content_type, "application/json");
    let bare = read_patch(raw(r#"{"job":{"payload_base64":"AA=="}}"#), &stored(&json), TERMS);
    assert_eq!(faults(bare.unwrap_err()), [("#/job/content_type".to_owned(), "required")]);
}

#[test]
fn what_a_patch_cannot_do_is_named_where_it_stands() {
    let before = stored(&read(MINIMAL));
    for (patch, expected) in [
        ("[]", &[("#", "wrong-type")][..]),
        (r#"{"name":"m"}"#, &[("#/name", "differs")]),
        (r#"{"spec":null}"#, &[("#/spec", "required")]),
        (r#"{"job":null}"#, &[("#/job", "required")]),
        (r#"{"job":5}"#, &[("#/job", "wrong-type")]),
        (
            r#"{"state":"ACTIVE","version":2}"#,
            &[("#/state", "read-only"), ("#/version", "read-only")],
        ),
        (r#"{"job":{"target":{"url":null}}}"#, &[("#/job/target/url", "required")]),
        (r#"{"overlap":"skip","overlap":"allow"}"#, &[("#/overlap", "duplicate-field")]),
        (
            r#"{"job":{"due_at":"x","colour":1}}"#,
            &[("#/job/colour", "unknown-field"), ("#/job/due_at", "excluded")],
        ),
    ] {
        let found = faults(read_patch(raw(patch), &before, TERMS).unwrap_err());
        let expected: Vec<_> =
            expected.iter().map(|(at, code)| ((*at).to_owned(), *code)).collect();
        assert_eq!(found, expected, "{patch}");
    }
}
