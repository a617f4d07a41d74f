//! A server as it is by default refuses a target that it would never call, when it is registered.

use serde_json::{Value, json};

use crate::support::api::{Api, Caller, Reply, Setup, job};

async fn closed() -> Api {
    Api::with(Setup { closed: true, ..Setup::default() }).await
}

fn target(url: &str) -> Value {
    json!({"target": {"url": url}})
}

fn schedule(url: &str) -> Value {
    json!({"name": "nightly", "spec": {"cron": "30 2 * * *"}, "job": target(url)})
}

/// It is refused with the one fault at `pointer`, in words that hold `word`.
fn is_forbidden(reply: &Reply, pointer: &str, word: &str) {
    assert_eq!((reply.status, reply.code()), (422, "target-forbidden"), "{}", reply.text);
    assert_eq!(reply.faults(), [(pointer.to_owned(), "target-forbidden".to_owned())]);
    assert!(reply.json["detail"].as_str().unwrap().contains(word), "{}", reply.text);
    assert_eq!(reply.json["retryable"], false);
}

async fn count(caller: &Caller<'_>, path: &str) -> usize {
    caller.get(path).await.json["data"].as_array().unwrap().len()
}

#[tokio::test]
async fn b113_b117_b120_b123_a_job_with_a_forbidden_target_is_not_registered() {
    let api = closed().await;
    let acme = api.as_team("acme");
    for (url, word) in [
        ("http://[::ffff:127.0.0.1]/", "loopback"),
        ("http://2130706433/", "127.0.0.1 is not called from here: loopback"),
        ("http://0x7f.1:8000/", "AXLE_TARGET_ALLOW=127.0.0.1:8000"),
        ("http://0251.0376.0251.0376/latest/meta-data/", "credentials of the machine"),
        ("http://[::127.0.0.1]/", "IPv4-compatible"),
        ("http://[64:ff9b::a9fe:a9fe]/", "credentials"),
        ("http://[2002:7f00:1::]/", "6to4"),
        ("http://0/", "this host"),
        ("http://10.0.0.7/", "private network (RFC 1918)"),
        ("http://LOCALHOST./", "localhost is not called from here"),
        ("http://a.internal/", "reserved by ICANN"),
        ("http://metadata.google.internal/", "credentials"),
        ("http://127.0.0.1\\@1.1.1.1/", "loopback"),
        ("http://shop.example:5432/", "AXLE_TARGET_ALLOW=shop.example:5432"),
    ] {
        let reply = acme.post("/v1/jobs", &job(target(url))).await;
        is_forbidden(&reply, "#/target/url", word);
    }
    assert_eq!(count(&acme, "/v1/jobs").await, 0);
    for url in ["http://shop.example/", "https://1.1.1.1:8443/", "http://localtest.me/"] {
        assert_eq!(acme.post("/v1/jobs", &job(target(url))).await.status, 201, "{url}");
    }
}

#[tokio::test]
async fn what_is_malformed_is_told_as_such() {
    let api = closed().await;
    let acme = api.as_team("acme");
    for url in
        ["http://u@127.0.0.1/", "file:///etc/passwd", "http://[fe80::1%25eth0]/", "http://a..b/"]
    {
        let reply = acme.post("/v1/jobs", &job(target(url))).await;
        assert_eq!((reply.status, reply.code()), (422, "validation-failed"), "{url}");
    }
}

#[tokio::test]
async fn a_batch_names_the_item() {
    let api = closed().await;
    let acme = api.as_team("acme");
    let jobs = [job(target("http://a.example/")), job(target("http://127.1/"))];
    let whole = acme.post("/v1/jobs/batch", &json!({"jobs": jobs})).await;
    is_forbidden(&whole, "#/jobs/1/target/url", "loopback");
    assert_eq!(count(&acme, "/v1/jobs").await, 0);
    let each = acme.post("/v1/jobs/batch", &json!({"atomic": false, "jobs": jobs})).await;
    assert_eq!(each.status, 200);
    let results = each.json["results"].as_array().unwrap();
    assert_eq!((&results[0]["status"], &results[1]["status"]), (&json!(201), &json!(422)));
    assert_eq!(results[1]["errors"][0]["code"], "target-forbidden");
    assert_eq!(count(&acme, "/v1/jobs").await, 1);
}

