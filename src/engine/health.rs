//! Whether this process can do its work: its database answers and has the schema it knows.

pub use crate::hints::Redis;

use crate::store::{Error, Store, StoreSettings, migrate};

/// A store of one connection, used by the checks alone.
#[derive(Clone)]
pub struct Probe(Store);

impl Probe {
    /// A probe of the same database; to be made on the runtime that will use it.
    pub fn new(settings: &StoreSettings) -> Result<Self, Error> {
        Ok(Self(Store::new(&StoreSettings { pool_size: 1, ..settings.clone() })?))
    }
}

/// Asks the database; the error says what is wrong, for an operator.
pub async fn check_database(probe: &Probe) -> Result<(), String> {
    match migrate::status(&probe.0).await {
        Ok(status) if status.is_current() => Ok(()),
        Ok(_) => Err("migrations are pending: run `axle migrate up`".into()),
        Err(error) => Err(error.to_string()),
    }
}
