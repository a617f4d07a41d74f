//! The database's time, and the installation's key.

use chrono::{DateTime, Utc};

use super::{Error, Session, Store, sql};

/// The database's wall clock and the shift that travels with it, in microseconds.
pub async fn now(session: &Session) -> Result<(DateTime<Utc>, i64), Error> {
    let row = session.query_opt(sql!("clock/now"), &[]).await?;
    let row = row.ok_or_else(|| Error::Broken("the table installation is empty".into()))?;
    Ok((row.try_get("at")?, row.try_get("clock_shift_us")?))
}

/// The key that signs callback tokens; made by the first migration.
pub async fn key(store: &Store) -> Result<Vec<u8>, Error> {
    let row = store.query(sql!("clock/key"), &[]).await?.pop();
    let row = row.ok_or_else(|| Error::Broken("the table installation is empty".into()))?;
    Ok(row.try_get("callback_key")?)
}
