//! `axle secrets`: the secrets in the database and the keys that open them.

use anyhow::{Context as _, bail};

use super::parts;
use crate::config::Config;
use crate::engine::rewrap;

/// Seals everything with the newest key; says what was done, and whether everything could be.
pub async fn rewrap(config: &Config) -> anyhow::Result<(String, Vec<String>)> {
    let ctx = parts::ctx(config, "secrets").await?;
    let Some(vault) = &ctx.limits.vault else {
        bail!("AXLE_SECRET_KEY is not set: there is no key to seal with");
    };
    let done = rewrap::rewrap(&ctx, vault).await.context("sealing anew")?;
    let counts = format!(
        "sealed anew: {} signing secrets, {} schedules, {} jobs",
        done.signing, done.schedules, done.jobs
    );
    let rest = if done.left.is_empty() {
        "everything is sealed with the first key of AXLE_SECRET_KEY; the others can go"
    } else {
        "not everything could be: keep the other keys, and run this again"
    };
    Ok((format!("{counts}\n{rest}"), done.left))
}
