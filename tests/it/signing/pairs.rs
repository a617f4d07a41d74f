//! Calls signed by a pair of keys (`v1a`). The oracle is Node's own cryptography, given what anybody
//! may fetch: the team's public keys.

use std::process::Command;

use axle::domain::principal::Role;
use axle::engine::rewrap;
use reqwest::Method;
use serde_json::{Value, json};

use super::{SECRETS, make, place, signatures, text};
use crate::support::api::Api;
use crate::support::engine::{SECRET_KEY, With, vault};
use crate::support::program::axle;
use crate::support::rig::{PATH, Rig};
use crate::support::target::{Call, PATIENCE};

/// Prints for each key of a JSON Web Key Set whether it made one of the signatures in each header.
const NODE: &str = r#"
const crypto = require("node:crypto");
const { keys, headers, body } = JSON.parse(require("node:fs").readFileSync(process.argv[2], "utf8"));
const h = headers, bytes = Buffer.from(body, "base64");
const hash = crypto.createHash("sha256").update(bytes).digest("hex");
const signed = {
  "webhook-signature": Buffer.concat([Buffer.from(`${h["webhook-id"]}.${h["webhook-timestamp"]}.`), bytes]),
  "axle-signature": Buffer.from([h["axle-job-id"], h["axle-run-id"], h["axle-fence"], h["webhook-timestamp"], hash].join(".")),
};
console.log(JSON.stringify(keys.map((jwk) => {
  const key = crypto.createPublicKey({ key: jwk, format: "jwk" });
  return Object.entries(signed).map(([name, content]) => h[name].split(" ").some((one) => {
    const [version, tag] = one.split(",");
    return version === "v1a" && crypto.verify(null, content, key, Buffer.from(tag, "base64"));
  }));
})));
"#;

const KEYS: &str = "/.well-known/axle-signing-keys/acme";

/// Which of these keys have signed a call, as Node sees it; both headers must agree.
fn signed_by(call: &Call, keys: &Value) -> Vec<bool> {
    use base64::Engine as _;
    let folder = tempfile::tempdir().unwrap();
    let (script, given) = (folder.path().join("check.js"), folder.path().join("call.json"));
    let body = base64::engine::general_purpose::STANDARD.encode(&call.body);
    let call = json!({"keys": keys["keys"], "headers": call.headers, "body": body});
    std::fs::write(&script, NODE).unwrap();
    std::fs::write(&given, call.to_string()).unwrap();
    let ended = Command::new("node").arg(&script).arg(&given).output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
    let found: Vec<[bool; 2]> = serde_json::from_slice(&ended.stdout).unwrap();
    found
        .into_iter()
        .map(|[webhook, run]| {
            assert_eq!(webhook, run);
            webhook
        })
        .collect()
}

/// Makes a pair for a queue, or (null) for the team.
async fn pair(rig: &Rig, queue: Value) -> Value {
    let body = json!({"kind": "ed25519", "queue": queue});
    let (status, made) = rig.tell(Method::POST, SECRETS, &body).await;
    assert_eq!(status, 201, "{made}");
    assert_eq!((&made["secret"], &made["kind"]), (&Value::Null, &json!("ed25519")));
    made
}

async fn rotate(rig: &Rig, overlap_ms: u64) -> Value {
    let body = json!({"kind": "ed25519", "overlap_ms": overlap_ms});
    let (status, made) = rig.tell(Method::POST, &format!("{SECRETS}/rotate"), &body).await;
    assert_eq!(status, 201, "{made}");
    made
}

async fn keys(rig: &Rig) -> Value {
    let (status, keys) = rig.ask(Method::GET, KEYS).await;
    assert_eq!(status, 200, "{keys}");
    keys
}

/// A call of a queue's job.
async fn call(rig: &Rig, queue: &str) -> std::sync::Arc<Call> {
    let n = rig.target.calls(PATH).len();
    rig.run(rig.job().with(|new| queue.clone_into(&mut new.queue))).await;
    rig.target.wait_calls(PATH, n + 1, PATIENCE).await[n].clone()
}

fn versions(call: &Call) -> Vec<&str> {
    let all = signatures(call, "webhook-signature");
    all.into_iter().map(|one| one.split(',').next().unwrap()).collect()
}

