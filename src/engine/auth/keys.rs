//! Keys, each with the one algorithm it may be used for, and the sets they come in.
//! Anything that cannot be a sound signature key is refused when it is read, so that no token can
//! meet it. Fetching is next door in `jwks`.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, DecodingKey, jwk};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::{
    AuthError, SetupError,
    jws::{Header, Jws},
};

/// The shortest HS256 secret, in bytes (RFC 7518, section 3.2: as long as the hash).
pub const MIN_SECRET_BYTES: usize = 32;

/// How many keys a published set may have: a bound on work and memory; real sets have two to four.
const MAX_KEYS: usize = 64;

/// RFC 7518, section 3.3, sets the lower end; the upper bounds the work of one verification.
const RSA_BITS: std::ops::RangeInclusive<usize> = 2048..=8192;

/// The algorithms of public keys. HS256 is not among them, so a public key can never be used as a
/// secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyAlgorithm {
    /// RSASSA-PKCS1-v1_5 with SHA-256, 2,048 to 8,192 bits.
    Rs256,
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// Ed25519.
    EdDsa,
}

impl KeyAlgorithm {
    /// Reads a JOSE name (RFC 7518; RFC 9864 spells `EdDSA` as `Ed25519`).
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "RS256" => Some(Self::Rs256),
            "ES256" => Some(Self::Es256),
            "EdDSA" | "Ed25519" => Some(Self::EdDsa),
            _ => None,
        }
    }

    /// The JOSE name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Es256 => "ES256",
            Self::EdDsa => "EdDSA",
        }
    }

    const fn jws(self) -> Algorithm {
        match self {
            Self::Rs256 => Algorithm::RS256,
            Self::Es256 => Algorithm::ES256,
            Self::EdDsa => Algorithm::EdDSA,
        }
    }
}

impl fmt::Display for KeyAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The algorithm a token's header names, if it is one of ours.
pub(super) fn algorithm(name: &str) -> Option<Algorithm> {
    if name == "HS256" {
        return Some(Algorithm::HS256);
    }
    KeyAlgorithm::parse(name).map(KeyAlgorithm::jws)
}

/// A key and the one algorithm it is for.
pub(super) struct Key {
    kid: Option<String>,
    algorithm: Algorithm,
    decoding: DecodingKey,
}

impl Key {
    /// Checks the signature, with the key's algorithm.
    pub(super) fn verify(&self, jws: &Jws<'_>) -> Result<(), AuthError> {
        let message = jws.message.as_bytes();
        match jsonwebtoken::crypto::verify(jws.signature, message, &self.decoding, self.algorithm) {
            Ok(true) => Ok(()),
            Ok(false) | Err(_) => Err(AuthError::BadSignature),
        }
    }

    /// The key, if the cryptography can work with it: a trial on an empty signature ends in "no"
    /// for a sound key and in an error for a point that is not on the curve. (An Ed25519 key of
    /// under 32 bytes would panic there: callers check lengths first.)
    fn sound(kid: Option<String>, algorithm: KeyAlgorithm, decoding: DecodingKey) -> Option<Self> {
        let algorithm = algorithm.jws();
        jsonwebtoken::crypto::verify("", &[], &decoding, algorithm).ok()?;
        Some(Self { kid, algorithm, decoding })
    }
}

/// The keys that hold at one moment.
pub(super) struct KeySet {
    keys: Vec<Key>,
    /// Whether tokens name their key, as with a published set; a lone key serves all tokens.
    named: bool,
    /// Of what the set was read from; zero for a lone key, which never changes.
    digest: [u8; 32],
}

impl KeySet {
    /// HS256 with one secret.
    pub(super) fn secret(secret: &[u8]) -> Result<Self, SetupError> {
        let short = SetupError::ShortSecret { found: secret.len() };
        if secret.len() < MIN_SECRET_BYTES {
            return Err(short);
        }
        let Ok(decoding) = DecodingKey::from_secret(secret) else {
            return Err(short);
        };
        Ok(Self::lone(Key { kid: None, algorithm: Algorithm::HS256, decoding }))
    }

    /// One public key.
    pub(super) fn pem(pem: &str, algorithm: KeyAlgorithm) -> Result<Self, SetupError> {
        let bad = |reason| SetupError::BadPem { algorithm, reason };
        let decoding = match algorithm {
            KeyAlgorithm::Rs256 => DecodingKey::from_rsa_pem(pem.as_bytes()),
            KeyAlgorithm::Es256 => DecodingKey::from_ec_pem(pem.as_bytes()),
            KeyAlgorithm::EdDsa => DecodingKey::from_ed_pem(pem.as_bytes()),
        };
        let Ok(decoding) = decoding else {
            return Err(bad("it is no PEM, of another kind, or a private key"));
        };
        let strong = match algorithm {
            KeyAlgorithm::Rs256 => rsa_modulus(&decoding).is_some_and(|n| strong_modulus(&n)),
            KeyAlgorithm::Es256 => true,
            KeyAlgorithm::EdDsa => decoding.try_get_as_bytes().is_ok_and(|x| x.len() == 32),
        };
        if !strong {
            return Err(bad("it is a private key, or its length is out of bounds"));
        }
        let key = Key::sound(None, algorithm, decoding).ok_or(bad("it is on another curve"))?;
        Ok(Self::lone(key))
    }

