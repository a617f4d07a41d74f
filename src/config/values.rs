//! The small closed sets a setting may take its value from, and how they are spelt.

use std::fmt;

use super::Secret;

/// What a process does. API and pullers are stateless: any number of each may run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Roles {
    /// Serves the HTTP API.
    pub api: bool,
    /// Claims due jobs and calls their targets.
    pub puller: bool,
    /// Fires schedules and sweeps what was lost.
    pub scheduler: bool,
}

impl Roles {
    /// Every role in one process.
    pub const ALL: Self = Self { api: true, puller: true, scheduler: true };

    /// Reads `all`, or a list such as `api,puller`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self::ALL);
        }
        let mut roles = Self { api: false, puller: false, scheduler: false };
        for name in text.split(',').map(str::trim) {
            match name {
                "api" => roles.api = true,
                "puller" => roles.puller = true,
                "scheduler" => roles.scheduler = true,
                "all" => return Err("\"all\" stands alone".to_owned()),
                _ => return Err(format!("{name:?} is not a role")),
            }
        }
        Ok(roles)
    }
}

impl fmt::Display for Roles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let roles = [(self.api, "api"), (self.puller, "puller"), (self.scheduler, "scheduler")];
        let names: Vec<_> = roles.iter().filter(|(on, _)| *on).map(|(_, name)| *name).collect();
        f.write_str(&names.join(","))
    }
}

/// The signature algorithms accepted on a token (RFC 7518 and RFC 8037); `none` is not among them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum JwtAlgorithm {
    /// HMAC with SHA-256, by a shared secret.
    Hs256,
    /// RSA PKCS#1 v1.5 with SHA-256.
    Rs256,
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// Ed25519.
    EdDsa,
}

impl JwtAlgorithm {
    const ALL: [Self; 4] = [Self::Hs256, Self::Rs256, Self::Es256, Self::EdDsa];

    /// The name as it stands in a token's `alg`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hs256 => "HS256",
            Self::Rs256 => "RS256",
            Self::Es256 => "ES256",
            Self::EdDsa => "EdDSA",
        }
    }

    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let named = Self::ALL.into_iter().find(|algorithm| algorithm.as_str() == text);
        named.ok_or_else(|| "it is not an accepted algorithm".to_owned())
    }
}

/// What a token is checked with: exactly one of the three, when there is any.
#[derive(Clone, Copy, Debug)]
pub enum JwtKey<'a> {
    /// The shared secret of HS256.
    Secret(&'a Secret),
    /// A public key as PEM.
    PublicKey(&'a str),
    /// The address of the issuer's key set.
    JwksUrl(&'a str),
}

/// How the operator wants log lines.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LogFormat {
    /// Text on a terminal, JSON else.
    Auto,
    /// Text for people.
    Text,
    /// One JSON object a line.
    Json,
}

impl LogFormat {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err("it is not a format".to_owned()),
        }
    }
}
