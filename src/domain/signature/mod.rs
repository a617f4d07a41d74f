//! Signatures on calls: how a target knows that a call is ours, untouched and fresh.
//!
//! `webhook-signature` is that of Standard Webhooks: HMAC-SHA256 over `id.timestamp.body`. It does
//! not cover our own headers, so `Axle-Signature` covers run and fence as well. Several secrets
//! sign side by side while one takes another's place. [`verify`] is the target's side, and says
//! *why* a call does not verify. Pure: time and secrets are passed in.

mod rewritten;
#[cfg(test)]
mod tests;
pub mod verify;

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use super::hidden::Hidden;

/// The header with the id of the message: of the job, the same for all its runs.
pub const ID: &str = "webhook-id";
/// The header with the seconds since 1970 of this run's sending.
pub const TIMESTAMP: &str = "webhook-timestamp";
/// The header with the signatures over id, timestamp and body.
pub const SIGNATURE: &str = "webhook-signature";
/// The header with the signatures over job, run, fence, timestamp and body.
pub const RUN_SIGNATURE: &str = "axle-signature";

/// How every secret's text begins (Standard Webhooks).
const PREFIX: &str = "whsec_";
/// How every signature of this kind begins: HMAC-SHA256.
const VERSION: &str = "v1";
/// The bytes of a secret: at least 192 bits, at most the block of the hash (Standard Webhooks).
const SECRET_BYTES: std::ops::RangeInclusive<usize> = 24..=64;
/// The bytes of a signature.
const TAG_BYTES: usize = 32;

/// A secret that a team and its targets share: 24 to 64 bytes. `Debug` prints `***`.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningSecret(Vec<u8>);

/// A text that is no signing secret. It does not carry the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a signing secret is `whsec_` and the base 64 of 24 to 64 bytes")]
pub struct BadSecret;

impl SigningSecret {
    /// A secret of these bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, BadSecret> {
        if SECRET_BYTES.contains(&bytes.len()) { Ok(Self(bytes.to_vec())) } else { Err(BadSecret) }
    }

    /// Reads `whsec_…` exactly.
    pub fn parse(text: &str) -> Result<Self, BadSecret> {
        let encoded = text.strip_prefix(PREFIX).ok_or(BadSecret)?;
        Self::from_bytes(&STANDARD.decode(encoded).or(Err(BadSecret))?)
    }

    /// The text that targets are given.
    pub fn text(&self) -> Hidden {
        Hidden::new(format!("{PREFIX}{}", STANDARD.encode(&self.0)))
    }

    /// The bytes, for whoever seals them.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// What a call is signed over. The body is the bytes that are sent, not what they mean (bug B128).
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// `webhook-id`, which is `Axle-Job-Id` too.
    pub job: &'a str,
    /// `Axle-Run-Id`.
    pub run: &'a str,
    /// `Axle-Fence`, in decimal.
    pub fence: &'a str,
    /// `webhook-timestamp`, in decimal.
    pub timestamp: &'a str,
    /// The body.
    pub body: &'a [u8],
}

impl Message<'_> {
    /// The value of `webhook-signature`: one signature per secret, with spaces between.
    pub fn signature(&self, secrets: &[SigningSecret]) -> String {
        list(secrets, |secret| self.tag(secret))
    }

    /// The value of `Axle-Signature`, by the same secrets. The text signed is
    /// `<job>.<run>.<fence>.<timestamp>.<hash>`: the first four as they stand in the headers
    /// `Axle-Job-Id`, `Axle-Run-Id`, `Axle-Fence` and `webhook-timestamp`, the last the SHA-256 of
    /// the body in 64 lower-case hexadecimal digits.
    pub fn run_signature(&self, secrets: &[SigningSecret]) -> String {
        list(secrets, |secret| self.run_tag(secret))
    }

    fn tag(&self, secret: &SigningSecret) -> [u8; TAG_BYTES] {
        mac(secret, &[self.job.as_bytes(), b".", self.timestamp.as_bytes(), b".", self.body])
    }

    fn run_tag(&self, secret: &SigningSecret) -> [u8; TAG_BYTES] {
        let Self { job, run, fence, timestamp, body } = self;
        let hash = hex(&Sha256::digest(body));
        mac(secret, &[format!("{job}.{run}.{fence}.{timestamp}.{hash}").as_bytes()])
    }
}

/// Lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn list(secrets: &[SigningSecret], tag: impl Fn(&SigningSecret) -> [u8; TAG_BYTES]) -> String {
    let one = |secret| format!("{VERSION},{}", STANDARD.encode(tag(secret)));
    secrets.iter().map(one).collect::<Vec<_>>().join(" ")
}

#[expect(clippy::expect_used, reason = "HMAC takes keys of any length (RFC 2104)")]
fn mac(secret: &SigningSecret, parts: &[&[u8]]) -> [u8; TAG_BYTES] {
    let mut mac = Hmac::<Sha256>::new_from_slice(&secret.0).expect("HMAC takes keys of any length");
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}