    /// A published set (RFC 7517). Keys that are not for us (encryption, unknown kinds, symmetric
    /// ones, which have no place in public) are passed over, as section 5 asks; a set without any
    /// key for us is an error, and so is an overlong one.
    pub(super) fn jwks(body: &[u8], only: Option<KeyAlgorithm>) -> Result<Self, &'static str> {
        #[derive(Deserialize)]
        struct Document {
            keys: Vec<serde_json::Value>,
        }
        let Ok(document) = serde_json::from_slice::<Document>(body) else {
            return Err("it is no JSON Web Key Set");
        };
        if document.keys.len() > MAX_KEYS {
            return Err("it has more than 64 keys");
        }
        let keys: Vec<Key> = document
            .keys
            .into_iter()
            .filter_map(|key| serde_json::from_value::<PublicJwk>(key).ok()?.read(only))
            .collect();
        if keys.is_empty() {
            return Err("it has no key that verifies RS256, ES256 or EdDSA signatures");
        }
        Ok(Self { keys, named: true, digest: Sha256::digest(body).into() })
    }

    fn lone(key: Key) -> Self {
        Self { keys: vec![key], named: false, digest: [0; 32] }
    }

    /// The name under which a token verified by these keys is remembered. It holds the keys'
    /// digest, so that a change of keys forgets every token.
    pub(super) fn fingerprint(&self, token: &str) -> [u8; 32] {
        Sha256::new().chain_update(self.digest).chain_update(token).finalize().into()
    }

    /// Whether the token names a key that is not in the set: the one case in which asking the
    /// issuer again may help.
    pub(super) fn misses(&self, header: &Header) -> bool {
        self.named && header.kid.is_some() && !self.keys.iter().any(|key| key.kid == header.kid)
    }

    /// The one key for a token. A token without `kid` is served only where there is no choice:
    /// trying every key would let one request cost 64 verifications.
    pub(super) fn find(&self, header: &Header) -> Result<&Key, AuthError> {
        if self.misses(header) {
            return Err(AuthError::UnknownKey);
        }
        let by_name = self.named && header.kid.is_some();
        let mut fitting = self
            .keys
            .iter()
            .filter(|key| key.algorithm == header.algorithm && (!by_name || key.kid == header.kid));
        match (fitting.next(), fitting.next()) {
            (Some(key), None) => Ok(key),
            (None, _) => Err(AuthError::Malformed("has an `alg` that is not its key's")),
            (Some(_), Some(_)) => {
                Err(AuthError::Malformed("does not say by `kid` which of several keys signed it"))
            }
        }
    }
}

/// A key as published; private parts are not even read.
#[derive(Deserialize)]
struct PublicJwk {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    key_ops: Option<Vec<String>>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl PublicJwk {
    /// The key, if it is one for verifying signatures with an algorithm of ours. What the key is
    /// decides the algorithm; an `alg` beside it may only agree.
    fn read(self, only: Option<KeyAlgorithm>) -> Option<Key> {
        let algorithm = match (self.kty.as_str(), self.crv.as_deref()) {
            ("RSA", None) => KeyAlgorithm::Rs256,
            ("EC", Some("P-256")) => KeyAlgorithm::Es256,
            ("OKP", Some("Ed25519")) => KeyAlgorithm::EdDsa,
            _ => return None,
        };
        let agrees = self.alg.is_none_or(|name| KeyAlgorithm::parse(&name) == Some(algorithm))
            && only.is_none_or(|only| only == algorithm)
            && self.usage.is_none_or(|usage| usage == "sig")
            && self.key_ops.is_none_or(|ops| ops.iter().any(|op| op == "verify"));
        if !agrees {
            return None;
        }
        let decoding = match algorithm {
            KeyAlgorithm::Rs256 => {
                let (n, e) = (bytes(&self.n?)?, bytes(&self.e?)?);
                strong_modulus(&n).then(|| DecodingKey::from_rsa_raw_components(&n, &e))?
            }
            KeyAlgorithm::Es256 => {
                let (x, y) = (bytes(&self.x?)?, bytes(&self.y?)?);
                // 4 marks an uncompressed point (SEC 1, section 2.3.3).
                let point = [[4].as_slice(), x.as_slice(), y.as_slice()].concat();
                (x.len() == 32 && y.len() == 32).then(|| DecodingKey::from_ec_der(&point))?
            }
            KeyAlgorithm::EdDsa => {
                let x = bytes(&self.x?)?;
                (x.len() == 32).then(|| DecodingKey::from_ed_der(&x))?
            }
        };
        Key::sound(self.kid, algorithm, decoding)
    }
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

/// The modulus of an RSA key that came as PEM; nothing if it is a private key.
fn rsa_modulus(key: &DecodingKey) -> Option<Vec<u8>> {
    let public = jwk::Jwk::from_decoding_key(key, None).ok()?;
    if let jwk::AlgorithmParameters::RSA(parts) = public.algorithm {
        return bytes(&parts.n);
    }
    None
}

fn strong_modulus(n: &[u8]) -> bool {
    let mut significant = n.iter().skip_while(|byte| **byte == 0);
    let Some(first) = significant.next() else {
        return false;
    };
    // 8 less the leading zeros, without a conversion from u32.
    let top = (1..=8).rev().find(|bits| first >> (bits - 1) != 0).unwrap_or(0);
    RSA_BITS.contains(&(significant.count() * 8 + top))
}
