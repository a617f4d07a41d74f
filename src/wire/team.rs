//! Teams, members and invitations on the wire.

use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::fields::Fields;
use super::instant;
use super::key::{read_name, roles};
use super::quota::LimitsView;
use crate::domain::invalid::Invalid;
use crate::domain::json_path::{JsonPath, PATH_MAX_CHARS};
use crate::domain::person::{Email, Invitation, Member};
use crate::domain::principal::{Role, Team};
use crate::domain::redact::PATHS_MAX;
use crate::domain::retention::{LEAST_MS, MOST_MS};
use crate::domain::schedule::zone::zone;
use crate::domain::team::TeamRecord;

/// A team.
#[derive(Debug, Serialize, ToSchema)]
pub struct TeamView {
    /// Its slug.
    #[schema(example = "shop")]
    pub team: String,
    /// For people.
    #[schema(example = "The shop")]
    pub name: String,
    /// Since when it is suspended.
    #[schema(format = DateTime)]
    pub suspended_at: Option<String>,
    /// Why it is suspended.
    pub suspend_reason: Option<String>,
    /// What it has settled for itself.
    pub settings: SettingsView,
    /// Its own limits, which an installation admin has set; see `/v1/teams/{team}/quotas` for those
    /// that hold.
    pub quotas: LimitsView,
    /// Grows with every change; 0 if nobody has described it.
    pub version: i32,
    /// When it was described first.
    #[schema(format = DateTime)]
    pub created_at: Option<String>,
}

/// What a team has settled for itself.
#[derive(Debug, Serialize, ToSchema)]
pub struct SettingsView {
    /// The IANA name of the zone that a new schedule has which names none; the installation's if null.
    #[schema(example = "Europe/Berlin")]
    pub default_time_zone: Option<String>,
    /// How long a finished job is kept at least, with its runs and its log, counted from its end; the
    /// installation's if null. It is gone ten days later at most.
    pub retention_ms: Option<u64>,
    /// Paths to values of payloads, callback results and answers that are shown as masks.
    #[schema(example = json!(["$.card.number", "$..password"]))]
    pub redact: Vec<String>,
    /// Whether viewers are shown payloads, callback results and answers.
    pub viewers_see_payloads: bool,
}

impl From<&TeamRecord> for TeamView {
    fn from(team: &TeamRecord) -> Self {
        let (since, reason) = team.suspended.clone().unzip();
        Self {
            team: team.team.to_string(),
            name: team.name.clone(),
            suspended_at: since.map(instant),
            suspend_reason: reason,
            settings: SettingsView {
                default_time_zone: team.settings.default_time_zone.clone(),
                retention_ms: team.settings.retention_ms,
                redact: team.settings.redact.iter().map(JsonPath::to_string).collect(),
                viewers_see_payloads: team.settings.viewers_see_payloads.unwrap_or(true),
            },
            quotas: LimitsView::from(&team.settings.quotas),
            version: team.version,
            created_at: team.created_at.map(instant),
        }
    }
}

/// A new team.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct TeamRequest {
    /// Its slug: 1 to 63 lower-case letters, digits and hyphens, the first no hyphen. It stays.
    #[schema(example = "shop")]
    pub team: String,
    /// For people; the slug if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 255)]
    pub name: Option<String>,
}

/// What changes of a team. A JSON merge patch: what is absent stays.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct TeamPatch {
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 255)]
    pub name: Option<String>,
    /// What the team settles for itself; null takes a setting back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings: Option<SettingsPatch>,
}

/// Settings that change.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct SettingsPatch {
    /// An IANA name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "Europe/Berlin")]
    pub default_time_zone: Option<String>,
    /// How long finished jobs are kept: a day to ten years. A shorter one is heeded within a week.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 86_400_000_u64)]
    pub retention_ms: Option<u64>,
    /// Up to 50 paths: `$` and steps `.name`, `['name']`, `..name`, `[0]`, `.*`, `[*]`, as in RFC 9535.
    /// They replace those that were there; null or `[]` takes all away.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 50, example = json!(["$.card.number", "$.items[*].token", "$..password"]))]
    pub redact: Option<Vec<String>>,
    /// True if null.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(default = true)]
    pub viewers_see_payloads: Option<bool>,
}

