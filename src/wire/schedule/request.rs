//! A schedule as a caller defines it: the documents that OpenAPI shows and clients send.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{Object, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::wire::request::{RetryRequest, TargetRequest};

/// When a schedule fires: exactly one of `cron`, `every_ms`, `at`, `day` and `any_of`.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub struct SpecRequest {
    /// Five fields by the grammar of Debian's `crontab(5)`, or a nickname such as `@daily`; also
    /// `L`, `LW`, `5L` and `5#3`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "30 2 * * 1-5")]
    pub cron: Option<String>,
    /// With `cron`: the line has six fields, the first being the second.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(default = false)]
    pub seconds: Option<bool>,
    /// Equal distances in real time, whatever clocks do; 1,000 to a year.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1000)]
    pub every_ms: Option<u64>,
    /// With `every_ms`: an instant that it meets; 1970-01-01T00:00:00Z if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub anchor: Option<String>,
    /// These instants, at most 1,000, each once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Vec<String>>,
    /// One day of each month: `last_of_month`, `last_business_day` or `nth_business_day`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub day: Option<String>,
    /// With `nth_business_day`: which, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 31)]
    pub n: Option<u32>,
    /// With `day`: the local time, `HH:MM` or `HH:MM:SS`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "02:00")]
    pub time: Option<String>,
    /// Up to 16 of the above; two at the same instant are one fire.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(no_recursion)]
    pub any_of: Option<Vec<SpecRequest>>,
}

/// Which fires are made up for after an outage.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CatchUpRequest {
    /// `none`, the `last` one, or `all`, oldest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(default = "last", pattern = "^(none|last|all)$")]
    pub policy: Option<String>,
    /// How far back; what is older is `missed`. At most 366 days.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(default = 3_600_000)]
    pub window_ms: Option<u64>,
    /// With `all`: how many at most; the rest is `missed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(default = 10, minimum = 1, maximum = 1000)]
    pub max: Option<u32>,
}

/// What each job of a schedule is: a job as in `POST /v1/jobs`, without when and without a unique
/// key; the schedule and the fire time identify it.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleJobRequest {
    /// For people and filters; the schedule's name if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 255)]
    pub name: Option<String>,
    /// Where it waits; `default` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "default", pattern = "^[a-z0-9][a-z0-9._-]{0,62}$")]
    pub queue: Option<String>,
    /// What to call.
    pub target: TargetRequest,
    /// Any JSON; kept and sent as the bytes that came. Not together with `payload_base64`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub payload: Option<Box<RawValue>>,
    /// Any bytes, in base 64; needs a `content_type`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload_base64: Option<String>,
    /// The payload's media type; `application/json` for a JSON payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "application/json")]
    pub content_type: Option<String>,
    /// 0 (lowest) to 9.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(default = 5, minimum = 0, maximum = 9)]
    pub priority: Option<i16>,
    /// How long one run may take. Up to a year.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(default = 30_000, minimum = 1)]
    pub timeout_ms: Option<u64>,
    /// `response` or `callback`, as for any job.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(default = "response", pattern = "^(response|callback)$")]
    pub completion: Option<String>,
    /// In callback mode: how long the target may stay silent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1000)]
    pub heartbeat_timeout_ms: Option<u64>,
    /// If it has not started so long after its due time it fails with the reason `expired`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub start_within_ms: Option<u64>,
    /// When to try again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryRequest>,
    /// Whom to call when it fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "billing", max_length = 255)]
    pub owner_service: Option<String>,
    /// Up to 16 keys with values, for filters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<BTreeMap<String, String>>,
}

/// What a schedule is to be. `name`, `spec` and `job` must be given (`name` only where the path does
/// not say it); what else is absent has its default.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleRequest {
    /// Unique within the team; never changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "nightly-report", pattern = "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")]
    pub name: Option<String>,
    /// When it fires.
    pub spec: SpecRequest,
    /// An IANA name; if absent the team's `default_time_zone`, and without one the server's
    /// `AXLE_DEFAULT_TIME_ZONE`. The schedule keeps it, whatever that setting becomes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "Europe/Berlin")]
    pub time_zone: Option<String>,
    /// What each of its jobs is.
    pub job: ScheduleJobRequest,
    /// While an earlier job is unfinished: `skip` the fire, let one job (`queue_one`) or each
    /// (`queue_all`, up to 1,000) wait for its turn, cancel what is unfinished (`cancel_running`),
    /// or `allow` both.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(default = "skip", pattern = "^(skip|queue_one|queue_all|cancel_running|allow)$")]
    pub overlap: Option<String>,
    /// After an outage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub catch_up: Option<CatchUpRequest>,
    /// A time that clocks skip: `fire` at the gap's end, or `skip` it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(default = "fire", pattern = "^(fire|skip)$")]
    pub on_gap: Option<String>,
    /// A time that comes twice: fires at the `first`, the `second` or `both`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(default = "first", pattern = "^(first|second|both)$")]
    pub on_overlap_hour: Option<String>,
    /// Its jobs are spread over so long after their fire time, each slot always alike; at most a
    /// day.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(default = 0, maximum = 86_400_000)]
    pub jitter_ms: Option<u64>,
    /// Up to 8 calendars, by name, on whose closed days it does not fire.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exclude: Option<Vec<String>>,
    /// Where a fire on a closed day goes: `skip` for nowhere, `next_business_day` or
    /// `previous_business_day`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(default = "skip", pattern = "^(skip|next_business_day|previous_business_day)$")]
    pub shift: Option<String>,
    /// No fire before.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub start_at: Option<String>,
    /// No fire from then on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub end_at: Option<String>,
    /// It ends after so many jobs made by the timer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub max_fires: Option<u32>,
    /// Whether it is paused; a new one is not, and one that exists stays as it is if this is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    /// Whether a job that is given up pauses it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(default = false)]
    pub pause_on_failure: Option<bool>,
}

/// A JSON merge patch of a [`ScheduleRequest`]: the same fields, none of them obligatory.
#[derive(Debug)]
pub struct SchedulePatch;

impl PartialSchema for SchedulePatch {
    fn schema() -> RefOr<Schema> {
        let mut patch = optional(ScheduleRequest::schema());
        let mut job = optional(ScheduleJobRequest::schema());
        let target = optional(TargetRequest::schema());
        job.properties.insert("target".to_owned(), target.into());
        patch.properties.insert("job".to_owned(), job.into());
        patch.description = Some(
            "What is to change of a schedule; what is absent stays, and null means the default. \
             `spec` and the payload are replaced whole."
                .to_owned(),
        );
        patch.into()
    }
}

impl ToSchema for SchedulePatch {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("SchedulePatch")
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        ScheduleRequest::schemas(schemas);
    }
}

/// An object schema whose properties may all be absent.
fn optional(schema: RefOr<Schema>) -> Object {
    let RefOr::T(Schema::Object(mut object)) = schema else {
        return Object::default();
    };
    object.required.clear();
    object
}
