//! What a job may hold: every bound, in one place, each fault with a pointer and what would be right.

use chrono::{DateTime, Datelike, Utc};

use super::invalid::Invalid;
use super::job::{Due, NewJob, SecretHeader, Target};
use super::queue::is_queue_name;
use super::retry::RetryPolicy;
use super::{headers, target_url};

/// Longest of a name, a unique key, an owner.
const TEXT_LIMIT: usize = 255;
/// Most tags on a job.
const TAG_COUNT: usize = 16;
/// The longest span of any kind: one year, in milliseconds (bug B075).
pub const YEAR_MS: u64 = 31_536_000_000;
/// Methods that a target may be called with.
const METHODS: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

impl NewJob {
    /// Every value that cannot be accepted, with pointers below `at` (`#`, or `#/jobs/3`).
    pub fn check(&self, at: &str, max_payload: usize) -> Invalid {
        let mut faults = Invalid::default();
        let texts = [
            ("name", &self.name),
            ("unique_key", &self.unique_key),
            ("owner_service", &self.owner_service),
        ];
        for (field, text) in texts {
            if let Some(text) = text {
                check_text(&mut faults, &format!("{at}/{field}"), text, TEXT_LIMIT);
            }
        }
        if !is_queue_name(&self.queue) {
            faults.add(
                format!("{at}/queue"),
                "out-of-range",
                "must be 1 to 63 of a-z, 0-9, '.', '_', '-', the first a letter or digit",
            );
        }
        check_target(&mut faults, at, &self.spec.target);
        check_policy(&mut faults, &format!("{at}/retry"), &self.spec.retry);
        self.check_times(&mut faults, at);
        self.check_rest(&mut faults, at, max_payload);
        faults
    }

    fn check_times(&self, faults: &mut Invalid, at: &str) {
        let spec = &self.spec;
        check_span(faults, &format!("{at}/timeout_ms"), spec.timeout_ms, 1, YEAR_MS);
        if let Some(silence) = spec.heartbeat_timeout_ms {
            check_span(faults, &format!("{at}/heartbeat_timeout_ms"), silence, 1_000, YEAR_MS);
        }
        match self.due {
            Due::At(Some(due)) => check_instant(faults, &format!("{at}/due_at"), due),
            Due::At(None) => {}
            Due::In(delay) => check_span(faults, &format!("{at}/delay_ms"), delay, 0, 10 * YEAR_MS),
        }
        if let Some(deadline) = self.start_deadline {
            check_instant(faults, &format!("{at}/start_deadline"), deadline);
        }
    }

    fn check_rest(&self, faults: &mut Invalid, at: &str, max_payload: usize) {
        if !(0..=9).contains(&self.priority) {
            let detail = format!("must be 0 (lowest) to 9, got {}", self.priority);
            faults.add(format!("{at}/priority"), "out-of-range", detail);
        }
        check_content_type(faults, at, &self.spec.content_type);
        check_payload(faults, at, (self.spec.json, self.payload.len()), max_payload);
        if self.tags.len() > TAG_COUNT {
            let detail = format!("at most {TAG_COUNT} tags, got {}", self.tags.len());
            faults.add(format!("{at}/tags"), "too-many", detail);
        }
        for (key, value) in &self.tags {
            let pointer = format!("{at}/tags/{}", escape(key));
            check_text(faults, &pointer, key, 64);
            check_text(faults, &pointer, value, TEXT_LIMIT);
        }
    }
}

/// A payload's media type becomes a header; also used when it is changed.
pub fn check_content_type(faults: &mut Invalid, at: &str, content_type: &str) {
    if !headers::is_value(content_type) || content_type.len() > TEXT_LIMIT {
        let detail = "must be a media type of at most 255 visible ASCII characters";
        faults.add(format!("{at}/content_type"), "out-of-range", detail);
    }
}

/// A payload's size, whether it came as JSON or in base 64; also used when it is changed.
pub fn check_payload(faults: &mut Invalid, at: &str, (json, len): (bool, usize), limit: usize) {
    if len > limit {
        let field = if json { "payload" } else { "payload_base64" };
        let detail = format!(
            "the payload has {len} bytes; at most {limit} are taken (AXLE_MAX_PAYLOAD). Store it \
             elsewhere and send a link"
        );
        faults.add(format!("{at}/{field}"), "too-large", detail);
    }
}

