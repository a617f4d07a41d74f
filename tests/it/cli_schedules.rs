//! The verbs of `axle schedules` and `axle cron import --apply`, run as a person runs them: against
//! a scripted server where only the client is asked about, and against a real one.

use std::fs;

use serde_json::{Value, json};

use crate::support::db::Db;
use crate::support::process::{SECRET, Server};
use crate::support::program::{Ended, axle, eventually};
use crate::support::target::{ClosedPort, PATIENCE, Script, Target, json as answer, status};

/// Runs `axle schedules …` as somebody whose token is `token`.
async fn schedules(url: &str, token: &str, args: &[&str]) -> Ended {
    let env = [("AXLE_URL", url), ("AXLE_TOKEN", token)];
    axle(&[&["schedules"][..], args].concat(), &env).await
}

// ---- The client, against a script ----

#[tokio::test]
async fn a_post_is_tried_again_under_the_same_key() {
    let server = Target::start().await;
    let path = "/v1/schedules/nightly/pause";
    let done = answer(200, &json!({"name": "nightly", "state": "PAUSED", "reason": "why"}));
    server.script(path, Script::new().then(status(503)).then(status(503)).then(done));
    let ended = schedules(&server.url(""), "t", &["pause", "nightly", "--reason", "why"]).await;
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{ended:?}");
    assert!(ended.out.contains("PAUSED: why"), "{ended:?}");
    let calls = server.calls(path);
    let keys: Vec<_> = calls.iter().map(|call| call.header("idempotency-key").unwrap()).collect();
    assert_eq!(keys.len(), 3);
    assert!(keys.iter().all(|key| *key == keys[0] && key.len() > 20), "{keys:?}");
    assert_eq!(calls[0].header("authorization"), Some("Bearer t"));
    assert_eq!(calls[0].json(), json!({"reason": "why"}));
}

#[tokio::test]
async fn an_update_names_the_version_that_it_has_read() {
    let server = Target::start().await;
    let path = "/v1/schedules/nightly";
    let view = answer(200, &json!({"name": "nightly"})).header("etag", "\"7\"");
    let conflict = json!({
        "type": "/problems/version-conflict", "title": "It has changed", "status": 412,
        "detail": "Its version is 8.", "instance": path, "code": "version-conflict",
        "request_id": "req_1", "retryable": false, "hint": "Read it again.",
        "errors": [{"pointer": "#/spec/cron", "code": "x", "detail": "too odd"}],
    });
    server.script(path, Script::new().then(view).then(answer(412, &conflict)));
    let args = ["update", "nightly", "--cron", "0 3 * * *", "--tz", "UTC", "--overlap", "allow"];
    let ended = schedules(&server.url(""), "t", &args).await;
    assert_eq!((ended.code, ended.out.as_str()), (Some(6), ""), "{ended:?}");
    for words in [
        "It has changed\n  Its version is 8.\n  #/spec/cron: too odd\n  hint: Read it again.",
        "request: req_1",
    ] {
        assert!(ended.err.contains(words), "{words:?} in {}", ended.err);
    }
    let patch = &server.calls(path)[1];
    assert_eq!(patch.header("if-match"), Some("\"7\""));
    assert_eq!(patch.header("content-type"), Some("application/merge-patch+json"));
    let expected = json!({"spec": {"cron": "0 3 * * *"}, "time_zone": "UTC", "overlap": "allow"});
    assert_eq!(patch.json(), expected);
}

#[tokio::test]
async fn a_server_that_is_away_is_try_again_later() {
    let closed = ClosedPort::reserve();
    let ended = schedules(&closed.url(""), "t", &["list"]).await;
    assert!(ended.code == Some(7) && ended.err.contains("refused"), "{ended:?}");
    assert!(ended.err.contains("hint: AXLE_URL"), "{ended:?}");
    let settings = schedules("nowhere", "a b", &["list"]).await;
    assert!(settings.code == Some(1) && settings.err.contains("AXLE_TOKEN"), "{settings:?}");
}

