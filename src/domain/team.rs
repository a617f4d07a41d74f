//! A team as the installation knows it: its name, its settings, whether it is suspended. A team that
//! nobody has described has the defaults.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::json_path::JsonPath;
use super::principal::Team;
use super::quota::Quotas;

/// What a team has settled for itself; none means the installation's own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The IANA name of the zone of a schedule that names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_time_zone: Option<String>,
    /// How long finished jobs are kept, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention_ms: Option<u64>,
    /// Its own limits, which only an installation admin sets.
    #[serde(default, skip_serializing_if = "Quotas::is_empty")]
    pub quotas: Quotas,
    /// Values of payloads and answers that readers are shown as masks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redact: Vec<JsonPath>,
    /// Whether who may only look is shown payloads and answers; they are if nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub viewers_see_payloads: Option<bool>,
}

/// What is known of a team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamRecord {
    /// Its slug.
    pub team: Team,
    /// For people.
    pub name: String,
    /// Since when it is suspended, and why.
    pub suspended: Option<(DateTime<Utc>, String)>,
    /// What it has settled.
    pub settings: Settings,
    /// Grows with every change; 0 for a team that nobody has described.
    pub version: i32,
    /// When it was described first.
    pub created_at: Option<DateTime<Utc>>,
}

impl TeamRecord {
    /// A team that nobody has described.
    pub fn untouched(team: &Team) -> Self {
        Self {
            team: team.clone(),
            name: team.to_string(),
            suspended: None,
            settings: Settings::default(),
            version: 0,
            created_at: None,
        }
    }

    /// Changes with every change.
    pub fn etag(&self) -> String {
        format!("\"{}\"", self.version)
    }
}
