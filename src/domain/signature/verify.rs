//! Whether a captured call verifies, and if not, why: the question that every target's author asks
//! once. Checks go from the outside in, and each names what to do about it.

use super::rewritten::rewritten;
use super::secret::Signatures;
use super::{ID, Message, RUN_SIGNATURE, SIGNATURE, SigningSecret, TIMESTAMP};

/// How old a call may be that is still taken: Standard Webhooks' five minutes, in seconds.
pub const TOLERANCE: u64 = 300;
/// How far ahead of the target's clock the stamp may lie, in seconds. Less than the past, or a call
/// could be repeated for twice as long (bug B130).
pub const AHEAD: u64 = 60;
/// So many secrets, the newest, are tried on every guess at how a body may have been written before:
/// all of them have been tried on the body itself.
const GUESSED: usize = 64;

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
        let words = match self {
            Self::Missing(name) => {
                return format!(
                    "the header {name} is missing: was the call signed, and do all its headers \
                     reach this code?"
                );
            }
            Self::Malformed(name, what) => return format!("the header {name} {what}"),
            Self::Stale(seconds) => {
                return format!(
                    "the signature is right, and {seconds} s old: an old call was sent again, or \
                     this clock is wrong"
                );
            }
            Self::Ahead(seconds) => {
                return format!(
                    "the signature is right, and its time lies {seconds} s ahead: this clock is \
                     wrong"
                );
            }
            Self::Rewritten(how) => {
                return format!(
                    "the body was parsed and written again: the signature is right for the same \
                     content {how}; verify the raw bytes before parsing them"
                );
            }
            Self::WrongSecret => {
                "the body is the one that was sent, and none of the secrets has signed it: it was \
                 another team's, another queue's or an old one; or webhook-id or \
                 webhook-timestamp was altered"
            }
            Self::ChangedBody => {
                "the call was signed over another body: something between altered it"
            }
            Self::NoMatch => {
                "no signature fits: it was made with another secret, or the body, webhook-id or \
                 webhook-timestamp was altered"
            }
            Self::RunHeaders => {
                "webhook-signature is right and Axle-Signature is not: Axle-Job-Id, Axle-Run-Id or \
                 Axle-Fence was altered"
            }
        };
        words.to_owned()
    }
}

/// Verifies a captured call. Gives the place in `secrets` of the one that signed it, if one did, and
/// everything that is wrong; nothing wrong means verified. Every secret is tried.
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
    let signatures = Signatures::read(signature);
    if signatures.is_none() {
        wrong.push(Why::Malformed(SIGNATURE, Signatures::FORM));
    }
    let (Some(at), Some(signatures)) = (at, signatures) else { return (None, wrong) };
    let message = Message { job: id, run: "", fence: "", timestamp: stamp, body: call.body };
    let Some(by) = signer(&message, secrets, &signatures) else {
        return explain(call, message, secrets, &signatures);
    };
    wrong.extend(untimely(at, fresh));
    wrong.extend(check_run(call.headers, message, secrets));
    (Some(by), wrong)
}

/// Which secret signed it.
fn signer(
    message: &Message<'_>,
    secrets: &[SigningSecret],
    signatures: &Signatures,
) -> Option<usize> {
    let content = message.content();
    secrets.iter().position(|secret| secret.made_one(&content, signatures))
}

/// Why no secret fits: over which other body one would.
fn explain(
    call: Captured<'_>,
    message: Message<'_>,
    secrets: &[SigningSecret],
    signatures: &Signatures,
) -> (Option<usize>, Vec<Why>) {
    let newest = secrets.get(..GUESSED).unwrap_or(secrets);
    for (how, body) in rewritten(call.body) {
        if let Some(by) = signer(&Message { body: &body, ..message }, newest, signatures) {
            return (Some(by), vec![Why::Rewritten(how)]);
        }
    }
    match call.sent {
        None => (None, vec![Why::NoMatch]),
        Some(sent) if sent == call.body => (None, vec![Why::WrongSecret]),
        Some(sent) => match signer(&Message { body: sent, ..message }, secrets, signatures) {
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
    let Some(signatures) = Signatures::read(signature) else {
        return vec![Why::Malformed(RUN_SIGNATURE, Signatures::FORM)];
    };
    let content = Message { job, run, fence, ..message }.run_content();
    let fits = secrets.iter().any(|secret| secret.made_one(&content, &signatures));
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