#[tokio::test]
async fn a_pair_signs_alone_or_beside_a_secret_and_node_verifies_it() {
    let rig = Rig::new().await;
    let made = pair(&rig, Value::Null).await;
    let published = keys(&rig).await;
    let key = &published["keys"][0];
    assert_eq!((&key["whpk"], &key["kid"]), (&made["public_key"], &made["id"]), "{published}");
    let alone = call(&rig, "default").await;
    assert_eq!(versions(&alone), ["v1a"]);
    assert_eq!(signed_by(&alone, &published), [true]);

    let secret = make(&rig, Value::Null).await;
    let both = call(&rig, "default").await;
    assert_eq!(versions(&both), ["v1", "v1a"]);
    assert_eq!((place(&both, &secret), signed_by(&both, &published)), (Some(0), vec![true]));
    // A queue's own secret takes the place of the team's secret, and not of its pair; and vice versa.
    let own = make(&rig, json!("billing")).await;
    let billing = call(&rig, "billing").await;
    assert_eq!((place(&billing, &own), signed_by(&billing, &published)), (Some(0), vec![true]));
    rig.pass(std::time::Duration::from_secs(1));
    pair(&rig, json!("billing")).await;
    let billing = call(&rig, "billing").await;
    let published = keys(&rig).await;
    assert_eq!(signed_by(&billing, &published), [true, false], "the newest comes first");
    assert_eq!(signed_by(&*call(&rig, "default").await, &published), [false, true]);
}

#[tokio::test]
async fn a_pair_is_rotated_with_an_overlap_and_revoked_at_once() {
    let rig = Rig::new().await;
    pair(&rig, Value::Null).await;
    let conflict = rig.tell(Method::POST, SECRETS, &json!({"kind": "ed25519"})).await;
    assert_eq!((conflict.0, &conflict.1["code"]), (409, &json!("signing-secret-conflict")));
    let made = rotate(&rig, 60_000).await;
    let two = keys(&rig).await;
    assert_eq!(two["keys"][0]["whpk"], made["public_key"]);
    assert_eq!(signed_by(&*call(&rig, "default").await, &two), [true, true]);
    rig.pass(std::time::Duration::from_secs(61));
    let one = keys(&rig).await;
    assert_eq!(one["keys"].as_array().unwrap().len(), 1, "{one}");
    assert_eq!(signed_by(&*call(&rig, "default").await, &two), [true, false]);
    let gone = format!("{SECRETS}/{}", text(&made["id"]));
    assert_eq!(rig.ask(Method::DELETE, &gone).await.0, 204);
    assert_eq!(keys(&rig).await, json!({"keys": []}));
    assert_eq!(call(&rig, "default").await.header("webhook-signature"), None);
    // One that was never made cannot be rotated, whatever there is of the other kind.
    make(&rig, Value::Null).await;
    let body = json!({"kind": "ed25519"});
    assert_eq!(rig.tell(Method::POST, &format!("{SECRETS}/rotate"), &body).await.0, 404);
}

#[tokio::test]
async fn why_a_call_does_not_verify_is_told_for_pairs_too() {
    let rig = Rig::new().await;
    let made = pair(&rig, Value::Null).await;
    let call = call(&rig, "default").await;
    let ask = async |headers: Value, body: &str| {
        let request = json!({"headers": headers, "body": body});
        let found = rig.tell(Method::POST, "/v1/signing/verify", &request).await.1;
        let codes = found["reasons"].as_array().unwrap().iter().map(|one| text(&one["code"]));
        (found["signed_by"].clone(), codes.collect::<Vec<_>>())
    };
    let good = json!(call.headers);
    assert_eq!(ask(good.clone(), "{}").await, (made["id"].clone(), vec![]));
    assert_eq!(ask(good.clone(), "{ }").await.1, ["reserialized-body"]);
    assert_eq!(ask(good.clone(), "[]").await.1, ["changed-body"]);
    let mut altered = good.clone();
    altered["axle-fence"] = json!("2");
    assert_eq!(ask(altered.clone(), "{}").await.1, ["changed-run-headers"]);
    let bare = text(&good["webhook-signature"]).replace("v1a,", "");
    for wrong in ["v1a,", "v1a,AAAA", "v1a,%", "v2,x", &bare] {
        altered["webhook-signature"] = json!(wrong);
        assert_eq!(ask(altered.clone(), "{}").await.1, ["malformed-header"], "{wrong}");
    }
    let other = rotate(&rig, 0).await;
    assert_eq!(ask(good, "{}").await.1, ["ended-secret"]);

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("call");
    std::fs::write(&file, [call.head.as_ref(), &call.body].concat()).unwrap();
    let file = file.to_str().unwrap();
    for (key, code, words) in [
        (text(&made["public_key"]), 0, "verified"),
        (text(&other["public_key"]), 1, "no-match"),
        ("whpk_AAAA".to_owned(), 2, "a public key is"),
        (format!("whsk_{}", "A".repeat(44)), 2, "a public key is"),
    ] {
        let at = "2026-11-30T02:00:00Z";
        let ended = axle(&["verify", "--secret", &key, "--file", file, "--at", at], &[]).await;
        assert_eq!(ended.code, Some(code), "{ended:?}");
        assert!([ended.out, ended.err].concat().contains(words), "{key}");
    }
}

