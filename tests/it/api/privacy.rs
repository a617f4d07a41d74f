//! What is shown of payloads, results and answers: values at the team's paths as masks, to viewers
//! nothing if the team wants it so; what targets are sent stays whole, and no mask is written back.

use axle::domain::principal::Role;
use axle::engine::run_token;
use serde_json::{Value, json};

use super::recipes::schedule;
use crate::support::api::{Api, Caller, Reply, Setup, job};
use crate::support::program::eventually;
use crate::support::target::{PATIENCE, Target, json as answer};

/// What must not be shown.
const NUMBER: &str = "4111111111111111";
const NIGHTLY: &str = "/v1/schedules/nightly";

async fn settle(api: &Api, settings: Value) -> Reply {
    let owner = api.as_team("acme").role(Role::Owner);
    owner.patch("/v1/teams/acme", "*", &json!({"settings": settings})).await
}

/// A server whose team `acme` redacts these paths.
async fn redacting(paths: &[&str]) -> Api {
    let api = Api::start().await;
    let reply = settle(&api, json!({"redact": paths})).await;
    assert_eq!((reply.status, &reply.json["settings"]["redact"]), (200, &json!(paths)));
    api
}

fn order() -> Value {
    json!({"order": 42, "card": {"number": NUMBER, "again": NUMBER, "cvc": "123"}})
}

/// The order as it is shown, with `mask` in the number's place.
fn shown(mask: &Value) -> Value {
    json!({"order": 42, "card": {"number": mask, "again": mask, "cvc": "123"}})
}

fn is_mask(value: &Value) -> bool {
    value.as_str().is_some_and(axle::domain::job::is_mask)
}

fn fault(at: &str, code: &str) -> (String, String) {
    (at.to_owned(), code.to_owned())
}

const PATHS: &[&str] = &["$.card.number", "$['card'].again"];

#[tokio::test]
async fn every_answer_that_shows_a_job_shows_masks() {
    let api = redacting(PATHS).await;
    let acme = api.as_team("acme");
    let once = acme.clone().header("idempotency-key", "once");
    let body = job(json!({"payload": order(), "unique_key": "order-42", "delay_ms": 60_000}));
    let made = once.post("/v1/jobs", &body).await;
    let mask = &made.json["payload"]["card"]["number"];
    assert!(made.status == 201 && is_mask(mask), "{}", made.text);
    let path = format!("/v1/jobs/{}", made.json["id"].as_str().unwrap());
    let etag = acme.get(&path).await.header("etag").unwrap().to_owned();
    let other = json!({"payload": {"card": {"number": "4242", "again": 1}}});
    let answers = [
        ("replay", 201, once.post("/v1/jobs", &body).await),
        ("existing", 200, acme.post("/v1/jobs", &body).await),
        ("read", 200, acme.get(&path).await),
        ("changed", 200, acme.patch(&path, &etag, &json!({"priority": 9})).await),
        ("run now", 200, acme.act(&format!("{path}/run-now")).await),
        ("cancelled", 200, acme.act(&format!("{path}/cancel")).await),
        ("again", 201, acme.act(&format!("{path}/rerun")).await),
    ];
    for (what, status, reply) in &answers {
        assert_eq!(reply.status, *status, "{what}: {}", reply.text);
        assert_eq!(reply.json["payload"], shown(mask), "{what}");
        assert!(!reply.text.contains(NUMBER) && reply.json.get("withheld").is_none(), "{what}");
    }
    let again = answers[6].2.json["id"].as_str().unwrap();
    let changed = acme.patch(&format!("/v1/jobs/{again}"), "*", &other).await.json;
    assert!(is_mask(&changed["payload"]["card"]["number"]), "{changed}");
    assert_ne!(&changed["payload"]["card"]["number"], mask);
    // Another team has no part in it.
    let rival = api.as_team("rival").create(json!({"payload": order()})).await;
    assert_eq!(rival["payload"], order());
    // Neither what is kept for replays nor the audit log holds the number.
    for table in ["idempotency", "audit"] {
        let question = format!(
            "SELECT string_agg(encode(convert_to(t::text, 'UTF8'), 'escape'), '') \
                                FROM (SELECT * FROM {table}) t"
        );
        let kept: Option<String> = api.engine.db.ask(&question).await.get(0);
        assert!(!kept.unwrap_or_default().contains(NUMBER), "{table}");
    }
    let kept = "SELECT count(*) FROM idempotency \
                WHERE position(convert_to('4111111111111111', 'UTF8') IN body) > 0";
    assert_eq!(api.engine.db.ask(kept).await.get::<_, i64>(0), 0);
}

