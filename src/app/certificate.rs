//! The API's own certificate: read from its files, judged with a sentence for every way to get it
//! wrong, and read again on SIGHUP, so that a renewal costs no restart.

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use anyhow::{Context as _, anyhow, bail, ensure};
use chrono::{DateTime, Utc};
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{InconsistentKeys, ServerConfig};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use x509_cert::Certificate;
use x509_cert::der::Decode as _;
use x509_cert::time::Time;

use crate::config::{Config, Secret};
use crate::engine::clock::system_now;

/// From when on an old certificate is worth a warning of `axle doctor`: renewal by ACME begins 30
/// days before the end, so something has gone wrong by then.
const SOON_DAYS: i64 = 14;

/// The certificate that new connections get.
#[derive(Debug)]
struct Current(RwLock<Arc<CertifiedKey>>);

impl ResolvesServerCert for Current {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

/// Reads the certificate again when it is told to.
pub struct Renewal {
    cert: String,
    key: Secret,
    current: Arc<Current>,
}

/// TLS as the settings want it, if they do.
pub fn from_config(
    config: &Config,
    now: DateTime<Utc>,
) -> anyhow::Result<Option<(ServerConfig, Renewal)>> {
    let (Some(cert), Some(key)) = (&config.tls_cert, &config.tls_key) else { return Ok(None) };
    let (pair, _) = load(cert, key, now)?;
    let current = Arc::new(Current(RwLock::new(Arc::new(pair))));
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().context("TLS")?;
    let resolver: Arc<dyn ResolvesServerCert> = Arc::<Current>::clone(&current);
    let tls = builder.with_no_client_auth().with_cert_resolver(resolver);
    Ok(Some((tls, Renewal { cert: cert.clone(), key: key.clone(), current })))
}

/// What `axle doctor` says of it.
pub fn examine(config: &Config, now: DateTime<Utc>) -> Result<String, String> {
    let (Some(cert), Some(key)) = (&config.tls_cert, &config.tls_key) else {
        return Ok("off: a load balancer must end it before the traffic is public".to_owned());
    };
    let (_, until) = load(cert, key, now).map_err(|error| format!("{error:#}"))?;
    let days = (until - now).num_days();
    let told = format!("the certificate is valid until {until} ({days} days)");
    if days < SOON_DAYS { Err(format!("{told}: renew it, then send SIGHUP")) } else { Ok(told) }
}

impl Renewal {
    /// On every SIGHUP until `stop`. A pair that cannot be used leaves the present one in place.
    pub async fn on_hangup(self, stop: CancellationToken) {
        let mut hangup = match signal(SignalKind::hangup()) {
            Ok(hangup) => hangup,
            Err(error) => return tracing::error!(%error, "SIGHUP cannot be heard"),
        };
        while stop.run_until_cancelled(hangup.recv()).await.is_some() {
            match load(&self.cert, &self.key, system_now()) {
                Ok((pair, until)) => {
                    let mut current =
                        self.current.0.write().unwrap_or_else(PoisonError::into_inner);
                    *current = Arc::new(pair);
                    tracing::info!(%until, "the certificate was read again");
                }
                Err(error) => {
                    let error = format!("{error:#}");
                    tracing::error!(error, "the certificate stays as it was");
                }
            }
        }
    }
}

/// The certificate and its key, and until when they are valid.
fn load(
    cert: &str,
    key: &Secret,
    now: DateTime<Utc>,
) -> anyhow::Result<(CertifiedKey, DateTime<Utc>)> {
    let key = private_key(key)?;
    let place = place(cert);
    let text = read(cert).with_context(|| format!("tls_cert: {place} cannot be read"))?;
    let chain: Vec<_> = CertificateDer::pem_slice_iter(&text)
        .collect::<Result<_, _>>()
        .map_err(|error| anyhow!("tls_cert: {place} is not PEM: {}", told(&error)))?;
    let Some(own) = chain.first() else {
        bail!("tls_cert: {place} holds no certificate (-----BEGIN CERTIFICATE-----)");
    };
    let until = check_validity(own, now).with_context(|| format!("tls_cert: {place}"))?;
    let pair = CertifiedKey::from_der(chain, key, &ring::default_provider());
    let pair = pair.map_err(|error| {
        if error == rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) {
            return anyhow!("tls_key is not the key of {place}");
        }
        anyhow!("tls_cert and tls_key cannot be used: {error}")
    })?;
    Ok((pair, until))
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
