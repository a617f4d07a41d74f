//! How the API knows its callers, from settings.

use std::sync::Arc;

use anyhow::{Context as _, bail};

use super::parts;
use crate::config::{Config, JwtAlgorithm, JwtKey};
use crate::engine::auth::{AuthSettings, KeyAlgorithm, KeySource, Verifier};
use crate::http::Auth;

/// The verifier of the key that is set.
pub fn from_config(config: &Config) -> anyhow::Result<Auth> {
    let algorithm = config.jwt_algorithm.and_then(public_algorithm);
    let keys = match config.jwt_key() {
        Some(JwtKey::Secret(secret)) => KeySource::Secret(secret.expose().as_bytes().to_vec()),
        Some(JwtKey::PublicKey(pem)) => KeySource::PublicPem {
            pem: pem.to_owned(),
            // The commonest; another one is said with jwt_algorithm, and a key that does not fit is
            // refused here.
            algorithm: algorithm.unwrap_or(KeyAlgorithm::Rs256),
        },
        Some(JwtKey::JwksUrl(url)) => {
            let url = url.parse().context("jwt_jwks_url")?;
            KeySource::Jwks { url, algorithm, guard: parts::guard(config) }
        }
        None => bail!(
            "the API needs a key to know its callers: set one of AXLE_JWT_SECRET (at least 32 \
             bytes), AXLE_JWT_PUBLIC_KEY_FILE or AXLE_JWT_JWKS_URL"
        ),
    };
    let settings = AuthSettings {
        keys,
        issuer: config.jwt_issuer.clone(),
        audience: config.jwt_audience.clone(),
        claims: config.jwt_claims.clone(),
    };
    let verifier = Verifier::new(settings).context("the JWT key cannot be used")?;
    Ok(Auth::Tokens(Arc::new(verifier)))
}

fn public_algorithm(algorithm: JwtAlgorithm) -> Option<KeyAlgorithm> {
    match algorithm {
        JwtAlgorithm::Hs256 => None,
        JwtAlgorithm::Rs256 => Some(KeyAlgorithm::Rs256),
        JwtAlgorithm::Es256 => Some(KeyAlgorithm::Es256),
        JwtAlgorithm::EdDsa => Some(KeyAlgorithm::EdDsa),
    }
}
