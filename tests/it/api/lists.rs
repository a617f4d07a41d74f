//! Lists of jobs: filters, and pages that lose and repeat nothing.

use std::time::Duration;

use axle::domain::verdict::Outcome;
use serde_json::{Value, json};

use crate::support::api::{Api, Caller};
use crate::support::engine::REFUSED;

fn ids(page: &Value) -> Vec<String> {
    let data = page["data"].as_array().unwrap();
    data.iter().map(|job| job["id"].as_str().unwrap().to_owned()).collect()
}

async fn list(caller: &Caller<'_>, query: &str) -> Vec<String> {
    let reply = caller.get(&format!("/v1/jobs{query}")).await;
    assert_eq!(reply.status, 200, "{query}: {}", reply.text);
    ids(&reply.json)
}

#[tokio::test]
async fn every_filter_finds_its_jobs_and_all_of_them_must_hold() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let mut made = Vec::new();
    for more in [
        json!({"name": "a", "queue": "mail", "owner_service": "shop", "tags": {"region": "eu"}}),
        json!({"name": "a", "tags": {"region": "eu", "url": "http://x:1"}}),
        json!({"name": "ä b&c=d", "queue": "mail", "tags": {"region": "us"}}),
    ] {
        made.push(acme.enqueue(more).await);
        api.engine.pass(Duration::from_mins(1));
    }
    let expect = |places: &[usize]| places.iter().map(|n| made[*n].clone()).collect::<Vec<_>>();
    for (query, places) in [
        ("", &[2, 1, 0][..]),
        ("?name=a", &[1, 0]),
        ("?name=%C3%A4+b%26c%3Dd", &[2]),
        ("?name=none", &[]),
        ("?queue=mail", &[2, 0]),
        ("?queue=mail&name=a", &[0]),
        ("?owner_service=shop", &[0]),
        ("?tag=region:eu", &[1, 0]),
        ("?tag=url:http://x:1", &[1]),
        ("?tag=region:", &[]),
        ("?tag=region:eu&queue=default", &[1]),
        ("?state=PENDING", &[2, 1, 0]),
        ("?state=SUCCESS,FAILED", &[]),
        ("?state=SUCCESS,%20PENDING&queue=mail", &[2, 0]),
        ("?schedule_id=sch_01KB9YQ6Z4F0R8M3T1C5W7X2V0", &[]),
        ("?since=2026-11-30T02:01:00Z", &[2, 1]),
        ("?until=2026-11-30T02:01:00Z", &[0]),
        ("?since=2026-11-30T03:01:00%2B01:00&until=2026-11-30T02:01:00.001Z", &[1]),
        ("?since=2026-11-30T02:01:00.001Z", &[2]),
        ("?since=1900-01-01T00:00:00Z&until=9999-12-31T23:59:59Z", &[2, 1, 0]),
    ] {
        assert_eq!(list(&acme, query).await, expect(places), "{query}");
    }
}

#[tokio::test]
async fn states_are_found_wherever_jobs_stand() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let waiting = acme.enqueue(json!({"delay_ms": 9_000})).await;
    let mut by_state = vec![("PENDING", waiting)];
    for (state, outcome) in [("SUCCESS", Outcome::Succeeded), ("FAILED", REFUSED)] {
        api.engine.pass(Duration::from_millis(2));
        let id = acme.enqueue(Value::Null).await;
        api.settle(api.claim(&id).await, outcome).await;
        by_state.push((state, id));
    }
    api.engine.pass(Duration::from_millis(2));
    let cancelled = acme.enqueue(json!({"delay_ms": 9_000})).await;
    acme.act(&format!("/v1/jobs/{cancelled}/cancel")).await;
    by_state.push(("CANCELLED", cancelled));
    api.engine.pass(Duration::from_millis(2));
    let running = acme.enqueue(Value::Null).await;
    api.claim(&running).await;
    by_state.push(("RUNNING", running));
    for (state, id) in &by_state {
        assert_eq!(
            list(&acme, &format!("?state={state}")).await,
            std::slice::from_ref(id),
            "{state}"
        );
    }
    let all: Vec<_> = by_state.iter().rev().map(|(_, id)| id.clone()).collect();
    assert_eq!(list(&acme, "").await, all);
    assert_eq!(list(&acme, "?state=FAILED,CANCELLED").await, [all[1].clone(), all[2].clone()]);
    assert_eq!(list(&acme, "?state=FAILED,RUNNING").await, [all[0].clone(), all[2].clone()]);
}

