//! Passwords: hashed with argon2id, on threads of their own and few at a time, since each takes its
//! 19 MiB of memory. No password is kept, compared or logged here as a text.

use std::sync::Arc;
use std::time::Duration;

use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use subtle::ConstantTimeEq as _;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::engine::{Error, Refusal, random};

/// Memory in KiB, passes, lanes: the first choice of OWASP's password storage cheat sheet.
const COST: (u32, u32, u32) = (19 * 1_024, 2, 1);
const SALT_LEN: usize = 16;
const HASH_LEN: usize = 32;
/// Hashes at a time.
const AT_ONCE: usize = 2;
/// How long one waits for its turn: beyond, the caller is told to come back.
const PATIENCE: Duration = Duration::from_secs(5);

/// The threads' turns.
pub(crate) struct Turns(Arc<Semaphore>);

impl Default for Turns {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }
}

impl Turns {
    /// A password's hash, in the PHC string format, with a salt of its own.
    pub(crate) async fn hash(&self, password: &str) -> Result<String, Error> {
        let salt = random::bytes::<SALT_LEN>()?;
        let password = password.to_owned();
        let hash = self.run(move || derive(&password, &salt, COST)).await??;
        Ok(spell(&salt, &hash))
    }

    /// Whether a password has this hash; without a hash, as long a no.
    pub(crate) async fn verify(&self, password: &str, kept: Option<&str>) -> Result<bool, Error> {
        let read = kept.map(|kept| read(kept).ok_or_else(corrupt)).transpose()?;
        let is_known = read.is_some();
        let (cost, salt, hash) = read.unwrap_or((COST, vec![0; SALT_LEN], [0; HASH_LEN]));
        let password = password.to_owned();
        let found = self.run(move || derive(&password, &salt, cost)).await??;
        Ok(bool::from(found.ct_eq(&hash)) && is_known)
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        let turn = timeout(PATIENCE, Arc::clone(&self.0).acquire_owned()).await;
        let Ok(Ok(turn)) = turn else {
            return Err(Refusal::TooManyTries { retry_after_s: 1 }.into());
        };
        let work = move || {
            // Held by the thread: a caller that hangs up does not end the work.
            let _turn = turn;
            work()
        };
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(|error| Error::Broken(format!("hashing a password broke off: {error}")))
    }
}

type Cost = (u32, u32, u32);

fn derive(password: &str, salt: &[u8], cost: Cost) -> Result<[u8; HASH_LEN], Error> {
    let broken = |error: argon2::Error| Error::Broken(format!("argon2: {error}"));
    let (memory, passes, lanes) = cost;
    let params = Params::new(memory, passes, lanes, Some(HASH_LEN)).map_err(broken)?;
    let mut hash = [0; HASH_LEN];
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_into(password.as_bytes(), salt, &mut hash)
        .map_err(broken)?;
    Ok(hash)
}

fn spell(salt: &[u8], hash: &[u8]) -> String {
    let (memory, passes, lanes) = COST;
    let (salt, hash) = (STANDARD_NO_PAD.encode(salt), STANDARD_NO_PAD.encode(hash));
    format!("$argon2id$v=19$m={memory},t={passes},p={lanes}${salt}${hash}")
}

fn read(kept: &str) -> Option<(Cost, Vec<u8>, [u8; HASH_LEN])> {
    let mut parts = kept.strip_prefix("$argon2id$v=19$")?.split('$');
    let mut cost = parts.next()?.split(',');
    let mut number = |name: &str| cost.next()?.strip_prefix(name)?.parse::<u32>().ok();
    let cost = (number("m=")?, number("t=")?, number("p=")?);
    let salt = STANDARD_NO_PAD.decode(parts.next()?).ok()?;
    let hash = STANDARD_NO_PAD.decode(parts.next()?).ok()?;
    Some((cost, salt, hash.try_into().ok()?))
}

fn corrupt() -> Error {
    Error::Broken("the database holds a password in an unreadable form".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_password_has_its_own_hash_only() {
        let turns = Turns::default();
        let password = "correct horse battery staple";
        let (one, other) =
            (turns.hash(password).await.unwrap(), turns.hash(password).await.unwrap());
        assert_ne!(one, other);
        assert!(!one.contains("horse"));
        assert!(turns.verify(password, Some(&one)).await.unwrap());
        assert!(!turns.verify("correct horse battery stable", Some(&one)).await.unwrap());
        assert!(!turns.verify(password, None).await.unwrap());
        assert!(turns.verify(password, Some("$argon2id$v=19$m=1")).await.is_err());
    }

    /// Vectors of the reference implementation would use other costs; what is checked here is that
    /// the costs of a row are obeyed, so that they can be raised later.
    #[tokio::test]
    async fn a_hash_of_other_costs_is_still_read() {
        let hash = derive("a password of old", &[1; SALT_LEN], (8, 1, 1)).unwrap();
        let (salt, hash) = (STANDARD_NO_PAD.encode([1; SALT_LEN]), STANDARD_NO_PAD.encode(hash));
        let kept = format!("$argon2id$v=19$m=8,t=1,p=1${salt}${hash}");
        assert!(Turns::default().verify("a password of old", Some(&kept)).await.unwrap());
    }
}
