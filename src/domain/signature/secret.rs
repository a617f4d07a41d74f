//! What makes signatures, and what checks them: a secret that both sides share (HMAC-SHA256, `v1`), or
//! a pair of keys (Ed25519, `v1a`), of which targets have the public one alone. The forms are those of
//! Standard Webhooks. The private key of a pair has no text here: nobody is ever shown it.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use sha2::Sha256;
use subtle::ConstantTimeEq as _;

use crate::domain::hidden::Hidden;

/// How the text of a shared secret begins.
const SHARED_PREFIX: &str = "whsec_";
/// How the text of a public key begins.
const PUBLIC_PREFIX: &str = "whpk_";
/// How a signature by a shared secret begins.
const SHARED_VERSION: &str = "v1";
/// How a signature by a private key begins.
const PAIR_VERSION: &str = "v1a";
/// The bytes of a shared secret: at least 192 bits, at most the block of the hash (Standard Webhooks).
const SHARED_BYTES: std::ops::RangeInclusive<usize> = 24..=64;
/// The bytes of a signature by a shared secret.
const TAG_BYTES: usize = 32;
/// The bytes of a public key, and of the seed that a private one grows from (RFC 8032).
const KEY_BYTES: usize = 32;
/// The bytes of a signature by a private key.
const PAIR_TAG_BYTES: usize = 64;
/// More signatures in one header than any sender has; the rest is not looked at.
const MOST_SIGNATURES: usize = 16;

/// How signatures are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SigningKind {
    /// HMAC-SHA256, by a secret that targets know too.
    #[default]
    Hmac,
    /// Ed25519, by a key that only Axle has; targets know its public half.
    Ed25519,
}

impl SigningKind {
    /// Every kind, in the order of their signatures in a header.
    pub const ALL: [Self; 2] = [Self::Hmac, Self::Ed25519];

    /// The word used in SQL and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hmac => "hmac",
            Self::Ed25519 => "ed25519",
        }
    }

    /// The kind of that word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// What signs, or a public key, which only checks. `Debug` prints `***`.
#[derive(Clone)]
pub struct SigningSecret(Material);

#[derive(Clone)]
enum Material {
    /// 24 to 64 bytes that a team and its targets share.
    Shared(Vec<u8>),
    Pair(Arc<Ed25519KeyPair>),
    Public(PublicKey),
}

/// The half of a key pair that everybody may know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicKey([u8; KEY_BYTES]);

/// A text that is no signing secret and no public key. It does not carry the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a signing secret is `whsec_` and the base 64 of 24 to 64 bytes; a public key is `whpk_` and the \
     base 64 of 32 bytes"
)]
pub struct BadSecret;

impl SigningSecret {
    /// A secret of this kind: the shared bytes, or the seed of a key pair.
    pub fn from_bytes(kind: SigningKind, bytes: &[u8]) -> Result<Self, BadSecret> {
        match kind {
            SigningKind::Hmac if SHARED_BYTES.contains(&bytes.len()) => {
                Ok(Self(Material::Shared(bytes.to_vec())))
            }
            SigningKind::Hmac => Err(BadSecret),
            SigningKind::Ed25519 => {
                let pair = Ed25519KeyPair::from_seed_unchecked(bytes).or(Err(BadSecret))?;
                Ok(Self(Material::Pair(Arc::new(pair))))
            }
        }
    }

    /// Reads `whsec_…` or `whpk_…` exactly.
    pub fn parse(text: &str) -> Result<Self, BadSecret> {
        if text.starts_with(PUBLIC_PREFIX) {
            return Ok(Self(Material::Public(PublicKey::parse(text)?)));
        }
        let encoded = text.strip_prefix(SHARED_PREFIX).ok_or(BadSecret)?;
        Self::from_bytes(SigningKind::Hmac, &STANDARD.decode(encoded).or(Err(BadSecret))?)
    }

    /// How it signs, or what it checks.
    pub fn kind(&self) -> SigningKind {
        match self.0 {
            Material::Shared(_) => SigningKind::Hmac,
            Material::Pair(_) | Material::Public(_) => SigningKind::Ed25519,
        }
    }

