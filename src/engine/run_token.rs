//! The token in a callback URL: who holds it may speak for that one run.
//!
//! It is a MAC over the run's id under the installation's key, so nothing is stored per run, any
//! process can check it, and it says nothing about any other run.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::{Ctx, Error};
use crate::domain::id::RunId;

/// Where the target of `run` calls back.
pub fn callback_url(ctx: &Ctx, run: RunId) -> String {
    let token = token(&ctx.limits.callback_key, run);
    format!("{}/v1/runs/{run}/callback?token={token}", ctx.limits.public_url)
}

/// The token of `run`: 128 bits, which nobody guesses.
pub fn token(key: &[u8], run: RunId) -> String {
    let tag = mac(key, run).finalize().into_bytes();
    URL_SAFE_NO_PAD.encode(tag.get(..16).unwrap_or_default())
}

/// Goes on only if `token` is that of `run`. The comparison takes the same time wherever they differ.
pub fn check(ctx: &Ctx, run: RunId, token: &str) -> Result<(), Error> {
    let tag = URL_SAFE_NO_PAD.decode(token).or(Err(Error::BadRunToken))?;
    let keys = std::iter::once(&ctx.limits.callback_key).chain(&ctx.limits.other_callback_keys);
    let is_of = |key: &Vec<u8>| mac(key, run).verify_truncated_left(&tag).is_ok();
    let right = tag.len() == 16 && keys.map(is_of).fold(false, |found, one| found | one);
    if right { Ok(()) } else { Err(Error::BadRunToken) }
}

#[expect(clippy::expect_used, reason = "HMAC takes keys of any length (RFC 2104)")]
fn mac(key: &[u8], run: RunId) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(b"axle callback token v1\0");
    mac.update(run.to_string().as_bytes());
    mac
}
