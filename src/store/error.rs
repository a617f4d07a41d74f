//! What can go wrong between us and the database, by what the caller can do about it. Nothing above
//! this room sees a SQLSTATE.

use deadpool_postgres::PoolError;
use tokio_postgres::error::SqlState;

/// Why a statement did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A unique constraint of this name already holds such a row.
    #[error("a row with this {constraint} exists")]
    Duplicate {
        /// The constraint's or index's name.
        constraint: String,
    },
    /// Somebody held a lock for longer than a lock is waited for.
    #[error("a row is locked: {0}")]
    Locked(String),
    /// Not now: no connection, a deadlock, the database starting, read-only
    /// or away. What was asked may or may not have happened if it was a commit; asking again is
    /// right for whoever can.
    #[error("the database is busy or away: {0}")]
    Busy(String),
    /// A fault of ours, or of the data in the database: asking again cannot help.
    #[error("{0}")]
    Broken(String),
}

impl Error {
    /// A row that does not hold what its column promises.
    pub fn corrupt(what: &str) -> Self {
        Self::Broken(format!("the database holds a row with an unreadable {what}"))
    }

    pub(super) fn closed() -> Self {
        Self::Busy("the connection is closed".into())
    }

    /// The same, saying which statement it was.
    pub(super) fn named(self, statement: &str) -> Self {
        match self {
            Self::Broken(text) => Self::Broken(format!("{statement}: {text}")),
            Self::Busy(text) => Self::Busy(format!("{statement}: {text}")),
            Self::Locked(text) => Self::Locked(format!("{statement}: {text}")),
            Self::Duplicate { constraint } => Self::Duplicate { constraint },
        }
    }
}

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        let Some(db) = error.as_db_error() else {
            // No answer from the server: the connection is gone, or never was.
            return if error.is_closed() || is_io(&error) {
                Self::Busy(describe(&error))
            } else {
                Self::Broken(describe(&error))
            };
        };
        let text = format!("{} ({})", db.message(), db.code().code());
        if *db.code() == SqlState::UNIQUE_VIOLATION {
            return Self::Duplicate { constraint: db.constraint().unwrap_or_default().to_owned() };
        }
        if *db.code() == SqlState::LOCK_NOT_AVAILABLE {
            return Self::Locked(text);
        }
        if is_passing(db.code()) { Self::Busy(text) } else { Self::Broken(text) }
    }
}

impl From<PoolError> for Error {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Backend(error) => match Self::from(error) {
                // A server that refuses the connection (too many, starting, wrong password) is away
                // for everybody who asks; the log says why.
                Self::Broken(text) | Self::Busy(text) | Self::Locked(text) => Self::Busy(text),
                duplicate @ Self::Duplicate { .. } => duplicate,
            },
            PoolError::Timeout(_) => Self::Busy("no connection became free in time".into()),
            PoolError::Closed | PoolError::NoRuntimeSpecified | PoolError::PostCreateHook(_) => {
                Self::Broken(error.to_string())
            }
        }
    }
}

/// The classes of scale.md section 6 that pass by themselves: connection, resources, operator
/// intervention, system errors, serialization, and a primary that became read-only.
fn is_passing(code: &SqlState) -> bool {
    let code = code.code();
    ["08", "53", "57", "58", "40"].iter().any(|class| code.starts_with(class))
        || matches!(code, "25006" | "25P03")
}

fn is_io(error: &tokio_postgres::Error) -> bool {
    std::error::Error::source(error).is_some_and(<dyn std::error::Error>::is::<std::io::Error>)
}

/// The driver's `Display` hides the cause.
fn describe(error: &tokio_postgres::Error) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
