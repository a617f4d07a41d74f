//! The audit log over HTTP and `axle audit verify` over a database that somebody has tampered with.

use axle::domain::principal::Role;
use axle::engine::audit;
use reqwest::Method;
use serde_json::{Value, json};

use super::recipes::schedule;
use crate::support::api::{Api, Caller};
use crate::support::program::{Ended, axle};

/// Verb and object of every entry, oldest first.
async fn entries(caller: &Caller<'_>, query: &str) -> Vec<(String, String)> {
    let log = caller.get(&format!("/v1/audit?limit=500{query}")).await.json;
    let text = |entry: &Value, field: &str| entry[field].as_str().unwrap().to_owned();
    let data = log["data"].as_array().unwrap().iter().rev();
    data.map(|entry| (text(entry, "verb"), text(entry, "object"))).collect()
}

/// Everything that leaves an entry, once, in this order.
async fn everything(api: &Api) -> Vec<(&'static str, String)> {
    let acme = api.as_team("acme");
    let mut done = Vec::new();
    let id = |made: &Value| made["id"].as_str().unwrap().to_owned();
    let key = id(&acme.post("/v1/keys", &json!({"name": "n", "role": "viewer"})).await.json);
    done.push(("create", format!("keys/{key}")));
    acme.post(&format!("/v1/keys/{key}/roll"), &json!({"overlap_ms": 60_000})).await;
    done.push(("roll", format!("keys/{key}")));
    acme.send(Method::DELETE, &format!("/v1/keys/{key}"), "").await;
    done.push(("revoke", format!("keys/{key}")));
    let token = json!({"jti": "t1", "expires_at": "2027-01-01T00:00:00Z"});
    acme.post("/v1/tokens/revoke", &token).await;
    done.push(("revoke", "tokens/t1".into()));
    acme.put("/v1/queues/mail", &json!({"description": "for mail"})).await;
    acme.post("/v1/queues/mail/pause", &json!({"reason": "maintenance"})).await;
    acme.act("/v1/queues/mail/resume").await;
    done.extend(["put", "pause", "resume"].map(|verb| (verb, "queues/mail".into())));
    acme.put("/v1/calendars/days", &json!({"dates": ["2026-12-25"]})).await;
    acme.send(Method::DELETE, "/v1/calendars/days", "").await;
    done.extend(["put", "delete"].map(|verb| (verb, "calendars/days".into())));

    let job = acme.enqueue(json!({"delay_ms": 3_600_000})).await;
    acme.patch(&format!("/v1/jobs/{job}"), "*", &json!({"priority": 7})).await;
    for act in ["run-now", "cancel", "rerun"] {
        assert!(acme.act(&format!("/v1/jobs/{job}/{act}")).await.status < 300);
    }
    done.extend(["change", "run-now", "cancel", "rerun"].map(|verb| (verb, format!("jobs/{job}"))));

    let body = schedule(json!({"name": "nightly"}));
    let path = format!("schedules/{}", id(&acme.post("/v1/schedules", &body).await.json));
    let at = format!("/v1/{path}");
    acme.put("/v1/schedules/nightly", &schedule(json!({"jitter_ms": 3}))).await;
    acme.patch(&at, "*", &json!({"jitter_ms": 5})).await;
    acme.post(&format!("{at}/pause"), &json!({"reason": "maintenance"})).await;
    acme.act(&format!("{at}/resume")).await;
    acme.act(&format!("{at}/trigger")).await;
    let range = json!({"from": "2026-11-28T00:00:00Z", "to": "2026-11-29T00:00:00Z"});
    acme.post(&format!("{at}/backfill"), &range).await;
    acme.clone().header("if-match", "*").send(Method::DELETE, &at, "").await;
    let verbs = ["create", "put", "change", "pause", "resume", "trigger", "backfill", "delete"];
    done.extend(verbs.map(|verb| (verb, path.clone())));
    done
}

#[tokio::test]
async fn every_act_leaves_one_entry_and_what_changes_nothing_leaves_none() {
    let api = Api::start().await;
    let done = everything(&api).await;
    let acme = api.as_team("acme");
    let found = entries(&acme, "").await;
    let found: Vec<_> =
        found.iter().map(|(verb, object)| (verb.as_str(), object.clone())).collect();
    assert_eq!(found, done);
    // The same again, refused, or only looked at.
    acme.put("/v1/schedules/other", &schedule(json!({}))).await;
    let before = entries(&acme, "").await.len();
    acme.put("/v1/schedules/other", &schedule(json!({}))).await;
    acme.clone().role(Role::Viewer).act("/v1/queues/mail/resume").await;
    acme.patch("/v1/schedules/other", "\"9\"", &json!({"jitter_ms": 7})).await;
    acme.post("/v1/keys", &json!({"name": "n", "role": "owner"})).await;
    acme.get("/v1/keys").await;
    acme.enqueue(Value::Null).await;
    assert_eq!(entries(&acme, "").await.len(), before);
    assert_eq!(entries(&api.as_team("rival"), "").await, []);
    assert_eq!(api.as_team("acme").role(Role::Operator).get("/v1/audit").await.status, 403);
}