#[tokio::test]
async fn public_keys_are_public_and_tell_nothing_of_teams_that_have_none() {
    let api = Api::start().await;
    let acme = api.as_team("acme");
    let replayed = acme.clone().header("idempotency-key", "pair-1");
    let made = replayed.post(SECRETS, &json!({"kind": "ed25519", "queue": "payroll"})).await;
    assert_eq!(
        replayed.post(SECRETS, &json!({"kind": "ed25519", "queue": "payroll"})).await.json,
        made.json
    );
    api.as_team("quiet").post(SECRETS, &json!({})).await;
    let nobody = api.as_nobody();
    let shown = nobody.get(KEYS).await;
    assert_eq!(shown.json["keys"][0]["whpk"], made.json["public_key"]);
    assert_eq!(shown.header("cache-control"), Some("public, max-age=300"));
    assert!(
        !shown.text.contains("payroll"),
        "what queues are called is the team's own: {}",
        shown.text
    );
    let none = nobody.get("/.well-known/axle-signing-keys/quiet").await;
    let never = nobody.get("/.well-known/axle-signing-keys/never-was").await;
    assert_eq!((none.status, &none.json), (200, &json!({"keys": []})));
    assert_eq!((never.status, &never.json), (none.status, &none.json));
    let names = |reply: &crate::support::api::Reply| {
        let all = reply.headers.keys().map(ToString::to_string);
        all.collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(names(&none), names(&never));
    for wrong in ["No-Team", "%00", "%ff", "a%2fb", &"x".repeat(200)] {
        let reply = nobody.get(&format!("/.well-known/axle-signing-keys/{wrong}")).await;
        assert_eq!((reply.status, reply.code()), (404, "not-found"), "{wrong}");
    }
    for (body, pointer) in [
        (json!({"kind": "rsa"}), "#/kind"),
        (json!({"kind": 1}), "#/kind"),
        (json!({"kind": "ed25519", "seed": "x"}), "#/seed"),
    ] {
        for path in [SECRETS.to_owned(), format!("{SECRETS}/rotate")] {
            let reply = acme.post(&path, &body).await;
            assert_eq!((reply.status, &reply.json["errors"][0]["pointer"]), (422, &json!(pointer)));
        }
    }
    let writer = acme.clone().role(Role::Writer).post(SECRETS, &json!({"kind": "ed25519"})).await;
    assert_eq!(writer.status, 403);
}

#[tokio::test]
async fn the_private_key_is_sealed_for_its_kind_and_sealed_anew() {
    let rig = Rig::new().await;
    let made = pair(&rig, Value::Null).await;
    let new = "another secret key of the tests with 40 bytes";
    let both = vault(&rig.store, &[new, SECRET_KEY[0]]).await.unwrap();
    assert_eq!(rewrap::rewrap(&rig, &both).await.unwrap().signing, 1);
    assert_eq!(rewrap::rewrap(&rig, &both).await.unwrap().left, Vec::<String>::new());

    // A row that says that the seed is a shared secret is not believed.
    rig.db.execute("UPDATE signing_secrets SET kind = 'hmac', public_key = NULL").await;
    let limits = axle::engine::Limits { vault: Some(both.into()), ..(*rig.limits).clone() };
    let ctx = axle::engine::Ctx { limits: limits.into(), ..rig.ctx.clone() };
    let judged = axle::engine::signing::judge(&ctx, &rig.who, (&[], b""), 300).await;
    let told = judged.unwrap_err().to_string();
    assert!(told.contains(&text(&made["id"])) && told.contains("altered"), "{told}");
}
