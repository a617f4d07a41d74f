//! Signing secrets and captured calls on the wire.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::fields::Fields;
use super::request::MILLIS;
use crate::domain::invalid::Invalid;
use crate::domain::queue::is_queue_name;
use crate::domain::signature::SigningKind;
use crate::domain::signature::verify::TOLERANCE;

/// The default of `overlap_ms`: a day, which outlasts most retries.
const OVERLAP_MS: u64 = 86_400_000;
/// The longest `overlap_ms`: thirty days.
const OVERLAP_LIMIT_MS: u64 = 30 * 86_400_000;
/// The widest `tolerance_ms`: a year, to judge what was captured long ago.
const TOLERANCE_LIMIT_MS: u64 = 31_536_000_000;
/// More headers than any server takes.
const HEADER_COUNT: usize = 256;

/// Whose secret is to be made.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SigningRequest {
    /// The queue whose calls it signs in place of the team's secret; of the whole team if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "billing", pattern = "^[a-z0-9][a-z0-9._-]{0,62}$")]
    pub queue: Option<String>,
    /// `hmac`, a secret that targets share; or `ed25519`, a pair of keys of which targets have the
    /// public one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "ed25519", default = "hmac", pattern = "^(hmac|ed25519)$")]
    pub kind: Option<String>,
}

/// Which secret is to be replaced, and how.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RotateRequest {
    /// The queue whose secret it is; that of the whole team if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "billing", pattern = "^[a-z0-9][a-z0-9._-]{0,62}$")]
    pub queue: Option<String>,
    /// `hmac`, a secret that targets share; or `ed25519`, a pair of keys of which targets have the
    /// public one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "ed25519", default = "hmac", pattern = "^(hmac|ed25519)$")]
    pub kind: Option<String>,
    /// How long the old secret signs beside the new one; up to 30 days.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(default = 86_400_000, maximum = 2_592_000_000_u64)]
    pub overlap_ms: Option<u64>,
}

/// A call as somebody has captured it.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifyRequest {
    /// Its headers, by name; at least those that begin with `webhook-` and `Axle-`.
    pub headers: BTreeMap<String, String>,
    /// Its body as text, if it is text. Not together with `body_base64`; without both it is empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "{\"order\":42}")]
    pub body: Option<String>,
    /// Its body, byte for byte, in base 64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_base64: Option<String>,
    /// How old the call may be. It may lie ahead by as much, and at most by a minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(default = 300_000, minimum = 1000)]
    pub tolerance_ms: Option<u64>,
}

/// A signing secret, without the secret.
#[derive(Debug, Serialize, ToSchema)]
pub struct SigningView {
    /// `sgn_` and 26 characters; opaque.
    #[schema(example = "sgn_01KB9YQ6Z4F0R8M3T1C5W7X2V0")]
    pub id: String,
    /// The queue whose calls it signs; null: all calls of queues that have no secret of their own.
    pub queue: Option<String>,
    /// `hmac` or `ed25519`.
    #[schema(example = "hmac")]
    pub kind: &'static str,
    /// What targets check an `ed25519` signature with, `whpk_…`; null for a shared secret.
    #[schema(example = "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=")]
    pub public_key: Option<String>,
    /// `current`; `retiring`: it signs beside the current one; `ended`: it signs nothing.
    #[schema(example = "current")]
    pub state: &'static str,
    /// A short hash: equal for equal secrets of the team.
    #[schema(example = "secret:5f2c9a01d4e7")]
    pub hash: String,
    /// Who made it.
    pub created_by: String,
    /// When it was made.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// From then on it signs nothing.
    #[schema(format = DateTime)]
    pub expires_at: Option<String>,
}

/// A new signing secret.
#[derive(Debug, Serialize, ToSchema)]
pub struct NewSigningView {
    /// `sgn_` and 26 characters; opaque.
    #[schema(example = "sgn_01KB9YQ6Z4F0R8M3T1C5W7X2V0")]
    pub id: String,
    /// The queue whose calls it signs; null: all calls of queues that have no secret of their own.
    pub queue: Option<String>,
    /// `hmac` or `ed25519`.
    #[schema(example = "hmac")]
    pub kind: &'static str,
    /// What targets check an `ed25519` signature with, `whpk_…`; null for a shared secret.
    #[schema(example = "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=")]
    pub public_key: Option<String>,
    /// `current`; `retiring`: it signs beside the current one; `ended`: it signs nothing.
    #[schema(example = "current")]
    pub state: &'static str,
    /// A short hash: equal for equal secrets of the team.
    #[schema(example = "secret:5f2c9a01d4e7")]
    pub hash: String,
    /// Who made it.
    pub created_by: String,
    /// When it was made.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// From then on it signs nothing.
    #[schema(format = DateTime)]
    pub expires_at: Option<String>,
    /// The shared secret, `whsec_…`: shown this once. Null in the answer to a repeat of the request, and
    /// for a pair of keys, whose private one nobody is shown.
    #[schema(example = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")]
    pub secret: Option<String>,
    /// Every call whose `webhook-timestamp` is later has its signature, from whatever process: only
    /// then may a target stop to take the old one.
    #[schema(format = DateTime)]
    pub signs_from: String,
}

/// A team's signing secrets, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct SigningList {
    /// The secrets.
    pub data: Vec<SigningView>,
}