    /// The text of a shared secret, which targets are given; keys have none.
    pub fn text(&self) -> Option<Hidden> {
        match &self.0 {
            Material::Shared(bytes) => {
                Some(Hidden::new(format!("{SHARED_PREFIX}{}", STANDARD.encode(bytes))))
            }
            Material::Pair(_) | Material::Public(_) => None,
        }
    }

    /// The public key of a pair.
    pub fn public(&self) -> Option<PublicKey> {
        match &self.0 {
            Material::Shared(_) => None,
            Material::Pair(pair) => pair.public_key().as_ref().try_into().ok().map(PublicKey),
            Material::Public(key) => Some(*key),
        }
    }

    /// The signature of `content`, with its version; none by a public key.
    pub(super) fn sign(&self, content: &[u8]) -> Option<String> {
        let (version, tag) = match &self.0 {
            Material::Shared(bytes) => {
                (SHARED_VERSION, STANDARD.encode(mac(bytes, content).finalize().into_bytes()))
            }
            Material::Pair(pair) => (PAIR_VERSION, STANDARD.encode(pair.sign(content))),
            Material::Public(_) => return None,
        };
        Some(format!("{version},{tag}"))
    }

    /// Whether one of these is its signature of `content`. Where two shared signatures differ does not
    /// show in the time.
    pub(super) fn made_one(&self, content: &[u8], among: &Signatures) -> bool {
        let Some(key) = self.public() else {
            let Material::Shared(bytes) = &self.0 else { return false };
            let tag = mac(bytes, content).finalize().into_bytes();
            let is = |one: &[u8; TAG_BYTES]| one.as_slice().ct_eq(&tag);
            return among
                .shared
                .iter()
                .fold(subtle::Choice::from(0), |found, one| found | is(one))
                .into();
        };
        let key = UnparsedPublicKey::new(&ED25519, key.0);
        among.paired.iter().any(|one| key.verify(content, one).is_ok())
    }
}

impl PartialEq for SigningSecret {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Material::Shared(one), Material::Shared(other)) => one == other,
            (Material::Pair(_), Material::Pair(_)) | (Material::Public(_), Material::Public(_)) => {
                self.public() == other.public()
            }
            (Material::Shared(_) | Material::Pair(_) | Material::Public(_), _) => false,
        }
    }
}

impl Eq for SigningSecret {}

impl fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl PublicKey {
    /// Reads `whpk_…` exactly.
    pub fn parse(text: &str) -> Result<Self, BadSecret> {
        let encoded = text.strip_prefix(PUBLIC_PREFIX).ok_or(BadSecret)?;
        let bytes = STANDARD.decode(encoded).or(Err(BadSecret))?;
        bytes.try_into().map(Self).or(Err(BadSecret))
    }

    /// The member `x` of a JSON Web Key (RFC 8037).
    pub fn x(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PUBLIC_PREFIX}{}", STANDARD.encode(self.0))
    }
}

/// The signatures in the value of a header, by their version; others may stand beside them.
pub(super) struct Signatures {
    shared: Vec<[u8; TAG_BYTES]>,
    paired: Vec<[u8; PAIR_TAG_BYTES]>,
}

impl Signatures {
    /// What a header must hold.
    pub(super) const FORM: &'static str =
        "holds no signature of the form v1,<base 64 of 32 bytes> or v1a,<base 64 of 64 bytes>";

    /// Reads a header's value; none if it holds no signature that could be ours.
    pub(super) fn read(value: &str) -> Option<Self> {
        let mut found = Self { shared: Vec::new(), paired: Vec::new() };
        for one in value.split_ascii_whitespace().take(MOST_SIGNATURES) {
            let Some((version, encoded)) = one.split_once(',') else { continue };
            let bytes = STANDARD.decode(encoded).unwrap_or_default();
            match version {
                SHARED_VERSION => found.shared.extend(<[u8; TAG_BYTES]>::try_from(bytes).ok()),
                PAIR_VERSION => found.paired.extend(<[u8; PAIR_TAG_BYTES]>::try_from(bytes).ok()),
                _ => {}
            }
        }
        (!found.shared.is_empty() || !found.paired.is_empty()).then_some(found)
    }
}

#[expect(clippy::expect_used, reason = "HMAC takes keys of any length (RFC 2104)")]
fn mac(key: &[u8], content: &[u8]) -> Hmac<Sha256> {
    let mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.chain_update(content)
}
