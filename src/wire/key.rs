//! API keys and revoked tokens on the wire.

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::fields::Fields;
use super::instant;
use crate::domain::check::check_instant;
use crate::domain::invalid::Invalid;
use crate::domain::key::Key;
use crate::domain::principal::{Role, Subject};
use crate::domain::queue::is_queue_name;
use crate::domain::scope::{QUEUES_MAX, Scope};

/// An API key.
#[derive(Debug, Serialize, ToSchema)]
pub struct KeyView {
    /// Its public part, which stands in its text too.
    #[schema(example = "key_7k3m9x2p")]
    pub id: String,
    /// What it is for.
    #[schema(example = "billing service")]
    pub name: String,
    /// The role of whoever holds it.
    #[schema(example = "writer")]
    pub role: String,
    /// The queues that whoever holds it reaches; all of the team's if null.
    pub queues: Option<Vec<String>>,
    /// When it ends by itself.
    #[schema(format = DateTime)]
    pub expires_at: Option<String>,
    /// Who made it.
    pub created_by: String,
    /// When it was made.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// When it was last used, to the minute.
    #[schema(format = DateTime)]
    pub last_used_at: Option<String>,
    /// When it was revoked.
    #[schema(format = DateTime)]
    pub revoked_at: Option<String>,
    /// The key itself, for `Authorization: Bearer`: only in the first answer to whoever made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "axk_7k3m9x2p_…")]
    pub key: Option<String>,
}

impl From<&Key> for KeyView {
    fn from(key: &Key) -> Self {
        Self {
            id: key.id.to_string(),
            name: key.name.clone(),
            role: key.role.as_str().to_owned(),
            queues: key.scope.queues().map(<[String]>::to_vec),
            expires_at: key.expires_at.map(instant),
            created_by: key.created_by.clone(),
            created_at: instant(key.created_at),
            last_used_at: key.last_used_at.map(instant),
            revoked_at: key.revoked_at.map(instant),
            key: None,
        }
    }
}

/// What a new key is to be.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct KeyRequest {
    /// What it is for: 1 to 255 characters. The audit log shows it.
    #[schema(max_length = 255, example = "billing service")]
    pub name: String,
    /// The role of whoever holds it; it may do nothing that you may not.
    #[schema(pattern = "^(owner|admin|operator|writer|viewer)$", example = "writer")]
    pub role: String,
    /// Up to 50 queues, to whose jobs and schedules whoever holds it is held; all of the team's if
    /// absent. Such a key manages nothing, whatever its role.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_items = 1, max_items = 50, example = json!(["mail"]))]
    pub queues: Option<Vec<String>>,
    /// When it ends by itself; never if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub expires_at: Option<String>,
}

/// How a key is replaced.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct RollRequest {
    /// How long the old key still holds; 0, and so not at all, to 30 days.
    #[schema(minimum = 0, maximum = 2_592_000_000_u64, example = 86_400_000)]
    pub overlap_ms: u64,
    /// When the new key ends by itself; if absent, when the old one would have.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub expires_at: Option<String>,
}

/// Which token is refused from now on.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct TokenRevocation {
    /// The token's claim `jti`.
    #[schema(max_length = 255)]
    pub jti: String,
    /// The token's claim `exp`, or later: then the revocation is forgotten.
    #[schema(format = DateTime)]
    pub expires_at: String,
}

/// Name, role, queues and end of a new key.
pub type NewKey = (String, Role, Scope, Option<DateTime<Utc>>);

/// Reads what a new key is to be.
pub fn read_key(raw: &RawValue) -> Result<NewKey, Invalid> {
    let mut fields = Fields::read(raw, "#")?;
    let name = read_name(&mut fields, "name");
    let role = fields.required_word("role", &roles());
    let scope = read_scope(&mut fields);
    let expires_at = read_end(&mut fields);
    match (name, role) {
        (Some(name), Some(role)) => fields.finish().into_result((name, role, scope, expires_at)),
        _ => Err(fields.finish()),
    }
}

/// Reads how a key is replaced: the overlap in milliseconds, and the new key's end.
pub fn read_roll(raw: &RawValue, limit_ms: u64) -> Result<(u64, Option<DateTime<Utc>>), Invalid> {
    let mut fields = Fields::read(raw, "#")?;
    let expected = format!("a whole number of milliseconds from 0 to {limit_ms}");
    let overlap_ms: Option<u64> = fields.get("overlap_ms", &expected);
    match overlap_ms {
        None => fields.missing("overlap_ms", "say how long the old key still holds; 0 ends it now"),
        Some(overlap) if overlap > limit_ms => {
            fields.fault("overlap_ms", "out-of-range", format!("must be {expected}"));
        }
        Some(_) => {}
    }
    let expires_at = read_end(&mut fields);
    fields.finish().into_result((overlap_ms.unwrap_or_default(), expires_at))
}

/// Reads which token is refused, and until when.
pub fn read_revocation(raw: &RawValue) -> Result<(String, DateTime<Utc>), Invalid> {
    let mut fields = Fields::read(raw, "#")?;
    let jti = fields.text("jti");
    match &jti {
        None => fields.missing("jti", "name the token by its claim jti"),
        Some(jti) if jti.is_empty() || jti.len() > 255 || jti.chars().any(char::is_control) => {
            fields.fault("jti", "out-of-range", "must be 1 to 255 bytes of printable text");
        }
        Some(_) => {}
    }
    let expires_at = read_end(&mut fields);
    if expires_at.is_none() {
        fields.missing("expires_at", "say when the token ends by itself: its claim exp");
    }
    match (jti, expires_at) {
        (Some(jti), Some(end)) => fields.finish().into_result((jti, end)),
        _ => Err(fields.finish()),
    }
}

fn read_scope(fields: &mut Fields<'_>) -> Scope {
    let names: Option<Vec<String>> = fields.list("queues", "a queue's name", QUEUES_MAX);
    let Some(names) = names else { return Scope::default() };
    if names.is_empty() {
        let detail = "name at least one queue, or leave it out for all of the team's";
        fields.fault("queues", "out-of-range", detail);
    }
    for (n, name) in names.iter().enumerate() {
        let at = format!("{}/{n}", fields.at("queues"));
        if !is_queue_name(name) {
            let detail = "must be 1 to 63 of a-z, 0-9, '.', '_', '-', the first a letter or digit";
            fields.add(Invalid::one(at, "out-of-range", detail));
        } else if names.iter().take(n).any(|before| before == name) {
            fields.add(Invalid::one(at, "duplicate-item", "is named twice; name it once"));
        }
    }
    Scope::of(names)
}

/// The words for roles.
pub(super) fn roles() -> Vec<(&'static str, Role)> {
    Role::ALL.iter().map(|role| (role.as_str(), *role)).collect()
}

/// A name that is shown where a person's would be.
pub(super) fn read_name(fields: &mut Fields<'_>, key: &'static str) -> Option<String> {
    let name = fields.text(key);
    let Some(name) = name else {
        fields.missing(key, "needs a name, for whoever reads the list");
        return None;
    };
    if Subject::parse(&name).is_err() || name.trim().is_empty() {
        fields.fault(key, "out-of-range", "must be 1 to 255 printable characters");
        return None;
    }
    Some(name)
}

fn read_end(fields: &mut Fields<'_>) -> Option<DateTime<Utc>> {
    let end = fields.instant("expires_at")?;
    let mut faults = Invalid::default();
    check_instant(&mut faults, &fields.at("expires_at"), end);
    fields.add(faults);
    Some(end)
}
