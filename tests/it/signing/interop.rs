//! The published libraries for Python and Node verify what a server sends. `make test` installs them
//! (`.ci/setup test`); without them these tests fail.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::db::Db;
use crate::support::process::Server;
use crate::support::target::{Call, PATIENCE, Target};

/// Prints whether a call verifies: `headers`, `body` and `secret` of a file of JSON.
const PYTHON: &str = r#"
import json, sys
from standardwebhooks import Webhook
from standardwebhooks.webhooks import WebhookVerificationError
call = json.load(open(sys.argv[1]))
try:
    Webhook(call["secret"]).verify(call["body"], call["headers"])
    print("yes")
except WebhookVerificationError:
    print("no")
"#;

const NODE: &str = r#"
const { Webhook, WebhookVerificationError } = require("standardwebhooks");
const call = JSON.parse(require("node:fs").readFileSync(process.argv[2], "utf8"));
try {
  new Webhook(call.secret).verify(call.body, call.headers);
  console.log("yes");
} catch (error) {
  if (!(error instanceof WebhookVerificationError)) throw error;
  console.log("no");
}
"#;

/// Where `.ci/setup test` puts the libraries: beside the builds.
fn interop() -> PathBuf {
    let target = Path::new(env!("CARGO_BIN_EXE_axle")).ancestors().nth(2).unwrap();
    let folder = target.join("interop");
    assert!(folder.exists(), "{} is not there: run `.ci/setup test`", folder.display());
    folder
}

fn python() -> Command {
    Command::new(interop().join("python/bin/python"))
}

fn node() -> Command {
    let mut node = Command::new("node");
    node.env("NODE_PATH", interop().join("node/node_modules"));
    node
}

/// A call of a real server, signed by two secrets; and the two.
async fn signed_call() -> (Arc<Call>, [String; 2]) {
    let db = Db::new().await;
    let target = Target::start().await;
    let key = [("AXLE_SECRET_KEY", "a secret key of the tests with 32 bytes")];
    let server = Server::start(&db.url, "all", &key).await;
    let make = async |path: &str| {
        let made = server.api().post(path, &json!({})).await.1;
        made["secret"].as_str().unwrap().to_owned()
    };
    let old = make("/v1/signing/secrets").await;
    let new = make("/v1/signing/secrets/rotate").await;
    let job = r#"{"target": {"url": "URL"}, "payload": {"z": 1.0,  "a": "é 😀 \\u00e9"}}"#;
    let job = job.replace("URL", &target.url("/work"));
    let job: Box<serde_json::value::RawValue> = serde_json::from_str(&job).unwrap();
    let job: Value = serde_json::from_str(job.get()).unwrap();
    server.api().try_ask(Method::POST, "/v1/jobs", Some(&job)).await.unwrap();
    let call = target.wait_calls("/work", 1, PATIENCE).await[0].clone();
    (call, [new, old])
}

async fn verified_by(mut program: impl FnMut() -> Command, script: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("verify"), script).unwrap();
    let (call, secrets) = signed_call().await;
    let body = String::from_utf8(call.body.to_vec()).unwrap();
    let mut judge = |secret: &str, body: &str, time: Option<&str>| {
        let mut headers = call.headers.clone();
        if let Some(time) = time {
            headers.insert("webhook-timestamp".to_owned(), time.to_owned());
        }
        let given = json!({"secret": secret, "body": body, "headers": headers});
        std::fs::write(path("call.json"), given.to_string()).unwrap();
        let ended = program().arg(path("verify")).arg(path("call.json")).output().unwrap();
        assert!(ended.status.success(), "{ended:?}");
        String::from_utf8(ended.stdout).unwrap().trim() == "yes"
    };
    for secret in &secrets {
        assert!(judge(secret, &body, None), "{call:?}");
        assert!(!judge(secret, &format!("{body} "), None));
        assert!(!judge(secret, &body, Some("1796004000")));
    }
    assert!(!judge(&format!("whsec_{}", "A".repeat(32)), &body, None));
}

#[tokio::test]
async fn b128_the_library_for_python_verifies_a_call() {
    verified_by(python, PYTHON).await;
}

#[tokio::test]
async fn b128_the_library_for_node_verifies_a_call() {
    verified_by(node, NODE).await;
}
