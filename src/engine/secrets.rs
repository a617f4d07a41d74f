//! Secrets at rest: sealed before they are stored, opened where they are used, and shown to nobody.
//!
//! What is sealed (XChaCha20-Poly1305) is bound to the team that owns it and to what it is for, so a
//! row moved elsewhere in the database does not open. The keys derive from `AXLE_SECRET_KEY`: the
//! first one seals, all of them open, and each sealed text says by which it was sealed.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use hmac::{Hmac, Mac};
use sha2::Sha256;

use super::Error;
use super::signers::Signers;
use crate::domain::hidden::Hidden;
use crate::domain::id::SigningId;
use crate::domain::invalid::Invalid;
use crate::domain::job::{MASK_BYTES, SecretHeader, Target, is_mask};
use crate::domain::principal::Team;
use crate::domain::signature::{SigningKind, hex};
use crate::store::{Store, secrets};

/// The bytes of a key, and of every hash here.
const KEY_BYTES: usize = 32;
/// The cipher's nonce, long enough to be drawn at random.
const NONCE_BYTES: usize = 24;

/// What a sealed text is for; with its team it is what the text is bound to.
#[derive(Clone, Copy, Debug)]
pub enum Purpose<'a> {
    /// The key of this installation's masks.
    Masks,
    /// A signing secret of a kind, for a queue or (empty) for all of the team's.
    Signing(SigningId, SigningKind, &'a str),
    /// The header of this name, for targets of this scheme, host and port.
    Header(&'a str, &'a str),
}

impl Purpose<'_> {
    /// The associated data. No part can hold the NUL between them.
    fn bind(self, team: &str) -> Vec<u8> {
        let purpose = match self {
            Self::Masks => "masks".to_owned(),
            Self::Signing(id, SigningKind::Hmac, queue) => format!("signing\0{id}\0{queue}"),
            Self::Signing(id, kind @ SigningKind::Ed25519, queue) => {
                format!("signing {}\0{id}\0{queue}", kind.as_str())
            }
            Self::Header(name, origin) => {
                format!("header\0{}\0{origin}", name.to_ascii_lowercase())
            }
        };
        format!("axle sealed v1\0{team}\0{purpose}").into_bytes()
    }
}

/// Why a sealed text does not open.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotOpen {
    /// None of our keys has the id.
    #[error("it was sealed with the key {0}, which is not in AXLE_SECRET_KEY")]
    UnknownKey(String),
    /// Not what was sealed, or not for this.
    #[error("it was altered, or sealed for something else")]
    Altered,
}

/// The keys that `AXLE_SECRET_KEY` names, the newest first.
pub struct Keyring(Vec<Key>);

struct Key {
    id: String,
    cipher: XChaCha20Poly1305,
}

impl Keyring {
    /// Keys derived from texts with enough randomness of their own; none if there is no text.
    pub fn new(texts: &[Hidden]) -> Option<Self> {
        let keys: Vec<_> = texts.iter().map(|text| Key::of(text.expose())).collect();
        if keys.is_empty() { None } else { Some(Self(keys)) }
    }

    /// The ids of the keys: short hashes that tell nothing of them.
    pub fn ids(&self) -> Vec<&str> {
        self.0.iter().map(|key| key.id.as_str()).collect()
    }

    /// How texts begin that are sealed with the newest key.
    pub fn newest_prefix(&self) -> String {
        self.0.first().map(|key| format!("{}.", key.id)).unwrap_or_default()
    }

