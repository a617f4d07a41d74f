//! People: ids, e-mail addresses, passwords, and the one-time texts that they get. Pure.

use std::fmt;

use chrono::{DateTime, Utc};
use sha2::{Digest, Sha256};

use super::id::{NotAnId, SessionId, UserId};
use super::key::{SECRET_LEN, is_secret, secret};
use super::principal::{Role, Team};

/// The longest e-mail address (RFC 5321, section 4.5.3.1.3, without the angle brackets).
const EMAIL_MAX_LEN: usize = 254;
/// Characters of a password. The upper bound keeps the hash's cost bounded.
pub const PASSWORD_CHARS: std::ops::RangeInclusive<usize> = 12..=256;

/// An e-mail address as it was written; compared without case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Email(String);

impl Email {
    /// Takes what has a mailbox, an `@` and a host, and no white space or control characters. Whether
    /// it can be delivered is found out by delivering.
    pub fn parse(text: &str) -> Option<Self> {
        let (mailbox, host) = text.rsplit_once('@')?;
        let fits = text.len() <= EMAIL_MAX_LEN
            && !mailbox.is_empty()
            && !host.is_empty()
            && !text.chars().any(|c| c.is_whitespace() || c.is_control());
        fits.then(|| Self(text.to_owned()))
    }

    /// The address.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What two spellings of one address have in common.
    pub fn folded(&self) -> String {
        self.0.to_lowercase()
    }
}

/// Whether this may be a password: any characters, if there are enough.
pub fn is_password(text: &str) -> bool {
    PASSWORD_CHARS.contains(&text.chars().count())
}

/// A person.
#[derive(Clone, Debug)]
pub struct User {
    /// Its identity, and the subject of its tokens.
    pub id: UserId,
    /// Unique in the installation, whatever the case of its letters.
    pub email: String,
    /// For people.
    pub name: String,
    /// Whether it manages the installation's teams.
    pub installation_admin: bool,
}

/// A person in a team.
#[derive(Clone, Debug)]
pub struct Member {
    /// Who.
    pub user: UserId,
    /// The e-mail address.
    pub email: String,
    /// For people.
    pub name: String,
    /// What they are in the team.
    pub role: Role,
    /// Since when.
    pub joined_at: DateTime<Utc>,
}

/// An invitation to a team.
#[derive(Clone, Debug)]
pub struct Invitation {
    /// The team.
    pub team: Team,
    /// Who is invited.
    pub email: String,
    /// What they will be.
    pub role: Role,
    /// When it ends.
    pub expires_at: DateTime<Utc>,
}

/// Random bytes of a one-time text.
pub const SECRET_BYTES: usize = SECRET_LEN;

/// A text that is shown once and kept as its hash. It prints without its secret part.
#[derive(Clone)]
pub struct OneTime {
    text: String,
    shown: usize,
}

impl OneTime {
    /// An invitation: `axi_` and a secret.
    pub fn invitation(random: &[u8; SECRET_BYTES]) -> Self {
        Self::new("axi_".to_owned(), random)
    }

    /// A refresh token: `axr_`, the session and a secret.
    pub fn refresh(session: SessionId, random: &[u8; SECRET_BYTES]) -> Self {
        Self::new(format!("axr_{}_", session.characters()), random)
    }

    fn new(head: String, random: &[u8; SECRET_BYTES]) -> Self {
        Self { shown: head.len(), text: head + &secret(random) }
    }

    /// Reads an invitation exactly.
    pub fn parse_invitation(text: &str) -> Result<Self, NotAnId> {
        let secret = text.strip_prefix("axi_").filter(|secret| is_secret(secret));
        secret.map(|_| Self { text: text.to_owned(), shown: 4 }).ok_or(NotAnId)
    }

    /// Reads a refresh token exactly: its session, and itself.
    pub fn parse_refresh(text: &str) -> Result<(SessionId, Self), NotAnId> {
        let rest = text.strip_prefix("axr_").ok_or(NotAnId)?;
        let (session, secret) = rest.split_once('_').ok_or(NotAnId)?;
        if !is_secret(secret) {
            return Err(NotAnId);
        }
        let shown = text.len() - secret.len();
        Ok((SessionId::from_characters(session)?, Self { text: text.to_owned(), shown }))
    }

    /// The text itself.
    pub fn expose(&self) -> &str {
        &self.text
    }

    /// What is kept of it.
    pub fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.text.as_bytes()).into()
    }
}

impl fmt::Debug for OneTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}…", self.text.get(..self.shown).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::id::Shard;

    #[test]
    fn addresses_have_a_mailbox_and_a_host() {
        for good in ["kim@example.com", "Kim.Doe+x@EXAMPLE.com", "ä@bücher.example", "a@b@c"] {
            assert_eq!(Email::parse(good).unwrap().as_str(), good);
        }
        let long = format!("{}@example.com", "k".repeat(250));
        for bad in ["", "kim", "@", "kim@", "@example.com", "a b@c", "a@b\n", "a\0@b", &long] {
            assert_eq!(Email::parse(bad), None, "{bad:?}");
        }
        assert_eq!(Email::parse("Kim@Example.COM").unwrap().folded(), "kim@example.com");
    }

    #[test]
    fn one_time_texts_survive_and_hide_their_secret() {
        let session = SessionId::new(DateTime::UNIX_EPOCH, Shard(0), 7);
        let random = [9; SECRET_BYTES];
        let made = OneTime::refresh(session, &random);
        let (read, same) = OneTime::parse_refresh(made.expose()).unwrap();
        assert_eq!((read, same.hash()), (session, made.hash()));
        assert!(!format!("{made:?} {same:?}").contains("999"));
        let made = OneTime::invitation(&random);
        assert_eq!(OneTime::parse_invitation(made.expose()).unwrap().hash(), made.hash());
        for wrong in ["", "axi_", "axr_", "axi_9", "axr_x_9", made.expose()] {
            assert!(OneTime::parse_refresh(wrong).is_err(), "{wrong}");
        }
        assert!(OneTime::parse_invitation(&format!("{}9", made.expose())).is_err());
    }
}