#[tokio::test]
async fn pages_follow_one_another_though_jobs_of_one_instant_come_and_go() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    // The clock stands still: every one of them has the same time.
    let mut made = Vec::new();
    for _ in 0..25 {
        made.push(acme.enqueue(json!({"name": "old"})).await);
    }
    let (mut seen, mut path) = (Vec::new(), Some("/v1/jobs?limit=4&name=old".to_owned()));
    while let Some(here) = path {
        let page = acme.get(&here).await;
        let link = page.header("link").map(str::to_owned);
        let cursor = page.json["next_cursor"].as_str().map(str::to_owned);
        assert_eq!(link.is_some(), cursor.is_some());
        path = link.map(|link| {
            let next = link.strip_prefix('<').unwrap().strip_suffix(">; rel=\"next\"").unwrap();
            assert!(next.contains(&cursor.unwrap()) && next.contains("limit=4"), "{next}");
            next.to_owned()
        });
        seen.extend(ids(&page.json));
        // Whoever comes meanwhile is newer, and whoever finishes stays where he was.
        api.engine.pass(Duration::from_millis(1));
        acme.enqueue(json!({"name": "old"})).await;
        acme.act(&format!("/v1/jobs/{}/cancel", made[seen.len() % 25])).await;
    }
    assert_eq!(seen.len(), 25);
    assert!(seen.is_sorted_by(|a, b| a > b), "newest first, each once");
    made.sort();
    made.reverse();
    assert_eq!(seen, made);
}

#[tokio::test]
async fn an_exact_page_has_no_next_one() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    for _ in 0..2 {
        acme.enqueue(Value::Null).await;
    }
    let page = acme.get("/v1/jobs?limit=2").await;
    assert_eq!((&page.json["next_cursor"], page.header("link")), (&Value::Null, None));
    assert_eq!(acme.get("/v1/jobs").await.json["next_cursor"], Value::Null);
}

#[tokio::test]
async fn a_cursor_belongs_to_its_filter_and_not_to_its_limit() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    for _ in 0..4 {
        acme.enqueue(json!({"name": "a"})).await;
    }
    let page = acme.get("/v1/jobs?name=a&queue=default&limit=1").await;
    let cursor = page.json["next_cursor"].as_str().unwrap();
    let all = list(&acme, "").await;
    for query in [
        format!("?name=a&queue=default&limit=3&cursor={cursor}"),
        format!("?cursor={cursor}&queue=default&name=a"),
    ] {
        assert_eq!(list(&acme, &query).await, all[1..], "{query}");
    }
    let mut altered = cursor.to_owned();
    let last = altered.pop().unwrap();
    altered.push(if last == 'A' { 'B' } else { 'A' });
    let foreign = format!("?name=a&cursor={cursor}");
    let of_runs = format!("?name=a&queue=default&cursor={altered}");
    let cut = format!("?name=a&queue=default&cursor={}", cursor.split_at(cursor.len() - 2).0);
    for query in [
        &foreign,
        &of_runs,
        &cut,
        &format!("?cursor={cursor}"),
        "?cursor=",
        "?cursor=%00",
        "?cursor=AAAA",
        "?name=a&queue=default&cursor=%F0%9F%98%80",
    ] {
        let reply = acme.get(&format!("/v1/jobs{query}")).await;
        assert_eq!((reply.status, reply.code()), (400, "invalid-cursor"), "{query}");
    }
}

#[tokio::test]
async fn parameters_that_cannot_be_accepted_are_named_together() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let query = "?state=DONE&tag=region&since=today&until=&limit=0&limit=5&schedule_id=7&sort=id\
                 &name=%00&a/b=1";
    let reply = acme.get(&format!("/v1/jobs{query}")).await;
    let expected = [
        ("#/query/a~1b", "unknown-parameter"),
        ("#/query/limit", "duplicate-parameter"),
        ("#/query/limit", "out-of-range"),
        ("#/query/name", "out-of-range"),
        ("#/query/schedule_id", "out-of-range"),
        ("#/query/since", "out-of-range"),
        ("#/query/sort", "unknown-parameter"),
        ("#/query/state", "out-of-range"),
        ("#/query/tag", "out-of-range"),
        ("#/query/until", "out-of-range"),
    ];
    let expected = expected.map(|(at, code)| (at.to_owned(), code.to_owned()));
    assert_eq!((reply.status, reply.faults()), (422, expected.to_vec()));
    for limit in ["501", "-1", "1e2", "", "9999999999999999999999"] {
        let reply = acme.get(&format!("/v1/jobs?limit={limit}")).await;
        assert_eq!(reply.status, 422, "{limit}");
    }
    for limit in [1, 500] {
        assert_eq!(acme.get(&format!("/v1/jobs?limit={limit}")).await.status, 200, "{limit}");
    }
}
