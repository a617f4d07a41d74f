//! How the API meets those who connect, from settings: its certificate is read and judged before
//! anything listens, and the process is allowed the open files that its connections need.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail, ensure};
use chrono::{DateTime, Utc};
use rustix::process::{Resource, getrlimit, setrlimit};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{InconsistentKeys, ServerConfig, crypto::ring};
use x509_cert::Certificate;
use x509_cert::der::Decode as _;
use x509_cert::time::Time;

use crate::config::{Config, Secret};
use crate::http::{Bounds, Edge};

/// From when on an old certificate is worth a warning of `axle doctor`: renewal by ACME begins 30
/// days before the end, so something has gone wrong by then.
const SOON_DAYS: i64 = 14;
/// Open files besides those of connections: the pool, targets, logs.
const OTHER_FILES: u64 = 1024;
/// A connection's socket, and the handle that watches it.
const FILES_PER_CONNECTION: u64 = 2;

/// The listener's side of the settings.
pub fn from_config(config: &Config, now: DateTime<Utc>) -> anyhow::Result<Edge> {
    let tls = certificate(config, now)?.map(|(tls, _)| tls);
    let bounds = Bounds { connections: config.max_connections, ..Bounds::default() };
    let (origins, proxies) = (config.cors_origins.clone(), config.trusted_proxies.clone());
    Ok(Edge { tls, origins, proxies, bounds })
}

/// What `axle doctor` says of the API's TLS.
pub fn examine(config: &Config, now: DateTime<Utc>) -> Result<String, String> {
    let found = certificate(config, now).map_err(|error| format!("{error:#}"))?;
    let Some((_, until)) = found else {
        return Ok("off: a load balancer must end it before it leaves this host".to_owned());
    };
    let days = (until - now).num_days();
    let told = format!("the certificate is valid until {until} ({days} days)");
    if days < SOON_DAYS { Err(format!("{told}: renew it and restart")) } else { Ok(told) }
}

/// Lets this process open as many files as `connections` take; says so where the system will not.
pub fn allow_files(connections: usize) {
    let connections = u64::try_from(connections).unwrap_or(u64::MAX);
    let wanted = connections.saturating_mul(FILES_PER_CONNECTION).saturating_add(OTHER_FILES);
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= wanted) {
        return;
    }
    let allowed = limit.maximum.map_or(wanted, |most| most.min(wanted));
    limit.current = Some(allowed);
    let is_raised = setrlimit(Resource::Nofile, limit).is_ok();
    if !is_raised || allowed < wanted {
        tracing::warn!(
            allowed,
            wanted,
            "max_connections is more than the limit of open files allows"
        );
    }
}

/// The certificate and key of the settings, if there are any, and until when they are valid.
fn certificate(
    config: &Config,
    now: DateTime<Utc>,
) -> anyhow::Result<Option<(ServerConfig, DateTime<Utc>)>> {
    let (Some(cert), Some(key)) = (&config.tls_cert, &config.tls_key) else { return Ok(None) };
    let key = private_key(key)?;
    let cert_place = place(cert);
    let text = read(cert).with_context(|| format!("tls_cert: {cert_place} cannot be read"))?;
    let chain: Vec<_> = CertificateDer::pem_slice_iter(&text)
        .collect::<Result<_, _>>()
        .map_err(|error| anyhow!("tls_cert: {cert_place} is not PEM: {}", told(&error)))?;
    let Some(own) = chain.first() else {
        bail!("tls_cert: {cert_place} holds no certificate (-----BEGIN CERTIFICATE-----)");
    };
    let until = check_validity(own, now).with_context(|| format!("tls_cert: {cert_place}"))?;
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().context("TLS")?;
    let tls = builder.with_no_client_auth().with_single_cert(chain, key);
    let tls = tls.map_err(|error| {
        let of_another = InconsistentKeys::KeyMismatch;
        if error == rustls::Error::InconsistentKeys(of_another) {
            return anyhow!("tls_key is not the key of {cert_place}");
        }
        anyhow!("tls_cert and tls_key cannot be used: {error}")
    })?;
    Ok(Some((tls, until)))
}

fn private_key(key: &Secret) -> anyhow::Result<PrivateKeyDer<'static>> {
    let place = place(key.expose());
    let text = read(key.expose()).with_context(|| format!("tls_key: {place} cannot be read"))?;
    PrivateKeyDer::from_pem_slice(&text).map_err(|error| {
        if matches!(error, pem::Error::NoItemsFound) {
            return anyhow!(
                "tls_key: {place} holds no private key that can be read; an encrypted one must be \
                 decrypted first"
            );
        }
        anyhow!("tls_key: {place} is not PEM: {}", told(&error))
    })
}

/// A setting holds a file's name, or what such a file holds.
fn is_text(setting: &str) -> bool {
    setting.contains("-----BEGIN ")
}

fn read(setting: &str) -> std::io::Result<Vec<u8>> {
    if is_text(setting) {
        Ok(setting.as_bytes().to_vec())
    } else {
        std::fs::read(Path::new(setting))
    }
}

/// What to call it: never a key's text.
fn place(setting: &str) -> &str {
    if is_text(setting) { "the text given" } else { setting }
}

/// What is wrong with a file, without its content.
fn told(error: &pem::Error) -> &'static str {
    if matches!(error, pem::Error::MissingSectionEnd { .. }) {
        "a section has no end"
    } else if matches!(error, pem::Error::IllegalSectionStart { .. }) {
        "a section's first line is broken"
    } else if matches!(error, pem::Error::Base64Decode(_)) {
        "a section is not base 64"
    } else {
        "its sections cannot be read"
    }
}

/// Clients would refuse it anyway; that is better known at the start.
fn check_validity(own: &CertificateDer<'_>, now: DateTime<Utc>) -> anyhow::Result<DateTime<Utc>> {
    let own =
        Certificate::from_der(own).map_err(|error| anyhow!("is no X.509 certificate: {error}"))?;
    let validity = own.tbs_certificate.validity;
    let (from, until) = (instant(&validity.not_before)?, instant(&validity.not_after)?);
    ensure!(from <= now, "is not valid before {from}");
    ensure!(now <= until, "has expired: it was valid until {until}");
    Ok(until)
}

fn instant(time: &Time) -> anyhow::Result<DateTime<Utc>> {
    let seconds = i64::try_from(time.to_unix_duration().as_secs()).ok();
    let instant = seconds.and_then(|seconds| DateTime::from_timestamp(seconds, 0));
    instant.context("has an end that no clock will reach")
}
