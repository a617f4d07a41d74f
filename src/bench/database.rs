//! The bench's own connections to the database that it started. They read what no API tells, and
//! prepare what would take too long to prepare from outside; what is measured never goes through
//! them, but for the limits.

use std::str::FromStr as _;

use anyhow::bail;
use futures_util::future::{Either, select};
use tokio_postgres::{Client, Config, NoTls};

/// As the server's own connections plan, so that one statement costs the same here and there.
const PLANNING: &str = "-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c jit=off";
/// What the bench asks is never counted. Where the module is not loaded, the setting means nothing.
const UNCOUNTED: &str = "-c pg_stat_statements.track=none";

/// Works with a connection of its own, which ends with the work.
pub(super) async fn with<T>(
    url: &str,
    work: impl AsyncFnOnce(&mut Client) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    with_options(url, UNCOUNTED, work).await
}

/// The same, planning as the server does and finding the tables of `schema` first.
pub(super) async fn within<T>(
    url: &str,
    schema: &str,
    work: impl AsyncFnOnce(&mut Client) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let options = format!("{UNCOUNTED} {PLANNING} -c search_path={schema},public");
    with_options(url, &options, work).await
}

async fn with_options<T>(
    url: &str,
    options: &str,
    work: impl AsyncFnOnce(&mut Client) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let mut config = Config::from_str(url)?;
    config.options(options);
    let (mut client, connection) = config.connect(NoTls).await?;
    // A connection works only while it is driven.
    match select(Box::pin(work(&mut client)), Box::pin(connection)).await {
        Either::Left((done, _)) => done,
        Either::Right(_) => bail!("the connection to PostgreSQL ended"),
    }
}
