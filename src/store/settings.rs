//! What the database itself is set to.

use super::{Error, Store, sql};

/// The durability settings that are off (trust.md section 2).
pub async fn durability(store: &Store) -> Result<Vec<String>, Error> {
    let rows = store.query(sql!("settings/durability"), &[]).await?;
    rows.iter().map(|row| Ok(row.try_get("name")?)).collect()
}
