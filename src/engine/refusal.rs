//! Why something about teams, people and keys was not done, where the values were right and the role
//! sufficed.

use super::Error;
use crate::domain::quota::Quota;

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
    /// The team was described before.
    #[error("the team {0} exists")]
    TeamExists(String),
    /// The installation admin has suspended the team.
    #[error("the team is suspended: {0}")]
    TeamSuspended(String),
    /// The request says that it is made in another team than this one, which its token is for.
    #[error("Axle-Team names another team than that of the token, which is {0}")]
    OtherTeam(String),
    /// A team with people in it keeps an owner.
    #[error("this is the team's last owner; make somebody else an owner first")]
    LastOwner,
    /// Nobody is invited by this token.
    #[error("the invitation was accepted, has expired, or never was")]
    InvitationEnded,
    /// The server signs no tokens.
    #[error("this server has no AXLE_JWT_SECRET, with which it would sign the tokens of people")]
    LoginUnavailable,
    /// Too many attempts to sign in.
    #[error("too many attempts; the next one is looked at in {retry_after_s} seconds")]
    TooManyTries {
        /// When the window of the count ends, in seconds.
        retry_after_s: u64,
    },
    /// The team writes faster than it may.
    #[error(
        "the team may make {rate} writes a second; the next one is looked at in {retry_after_s} s"
    )]
    OverRate {
        /// Writes per second.
        rate: u64,
        /// When there is room for one, in seconds.
        retry_after_s: u64,
    },
    /// The team has as much of something as it may have.
    #[error("the quota {} is used up: {used} of {limit}, and this would add {more}", .quota.as_str())]
    OverQuota {
        /// Of what.
        quota: Quota,
        /// How much it may have.
        limit: u64,
        /// How much it has.
        used: u64,
        /// How much was to come.
        more: u64,
    },
}

impl Refusal {
    /// The word for machines: the code of the problem that tells it.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::KeyEnded => "key-ended",
            Self::RoleTooHigh { .. } => "role-too-high",
            Self::TeamExists(_) => "team-exists",
            Self::TeamSuspended(_) => "team-suspended",
            Self::OtherTeam(_) => "other-team",
            Self::LastOwner => "last-owner",
            Self::InvitationEnded => "invitation-ended",
            Self::LoginUnavailable => "login-unavailable",
            Self::TooManyTries { .. } => "too-many-tries",
            Self::OverRate { .. } | Self::OverQuota { .. } => "quota-exceeded",
        }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self::Against(refusal)
    }
}
