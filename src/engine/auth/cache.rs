//! Remembers verified tokens, so that a hot client costs a hash instead of a signature check.
//! It holds no tokens, only their fingerprints, and decides nothing: who asks checks the time.

use std::{
    collections::HashMap,
    mem,
    sync::{Mutex, PoisonError},
};

use super::claims::Verified;

/// How many entries one generation has: 4,096 tokens in the two, about one MiB.
const GENERATION: usize = 2048;

/// Two generations: new entries and those in use are in the young one; when it is full, it becomes
/// the old one, and what nobody asked for since is dropped. Bounded, and no clock or list to keep.
#[derive(Default)]
pub(super) struct Cache(Mutex<Generations>);

#[derive(Default)]
struct Generations {
    young: HashMap<[u8; 32], Verified>,
    old: HashMap<[u8; 32], Verified>,
}

impl Cache {
    pub(super) fn get(&self, fingerprint: &[u8; 32]) -> Option<Verified> {
        let mut generations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = generations.young.get(fingerprint) {
            return Some(found.clone());
        }
        let found = generations.old.remove(fingerprint)?;
        generations.put(*fingerprint, found.clone());
        Some(found)
    }

    pub(super) fn put(&self, fingerprint: [u8; 32], verified: Verified) {
        let mut generations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        generations.put(fingerprint, verified);
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        let generations = self.0.lock().unwrap();
        generations.young.len() + generations.old.len()
    }
}

impl Generations {
    fn put(&mut self, fingerprint: [u8; 32], verified: Verified) {
        if self.young.len() >= GENERATION {
            self.old = mem::take(&mut self.young);
        }
        self.young.insert(fingerprint, verified);
    }
}
