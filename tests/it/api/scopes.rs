//! API keys that are held to some queues: what they register and see, that all else does not exist for
//! them, and that they manage nothing.

use axle::domain::id::JobId;
use axle::domain::principal::Role;
use reqwest::Method;
use serde_json::{Value, json};

use super::recipes::schedule;
use crate::support::api::{Api, Caller, Reply, job};

/// Makes a key for these queues, and returns its id and text.
async fn make(api: &Api, role: &str, queues: &[&str]) -> (String, String) {
    let body = json!({"name": "narrow", "role": role, "queues": queues});
    let made = api.as_team("acme").role(Role::Owner).post("/v1/keys", &body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let text = |field: &str| made.json[field].as_str().unwrap().to_owned();
    (text("id"), text("key"))
}

fn bearing<'a>(api: &'a Api, key: &str) -> Caller<'a> {
    api.as_nobody().header("authorization", &format!("Bearer {key}"))
}

async fn held<'a>(api: &'a Api, role: &str, queues: &[&str]) -> Caller<'a> {
    let (_, key) = make(api, role, queues).await;
    bearing(api, &key)
}

fn ids(list: &Reply) -> Vec<String> {
    let data = list.json["data"].as_array().unwrap_or_else(|| panic!("{}", list.text));
    let mut ids: Vec<_> = data.iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    ids
}

fn assert_beyond(reply: &Reply, what: &str) {
    assert_eq!((reply.status, reply.code()), (403, "forbidden"), "{what}: {}", reply.text);
    let (detail, hint) = (&reply.json["detail"], &reply.json["hint"]);
    assert!(detail.as_str().unwrap().contains("the queues high, mail"), "{what}: {detail}");
    assert!(hint.as_str().unwrap().contains("key that reaches the queue"), "{what}: {hint}");
}

#[tokio::test]
async fn a_key_registers_jobs_for_its_queues_only() {
    let api = Api::start().await;
    let narrow = held(&api, "writer", &["mail", "high"]).await;
    assert_eq!(narrow.create(json!({"queue": "mail"})).await["queue"], "mail");
    for body in [job(Value::Null), job(json!({"queue": "low"}))] {
        assert_beyond(&narrow.post("/v1/jobs", &body).await, "create");
    }
    // One item beyond them refuses a batch of either kind.
    let jobs = [job(json!({"queue": "high"})), job(json!({"queue": "low"}))];
    for atomic in [true, false] {
        let batch = json!({"atomic": atomic, "jobs": jobs});
        assert_beyond(&narrow.post("/v1/jobs/batch", &batch).await, "batch");
    }
    assert_eq!(ids(&api.as_team("acme").get("/v1/jobs").await).len(), 1);
}

#[tokio::test]
async fn jobs_of_other_queues_do_not_exist_for_it() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let narrow = held(&api, "operator", &["mail", "high"]).await;
    let own = acme.enqueue(json!({"queue": "mail", "delay_ms": 60_000})).await;
    let high = acme.enqueue(json!({"queue": "high"})).await;
    let other = acme.enqueue(json!({"queue": "low"})).await;
    let run = api.claim(&other).await;
    // Of the same time and shard, with random bits that nobody has drawn.
    let nothing = JobId::new(run.job.made_at(), run.shard(), 7).to_string();
    let calls = |id: &str| {
        [
            (Method::GET, format!("/v1/jobs/{id}"), ""),
            (Method::GET, format!("/v1/jobs/{id}/runs"), ""),
            (Method::GET, format!("/v1/jobs/{id}/events"), ""),
            (Method::PATCH, format!("/v1/jobs/{id}"), "{\"priority\":1}"),
            (Method::POST, format!("/v1/jobs/{id}/cancel"), ""),
            (Method::POST, format!("/v1/jobs/{id}/run-now"), ""),
            (Method::POST, format!("/v1/jobs/{id}/rerun"), ""),
        ]
    };
    let caller = narrow.clone().header("if-match", "*");
    for ((method, path, body), (_, absent, _)) in calls(&other).into_iter().zip(calls(&nothing)) {
        let hidden = caller.send(method.clone(), &path, body).await;
        let absent = caller.send(method, &absent, body).await;
        assert_eq!((hidden.status, hidden.code()), (404, "not-found"), "{path}: {}", hidden.text);
        assert_eq!(hidden.json["detail"], absent.json["detail"], "{path}");
    }
    let reply = narrow.get(&format!("/v1/runs/{run}")).await;
    assert_eq!((reply.status, reply.code()), (404, "run-unknown"), "{}", reply.text);

    let mut both = vec![own.clone(), high];
    both.sort();
    assert_eq!(ids(&narrow.get("/v1/jobs").await), both);
    assert_eq!(ids(&narrow.get("/v1/jobs?queue=mail").await), std::slice::from_ref(&own));
    assert_eq!(ids(&narrow.get("/v1/jobs?queue=low").await), Vec::<String>::new());
    let first = narrow.get("/v1/jobs?limit=1").await;
    let cursor = first.json["next_cursor"].as_str().unwrap();
    let second = narrow.get(&format!("/v1/jobs?limit=1&cursor={cursor}")).await;
    let mut paged = [ids(&first), ids(&second)].concat();
    paged.sort();
    assert_eq!(paged, both);
    assert_eq!(second.json["next_cursor"], Value::Null);

    // Its own it works on.
    let path = format!("/v1/jobs/{own}");
    assert_eq!(narrow.patch(&path, "*", &json!({"priority": 1})).await.status, 200);
    assert_eq!(narrow.act(&format!("{path}/cancel")).await.status, 200);
    assert_eq!(narrow.act(&format!("{path}/rerun")).await.status, 201);
}

