//! From text to the values of single settings. An error says what is wrong with the text, without
//! repeating a secret.

use tracing_subscriber::EnvFilter;

use crate::domain::egress::Pattern;
use crate::domain::schedule::zone::zone;

/// As many bytes as the cipher's key, were they all random.
const SECRET_KEY_BYTES: usize = 32;

pub(super) fn postgres_url(text: &str) -> Result<String, String> {
    let schemes = ["postgres://", "postgresql://"];
    if schemes.iter().any(|scheme| text.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty())) {
        return Ok(text.to_owned());
    }
    Err("it does not begin with postgres:// and a place".to_owned())
}

/// TLS is not offered: what is sent is which shard has something due and when, and nothing else.
pub(super) fn redis_url(text: &str) -> Result<String, String> {
    match url::Url::parse(text) {
        Ok(url) if url.scheme() == "redis" && url.has_host() => Ok(text.to_owned()),
        Ok(url) if url.scheme() == "rediss" => Err("TLS is not offered".to_owned()),
        Ok(_) | Err(_) => Err("it does not begin with redis:// and a place".to_owned()),
    }
}

/// The zones are those that schedules know, so that a setting that is taken can be computed with.
pub(super) fn time_zone(text: &str) -> Result<String, String> {
    match zone(text, "#") {
        Ok(zone) => Ok(zone.name().to_owned()),
        Err(invalid) => Err(invalid.0.into_iter().map(|fault| fault.detail).collect()),
    }
}

/// One key, or several with commas between, the newest first.
pub(super) fn secret_keys(text: &str) -> Result<String, String> {
    match text.split(',').map(|key| key.trim().len()).min() {
        Some(SECRET_KEY_BYTES..) => Ok(text.to_owned()),
        short => Err(format!("one has {} bytes", short.unwrap_or(0))),
    }
}

pub(super) fn public_key(text: &str) -> Result<String, String> {
    if text.contains("PRIVATE KEY-----") {
        return Err("it is a private key, which only the issuer of tokens should have".to_owned());
    }
    if !text.trim_start().starts_with("-----BEGIN ") || !text.contains("PUBLIC KEY-----") {
        return Err("it is not a public key".to_owned());
    }
    Ok(text.to_owned())
}

pub(super) fn log_filter(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err("it is empty".to_owned());
    }
    EnvFilter::try_new(text).map_err(|error| error.to_string())?;
    Ok(text.to_owned())
}

/// Places of targets, with commas between.
pub(super) fn places(text: &str) -> Result<Vec<Pattern>, String> {
    text.split(',').map(|place| place.trim().parse()).collect()
}