#[tokio::test]
async fn a_target_is_sent_the_whole_and_its_echo_is_masked() {
    let api = redacting(&["$..number"]).await;
    let acme = api.as_team("acme");
    let target = Target::start().await;
    target.script("/echo", answer(200, &json!([{"got": order()}])));
    let body = format!(
        r#"{{"target":{{"url":"{}"}},"payload": {{ "card":{{"number": "{NUMBER}"}} }}}}"#,
        target.url("/echo")
    );
    let made = acme.send(reqwest::Method::POST, "/v1/jobs", body).await;
    let puller = api.engine.puller("p", 10);
    puller.step().await.unwrap();
    let sent = target.wait_calls("/echo", 1, PATIENCE).await;
    let whole = format!(r#"{{ "card":{{"number": "{NUMBER}"}} }}"#);
    assert_eq!(sent[0].body, whole.as_bytes());
    let id = made.json["id"].as_str().unwrap();
    let path = format!("/v1/jobs/{id}/runs");
    let runs = eventually("the run has ended", PATIENCE, async || {
        let runs = acme.get(&path).await;
        (runs.json["data"][0]["state"] == "SUCCESS").then_some(runs)
    });
    let runs = runs.await;
    let shown: Value =
        serde_json::from_str(runs.json["data"][0]["response"]["body"].as_str().unwrap()).unwrap();
    assert!(is_mask(&shown[0]["got"]["card"]["number"]), "{shown}");
    // The same value has the same mask, wherever it stands.
    let payload = &acme.job(id).await["payload"];
    assert_eq!(shown[0]["got"]["card"]["number"], payload["card"]["number"]);
    assert_eq!(shown[0]["got"]["order"], 42);
    let run = format!("/v1/runs/{}", runs.json["data"][0]["id"].as_str().unwrap());
    assert_eq!(acme.get(&run).await.json, runs.json["data"][0]);
}

/// Ends a job in callback mode with this result, and returns the run's id.
async fn call_back(api: &Api, id: &str, result: Value) -> String {
    let run = api.claim(id).await;
    let token = run_token::token(&api.engine.limits.callback_key, run);
    let said = json!({"status": "succeeded", "result": result});
    let path = format!("/v1/runs/{run}/callback?token={token}");
    assert_eq!(api.as_nobody().post(&path, &said).await.status, 200);
    run.to_string()
}

#[tokio::test]
async fn results_are_masked_and_what_no_path_leads_into_is_withheld() {
    let api = redacting(PATHS).await;
    let acme = api.as_team("acme");
    let id = acme.enqueue(json!({"completion": "callback"})).await;
    let run = call_back(&api, &id, order()).await;
    let run = acme.get(&format!("/v1/runs/{run}")).await.json;
    for view in [acme.job(&id).await, run] {
        assert!(is_mask(&view["result"]["card"]["number"]), "{view}");
        assert_eq!(view["result"]["card"]["cvc"], "123");
    }
    let form = json!({"payload_base64": "bnVtYmVyPTQxMTE=", "content_type": "text/plain"});
    let made = acme.create(form.clone()).await;
    assert_eq!((&made["payload"], &made["withheld"]), (&Value::Null, &json!(["payload"])));
    assert!(made.get("payload_base64").is_none() && !made.to_string().contains("bnVt"), "{made}");
    let list = acme.get("/v1/jobs").await;
    assert!(!list.text.contains("withheld") && !list.text.contains(NUMBER), "{}", list.text);
    let form = api.as_team("rival").create(form).await;
    assert_eq!(form["payload_base64"], "bnVtYmVyPTQxMTE=");

    // A body that is no JSON, or was cut, may hold anything.
    let target = Target::start().await;
    target.script("/form", crate::support::target::ok().body(format!("number={NUMBER}")));
    let id = acme.enqueue(json!({"target": {"url": target.url("/form")}})).await;
    api.engine.puller("p", 10).step().await.unwrap();
    let path = format!("/v1/jobs/{id}/runs");
    let run = eventually("the run has ended", PATIENCE, async || {
        let run = acme.get(&path).await.json["data"][0].clone();
        (run["state"] == "SUCCESS").then_some(run)
    });
    let run = run.await;
    assert_eq!(run["withheld"], json!(["response.body"]));
    assert!(run["response"].get("body").is_none() && !run.to_string().contains(NUMBER), "{run}");
}

#[tokio::test]
async fn viewers_are_shown_nothing_if_the_team_wants_it_so() {
    let api = Api::start().await;
    let (acme, viewer) = (api.as_team("acme"), api.as_team("acme").role(Role::Viewer));
    let id = acme.enqueue(json!({"completion": "callback", "payload": order()})).await;
    assert_eq!(viewer.job(&id).await["payload"], order());
    acme.put(NIGHTLY, &schedule(json!({"job": job(json!({"payload": order()}))}))).await;
    let reply = settle(&api, json!({"viewers_see_payloads": false})).await;
    assert_eq!(reply.json["settings"]["viewers_see_payloads"], false, "{}", reply.text);
    let run = call_back(&api, &id, order()).await;
    let job = viewer.get(&format!("/v1/jobs/{id}")).await;
    assert_eq!(job.json["withheld"], json!(["payload", "result"]), "{}", job.text);
    let run = viewer.get(&format!("/v1/runs/{run}")).await;
    assert_eq!((&run.json["result"], &run.json["withheld"]), (&Value::Null, &json!(["result"])));
    let nightly = viewer.get(NIGHTLY).await;
    assert_eq!(nightly.json["job"]["withheld"], json!(["payload"]), "{}", nightly.text);
    for reply in [&job, &run, &nightly] {
        assert!(!reply.text.contains(NUMBER), "{}", reply.text);
    }
    // Whoever may write sees what they have written.
    let writer = api.as_team("acme").role(Role::Writer);
    assert_eq!(writer.job(&id).await["payload"], order());
    assert_eq!(writer.get(NIGHTLY).await.json["job"]["payload"], order());
    // A definition that somebody read without the payload must not take it away.
    let mut definition = nightly.json.clone();
    for field in [
        "id",
        "team",
        "state",
        "reason",
        "description",
        "tzdata",
        "next_fire_at",
        "next_fire_local",
        "last_fire_at",
        "fires",
        "accounted_until",
        "version",
        "created_at",
        "updated_at",
    ] {
        definition.as_object_mut().unwrap().remove(field);
    }
    let reply = writer.put(NIGHTLY, &definition).await;
    assert_eq!(reply.faults(), [fault("#/job/withheld", "masked-value")], "{}", reply.text);
    settle(&api, json!({"viewers_see_payloads": null})).await;
    assert_eq!(viewer.job(&id).await["payload"], order());
}

#[tokio::test]
async fn no_mask_is_written_in_place_of_its_value() {
    let api = redacting(PATHS).await;
    let acme = api.as_team("acme");
    let made = acme.create(json!({"payload": order(), "delay_ms": 60_000})).await;
    let (id, masked) = (made["id"].as_str().unwrap(), json!({"payload": made["payload"]}));
    let path = format!("/v1/jobs/{id}");
    // Elsewhere than where it was shown, too: an element may have moved.
    let moved = json!({"payload": [[{"note": made["payload"]["card"]["number"]}]]});
    for body in [&masked, &moved] {
        for reply in
            [acme.patch(&path, "*", body).await, acme.post("/v1/jobs", &job(body.clone())).await]
        {
            assert_eq!(reply.code(), "validation-failed");
            assert_eq!(reply.faults(), [fault("#/payload", "masked-value")], "{}", reply.text);
        }
    }
    let batch = json!({"jobs": [job(Value::Null), job(masked.clone())]});
    let reply = acme.post("/v1/jobs/batch", &batch).await;
    assert_eq!(reply.faults(), [fault("#/jobs/1/payload", "masked-value")], "{}", reply.text);
    assert_eq!(acme.get("/v1/jobs").await.json["data"].as_array().unwrap().len(), 1);
    // The stored value is what it was; the same text means nothing to a team without paths.
    let question = format!(
        "SELECT count(*) FROM jobs WHERE convert_from(payload, 'UTF8')::jsonb \
                            @> '{{\"card\": {{\"number\": \"{NUMBER}\"}}}}'"
    );
    assert_eq!(api.engine.db.ask(&question).await.get::<_, i64>(0), 1);
    assert_eq!(api.as_team("rival").create(masked.clone()).await["payload"], masked["payload"]);
}

#[tokio::test]
async fn a_schedule_shows_masks_keeps_its_payload_and_takes_no_mask() {
    let api = redacting(PATHS).await;
    let acme = api.as_team("acme");
    let made = acme.put(NIGHTLY, &schedule(json!({"job": job(json!({"payload": order()}))}))).await;
    let mask = made.json["job"]["payload"]["card"]["number"].clone();
    assert!(made.status == 201 && is_mask(&mask), "{}", made.text);
    let paused = acme.post(&format!("{NIGHTLY}/pause"), &json!({"reason": "x"})).await;
    let resumed = acme.act(&format!("{NIGHTLY}/resume")).await;
    let changed = acme.patch(NIGHTLY, "*", &json!({"jitter_ms": 1000})).await;
    for reply in [paused, resumed, changed, acme.get(NIGHTLY).await] {
        assert_eq!(reply.status, 200, "{}", reply.text);
        assert_eq!(reply.json["job"]["payload"], shown(&mask), "{}", reply.text);
    }
    let back = json!({"job": {"payload": made.json["job"]["payload"]}});
    let expected = [fault("#/job/payload", "masked-value")];
    assert_eq!(acme.patch(NIGHTLY, "*", &back).await.faults(), expected);
    let copy = schedule(json!({"name": "copy", "job": job(back["job"].clone())}));
    assert_eq!(acme.post("/v1/schedules", &copy).await.faults(), expected);
    assert_eq!(
        acme.put(NIGHTLY, &schedule(json!({"job": job(back["job"].clone())}))).await.faults(),
        expected
    );
    // What it makes has the whole.
    let fired = acme.act(&format!("{NIGHTLY}/trigger")).await;
    let job = acme.job(fired.json["job_id"].as_str().unwrap()).await;
    assert_eq!(job["payload"], shown(&mask));
    let question = format!(
        "SELECT count(*) FROM jobs WHERE convert_from(payload, 'UTF8') \
                            LIKE '%{NUMBER}%'"
    );
    assert_eq!(api.engine.db.ask(&question).await.get::<_, i64>(0), 1);
}

#[tokio::test]
async fn another_process_knows_within_a_second() {
    let api = Api::start().await;
    let second = Api::on(api.engine.db.url.clone(), Setup::default()).await;
    let here = api.as_team("acme");
    let there: Caller<'_> = second.as_team("acme");
    let id = here.enqueue(json!({"payload": order()})).await;
    assert_eq!(there.job(&id).await["payload"], order());
    assert_eq!(settle(&api, json!({"redact": PATHS})).await.status, 200);
    assert!(is_mask(&here.job(&id).await["payload"]["card"]["number"]));
    // What a process that serves the API does all the time.
    second.engine.access.refresh(&second.engine.ctx).await.unwrap();
    assert!(is_mask(&there.job(&id).await["payload"]["card"]["number"]));
}

#[tokio::test]
async fn every_fault_of_a_path_is_named() {
    let api = Api::start().await;
    let bad = json!({"redact": ["$.card", "card", 7, "$..*", "$.card", "$[?@.a]"],
                     "viewers_see_payloads": "no"});
    let reply = settle(&api, bad).await;
    // A list with an item of another type has that fault alone.
    let types = [
        fault("#/settings/redact/2", "wrong-type"),
        fault("#/settings/viewers_see_payloads", "wrong-type"),
    ];
    assert_eq!(reply.faults(), types, "{}", reply.text);
    let reply =
        settle(&api, json!({"redact": ["$.card", "card", "$..*", "$.card", "$[?@.a]"]})).await;
    let expected = [
        fault("#/settings/redact/1", "malformed"),
        fault("#/settings/redact/2", "malformed"),
        fault("#/settings/redact/3", "duplicate-item"),
        fault("#/settings/redact/4", "malformed"),
    ];
    assert_eq!(reply.faults(), expected, "{}", reply.text);
    assert!(reply.text.contains("at character 3: between brackets stands"), "{}", reply.text);
    let many: Vec<_> = (0..51).map(|n| format!("$.a{n}")).collect();
    let reply = settle(&api, json!({"redact": many})).await;
    assert_eq!(reply.faults(), [fault("#/settings/redact", "too-many")]);
    // Only owners decide, and the log says what.
    let admin = api
        .as_team("acme")
        .patch("/v1/teams/acme", "*", &json!({"settings": {"redact": []}}))
        .await;
    assert_eq!((admin.status, admin.code()), (403, "forbidden"));
    settle(&api, json!({"redact": ["$.a"]})).await;
    assert_eq!(settle(&api, json!({"redact": null})).await.json["settings"]["redact"], json!([]));
    let log = api.as_team("acme").get("/v1/audit?object=teams/acme").await.json;
    assert_eq!(log["data"][0]["before"]["settings"]["redact"], json!(["$.a"]), "{log}");
}