#[tokio::test]
async fn a_taken_key_of_another_queue_tells_no_more_than_that() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let narrow = held(&api, "operator", &["mail"]).await;
    let other = acme.enqueue(json!({"queue": "low", "unique_key": "order-42"})).await;
    for on_duplicate in ["existing", "reject"] {
        let body = job(json!({"queue": "mail", "unique_key": "order-42",
                              "on_duplicate": on_duplicate}));
        let reply = narrow.post("/v1/jobs", &body).await;
        assert_eq!((reply.status, reply.code()), (409, "duplicate-key"), "{}", reply.text);
        assert!(!reply.text.contains(&other), "{}", reply.text);
        let batch = json!({"atomic": true, "jobs": [body]});
        let reply = narrow.post("/v1/jobs/batch", &batch).await;
        assert_eq!((reply.status, reply.code()), (409, "duplicate-key"), "{}", reply.text);
        let batch = json!({"atomic": false, "jobs": [body]});
        let reply = narrow.post("/v1/jobs/batch", &batch).await;
        assert_eq!(reply.json["results"][0]["status"], 409, "{}", reply.text);
        assert!(!reply.text.contains(&other), "{}", reply.text);
    }
    // A key that reaches less gets no answer that was given to one that reaches more.
    let (_, wide) = make(&api, "operator", &["low", "mail"]).await;
    let path = format!("/v1/jobs/{other}/cancel");
    let once = bearing(&api, &wide).header("idempotency-key", "once");
    assert_eq!(once.act(&path).await.status, 200);
    let reply = narrow.header("idempotency-key", "once").act(&path).await;
    assert_eq!((reply.status, reply.code()), (404, "not-found"), "{}", reply.text);
}

#[tokio::test]
async fn schedules_of_other_queues_do_not_exist_for_it() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let narrow = held(&api, "operator", &["mail", "high"]).await;
    let of = |queue: &str| schedule(json!({"job": job(json!({"queue": queue}))}));
    assert_eq!(acme.put("/v1/schedules/theirs", &of("low")).await.status, 201);
    assert_eq!(narrow.put("/v1/schedules/mine", &of("mail")).await.status, 201);
    assert_beyond(&narrow.put("/v1/schedules/new", &of("low")).await, "put");
    let moved = json!({"job": {"queue": "low"}});
    assert_beyond(&narrow.patch("/v1/schedules/mine", "*", &moved).await, "patch");
    let mut named = of("high");
    named["name"] = json!("theirs");
    let reply = narrow.post("/v1/schedules", &named).await;
    assert_eq!((reply.status, reply.code()), (409, "name-taken"), "{}", reply.text);
    assert!(!reply.text.contains("sch_"), "{}", reply.text);
    let caller = narrow.clone().header("if-match", "*");
    let range = "{\"from\":\"2026-11-29T00:00:00Z\",\"to\":\"2026-11-29T01:00:00Z\"}";
    for (method, path, body) in [
        (Method::GET, "", ""),
        (Method::GET, "/fires", ""),
        (Method::PATCH, "", "{\"jitter_ms\":1}"),
        (Method::DELETE, "", ""),
        (Method::POST, "/pause", "{\"reason\":\"x\"}"),
        (Method::POST, "/resume", ""),
        (Method::POST, "/trigger", ""),
        (Method::POST, "/backfill", range),
    ] {
        let theirs =
            caller.send(method.clone(), &format!("/v1/schedules/theirs{path}"), body).await;
        let absent = caller.send(method.clone(), &format!("/v1/schedules/none{path}"), body).await;
        assert_eq!((theirs.status, theirs.code()), (404, "not-found"), "{method} {path}");
        assert_eq!(theirs.json["detail"], absent.json["detail"], "{method} {path}");
    }
    let put = narrow.put("/v1/schedules/theirs", &of("mail")).await;
    assert_eq!((put.status, put.code()), (404, "not-found"), "{}", put.text);
    let list = narrow.get("/v1/schedules").await.json;
    let names = list["data"].as_array().unwrap().iter().map(|one| one["name"].clone());
    assert_eq!(names.collect::<Vec<_>>(), ["mine"]);
    assert_eq!(narrow.act("/v1/schedules/mine/trigger").await.status, 201);
    assert_eq!(acme.get("/v1/schedules/theirs").await.json["version"], 1);
}