/// What a patch of a team says: an inner none takes a setting back.
#[derive(Debug, Default)]
pub struct TeamChange {
    /// The name.
    pub name: Option<String>,
    /// The zone.
    pub default_time_zone: Option<Option<String>>,
    /// The retention, in milliseconds.
    pub retention_ms: Option<Option<u64>>,
    /// The paths that are redacted, all of them.
    pub redact: Option<Vec<JsonPath>>,
    /// Whether viewers see payloads.
    pub viewers_see_payloads: Option<Option<bool>>,
}

/// A member of a team.
#[derive(Debug, Serialize, ToSchema)]
pub struct MemberView {
    /// The person, as the audit log names them.
    #[schema(example = "usr_01KB9YQ6Z4F0R8M3T1C5W7X2V0")]
    pub user: String,
    /// Their e-mail address.
    pub email: String,
    /// Their name.
    pub name: String,
    /// What they are in the team.
    #[schema(example = "operator")]
    pub role: String,
    /// Since when they are a member.
    #[schema(format = DateTime)]
    pub joined_at: String,
}

impl From<&Member> for MemberView {
    fn from(member: &Member) -> Self {
        Self {
            user: member.user.to_string(),
            email: member.email.clone(),
            name: member.name.clone(),
            role: member.role.as_str().to_owned(),
            joined_at: instant(member.joined_at),
        }
    }
}

/// The members of a team.
#[derive(Debug, Serialize, ToSchema)]
pub struct MemberList {
    /// Those who were there first before the others; at most 1,000.
    pub data: Vec<MemberView>,
}

/// What a member is to be.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct MemberRequest {
    /// Owners and admins are made, and unmade, by owners.
    #[schema(pattern = "^(owner|admin|operator|writer|viewer)$", example = "operator")]
    pub role: String,
}

/// Who is invited, and as what.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct InvitationRequest {
    /// Their e-mail address. Axle sends no mail: hand the token on yourself.
    #[schema(example = "kim@example.com")]
    pub email: String,
    /// What they will be. Owners and admins are invited by owners.
    #[schema(pattern = "^(owner|admin|operator|writer|viewer)$", example = "operator")]
    pub role: String,
}

/// An invitation.
#[derive(Debug, Serialize, ToSchema)]
pub struct InvitationView {
    /// The team.
    pub team: String,
    /// Who is invited.
    pub email: String,
    /// What they will be.
    pub role: String,
    /// When it ends.
    #[schema(format = DateTime)]
    pub expires_at: String,
    /// What whoever accepts it shows: only in the first answer to whoever made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "axi_…")]
    pub token: Option<String>,
    /// A link to a page that accepts with it, if the server has a public URL: likewise. What stands behind
    /// its `#` is sent to no server when it is opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "https://jobs.example.com/invitation#axi_…")]
    pub url: Option<String>,
}

impl From<&Invitation> for InvitationView {
    fn from(invitation: &Invitation) -> Self {
        Self {
            team: invitation.team.to_string(),
            email: invitation.email.clone(),
            role: invitation.role.as_str().to_owned(),
            expires_at: instant(invitation.expires_at),
            token: None,
            url: None,
        }
    }
}

/// Reads a new team: its slug and its name.
pub fn read_team(raw: &RawValue) -> Result<(Team, Option<String>), Invalid> {
    let mut fields = Fields::read(raw, "#")?;
    let slug = fields.text("team");
    let team = slug.as_deref().map(Team::parse);
    match &team {
        None => fields.missing("team", "a team needs a slug"),
        Some(Err(bad)) => fields.fault("team", "out-of-range", bad.to_string()),
        Some(Ok(_)) => {}
    }
    let name = if fields.has("name") { read_name(&mut fields, "name") } else { None };
    match team {
        Some(Ok(team)) => fields.finish().into_result((team, name)),
        _ => Err(fields.finish()),
    }
}

