//! Whether a captured call verifies, and if not, why: the question that every target's author asks
//! once. Checks go from the outside in, and each names what to do about it.

use subtle::ConstantTimeEq as _;

use super::rewritten::rewritten;
use super::{ID, RUN_SIGNATURE, SIGNATURE, TIMESTAMP};
use super::{Message, SigningSecret, TAG_BYTES, VERSION};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// How old a call may be that is still taken: Standard Webhooks' five minutes, in seconds.
pub const TOLERANCE: u64 = 300;
/// How far ahead of the target's clock the stamp may lie, in seconds. Less than the past, or a call
/// could be repeated for twice as long (bug B130).
pub const AHEAD: u64 = 60;
/// More signatures in one header than any sender has; the rest is not looked at.
const MOST_SIGNATURES: usize = 16;

/// A call as somebody has captured it.
#[derive(Clone, Copy, Debug)]
pub struct Captured<'a> {
    /// Names in any case, and values.
    pub headers: &'a [(String, String)],
    /// The body, byte for byte.
    pub body: &'a [u8],
    /// The body that was sent, if it is known.
    pub sent: Option<&'a [u8]>,
}

/// What time it is, and how old a call may be.
#[derive(Clone, Copy, Debug)]
pub struct Freshness {
    /// Seconds since 1970.
    pub now: i64,
    /// In seconds.
    pub tolerance: u64,
}

/// Why a call does not verify.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// A header is not there.
    Missing(&'static str),
    /// A header is there and is not what it should be: which, and what is wrong.
    Malformed(&'static str, &'static str),
    /// The signature fits and its stamp is too old, by so many seconds.
    Stale(u64),
    /// The signature fits and its stamp lies ahead, by so many seconds.
    Ahead(u64),
    /// No secret made a signature of it; the body is the one that was sent.
    WrongSecret,
    /// It was signed over another body, the one that was sent.
    ChangedBody,
    /// It was signed over other bytes that mean the same: how they were written.
    Rewritten(&'static str),
    /// None of the above can be told apart without the body that was sent.
    NoMatch,
    /// The first signature fits; the one over run and fence does not.
    RunHeaders,
}

impl Why {
    /// The code, stable for machines.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Missing(_) => "missing-header",
            Self::Malformed(..) => "malformed-header",
            Self::Stale(_) => "stale-time",
            Self::Ahead(_) => "future-time",
            Self::WrongSecret => "wrong-secret",
            Self::ChangedBody => "changed-body",
            Self::Rewritten(_) => "reserialized-body",
            Self::NoMatch => "no-match",
            Self::RunHeaders => "changed-run-headers",
        }
    }

    /// What happened and what to do, for people.
    pub fn detail(&self) -> String {
        match self {
            Self::Missing(name) => format!("the header {name} is missing: was the call signed, and do all its headers reach this code?"),
            Self::Malformed(name, what) => format!("the header {name} {what}"),
            Self::Stale(seconds) => format!("the signature is right, and {seconds} s old: an old call was sent again, or this clock is wrong"),
            Self::Ahead(seconds) => format!("the signature is right, and its time lies {seconds} s ahead: this clock is wrong"),
            Self::WrongSecret => "the body is the one that was sent, and no signature was made with this secret: it is another team's, another queue's, or an old one; or webhook-id or webhook-timestamp was altered".to_owned(),
            Self::ChangedBody => "the call was signed over another body: something between altered it".to_owned(),
            Self::Rewritten(how) => format!("the body was parsed and written again: the signature is right for the same content {how}; verify the raw bytes before parsing them"),
            Self::NoMatch => "no signature fits: it was made with another secret, or the body, webhook-id or webhook-timestamp was altered".to_owned(),
            Self::RunHeaders => "webhook-signature is right and Axle-Signature is not: Axle-Job-Id, Axle-Run-Id or Axle-Fence was altered".to_owned(),
        }
    }
}

/// Verifies a captured call. Gives the place in `secrets` of the one that signed it, if one did, and
/// everything that is wrong; nothing wrong means verified. Every secret is tried, and comparisons
/// take the same time wherever two signatures differ.
pub fn verify(
    call: Captured<'_>,
    secrets: &[SigningSecret],
    fresh: Freshness,
) -> (Option<usize>, Vec<Why>) {
    let mut wrong = Vec::new();
    let id = single(call.headers, ID, &mut wrong);
    let stamp = single(call.headers, TIMESTAMP, &mut wrong);
    let signature = single(call.headers, SIGNATURE, &mut wrong);
    let (Some(id), Some(stamp), Some(signature)) = (id, stamp, signature) else {
        return (None, wrong);
    };
    let at = seconds(stamp);
    if at.is_none() {
        wrong.push(Why::Malformed(TIMESTAMP, "is not a whole number of seconds since 1970"));
    }
    let tags = tags(signature);
    if tags.is_empty() {
        let what = "holds no signature of the form v1,<base 64 of 32 bytes>";
        wrong.push(Why::Malformed(SIGNATURE, what));
    }
    let (Some(at), false) = (at, tags.is_empty()) else { return (None, wrong) };
    let message = Message { job: id, run: "", fence: "", timestamp: stamp, body: call.body };
    let Some(by) = signer(&message, secrets, &tags) else {
        return explain(call, message, secrets, &tags);
    };
    wrong.extend(untimely(at, fresh));
    wrong.extend(check_run(call.headers, message, secrets));
    (Some(by), wrong)
}

