//! Calls that can be verified, and secrets that are kept. The oracle of signatures is the published
//! crate, not our own code.

mod calls;
mod headers;
mod interop;
mod keys;
mod leaks;
mod load;
mod pairs;
mod reasons;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use standardwebhooks::Webhook;

use crate::support::rig::Rig;
use crate::support::target::Call;

/// Where signing secrets are made.
const SECRETS: &str = "/v1/signing/secrets";

/// Makes the secret of a queue, or (null) of the team.
async fn make(rig: &Rig, queue: Value) -> String {
    let (status, made) = rig.tell(Method::POST, SECRETS, &json!({ "queue": queue })).await;
    assert_eq!(status, 201, "{made}");
    text(&made["secret"])
}

/// Rotates the team's secret.
async fn rotate(rig: &Rig, overlap_ms: u64) -> String {
    let body = json!({ "overlap_ms": overlap_ms });
    let (status, made) = rig.tell(Method::POST, &format!("{SECRETS}/rotate"), &body).await;
    assert_eq!(status, 201, "{made}");
    text(&made["secret"])
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is a text")).to_owned()
}

/// The signatures in a header, in their order.
fn signatures<'c>(call: &'c Call, name: &str) -> Vec<&'c str> {
    call.header(name).map(|value| value.split(' ').collect()).unwrap_or_default()
}

/// The place of the signature that this secret made of what arrived, as the published crate and a
/// reading of our own rule see it; both headers must agree.
fn place(call: &Call, secret: &str) -> Option<usize> {
    let stamp = call.header("webhook-timestamp").unwrap();
    let webhook = Webhook::new(secret).unwrap();
    let id = call.header("webhook-id").unwrap();
    let expected = webhook.sign(id, stamp.parse().unwrap(), &call.body).unwrap();
    let found = signatures(call, "webhook-signature").iter().position(|one| *one == expected);

    let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
    let hash = Sha256::digest(&call.body)
        .iter()
        .fold(String::new(), |hash, byte| hash + &format!("{byte:02x}"));
    let signed = format!("{id}.{}.{}.{stamp}.{hash}", call.run_id(), call.fence());
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
    mac.update(signed.as_bytes());
    let expected = format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()));
    let ours = signatures(call, "axle-signature").iter().position(|one| *one == expected);
    assert_eq!(found, ours, "the two headers are signed alike");
    found
}