#[tokio::test]
async fn a_schedule_is_refused_when_it_is_created_put_or_given_another_target() {
    let api = closed().await;
    let acme = api.as_team("acme");
    let made = acme.post("/v1/schedules", &schedule("http://169.254.169.254/")).await;
    is_forbidden(&made, "#/job/target/url", "credentials");
    let put = acme.put("/v1/schedules/nightly", &schedule("http://localhost/")).await;
    is_forbidden(&put, "#/job/target/url", "loopback");
    assert_eq!(count(&acme, "/v1/schedules").await, 0);

    let put = acme.put("/v1/schedules/nightly", &schedule("http://a.example/")).await;
    assert_eq!(put.status, 201, "{}", put.text);
    let put = acme.put("/v1/schedules/nightly", &schedule("http://10.0.0.1/")).await;
    is_forbidden(&put, "#/job/target/url", "private network");
    let patch = json!({"job": target("http://[fd00::1]:8080/")});
    let patched = acme.patch("/v1/schedules/nightly", "*", &patch).await;
    is_forbidden(&patched, "#/job/target/url", "AXLE_TARGET_ALLOW=[fd00::1]:8080");
    let same = acme.get("/v1/schedules/nightly").await;
    assert_eq!(same.json["job"]["target"]["url"], "http://a.example/");
}

#[tokio::test]
async fn a_schedule_whose_target_has_become_forbidden_can_still_be_changed() {
    let open = Api::start().await;
    let acme = open.as_team("acme");
    let put = acme.put("/v1/schedules/nightly", &schedule("http://10.0.0.1/")).await;
    assert_eq!(put.status, 201, "the tests' server is open: {}", put.text);
    let closed = Api::on(open.engine.db.url.clone(), Setup { closed: true, ..Setup::default() });
    let closed = closed.await;
    let patch = json!({"paused": true});
    let patched = closed.as_team("acme").patch("/v1/schedules/nightly", "*", &patch).await;
    assert_eq!((patched.status, &patched.json["state"]), (200, &json!("PAUSED")));
}

#[tokio::test]
async fn a_forbidden_target_is_told_beside_the_other_faults() {
    let api = closed().await;
    let acme = api.as_team("acme");
    let fault = |pointer: &str, code: &str| (pointer.to_owned(), code.to_owned());
    let bad = json!({"target": {"url": "http://127.0.0.1/x", "method": "CONNECT"}, "priority": 12});
    let reply = acme.post("/v1/jobs", &bad).await;
    assert_eq!((reply.status, reply.code()), (422, "validation-failed"), "{}", reply.text);
    let of_job = |at: &str| {
        [
            fault(&format!("{at}/priority"), "out-of-range"),
            fault(&format!("{at}/target/method"), "out-of-range"),
            fault(&format!("{at}/target/url"), "target-forbidden"),
        ]
    };
    assert_eq!(reply.faults(), of_job("#"));

    let jobs = [bad.clone(), target("http://a.example/"), target("http://10.0.0.1/")];
    let reply = acme.post("/v1/jobs/batch", &json!({"jobs": jobs})).await;
    let last = fault("#/jobs/2/target/url", "target-forbidden");
    assert_eq!(reply.faults(), [&of_job("#/jobs/0")[..], &[last]].concat());
    let each = acme.post("/v1/jobs/batch", &json!({"atomic": false, "jobs": jobs})).await;
    let results = each.json["results"].as_array().unwrap();
    assert_eq!(results[0]["errors"].as_array().unwrap().len(), 3, "{}", each.text);
    assert_eq!((&results[1]["status"], &results[2]["status"]), (&json!(201), &json!(422)));

    let mut wrong = schedule("http://localhost/");
    wrong["jitter_ms"] = json!(-1);
    let reply = acme.post("/v1/schedules", &wrong).await;
    assert_eq!((reply.status, reply.code()), (422, "validation-failed"));
    let both = [fault("#/jitter_ms", "wrong-type"), fault("#/job/target/url", "target-forbidden")];
    assert_eq!(reply.faults(), both);

    // A URL that is not one is told as that alone, and so is what is no target.
    for target in
        [json!({"url": "http://u@127.0.0.1/"}), json!("http://127.0.0.1/"), json!({"url": 1})]
    {
        let reply = acme.post("/v1/jobs", &json!({"target": target, "priority": 12})).await;
        assert_eq!(reply.code(), "validation-failed", "{}", reply.text);
        assert!(!reply.text.contains("target-forbidden"), "{}", reply.text);
    }
}
