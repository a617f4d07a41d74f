//! `axle token`: what it takes, read from the command line.

use anyhow::{Context as _, bail};
use std::time::Duration;

use super::Token;
use crate::config::{Config, Secret, parse_duration};
use crate::domain::principal::{Role, Subject, Team};

/// What a token is to say.
#[derive(Debug)]
pub struct Wanted {
    /// The team.
    pub team: Team,
    /// The role.
    pub role: Role,
    /// Whom it stands for.
    pub subject: Subject,
    /// How long it is good for.
    pub ttl: Duration,
}

/// Reads the command line's words.
pub fn wanted(token: &Token) -> anyhow::Result<Wanted> {
    Ok(Wanted {
        team: Team::parse(&token.team).context("--team")?,
        role: Role::parse(&token.role).context("--role")?,
        subject: Subject::parse(&token.subject).context("--subject")?,
        ttl: parse_duration(&token.ttl).context("--ttl")?,
    })
}

/// The secret to sign with.
pub fn secret(config: &Config) -> anyhow::Result<&Secret> {
    match &config.jwt_secret {
        Some(secret) => Ok(secret),
        None => bail!(
            "a token is signed with AXLE_JWT_SECRET (or AXLE_JWT_SECRET_FILE), the secret that the \
             server has; tokens for a public key are made by whoever has the private one"
        ),
    }
}