/// Reads what changes of a team.
pub fn read_team_patch(raw: &RawValue) -> Result<TeamChange, Invalid> {
    let mut fields = Fields::read(raw, "#")?;
    let mut change = TeamChange::default();
    if fields.has("name") {
        change.name = read_name(&mut fields, "name");
    }
    if let Some(mut settings) = fields.object("settings") {
        if let Some(name) = settings.raw("default_time_zone") {
            change.default_time_zone = Some(read_zone(&mut settings, name));
        }
        if let Some(value) = settings.raw("retention_ms") {
            change.retention_ms = Some(read_retention(&mut settings, value));
        }
        if settings.has_any("redact") {
            change.redact = Some(read_redact(&mut settings));
        }
        if settings.has_any("viewers_see_payloads") {
            change.viewers_see_payloads =
                Some(settings.get("viewers_see_payloads", "true, false, or null"));
        }
        fields.add(settings.finish());
    }
    fields.finish().into_result(change)
}

fn read_zone(settings: &mut Fields<'_>, raw: &RawValue) -> Option<String> {
    let name: Option<String> = serde_json::from_str(raw.get()).unwrap_or_else(|_| {
        settings.fault("default_time_zone", "wrong-type", "must be a string, or null");
        None
    });
    if let Some(Err(bad)) = name.as_deref().map(|name| zone(name, "#/settings/default_time_zone")) {
        settings.add(bad);
    }
    name
}

fn read_retention(settings: &mut Fields<'_>, raw: &RawValue) -> Option<u64> {
    let value: Option<u64> = serde_json::from_str(raw.get()).unwrap_or_else(|_| {
        settings.fault("retention_ms", "wrong-type", "must be a number of milliseconds, or null");
        None
    });
    if value.is_some_and(|span| !(LEAST_MS..=MOST_MS).contains(&span)) {
        let detail = format!("must be {LEAST_MS} to {MOST_MS}, or null");
        settings.fault("retention_ms", "out-of-range", detail);
    }
    value
}

fn read_redact(settings: &mut Fields<'_>) -> Vec<JsonPath> {
    let expected =
        format!("a path of at most {PATH_MAX_CHARS} characters, such as \"$.card.number\"");
    let texts: Vec<String> = settings.list("redact", &expected, PATHS_MAX).unwrap_or_default();
    let mut paths: Vec<JsonPath> = Vec::with_capacity(texts.len());
    for (n, text) in texts.iter().enumerate() {
        let at = format!("{}/{n}", settings.at("redact"));
        match text.parse() {
            Ok(path) if paths.contains(&path) => {
                settings.add(Invalid::one(at, "duplicate-item", "is named twice; name it once"));
            }
            Ok(path) => paths.push(path),
            Err(bad) => settings.add(Invalid::one(at, "malformed", bad.to_string())),
        }
    }
    paths
}

/// Reads a role.
pub fn read_member(raw: &RawValue) -> Result<Role, Invalid> {
    let mut fields = Fields::read(raw, "#")?;
    match fields.required_word("role", &roles()) {
        Some(role) => fields.finish().into_result(role),
        None => Err(fields.finish()),
    }
}

/// Reads an invitation.
pub fn read_invitation(raw: &RawValue) -> Result<(Email, Role), Invalid> {
    let mut fields = Fields::read(raw, "#")?;
    let email = read_email(&mut fields);
    let role = fields.required_word("role", &roles());
    match (email, role) {
        (Some(email), Some(role)) => fields.finish().into_result((email, role)),
        _ => Err(fields.finish()),
    }
}

/// An e-mail address that must be there.
pub(super) fn read_email(fields: &mut Fields<'_>) -> Option<Email> {
    let Some(text) = fields.text("email") else {
        fields.missing("email", "needs an e-mail address");
        return None;
    };
    let email = Email::parse(&text);
    if email.is_none() {
        fields.fault("email", "out-of-range", "must be an e-mail address, such as kim@example.com");
    }
    email
}