#[tokio::test]
async fn an_entry_says_who_what_whence_and_why() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let made = acme.post("/v1/keys", &json!({"name": "on call", "role": "operator"})).await.json;
    let (id, key) = (made["id"].as_str().unwrap(), made["key"].as_str().unwrap());
    let holder = api.as_nobody().header("authorization", &format!("Bearer {key}"));
    let holder = holder.header("x-request-id", "req_of_mine");
    holder.post("/v1/queues/mail/pause", &json!({"reason": "mails bounce"})).await;
    let log = acme.get("/v1/audit?verb=pause").await.json;
    let [entry] = log["data"].as_array().unwrap().as_slice() else { panic!("{log}") };
    let actor = json!({"kind": "key", "subject": "on call", "credential": id});
    assert_eq!(entry["actor"], actor);
    assert_eq!((&entry["object"], &entry["before"]), (&json!("queues/mail"), &Value::Null));
    assert_eq!(
        (&entry["reason"], &entry["after"]["paused"]),
        (&json!("mails bounce"), &json!(true))
    );
    assert_eq!(
        (&entry["address"], &entry["request_id"]),
        (&json!("127.0.0.1"), &json!("req_of_mine"))
    );
    for (query, count) in [
        ("&actor=tester", 1),
        (&format!("&actor={id}"), 1),
        ("&actor=on+call&verb=pause&object=queues/mail", 1),
        ("&object=queues/other", 0),
        ("&since=2026-11-30T02:00:00Z&until=2026-11-30T02:00:00.000001Z", 2),
        ("&until=2026-11-30T02:00:00Z", 0),
    ] {
        assert_eq!(entries(&acme, query).await.len(), count, "{query}");
    }
    let first = acme.get("/v1/audit?limit=1").await.json;
    let cursor = first["next_cursor"].as_str().unwrap();
    let second = acme.get(&format!("/v1/audit?limit=1&cursor={cursor}")).await.json;
    assert_eq!((&second["data"][0]["seq"], &second["next_cursor"]), (&json!(1), &Value::Null));
    let reply = acme.get("/v1/audit?since=yesterday&who=me").await;
    assert_eq!(reply.faults().len(), 2, "{}", reply.text);
}

#[tokio::test]
async fn secrets_are_in_no_entry() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let mut body = schedule(json!({"name": "nightly"}));
    body["job"]["target"]["headers"] = json!({"Authorization": "Bearer s3cret"});
    body["job"]["payload"] = json!({"card": "4111-s3cret"});
    assert_eq!(acme.post("/v1/schedules", &body).await.status, 201);
    let key = acme.post("/v1/keys", &json!({"name": "n", "role": "viewer"})).await.json;
    let secret = key["key"].as_str().unwrap().rsplit_once('_').unwrap().1.to_owned();
    let row = api.engine.db.ask("SELECT string_agg(audit::text, '') FROM audit").await;
    let log: String = row.get(0);
    assert!(!log.contains("s3cret") && !log.contains(&secret), "{log}");
    assert!(log.contains("Authorization"), "{log}");
}

#[tokio::test]
async fn an_export_holds_the_whole_log_an_entry_a_line() {
    const ENTRIES: usize = 1_203;
    let api = Api::start().await;
    let acme = api.as_team("acme");
    for n in 0..ENTRIES / 3 {
        let path = format!("/v1/queues/q{n}");
        acme.put(&path, &json!({})).await;
        acme.post(&format!("{path}/pause"), &json!({"reason": "why not"})).await;
        acme.act(&format!("{path}/resume")).await;
    }
    let export = acme.get("/v1/audit/export").await;
    assert_eq!(export.header("content-type"), Some("application/x-ndjson"));
    let lines: Vec<Value> =
        export.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), ENTRIES);
    for (n, pair) in lines.windows(2).enumerate() {
        assert_eq!(pair[0]["seq"], n + 1);
        assert_eq!(pair[1]["prev_hash"], pair[0]["hash"]);
    }
    let empty = api.as_team("rival").get("/v1/audit/export").await;
    assert_eq!((empty.status, empty.text.as_str()), (200, ""));
    let checked = audit::verify(&api.engine.store, &api.engine.who.team).await.unwrap();
    assert_eq!((checked.head.seq, checked.broken), (1_203, None));
}

