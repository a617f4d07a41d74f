//! How often somebody has tried to sign in. A row per scope, so that guessing fills no table.

use chrono::{DateTime, Utc};

use super::{Error, Store, sql};

/// Counts a try in a window; returns how many it has now.
pub async fn count(store: &Store, scope: [u8; 32], window: DateTime<Utc>) -> Result<i32, Error> {
    let row = store.query(sql!("tries/count"), &[&scope.as_slice(), &window]).await?.pop();
    Ok(row.ok_or_else(|| Error::corrupt("count"))?.try_get("count")?)
}

/// Forgets the tries of a scope.
pub async fn forget(store: &Store, scope: [u8; 32]) -> Result<(), Error> {
    store.query(sql!("tries/forget"), &[&scope.as_slice()]).await.map(drop)
}

/// Forgets those of windows that began before `over`.
pub async fn prune(store: &Store, over: DateTime<Utc>, most: i64) -> Result<(), Error> {
    store.query(sql!("tries/prune"), &[&over, &most]).await.map(drop)
}
