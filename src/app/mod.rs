//! What the commands start: the roles of a server, `axle dev`, and the small jobs of an operator.
//! The only room that sees all others.

pub mod admin;
pub mod audit;
pub mod auth;
pub mod certificate;
pub mod command;
pub mod dev;
pub mod doctor;
pub mod edge;
pub mod first;
pub mod migrate;
pub mod parts;
pub mod secrets;
pub mod serve;
pub mod stop;
pub mod trial;

use anyhow::Context as _;

use crate::config::{Config, Loaded, LogFormat, Origin};
use crate::telemetry::{LogStyle, init_logs};

/// Reads the settings of a command, tells what is odd about them, and starts the logs.
pub fn settings(flags: &clap::ArgMatches) -> anyhow::Result<Config> {
    begin(Config::load(flags)?, None)
}

/// The same for `axle dev`, which tells a person what there is to tell; and whether a database was
/// named for Axle, rather than for any program that reads `DATABASE_URL`.
pub fn settings_for_dev(flags: &clap::ArgMatches) -> anyhow::Result<(Config, bool)> {
    let loaded = Config::load(flags)?;
    let origin = |key| loaded.settings.iter().find(|s| s.key == key).map(|s| &s.origin);
    let is_named = match origin("database_url") {
        Some(Origin::Variable(name)) => name.starts_with("AXLE_"),
        Some(Origin::Flag(_) | Origin::NamedFile { .. } | Origin::SettingsFile(_)) => true,
        Some(Origin::Default) | None => false,
    };
    let quiet = origin("log").is_none_or(|origin| *origin == Origin::Default);
    Ok((begin(loaded, quiet.then_some("warn"))?, is_named))
}

fn begin(loaded: Loaded, filter: Option<&str>) -> anyhow::Result<Config> {
    let Loaded { mut config, warnings, .. } = loaded;
    if let Some(filter) = filter {
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
        return Err(no_database());
    }
    Ok(config)
}

/// What to do when no database is set.
pub fn no_database() -> anyhow::Error {
    anyhow::anyhow!(
        "no database is set: give --database-url or AXLE_DATABASE_URL \
         (postgres://user:password@host/database), or try `axle dev`, which brings its own"
    )
}
