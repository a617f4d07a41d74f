//! The audit log on the wire.

use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::instant;
use crate::domain::audit::{Hash, Link};

/// An entry of the audit log.
#[derive(Debug, Serialize, ToSchema)]
pub struct AuditView {
    /// From 1 without gaps, in each team.
    pub seq: i64,
    /// When it was done.
    #[schema(format = DateTime)]
    pub at: String,
    /// Who did it.
    pub actor: ActorView,
    /// What was done.
    #[schema(example = "pause")]
    pub verb: String,
    /// To what: a path below `/v1`.
    #[schema(example = "queues/mail")]
    pub object: String,
    /// How it stood before, secrets hidden.
    #[schema(value_type = Option<serde_json::Value>)]
    pub before: Option<Box<RawValue>>,
    /// How it stands since, secrets hidden.
    #[schema(value_type = Option<serde_json::Value>)]
    pub after: Option<Box<RawValue>>,
    /// Why, as the actor wrote.
    pub reason: Option<String>,
    /// The caller's address.
    pub address: Option<String>,
    /// The id of the request, as in its answer and in the log.
    pub request_id: Option<String>,
    /// The hash of the entry before, in hexadecimal; zeros before the first.
    pub prev_hash: String,
    /// This entry's hash, over `prev_hash` and every field.
    pub hash: String,
}

/// Whoever did it.
#[derive(Debug, Serialize, ToSchema)]
pub struct ActorView {
    /// `user`, `key`, `token`, `dev` or `system`.
    #[schema(example = "key")]
    pub kind: String,
    /// A token's subject, or a key's name.
    #[schema(example = "billing service")]
    pub subject: String,
    /// What they signed in with: a key's id, or a token's `jti`.
    #[schema(example = "key_7k3m9x2p")]
    pub credential: Option<String>,
}

impl From<&Link> for AuditView {
    fn from(link: &Link) -> Self {
        let entry = &link.entry;
        let raw = |text: &Option<String>| RawValue::from_string(text.clone()?).ok();
        Self {
            seq: entry.seq,
            at: instant(entry.at),
            actor: ActorView {
                kind: entry.kind.clone(),
                subject: entry.subject.clone(),
                credential: entry.credential.clone(),
            },
            verb: entry.verb.clone(),
            object: entry.object.clone(),
            before: raw(&entry.before),
            after: raw(&entry.after),
            reason: entry.reason.clone(),
            address: entry.address.clone(),
            request_id: entry.request_id.clone(),
            prev_hash: hex(&link.previous),
            hash: hex(&link.hash),
        }
    }
}

/// A hash in hexadecimal.
pub fn hex(hash: &Hash) -> String {
    hash.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}