/// One thing that is wrong with a captured call.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReasonView {
    /// Stable, for machines: `missing-header`, `malformed-header`, `stale-time`, `future-time`,
    /// `wrong-secret`, `changed-body`, `reserialized-body`, `no-match`, `changed-run-headers`,
    /// `ended-secret`, `other-queue`, `unknown-job`, `no-secret`.
    pub code: String,
    /// What happened and what to do, for people.
    pub detail: String,
}

/// Whether a captured call verifies.
#[derive(Debug, Serialize, ToSchema)]
pub struct VerdictView {
    /// Whether a target that checks everything would take it.
    pub verified: bool,
    /// The secret that signed it, if one of the team's did.
    pub signed_by: Option<String>,
    /// Everything that is wrong with it.
    pub reasons: Vec<ReasonView>,
}

/// Public keys that check a team's calls: a JSON Web Key Set (RFC 7517, RFC 8037).
#[derive(Debug, Serialize, ToSchema)]
pub struct PublicKeys {
    /// The keys, newest first; none for a team that has none or that there is not.
    pub keys: Vec<PublicKeyView>,
}

/// A public key, as a JSON Web Key and in the form of Standard Webhooks.
#[derive(Debug, Serialize, ToSchema)]
pub struct PublicKeyView {
    /// The id of the signing secret.
    #[schema(example = "sgn_01KB9YQ6Z4F0R8M3T1C5W7X2V0")]
    pub kid: String,
    /// `OKP`.
    pub kty: &'static str,
    /// `Ed25519`.
    pub crv: &'static str,
    /// The key, in base 64 for URLs.
    #[schema(example = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo")]
    pub x: String,
    /// `sig`.
    #[serde(rename = "use")]
    pub purpose: &'static str,
    /// The same key as `whpk_` and base 64.
    #[schema(example = "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=")]
    pub whpk: String,
}

/// A queue's name, if it is not the whole team, and a kind.
pub type Whose = (Option<String>, SigningKind);

/// Reads whose secret is to be made.
pub fn read_signing(raw: &RawValue) -> Result<Whose, Invalid> {
    let mut fields = Fields::read(raw, "#")?;
    let whose = whose(&mut fields);
    fields.finish().into_result(whose)
}

/// Reads which secret is to be replaced, and for how many milliseconds both sign.
pub fn read_rotate(raw: &RawValue) -> Result<(Whose, u64), Invalid> {
    let mut fields = Fields::read(raw, "#")?;
    let whose = whose(&mut fields);
    let overlap_ms = fields.get("overlap_ms", MILLIS).unwrap_or(OVERLAP_MS);
    if overlap_ms > OVERLAP_LIMIT_MS {
        let detail = format!("must be 0 to {OVERLAP_LIMIT_MS}, got {overlap_ms}");
        fields.fault("overlap_ms", "out-of-range", detail);
    }
    fields.finish().into_result((whose, overlap_ms))
}

/// A captured call as it was given.
#[derive(Debug)]
pub struct ReadCall {
    /// Its headers.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: Vec<u8>,
    /// How old it may be, in seconds.
    pub tolerance: u64,
}

/// Reads a captured call.
pub fn read_call(raw: &RawValue) -> Result<ReadCall, Invalid> {
    let mut fields = Fields::read(raw, "#")?;
    let headers = if let Some(mut inner) = fields.object("headers") {
        let headers = inner.all_texts();
        fields.add(inner.finish());
        headers
    } else {
        fields.missing("headers", "give the headers of the call: {\"webhook-id\": \"job_…\", …}");
        Vec::new()
    };
    if headers.len() > HEADER_COUNT {
        let detail = format!("at most {HEADER_COUNT}, got {}", headers.len());
        fields.fault("headers", "too-many", detail);
    }
    let (text, encoded) = (fields.text("body"), fields.text("body_base64"));
    if text.is_some() && encoded.is_some() {
        fields.fault("body_base64", "excluded", "give body or body_base64, not both");
    }
    let decoded = encoded.map(|encoded| STANDARD.decode(encoded)).transpose();
    if let Err(error) = &decoded {
        let detail = format!("must be base 64 (RFC 4648 section 4): {error}");
        fields.fault("body_base64", "malformed", detail);
    }
    let decoded = decoded.unwrap_or_default();
    let body = text.map(String::into_bytes).or(decoded).unwrap_or_default();
    let tolerance_ms = fields.get("tolerance_ms", MILLIS).unwrap_or(TOLERANCE * 1_000);
    if !(1_000..=TOLERANCE_LIMIT_MS).contains(&tolerance_ms) {
        let detail = format!("must be 1000 to {TOLERANCE_LIMIT_MS}, got {tolerance_ms}");
        fields.fault("tolerance_ms", "out-of-range", detail);
    }
    fields.finish().into_result(ReadCall { headers, body, tolerance: tolerance_ms / 1_000 })
}

fn whose(fields: &mut Fields<'_>) -> Whose {
    let words = SigningKind::ALL.map(|kind| (kind.as_str(), kind));
    (queue(fields), fields.word("kind", &words).unwrap_or_default())
}

fn queue(fields: &mut Fields<'_>) -> Option<String> {
    let queue = fields.text("queue")?;
    if !is_queue_name(&queue) {
        let detail = "must be 1 to 63 of a-z, 0-9, '.', '_', '-', the first a letter or digit";
        fields.fault("queue", "out-of-range", detail);
    }
    Some(queue)
}
