//! What a job may hold: every bound, in one place, each fault with a pointer and what would be right.

use chrono::{DateTime, Datelike, Utc};

use super::invalid::Invalid;
use super::job::{Due, NewJob, SecretHeader, Target};
use super::queue::is_queue_name;
use super::retry::RetryPolicy;

/// Longest of a name, a unique key, an owner.
const TEXT_LIMIT: usize = 255;
/// Longest target URL; what common servers and proxies take.
const URL_LIMIT: usize = 2_048;
/// Most headers on a target.
const HEADER_COUNT: usize = 64;
/// Longest header value.
const HEADER_VALUE_LIMIT: usize = 4_096;
/// Most tags on a job.
const TAG_COUNT: usize = 16;
/// The longest span of any kind: one year, in milliseconds (bug B075).
pub const YEAR_MS: u64 = 31_536_000_000;
/// Methods that a target may be called with.
const METHODS: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
/// Headers that are ours to set, or that would change how the request is framed (RFC 9110 7.6.1).
const RESERVED: [&str; 14] = [
    "host",
    "content-length",
    "content-type",
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "expect",
    "user-agent",
];

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
    if !is_header_value(content_type) || content_type.len() > TEXT_LIMIT {
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
    let count = target.headers.len() + target.secret_headers.len();
    if count > HEADER_COUNT {
        let detail = format!("at most {HEADER_COUNT} headers, got {count}");
        faults.add(format!("{at}/target/headers"), "too-many", detail);
    }
    for (name, value) in &target.headers {
        check_header(faults, &format!("{at}/target/headers/{}", escape(name)), name, value);
    }
    check_secret_headers(faults, at, target);
}

/// The same rules, and one place for each name: nobody could tell which of two values is sent.
fn check_secret_headers(faults: &mut Invalid, at: &str, target: &Target) {
    for (n, header) in target.secret_headers.iter().enumerate() {
        let at = format!("{at}/target/secret_headers/{}", escape(header.name()));
        if let SecretHeader::Given { name, value } = header {
            check_header(faults, &at, name, value.expose());
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
    if text.len() > URL_LIMIT {
        faults.add(at, "out-of-range", format!("must have at most {URL_LIMIT} characters"));
        return;
    }
    // The parser would drop or escape them in silence, and call something else than what stands
    // there (bug B123).
    if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        faults.add(
            at,
            "malformed",
            "must not hold spaces or control characters; percent-encode them",
        );
        return;
    }
    match url::Url::parse(text) {
        Ok(url) if !matches!(url.scheme(), "http" | "https") => {
            let detail = format!("the scheme must be http or https, got {:?}", url.scheme());
            faults.add(at, "out-of-range", detail);
        }
        Ok(url) if !url.username().is_empty() || url.password().is_some() => {
            let detail = "must not carry a user or password; use a header of the target instead";
            faults.add(at, "out-of-range", detail);
        }
        Ok(_) => {}
        Err(error) => {
            let detail = format!("must be an absolute http or https URL: {error}");
            faults.add(at, "malformed", detail);
        }
    }
}

fn check_header(faults: &mut Invalid, at: &str, name: &str, value: &str) {
    let lower = name.to_ascii_lowercase();
    if !is_token(name) || name.len() > TEXT_LIMIT {
        faults.add(at, "malformed", "a header name must be a token (RFC 9110 section 5.6.2)");
    } else if RESERVED.contains(&lower.as_str())
        || lower.starts_with("webhook-")
        || lower.starts_with("axle-")
    {
        let hint = if lower == "content-type" { "; use content_type" } else { "" };
        faults.add(at, "reserved", format!("{name} is set by Axle and cannot be given{hint}"));
    } else if !is_header_value(value) || value.len() > HEADER_VALUE_LIMIT {
        let detail = format!(
            "a header value must be at most {HEADER_VALUE_LIMIT} visible ASCII characters or spaces"
        );
        faults.add(at, "malformed", detail);
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

/// A token (RFC 9110 section 5.6.2).
fn is_token(name: &str) -> bool {
    let special = b"!#$%&'*+-.^_`|~";
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || special.contains(&b))
}

fn is_header_value(value: &str) -> bool {
    !value.is_empty()
        && value.trim() == value
        && value.bytes().all(|b| b.is_ascii_graphic() || b == b' ')
}

/// A key inside a JSON Pointer (RFC 6901 section 3).
pub fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
