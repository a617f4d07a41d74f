//! Many jobs in one request.

use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::fields::Fields;
use super::job::JobView;
use super::problem::FaultView;
use super::request::{JobRequest, read_job};
use crate::domain::invalid::Invalid;
use crate::domain::job::NewJob;

/// 1 to 1,000 jobs.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct BatchRequest {
    /// `true`: one bad item refuses all. `false`: each item has its own answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(default = true)]
    pub atomic: Option<bool>,
    /// The jobs.
    #[schema(min_items = 1, max_items = 1000)]
    pub jobs: Vec<JobRequest>,
}

/// What became of one job of a batch.
#[derive(Debug, Serialize, ToSchema)]
pub struct BatchItem {
    /// 201 created, 200 an unfinished job has the unique key, 409 likewise with
    /// `on_duplicate: reject`, 422 invalid.
    pub status: u16,
    /// The job, without its payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<JobView>,
    /// For 409: the job that has the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub existing_id: Option<String>,
    /// For 422: every fault found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FaultView>,
}

/// The answers to a batch, in the order of its jobs.
#[derive(Debug, Serialize, ToSchema)]
pub struct BatchAnswer {
    /// How many jobs were created.
    pub created: usize,
    /// One for each job of the batch.
    pub results: Vec<BatchItem>,
}

/// The most jobs in a batch.
pub const BATCH_LIMIT: usize = 1_000;

/// A batch as read: whether it is atomic, and each job or its faults.
pub type ReadBatch = (bool, Vec<Result<NewJob, Invalid>>);

/// Reads a batch; faults of single jobs stay with them. `beside` may add faults to those of a job, of
/// which it is told how it came and where it stands.
pub fn read_batch(
    raw: &RawValue,
    max_payload: usize,
    beside: impl Fn(&RawValue, &str, Invalid) -> Invalid,
) -> Result<ReadBatch, Invalid> {
    let mut fields = Fields::read(raw, "#")?;
    let atomic = fields.get("atomic", "true or false").unwrap_or(true);
    let jobs = fields.raw("jobs");
    let items: Option<Vec<&RawValue>> = jobs.and_then(|raw| serde_json::from_str(raw.get()).ok());
    let count = items.as_ref().map_or(0, Vec::len);
    if !(1..=BATCH_LIMIT).contains(&count) {
        let detail = format!("must be an array of 1 to {BATCH_LIMIT} jobs, got {count}");
        fields.fault("jobs", "out-of-range", detail);
    }
    fields.finish().into_result(())?;
    let items = items.unwrap_or_default().into_iter().enumerate();
    let read = |(n, raw)| {
        let at = format!("#/jobs/{n}");
        read_job(raw, &at, max_payload).map_err(|faults| beside(raw, &at, faults))
    };
    Ok((atomic, items.map(read).collect()))
}