    /// Seals with the newest key.
    pub fn seal(&self, team: &str, purpose: Purpose<'_>, plain: &[u8]) -> Result<String, Error> {
        let broken = || Error::Broken("a secret could not be sealed".into());
        let key = self.0.first().ok_or_else(broken)?;
        let nonce: [u8; NONCE_BYTES] = random()?;
        let payload = Payload { msg: plain, aad: &purpose.bind(team) };
        let ciphertext = key.cipher.encrypt(&XNonce::from(nonce), payload).or(Err(broken()))?;
        let bytes = [nonce.as_slice(), &ciphertext].concat();
        Ok(format!("{}.{}", key.id, URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// Opens what was sealed for the same team and purpose with any of the keys.
    pub fn open(
        &self,
        team: &str,
        purpose: Purpose<'_>,
        sealed: &str,
    ) -> Result<Vec<u8>, CannotOpen> {
        let (id, encoded) = sealed.split_once('.').ok_or(CannotOpen::Altered)?;
        let key = self.0.iter().find(|key| key.id == id);
        let key = key.ok_or_else(|| CannotOpen::UnknownKey(id.to_owned()))?;
        let bytes = URL_SAFE_NO_PAD.decode(encoded).or(Err(CannotOpen::Altered))?;
        let (nonce, ciphertext) =
            bytes.split_first_chunk::<NONCE_BYTES>().ok_or(CannotOpen::Altered)?;
        let payload = Payload { msg: ciphertext, aad: &purpose.bind(team) };
        key.cipher.decrypt(&XNonce::from(*nonce), payload).or(Err(CannotOpen::Altered))
    }

    /// Seals with the newest key what any of them opens; the inner error says why none does.
    pub fn reseal(
        &self,
        team: &str,
        purpose: Purpose<'_>,
        sealed: &str,
    ) -> Result<Result<String, CannotOpen>, Error> {
        match self.open(team, purpose, sealed) {
            Ok(plain) => self.seal(team, purpose, &plain).map(Ok),
            Err(why) => Ok(Err(why)),
        }
    }
}

impl Key {
    /// HKDF's two steps (RFC 5869) with HMAC-SHA256, one block for each use.
    fn of(text: &str) -> Self {
        let root = hash(b"axle secret key v1", &[text.as_bytes()]);
        let id = hash(&root, &[b"id\x01"]);
        let cipher = XChaCha20Poly1305::new(&hash(&root, &[b"seal\x01"]).into());
        Self { id: hex(id.get(..4).unwrap_or_default()), cipher }
    }
}

/// Opens and seals for one installation, and keeps what calls are signed with.
pub struct Vault {
    keys: Keyring,
    mask_key: [u8; KEY_BYTES],
    /// What calls are signed with.
    pub signers: Signers,
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Vault({})", self.keys.ids().join(", "))
    }
}

impl Vault {
    /// The vault of the installation behind `store`; none if there is no key and nothing that needs
    /// one. A key that does not open what this installation has sealed is refused: with it, secrets
    /// would be sealed that no other process opens.
    pub async fn open(store: &Store, keys: Option<Keyring>) -> Result<Option<Self>, Error> {
        if !Self::look(store, keys.as_ref()).await? {
            return Ok(None);
        }
        let Some(keys) = keys else { return Ok(None) };
        if secrets::canary(store).await?.is_none() {
            let made: [u8; KEY_BYTES] = random()?;
            secrets::set_canary(store, &keys.seal("", Purpose::Masks, &made)?).await?;
        }
        // Another process may have been first: what is there counts.
        let canary = secrets::canary(store).await?;
        let canary = canary.ok_or_else(|| Error::Broken("the table vault is empty".into()))?;
        let opened = keys.open("", Purpose::Masks, &canary).map_err(|why| wrong(&keys, &why))?;
        let mask_key = opened.try_into().or(Err(wrong(&keys, &CannotOpen::Altered)))?;
        Ok(Some(Self { keys, mask_key, signers: Signers::default() }))
    }

    /// Whether there is a key, and whether it is the one that is needed; makes nothing.
    pub async fn look(store: &Store, keys: Option<&Keyring>) -> Result<bool, Error> {
        match (secrets::canary(store).await?, keys) {
            (None, keys) => Ok(keys.is_some()),
            (Some(_), None) => Err(Error::Broken(
                "AXLE_SECRET_KEY is not set, and this database holds secrets that it opens: set it \
                 as it was"
                    .into(),
            )),
            (Some(canary), Some(keys)) => match keys.open("", Purpose::Masks, &canary) {
                Ok(_) => Ok(true),
                Err(why) => Err(wrong(keys, &why)),
            },
        }
    }

    /// The keys.
    pub fn keys(&self) -> &Keyring {
        &self.keys
    }

    /// What is shown in place of a secret: equal for equal secrets of a team, and of no use to
    /// whoever has only the database.
    pub fn mask(&self, team: &Team, plain: &[u8]) -> String {
        let tag = hash(&self.mask_key, &[team.as_str().as_bytes(), b"\0", plain]);
        hex(tag.get(..MASK_BYTES).unwrap_or_default())
    }

    /// What the masks of a team's payloads are made with; another than that of its headers, so that
    /// neither is a test of the other.
    pub(super) fn payload_mask_key(&self, team: &Team) -> [u8; KEY_BYTES] {
        payload_mask_key(&self.mask_key, team)
    }

    /// The value of a target's secret header.
    pub fn header(
        &self,
        team: &Team,
        origin: &str,
        (name, sealed): (&str, &str),
    ) -> Result<Hidden, CannotOpen> {
        let bytes = self.keys.open(team.as_str(), Purpose::Header(name, origin), sealed)?;
        String::from_utf8(bytes).map(Hidden::new).or(Err(CannotOpen::Altered))
    }

    /// Seals the headers of `target` that came in the open. One that came as its mask keeps the value
    /// that `stored` has of it, as long as both call the same place: a secret goes nowhere else than
    /// where its owner sent it. One that says the same as before keeps its sealed form, so that a
    /// definition put again is the same.
    fn seal_headers(
        &self,
        team: &Team,
        target: &mut Target,
        (stored, at): (Option<&Target>, &str),
    ) -> Result<(), Error> {
        let origin = target.origin().unwrap_or_default();
        let stored = stored.filter(|stored| stored.origin().as_deref() == Some(&origin));
        let mut faults = Invalid::default();
        for header in &mut target.secret_headers {
            let SecretHeader::Given { name, value } = &*header else { continue };
            let known = stored.and_then(|stored| {
                let same = |h: &&SecretHeader| h.name().eq_ignore_ascii_case(name);
                stored.secret_headers.iter().find(same)
            });
            let masked = is_mask(value.expose());
            let kept = known.filter(|known| match known {
                SecretHeader::Sealed { .. } if masked => known.shown() == value.expose(),
                SecretHeader::Sealed { name, sealed, .. } => {
                    self.header(team, &origin, (name, sealed)).as_ref() == Ok(value)
                }
                SecretHeader::Given { .. } => false,
            });
            if let Some(kept) = kept {
                *header = kept.clone();
            } else if masked {
                let at = format!("{at}/target/secret_headers/{}", escaped(name));
                faults.add(at, "unknown-secret", UNKNOWN);
            } else {
                let plain = value.expose().as_bytes();
                let purpose = Purpose::Header(name, &origin);
                let sealed = self.keys.seal(team.as_str(), purpose, plain)?;
                let mask = self.mask(team, plain);
                *header = SecretHeader::Sealed { name: name.clone(), mask, sealed };
            }
        }
        Ok(faults.into_result(())?)
    }
}

/// The key of a team's masks for payloads, from one of the installation.
pub(super) fn payload_mask_key(root: &[u8], team: &Team) -> [u8; KEY_BYTES] {
    hash(root, &[b"axle payload masks v1\0", team.as_str().as_bytes()])
}

const UNKNOWN: &str = "this is what is shown in a secret's place, and no such secret is stored for \
                       this header and this scheme, host and port; give the value itself";

/// Seals the secret headers of a target that a member of `team` has given; see
/// [`Vault`]. `at` is the pointer of the job.
pub fn seal_target(
    vault: Option<&Vault>,
    team: &Team,
    target: &mut Target,
    (stored, at): (Option<&Target>, &str),
) -> Result<(), Error> {
    if target.secret_headers.iter().all(|header| matches!(header, SecretHeader::Sealed { .. })) {
        return Ok(());
    }
    vault.ok_or(Error::SecretKeyMissing)?.seal_headers(team, target, (stored, at))
}

fn escaped(name: &str) -> String {
    crate::domain::check::escape(name)
}

fn wrong(keys: &Keyring, why: &CannotOpen) -> Error {
    Error::Broken(format!(
        "AXLE_SECRET_KEY does not open the secrets of this database: {why}. It names {}; set it as it \
         was, or, to change it, put the new key before the old one with a comma between, and run \
         `axle secrets rewrap`",
        keys.ids().join(", ")
    ))
}

/// Random bytes.
pub(super) fn random<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::Broken(format!("no randomness: {error}")))?;
    Ok(bytes)
}

#[expect(clippy::expect_used, reason = "HMAC takes keys of any length (RFC 2104)")]
fn hash(key: &[u8], parts: &[&[u8]]) -> [u8; KEY_BYTES] {
    let mut mac =
        <Hmac<Sha256> as KeyInit>::new_from_slice(key).expect("HMAC takes keys of any length");
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}
