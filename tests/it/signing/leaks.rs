//! B133: a secret stands in no log, no answer, no metric and no dump of the database.

use serde_json::json;

use crate::support::db::Db;
use crate::support::process::Server;
use crate::support::program::eventually;
use crate::support::target::{PATIENCE, Target, status};

#[tokio::test]
async fn b133_secrets_stand_in_no_log_answer_metric_or_dump() {
    const CANARY: &str = "canary-5b1c9e";
    const KEY: &str = "the secret key of this test canary-5b1c9e";
    let db = Db::new().await;
    let target = Target::start().await;
    target.script("/work", status(500).body("no"));
    let extra = [("AXLE_SECRET_KEY", KEY), ("AXLE_LOG", "trace,h2=info,tokio_postgres=debug")];
    let server = Server::start(&db.url, "all", &extra).await;
    let api = server.api();
    let (status, made) = api.post("/v1/signing/secrets", &json!({})).await;
    assert_eq!(status, 201, "{made}");
    let first = made["secret"].as_str().unwrap().to_owned();
    let (_, made) = api.post("/v1/signing/secrets/rotate", &json!({"overlap_ms": 60_000})).await;
    let second = made["secret"].as_str().unwrap().to_owned();

    let header = format!("Bearer {CANARY}");
    let to = json!({"url": target.url("/work"), "secret_headers": {"Authorization": header}});
    let retry = json!({"base_ms": 1, "max_retries": 1, "jitter": 0.0});
    let id = api.create(&json!({"target": to, "retry": retry})).await;
    let gone = json!({"url": "http://127.0.0.1:9/", "secret_headers": {"Authorization": header}});
    let unreached = json!({"base_ms": 1, "max_retries": 0, "max_dispatch_retries": 0});
    let lost = api.create(&json!({"target": gone, "retry": unreached})).await;
    let schedule = json!({"name": "n", "spec": {"cron": "0 0 1 1 *"}, "job": {"target": to}});
    let mut answers = vec![api.post("/v1/schedules", &schedule).await.1.to_string()];
    api.wait_state(&id, "FAILED").await;
    api.wait_state(&lost, "FAILED").await;
    let calls = target.wait_calls("/work", 2, PATIENCE).await;
    assert!(calls.iter().all(|call| call.header("authorization") == Some(header.as_str())));
    assert!(calls.iter().all(|call| call.header("webhook-signature").is_some()));

    for path in [
        "/v1/signing/secrets".to_owned(),
        "/v1/jobs".to_owned(),
        format!("/v1/jobs/{id}"),
        format!("/v1/jobs/{id}/runs"),
        format!("/v1/jobs/{id}/events"),
        format!("/v1/jobs/{lost}"),
        format!("/v1/jobs/{lost}/runs"),
        "/v1/schedules/n".to_owned(),
        "/v1/schedules/n/fires".to_owned(),
        "/v1/queues/default".to_owned(),
    ] {
        answers.push(api.get(&path).await.to_string());
    }
    let broken =
        json!({"target": {"url": "no url", "secret_headers": {"Authorization": [header]}}});
    answers.push(api.post("/v1/jobs", &broken).await.1.to_string());
    answers.push(server.admin("/metrics").await.unwrap().1);
    answers.push(dump(&db).await);
    let said = eventually("it has logged the run", PATIENCE, async || {
        let said = format!("{}\n{}", server.out.so_far(), server.err.so_far());
        said.contains("signing/secrets").then_some(said)
    });
    answers.push(said.await);
    for calls in target.calls("/work") {
        // To a target goes its own header, and nothing of what signs.
        let head = String::from_utf8_lossy(&calls.head).replace(&header, "");
        answers.push(head);
    }
    let [some, more] = [&first, &second].map(|secret| secret.get(6..20).unwrap());
    let words = [CANARY, &first, &second, some, more];
    for answer in &answers {
        for word in words {
            let around = answer.split_once(word).map(|(before, _)| {
                before.chars().rev().take(300).collect::<Vec<_>>().into_iter().rev().collect()
            });
            let around: Option<String> = around;
            assert_eq!(around, None, "{word}");
        }
    }
}

/// Every row of every table, as a dump would have it; bytes as text too.
async fn dump(db: &Db) -> String {
    let tables = "SELECT string_agg(quote_ident(relname), ',') FROM pg_stat_user_tables";
    let tables: String = db.ask(tables).await.get(0);
    let mut all = String::new();
    for table in tables.split(',') {
        let rows = format!("SELECT coalesce(string_agg(t::text, E'\\n'), '') FROM {table} t");
        all += &db.ask(&rows).await.get::<_, String>(0);
        let columns = format!(
            "SELECT coalesce(string_agg(quote_ident(attname), ','), '') FROM pg_attribute \
             WHERE attrelid = '{table}'::regclass AND atttypid = 'bytea'::regtype AND attnum > 0"
        );
        let columns: String = db.ask(&columns).await.get(0);
        for column in columns.split(',').filter(|column| !column.is_empty()) {
            let bytes = format!(
                "SELECT coalesce(string_agg(encode({column}, 'escape'), E'\\n'), '') FROM {table}"
            );
            all += &db.ask(&bytes).await.get::<_, String>(0);
        }
    }
    assert!(all.contains("secret_headers"), "the dump has the rows");
    all
}
