//! Why something about teams, people and keys was not done, where the values were right and the role
//! sufficed.

use super::Error;

/// What stands against it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The key has expired or was revoked.
    #[error("the key has expired or was revoked, and is not rolled")]
    KeyEnded,
    /// A role may be given away only by who may do all that it may.
    #[error("the role {own} may not give away the role {given}")]
    RoleTooHigh {
        /// The caller's role.
        own: &'static str,
        /// The role that was to be given.
        given: &'static str,
    },
}

impl Refusal {
    /// The word for machines: the code of the problem that tells it.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::KeyEnded => "key-ended",
            Self::RoleTooHigh { .. } => "role-too-high",
        }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self::Against(refusal)
    }
}
