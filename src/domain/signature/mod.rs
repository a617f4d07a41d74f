//! Signatures on calls: how a target knows that a call is ours, untouched and fresh.
//!
//! `webhook-signature` is that of Standard Webhooks, over `id.timestamp.body`: HMAC-SHA256, Ed25519 or
//! both. It does not cover our own headers, so `Axle-Signature` covers run and fence as well. Several
//! secrets sign side by side while one takes another's place. [`verify`] is the target's side, and
//! says *why* a call does not verify. Pure: time and secrets are passed in.

mod rewritten;
mod secret;
#[cfg(test)]
mod tests;
pub mod verify;

use sha2::{Digest, Sha256};

pub use secret::{BadSecret, PublicKey, SigningKind, SigningSecret};

/// The header with the id of the message: of the job, the same for all its runs.
pub const ID: &str = "webhook-id";
/// The header with the seconds since 1970 of this run's sending.
pub const TIMESTAMP: &str = "webhook-timestamp";
/// The header with the signatures over id, timestamp and body.
pub const SIGNATURE: &str = "webhook-signature";
/// The header with the signatures over job, run, fence, timestamp and body.
pub const RUN_SIGNATURE: &str = "axle-signature";

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
        list(secrets, &self.content())
    }

    /// The value of `Axle-Signature`, by the same secrets. The text signed is
    /// `<job>.<run>.<fence>.<timestamp>.<hash>`: the first four as they stand in the headers
    /// `Axle-Job-Id`, `Axle-Run-Id`, `Axle-Fence` and `webhook-timestamp`, the last the SHA-256 of
    /// the body in 64 lower-case hexadecimal digits.
    pub fn run_signature(&self, secrets: &[SigningSecret]) -> String {
        list(secrets, &self.run_content())
    }

    fn content(&self) -> Vec<u8> {
        [self.job.as_bytes(), b".", self.timestamp.as_bytes(), b".", self.body].concat()
    }

    fn run_content(&self) -> Vec<u8> {
        let Self { job, run, fence, timestamp, body } = self;
        let hash = hex(&Sha256::digest(body));
        format!("{job}.{run}.{fence}.{timestamp}.{hash}").into_bytes()
    }
}

/// Lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn list(secrets: &[SigningSecret], content: &[u8]) -> String {
    secrets.iter().filter_map(|secret| secret.sign(content)).collect::<Vec<_>>().join(" ")
}
