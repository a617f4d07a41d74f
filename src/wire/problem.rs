//! Problem details (RFC 9457): what every answer of 400 and above carries.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One fault in what was sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FaultView {
    /// Where: a JSON Pointer in fragment form (RFC 6901 section 6); `#/query/…` for a query
    /// parameter.
    #[schema(example = "#/target/url")]
    pub pointer: String,
    /// Which rule it breaks.
    #[schema(example = "required")]
    pub code: String,
    /// What would be right.
    pub detail: String,
}

/// Why a request was not done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProblemView {
    /// The address of a page that explains this kind, served by this server.
    #[serde(rename = "type")]
    #[schema(example = "/problems/illegal-transition")]
    pub kind: String,
    /// The kind, in words; never varies.
    pub title: String,
    /// The status code.
    #[schema(example = 409)]
    pub status: u16,
    /// What happened this time.
    pub detail: String,
    /// The path that was asked.
    pub instance: String,
    /// The kind, for machines: the last part of `type`.
    #[schema(example = "illegal-transition")]
    pub code: String,
    /// The request, as in the header `X-Request-Id` and in the server's log.
    pub request_id: String,
    /// Whether the same request may succeed later.
    pub retryable: bool,
    /// What to do.
    pub hint: String,
    /// Every fault found, where the request itself is at fault.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FaultView>,
    /// For `version-conflict`: the present `ETag`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_etag: Option<String>,
    /// For `duplicate-key`: the job that has the key; for `name-taken`: the schedule of that name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub existing_id: Option<String>,
    /// For `stale-run`: whether the job was cancelled, so that the target can stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel_requested: Option<bool>,
    /// For `quota-exceeded`: the policies that stand against it, such as `team-write`.
    #[serde(default, rename = "violated-policies", skip_serializing_if = "Vec::is_empty")]
    pub violated_policies: Vec<String>,
}
