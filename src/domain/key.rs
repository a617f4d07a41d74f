//! API keys: what their text is, and what is known of one. Pure: where a key's random bits come from
//! and whether it opens anything is decided elsewhere.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, Utc};
use sha2::{Digest, Sha256};

use super::id::NotAnId;
use super::principal::{Role, Team};
use super::scope::Scope;

/// How the text of every key begins, so that a leaked one is found by searching for it.
pub const KEY_PREFIX: &str = "axk_";
/// Characters of an id: 40 random bits, public.
const ID_LEN: usize = 8;
/// Characters of a secret: 52 of five bits hold the 256 that are asked for.
pub(super) const SECRET_LEN: usize = 52;
/// Random bytes that a new key is made of.
pub const KEY_RANDOM_BYTES: usize = ID_LEN + SECRET_LEN;

/// Crockford's base 32 in small letters, without i, l, o and u: no character of it ends a word, so
/// that a double click takes the whole key.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// The public part of a key: `key_` and the eight characters that stand in the key's text too, so
/// that a text that was found somewhere leads to its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyId([u8; ID_LEN]);

impl KeyId {
    /// The eight characters.
    pub fn as_str(&self) -> &str {
        // Made of ALPHABET only, which is ASCII.
        str::from_utf8(&self.0).unwrap_or_default()
    }

    /// Reads the column's value: the eight characters.
    pub fn from_characters(text: &str) -> Result<Self, NotAnId> {
        let id = <[u8; ID_LEN]>::try_from(text.as_bytes()).or(Err(NotAnId))?;
        if is_plain(&id) { Ok(Self(id)) } else { Err(NotAnId) }
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "key_{}", self.as_str())
    }
}

impl FromStr for KeyId {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        Self::from_characters(text.strip_prefix("key_").ok_or(NotAnId)?)
    }
}

/// The whole text of a key, which only its holder has. It prints as its id.
#[derive(Clone)]
pub struct KeyText {
    /// The public part.
    pub id: KeyId,
    text: String,
}

impl KeyText {
    /// A new key, of random bytes: five bits of each are used.
    pub fn new(random: &[u8; KEY_RANDOM_BYTES]) -> Self {
        let (id, secret) = random.split_at(ID_LEN);
        let mut public = [0; ID_LEN];
        for (place, byte) in public.iter_mut().zip(id) {
            *place = character(*byte);
        }
        let id = KeyId(public);
        Self { id, text: format!("{KEY_PREFIX}{}_{}", id.as_str(), self::secret(secret)) }
    }

    /// Reads a text exactly.
    pub fn parse(text: &str) -> Result<Self, NotAnId> {
        let rest = text.strip_prefix(KEY_PREFIX).ok_or(NotAnId)?;
        let (id, secret) = rest.split_once('_').ok_or(NotAnId)?;
        if !is_secret(secret) {
            return Err(NotAnId);
        }
        Ok(Self { id: KeyId::from_characters(id)?, text: text.to_owned() })
    }

    /// The text itself, to be shown once.
    pub fn expose(&self) -> &str {
        &self.text
    }

    /// What is kept of it. A fast hash is right for 256 random bits, which nobody guesses.
    pub fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.text.as_bytes()).into()
    }
}

impl fmt::Debug for KeyText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.id)
    }
}

/// What is known of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Its public part.
    pub id: KeyId,
    /// The team that it acts in.
    pub team: Team,
    /// What it is for, for people; the subject of what is done with it.
    pub name: String,
    /// The role of whoever holds it.
    pub role: Role,
    /// The queues that whoever holds it reaches.
    pub scope: Scope,
    /// When it ends by itself.
    pub expires_at: Option<DateTime<Utc>>,
    /// Who made it.
    pub created_by: String,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// When it was last used, to the minute.
    pub last_used_at: Option<DateTime<Utc>>,
    /// When it was revoked.
    pub revoked_at: Option<DateTime<Utc>>,
}

impl Key {
    /// Whether it opens anything at `now`.
    pub fn is_live(&self, now: DateTime<Utc>) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| now < end)
    }
}

/// The secret part of a text, of as many random bytes as it has characters.
pub(super) fn secret(random: &[u8]) -> String {
    random.iter().map(|byte| char::from(character(*byte))).collect()
}

/// Whether this could be a secret part.
pub(super) fn is_secret(text: &str) -> bool {
    text.len() == SECRET_LEN && is_plain(text.as_bytes())
}

/// The character of a byte's low five bits.
fn character(byte: u8) -> u8 {
    ALPHABET.get(usize::from(byte & 31)).copied().unwrap_or(b'0')
}

fn is_plain(text: &[u8]) -> bool {
    text.iter().all(|byte| ALPHABET.contains(byte))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_key_survives_its_text(random in prop::array::uniform32(any::<u8>())) {
            let mut bytes = [0; KEY_RANDOM_BYTES];
            bytes[..32].copy_from_slice(&random);
            bytes[28..].copy_from_slice(&random);
            let made = KeyText::new(&bytes);
            let read = KeyText::parse(made.expose()).unwrap();
            prop_assert_eq!((read.id, read.hash()), (made.id, made.hash()));
            prop_assert_eq!(made.id.to_string().parse(), Ok(made.id));
            prop_assert_eq!(format!("{:?}", made), made.id.to_string());
        }

        #[test]
        fn any_text_is_a_key_or_refused(text in "(axk_)?[0-9a-z_]{0,70}") {
            if let Ok(key) = KeyText::parse(&text) { prop_assert_eq!(key.expose(), text); }
        }
    }

    #[test]
    fn a_key_has_one_spelling() {
        let good = KeyText::new(&[7; KEY_RANDOM_BYTES]).expose().to_owned();
        for wrong in [
            good.to_uppercase(),
            good.replace("axk_", "axk"),
            format!("{good}0"),
            good.replacen("77", "7", 1),
            good.replace('7', "l"),
            good.replace("_7", "__7"),
            String::new(),
        ] {
            assert!(KeyText::parse(&wrong).is_err(), "{wrong}");
        }
    }
}
