//! `axle migrate`.

use std::time::Duration;

use crate::config::Config;
use crate::store::migrate::{self, Applied};
use crate::store::{Error, Store, StoreSettings};

use super::parts::store_settings;

/// A migration may have to build an index over a large table.
const PATIENCE: Duration = Duration::from_hours(6);

/// Applies what is pending; returns one line for each migration applied.
pub async fn up(config: &Config) -> anyhow::Result<Vec<String>> {
    let patient = StoreSettings {
        statement_timeout: PATIENCE.max(config.statement_timeout),
        ..store_settings(config, "migrate")
    };
    let store = Store::new(&patient)?;
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(|error| anyhow::anyhow!("no randomness: {error}"))?;
    let applied = migrate::up(&store, key).await?;
    Ok(applied.iter().map(|m| format!("applied {:04} {}", m.version, m.name)).collect())
}

/// One line for each migration, and whether the database is up to date.
pub async fn status(config: &Config) -> Result<(Vec<String>, bool), Error> {
    let store = Store::new(&store_settings(config, "migrate"))?;
    let status = migrate::status(&store).await?;
    let line = |m: &Applied| match m.applied_at {
        Some(at) => format!("{:04} {} applied {}", m.version, m.name, at.format("%FT%TZ")),
        None => format!("{:04} {} pending", m.version, m.name),
    };
    let current = status.is_current() && status.unknown().is_none();
    Ok((status.migrations.iter().map(line).collect(), current))
}
