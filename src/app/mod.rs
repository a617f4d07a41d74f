//! What the commands start: the roles of a server, `axle dev`, and the small jobs of an operator.
//! The only room that sees all others.

pub mod admin;
pub mod auth;
pub mod command;
pub mod dev;
pub mod doctor;
pub mod migrate;
pub mod parts;
pub mod serve;
pub mod stop;
pub mod trial;

use anyhow::{Context as _, bail};

use crate::config::{Config, Loaded, LogFormat, Origin};
use crate::telemetry::{LogStyle, init_logs};

/// Reads the settings of a command, tells what is odd about them, and starts the logs.
pub fn settings(flags: &clap::ArgMatches) -> anyhow::Result<Config> {
    settings_logging(flags, None)
}

/// The same, with another log filter for who sets none.
pub fn settings_logging(flags: &clap::ArgMatches, filter: Option<&str>) -> anyhow::Result<Config> {
    let Loaded { mut config, warnings, settings } = Config::load(flags)?;
    let is_set = settings.iter().any(|s| s.key == "log" && s.origin != Origin::Default);
    if let (Some(filter), false) = (filter, is_set) {
        filter.clone_into(&mut config.log);
    }
    let style = match config.log_format {
        LogFormat::Auto => LogStyle::for_stderr(),
        LogFormat::Text => LogStyle::Text,
        LogFormat::Json => LogStyle::Json,
    };
    init_logs(&config.log, style).context("the log filter cannot be used")?;
    for warning in warnings {
        tracing::warn!("{warning}");
    }
    Ok(config)
}

/// The settings of a command that needs a database.
pub fn with_database(flags: &clap::ArgMatches) -> anyhow::Result<Config> {
    let config = settings(flags)?;
    if config.database_url.is_empty() {
        bail!(
            "no database is set: give --database-url or AXLE_DATABASE_URL \
             (postgres://user:password@host/database), or try `axle dev`, which brings its own"
        );
    }
    Ok(config)
}