#[tokio::test]
async fn a_name_cannot_lead_to_another_path() {
    for name in ["../jobs", "a/b", "a?b", ".", ""] {
        let ended = schedules("http://127.0.0.1:9", "t", &["delete", name]).await;
        assert_eq!(ended.code, Some(2), "{name:?}: {ended:?}");
    }
}

// ---- Against a real server ----

/// A server of all roles, and a token for it.
struct House {
    server: Server,
    target: Target,
    url: String,
    token: String,
    _db: Db,
}

impl House {
    async fn new() -> Self {
        let db = Db::new().await;
        let server =
            Server::start(&db.url, "all", &[("AXLE_DEFAULT_TIME_ZONE", "Europe/Berlin")]).await;
        let args = ["token", "--team", "acme", "--role", "admin"];
        let token = axle(&args, &[("AXLE_JWT_SECRET", SECRET)]).await.out.trim().to_owned();
        let url = format!("http://{}", server.address());
        Self { server, target: Target::start().await, url, token, _db: db }
    }

    async fn run(&self, args: &[&str]) -> Ended {
        schedules(&self.url, &self.token, args).await
    }

    /// Runs a verb that goes well, and returns what it says.
    async fn say(&self, args: &[&str]) -> String {
        let ended = self.run(args).await;
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{args:?}: {ended:?}");
        ended.out
    }

    /// The same with `--json`.
    async fn json(&self, args: &[&str]) -> Value {
        let said = self.say(&[args, &["--json"]].concat()).await;
        serde_json::from_str(&said).unwrap_or_else(|error| panic!("{args:?}: {error} in {said}"))
    }
}

#[tokio::test]
async fn a_schedule_lives_from_create_to_delete() {
    let house = House::new().await;
    let url = house.target.url("/nightly");
    let made = house.say(&["create", "nightly", "--cron", "30 2 * * 1-5", &url]).await;
    assert!(made.contains("nightly") && made.contains("Europe/Berlin"), "{made}");
    let again = house.run(&["create", "nightly", "--cron", "@daily", &url]).await;
    assert_eq!(again.code, Some(6), "{again:?}");
    let wrong = house.run(&["create", "b", "--cron", "75 2 * * *", &url]).await;
    assert!(wrong.code == Some(6) && wrong.err.contains("#/spec/cron: "), "{wrong:?}");

    let got = house.json(&["get", "nightly"]).await;
    assert_eq!((&got["state"], &got["spec"]["cron"]), (&json!("ACTIVE"), &json!("30 2 * * 1-5")));
    let by_id = house.json(&["get", got["id"].as_str().unwrap()]).await;
    assert_eq!(by_id["name"], "nightly");
    let listed = house.say(&["list"]).await;
    assert!(listed.starts_with("NAME") && listed.contains("nightly"), "{listed}");
    assert_eq!(house.say(&["list", "--state", "PAUSED"]).await.trim(), "no schedules");
    let next = house.json(&["next", "nightly", "-n", "3"]).await;
    assert_eq!(next.as_array().map(Vec::len), Some(3), "{next}");

    let zone = ["update", "nightly", "--tz", "Asia/Tokyo", "--overlap", "allow"];
    let changed = house.json(&zone).await;
    assert_eq!(changed["time_zone"], "Asia/Tokyo");
    assert_eq!(changed["spec"]["cron"], "30 2 * * 1-5", "what was not named stays");
    let paused = house.say(&["pause", "nightly", "--reason", "the move"]).await;
    assert!(paused.contains("PAUSED: the move"), "{paused}");
    let resumed = house.json(&["resume", "nightly", "--catch-up"]).await;
    assert_eq!(resumed["state"], "ACTIVE");

    assert_eq!(house.say(&["delete", "nightly"]).await.trim(), "deleted nightly");
    assert_eq!(house.run(&["get", "nightly"]).await.code, Some(5));
    let stranger = schedules(&house.url, "nonsense", &["list"]).await;
    assert_eq!(stranger.code, Some(4), "{stranger:?}");
}