/// Which secret signed it.
fn signer(message: &Message<'_>, secrets: &[SigningSecret], tags: &[[u8; 32]]) -> Option<usize> {
    secrets.iter().position(|secret| is_among(&message.tag(secret), tags))
}

/// Why no secret fits: over which other body one would.
fn explain(
    call: Captured<'_>,
    message: Message<'_>,
    secrets: &[SigningSecret],
    tags: &[[u8; 32]],
) -> (Option<usize>, Vec<Why>) {
    let over = |body: &[u8]| signer(&Message { body, ..message }, secrets, tags);
    for (how, body) in rewritten(call.body) {
        if let Some(by) = over(&body) {
            return (Some(by), vec![Why::Rewritten(how)]);
        }
    }
    match call.sent {
        None => (None, vec![Why::NoMatch]),
        Some(sent) if sent == call.body => (None, vec![Why::WrongSecret]),
        Some(sent) => match over(sent) {
            Some(by) if means_the_same(sent, call.body) => {
                (Some(by), vec![Why::Rewritten("as it was sent")])
            }
            Some(by) => (Some(by), vec![Why::ChangedBody]),
            None => (None, vec![Why::NoMatch]),
        },
    }
}

fn means_the_same(one: &[u8], other: &[u8]) -> bool {
    let read = |bytes| serde_json::from_slice::<serde_json::Value>(bytes).ok();
    read(one).is_some_and(|one| read(other) == Some(one))
}

fn untimely(at: i64, fresh: Freshness) -> Option<Why> {
    let apart = at.abs_diff(fresh.now);
    if at > fresh.now {
        (apart > fresh.tolerance.min(AHEAD)).then_some(Why::Ahead(apart))
    } else {
        (apart > fresh.tolerance).then_some(Why::Stale(apart))
    }
}

/// The second signature, once the first has proved id, stamp and body.
fn check_run(
    headers: &[(String, String)],
    message: Message<'_>,
    secrets: &[SigningSecret],
) -> Vec<Why> {
    let mut wrong = Vec::new();
    let mut get = |name| single(headers, name, &mut wrong);
    let found = (get(RUN_SIGNATURE), get("axle-job-id"), get("axle-run-id"), get("axle-fence"));
    let (Some(signature), Some(job), Some(run), Some(fence)) = found else { return wrong };
    let tags = tags(signature);
    if tags.is_empty() {
        let what = "holds no signature of the form v1,<base 64 of 32 bytes>";
        return vec![Why::Malformed(RUN_SIGNATURE, what)];
    }
    let message = Message { job, run, fence, ..message };
    let fits = secrets.iter().any(|secret| is_among(&message.run_tag(secret), &tags));
    if fits { wrong } else { vec![Why::RunHeaders] }
}

/// The one value of a header, if there is exactly one.
pub fn header<'a>(headers: &'a [(String, String)], name: &'static str) -> Option<&'a str> {
    single(headers, name, &mut Vec::new())
}

fn single<'a>(
    headers: &'a [(String, String)],
    name: &'static str,
    wrong: &mut Vec<Why>,
) -> Option<&'a str> {
    let mut found = headers.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name));
    match (found.next(), found.next()) {
        (Some((_, value)), None) => return Some(value.trim()),
        (None, _) => wrong.push(Why::Missing(name)),
        (Some(_), Some(_)) => wrong.push(Why::Malformed(name, "is there twice")),
    }
    None
}

/// Digits only, so that one stamp has one spelling: no sign, no fraction, no `NaN` (bug B131).
fn seconds(text: &str) -> Option<i64> {
    let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

/// The signatures of our version in a header's value; others (`v1a`) may stand beside them.
fn tags(value: &str) -> Vec<[u8; TAG_BYTES]> {
    let ours = value.split_ascii_whitespace().take(MOST_SIGNATURES).filter_map(|one| {
        let (version, encoded) = one.split_once(',')?;
        let bytes = STANDARD.decode(encoded).ok()?;
        (version == VERSION).then(|| bytes.try_into().ok()).flatten()
    });
    ours.collect()
}

fn is_among(tag: &[u8; TAG_BYTES], tags: &[[u8; TAG_BYTES]]) -> bool {
    let found = tags.iter().fold(subtle::Choice::from(0), |found, one| found | one.ct_eq(tag));
    found.into()
}