/// A retry policy's bounds; also used when a policy is changed.
pub fn check_policy(faults: &mut Invalid, at: &str, policy: &RetryPolicy) {
    for (field, count) in
        [("max_retries", policy.max_retries), ("max_dispatch_retries", policy.max_dispatch_retries)]
    {
        if count > 1_000 {
            let detail = format!("must be 0 to 1000, got {count}");
            faults.add(format!("{at}/{field}"), "out-of-range", detail);
        }
    }
    check_span(faults, &format!("{at}/base_ms"), policy.base_ms, 0, YEAR_MS);
    check_span(faults, &format!("{at}/cap_ms"), policy.cap_ms, 0, YEAR_MS);
    for (field, value, low, high) in
        [("factor", policy.factor, 1.0, 100.0), ("jitter", policy.jitter, 0.0, 1.0)]
    {
        // Written so that NaN is refused too.
        if !(low..=high).contains(&value) {
            let detail = format!("must be {low} to {high}, got {value}");
            faults.add(format!("{at}/{field}"), "out-of-range", detail);
        }
    }
}

/// An instant within the years that PostgreSQL, HTTP and people agree on (bug B105).
pub fn check_instant(faults: &mut Invalid, at: &str, instant: DateTime<Utc>) {
    if !(1970..2200).contains(&instant.year()) {
        faults.add(at, "out-of-range", "must lie in the years 1970 to 2199");
    }
}

fn check_target(faults: &mut Invalid, at: &str, target: &Target) {
    check_url(faults, &format!("{at}/target/url"), &target.url);
    if !METHODS.contains(&target.method.as_str()) {
        let detail = format!("must be one of {}, got {:?}", METHODS.join(", "), target.method);
        faults.add(format!("{at}/target/method"), "out-of-range", detail);
    }
    headers::check(faults, &format!("{at}/target/headers"), &target.headers);
    check_secret_headers(faults, at, target);
}

/// The same rules, and one place for each name: nobody could tell which of two values is sent.
fn check_secret_headers(faults: &mut Invalid, at: &str, target: &Target) {
    let count = target.headers.len() + target.secret_headers.len();
    if count > headers::COUNT_LIMIT && !target.secret_headers.is_empty() {
        let detail = format!("at most {} headers, got {count}", headers::COUNT_LIMIT);
        faults.add(format!("{at}/target/secret_headers"), "too-many", detail);
    }
    for (n, header) in target.secret_headers.iter().enumerate() {
        let at = format!("{at}/target/secret_headers/{}", escape(header.name()));
        if let SecretHeader::Given { name, value } = header
            && let Err((code, detail)) = headers::check_one(name, value.expose())
        {
            faults.add(at.clone(), code, detail);
        }
        let same = |name: &str| name.eq_ignore_ascii_case(header.name());
        if target.headers.iter().any(|(name, _)| same(name))
            || target.secret_headers.iter().take(n).any(|other| same(other.name()))
        {
            faults.add(at, "duplicate-field", "this header is given twice; give it once");
        }
    }
}

fn check_url(faults: &mut Invalid, at: &str, text: &str) {
    if let Err(flaw) = target_url::parse(text) {
        faults.add(at, flaw.code, flaw.detail);
    }
}

fn check_text(faults: &mut Invalid, at: &str, text: &str, limit: usize) {
    if text.is_empty() || text.chars().count() > limit {
        faults.add(at, "out-of-range", format!("must have 1 to {limit} characters"));
    } else if text.chars().any(char::is_control) {
        faults.add(at, "malformed", "must not hold control characters");
    }
}

fn check_span(faults: &mut Invalid, at: &str, value: u64, low: u64, high: u64) {
    if !(low..=high).contains(&value) {
        let detail = format!("must be {low} to {high} milliseconds, got {value}");
        faults.add(at, "out-of-range", detail);
    }
}

/// A key inside a JSON Pointer (RFC 6901 section 3).
pub fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