#[tokio::test]
async fn a_schedule_is_triggered_and_made_up_for() {
    let house = House::new().await;
    let url = house.target.url("/work");
    let every = ["create", "often", "--every", "1h", "--paused", "-d", "{\"n\": 1.50}", &url];
    assert_eq!(house.json(&every).await["state"], "PAUSED");
    let fired = house.json(&["trigger", "often", "--overlap", "allow"]).await;
    assert_eq!(fired["outcome"], "fired", "{fired}");
    let calls = house.target.wait_calls("/work", 1, PATIENCE).await;
    assert_eq!(calls[0].body, "{\"n\": 1.50}", "a payload stays byte for byte");
    let api = house.server.api().with_token(&house.token);
    api.wait_state(fired["job_id"].as_str().unwrap(), "SUCCESS").await;

    let range = ["--from", "2026-01-01T00:30:00Z", "--to", "2026-01-01T03:30:00+00:00"];
    let dry = [&["backfill", "often", "--dry-run"][..], &range[..]].concat();
    let dry = house.json(&dry).await;
    assert_eq!((&dry["count"], &dry["fires"][0]["job_id"]), (&json!(3), &Value::Null), "{dry}");
    let made = [&["backfill", "often", "--max-per-second", "100"][..], &range[..]].concat();
    let made = house.say(&made).await;
    assert!(made.starts_with("made 3 jobs") && made.contains("job_"), "{made}");
    eventually("the jobs have run", PATIENCE, async || {
        (house.target.calls("/work").len() == 4).then_some(())
    })
    .await;
    let fires = house.say(&["fires", "often"]).await;
    for words in ["OUTCOME", "trigger", "backfill", "fired"] {
        assert!(fires.contains(words), "{words:?} in {fires}");
    }
    let few = ["fires", "often", "--from", "2026-01-01T01:00:00Z", "--to", "2026-01-01T02:00:01Z"];
    let few = house.json(&few).await;
    assert_eq!(few["data"].as_array().map(Vec::len), Some(2), "{few}");
}

#[tokio::test]
async fn a_document_and_a_crontab_become_schedules() {
    let house = House::new().await;
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (document, crontab) = (path("document.json"), path("crontab"));
    let url = house.target.url("/x");
    let text = json!({
        "spec": {"day": "last_of_month", "time": "02:00"},
        "job": {"target": {"url": url}}, "catch_up": {"policy": "none"},
    });
    fs::write(&document, text.to_string()).unwrap();
    let made = house.json(&["create", "ends", "--file", &document]).await;
    assert_eq!((&made["name"], &made["catch_up"]["policy"]), (&json!("ends"), &json!("none")));

    fs::write(&crontab, "MAILTO=root\n30 2 * * * /opt/backup.sh\n@reboot x\n").unwrap();
    let template = house.target.url("/{name}");
    let args = ["cron", "import", &crontab, "--tz", "UTC", "--apply", "--url-template", &template];
    let env = [("AXLE_URL", house.url.as_str()), ("AXLE_TOKEN", &house.token)];
    for what in ["created", "up to date:"] {
        let ended = axle(&args, &env).await;
        assert_eq!(ended.code, Some(1), "two lines are not taken: {ended:?}");
        assert_eq!(ended.out.trim(), format!("{what} crontab-2-backup-sh"), "{ended:?}");
        assert_eq!(ended.err.lines().count(), 2, "{ended:?}");
    }
    let got = house.json(&["get", "crontab-2-backup-sh"]).await;
    assert_eq!((&got["overlap"], &got["version"]), (&json!("allow"), &json!(1)), "{got}");
    assert_eq!(got["job"]["payload"]["command"], "/opt/backup.sh");
}