#[tokio::test]
async fn it_manages_nothing_whatever_its_role() {
    let api = Api::start().await;
    let (id, key) = make(&api, "owner", &["mail", "high"]).await;
    let narrow = bearing(&api, &key);
    for (method, path, body) in [
        (Method::GET, "/v1/keys".to_owned(), json!(null)),
        (Method::POST, "/v1/keys".to_owned(), json!({"name": "n", "role": "viewer"})),
        (Method::DELETE, format!("/v1/keys/{id}"), json!(null)),
        (Method::POST, format!("/v1/keys/{id}/roll"), json!({"overlap_ms": 0})),
        (Method::GET, "/v1/audit".to_owned(), json!(null)),
        (Method::GET, "/v1/teams/acme/members".to_owned(), json!(null)),
        (Method::GET, "/v1/targets".to_owned(), json!(null)),
        (Method::PATCH, "/v1/teams/acme".to_owned(), json!({"name": "n"})),
        (Method::PUT, "/v1/calendars/closed".to_owned(), json!({"dates": ["2026-12-25"]})),
    ] {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let caller = narrow.clone().header("if-match", "*");
        assert_beyond(&caller.send(method, &path, body).await, &path);
    }
    let text = json!({"description": "x"});
    assert_eq!(narrow.put("/v1/queues/mail", &text).await.status, 200);
    for reply in [
        narrow.get("/v1/queues/low").await,
        narrow.put("/v1/queues/low", &text).await,
        narrow.post("/v1/queues/low/pause", &json!({"reason": "x"})).await,
        narrow.act("/v1/queues/low/resume").await,
    ] {
        assert_eq!((reply.status, reply.code()), (404, "not-found"), "{}", reply.text);
    }
}

#[tokio::test]
async fn rolling_keeps_the_queues_and_every_fault_of_them_is_named() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let (id, _) = make(&api, "viewer", &["mail", "high"]).await;
    let queues = json!(["high", "mail"]);
    assert_eq!(acme.get(&format!("/v1/keys/{id}")).await.json["queues"], queues);
    let rolled = acme.post(&format!("/v1/keys/{id}/roll"), &json!({"overlap_ms": 0})).await;
    assert_eq!((rolled.status, &rolled.json["queues"]), (201, &queues), "{}", rolled.text);
    acme.enqueue(json!({"queue": "low"})).await;
    let narrow = bearing(&api, rolled.json["key"].as_str().unwrap());
    assert_eq!(narrow.get("/v1/jobs").await.json["data"], json!([]));
    let log = acme.get("/v1/audit?verb=create").await.json;
    assert_eq!(log["data"][0]["after"]["queues"], queues, "{log}");

    let fault = |at: &str, code: &str| (at.to_owned(), code.to_owned());
    let many: Vec<_> = (0..51).map(|n| format!("q{n}")).collect();
    for (queues, expected) in [
        (json!("mail"), vec![fault("#/queues", "wrong-type")]),
        (json!([]), vec![fault("#/queues", "out-of-range")]),
        (json!(["mail", 7]), vec![fault("#/queues/1", "wrong-type")]),
        (json!(many), vec![fault("#/queues", "too-many")]),
        (
            json!(["mail", "Mail", "mail"]),
            vec![fault("#/queues/1", "out-of-range"), fault("#/queues/2", "duplicate-item")],
        ),
    ] {
        let body = json!({"name": "n", "role": "viewer", "queues": queues});
        let reply = acme.post("/v1/keys", &body).await;
        assert_eq!(reply.faults(), expected, "{}", reply.text);
    }
    let all = json!({"name": "n", "role": "viewer", "queues": null});
    assert_eq!(acme.post("/v1/keys", &all).await.json["queues"], Value::Null);
}