#[tokio::test]
async fn acts_at_the_same_time_are_entries_one_after_another() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let puts = (0..40).map(|n| {
        let acme = acme.clone();
        async move { acme.put(&format!("/v1/queues/q{n}"), &json!({})).await.status }
    });
    let statuses = futures_util::future::join_all(puts).await;
    assert!(statuses.iter().all(|status| *status == 200), "{statuses:?}");
    let checked = audit::verify(&api.engine.store, &api.engine.who.team).await.unwrap();
    assert_eq!((checked.head.seq, checked.broken), (40, None));
}

async fn verify(api: &Api, more: &[&str]) -> Ended {
    let args: Vec<_> = ["audit", "verify"].iter().chain(more).copied().collect();
    axle(&args, &[("AXLE_DATABASE_URL", &api.engine.db.url)]).await
}

#[tokio::test]
async fn verify_names_the_first_broken_link() {
    for (tamper, broken) in [
        (
            "UPDATE audit SET subject = 'somebody else' WHERE seq = 3",
            "after 2 entries: entry 3 was",
        ),
        ("UPDATE audit SET after = '{}' WHERE seq = 2", "after 1 entries: entry 2 was altered"),
        ("DELETE FROM audit WHERE seq = 1", "after 0 entries: entry 1 is missing"),
        ("DELETE FROM audit WHERE seq = 4", "after 3 entries: entry 4 is missing"),
        (
            "UPDATE audit SET seq = CASE seq WHEN 2 THEN -3 WHEN 3 THEN -2 END WHERE seq IN (2, 3);
             UPDATE audit SET seq = -seq WHERE seq < 0",
            "after 1 entries: entry 2 does not continue",
        ),
        (
            "UPDATE audit SET hash = sha256('x'::bytea) WHERE seq = 3",
            "after 2 entries: entry 3 was altered",
        ),
        (
            "DELETE FROM audit WHERE seq > 4",
            "ends with entry 4, and entry 6 was written as its last",
        ),
        ("DELETE FROM audit", "ends with entry 0, and entry 6 was written as its last"),
        ("DELETE FROM audit_heads", "ends with entry 6, and entry 0 was written as its last"),
    ] {
        let api = Api::start().await;
        for n in 0..3 {
            for team in ["acme", "rival"] {
                let path = format!("/v1/queues/q{n}/pause");
                let caller = api.as_team(team);
                caller.post(&path, &json!({"reason": "maintenance"})).await;
                caller.act(&format!("/v1/queues/q{n}/resume")).await;
            }
        }
        let whole = verify(&api, &[]).await;
        assert_eq!(whole.code, Some(0), "{whole:?}");
        assert_eq!(whole.out.matches("6 entries hold").count(), 2, "{whole:?}");
        let only_acme = tamper.replace("WHERE", "WHERE team = 'acme' AND");
        let only_acme = if tamper.contains("WHERE") {
            only_acme
        } else {
            format!("{tamper} WHERE team = 'acme'")
        };
        api.engine.db.execute(&only_acme).await;
        let found = verify(&api, &[]).await;
        assert_eq!(found.code, Some(1), "{tamper}: {found:?}");
        assert!(
            found.out.contains("acme: BROKEN") && found.out.contains(broken),
            "{tamper}: {found:?}"
        );
        assert!(found.out.contains("rival: 6 entries hold"), "{tamper}: {found:?}");
        assert_eq!(verify(&api, &["--team", "rival"]).await.code, Some(0));
    }
}

/// What the chain cannot show by itself: whoever may write the whole table can make a new one of it.
/// The hash that was printed before shows that.
#[tokio::test]
async fn a_log_cut_off_with_its_noted_end_is_shown_only_by_a_hash_kept_elsewhere() {
    let api = Api::start().await;
    for n in 0..3 {
        api.as_team("acme").put(&format!("/v1/queues/q{n}"), &json!({})).await;
    }
    let before = verify(&api, &[]).await.out;
    api.engine
        .db
        .execute(
            "DELETE FROM audit WHERE seq = 3;
             UPDATE audit_heads h SET seq = 2, hash = a.hash FROM audit a WHERE a.seq = 2",
        )
        .await;
    let after = verify(&api, &[]).await;
    assert_eq!(after.code, Some(0), "{after:?}");
    let hash = |line: &str| line.rsplit(' ').next().unwrap().trim().to_owned();
    assert_ne!(hash(&before), hash(&after.out));
}
