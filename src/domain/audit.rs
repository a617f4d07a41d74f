//! The audit log as a chain: what an entry says, the hash that binds it to the one before, and the
//! walk that finds the first broken link. Pure: entries are read and written elsewhere.
//!
//! The hash is SHA-256 over the previous hash and every field of the entry, each behind its length,
//! so that no two entries have one encoding. It has no key: whoever can rewrite the whole table can
//! make a new chain of it, which only a hash that was kept elsewhere shows.

use chrono::{DateTime, Utc};
use sha2::{Digest, Sha256};

use super::principal::Team;

/// A SHA-256.
pub type Hash = [u8; 32];

/// What stands before the first entry of a team.
pub const GENESIS: Hash = [0; 32];

/// Begins every encoding, so that a hash of this log is none of another thing.
const DOMAIN: &str = "axle audit v1";

/// Who did what, when, from where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The team in which it was done.
    pub team: Team,
    /// From 1 without gaps, in each team.
    pub seq: i64,
    /// When, by the database's clock.
    pub at: DateTime<Utc>,
    /// How the actor came in: `user`, `key`, `token`, `dev`, `system`.
    pub kind: String,
    /// The actor: a token's subject, a key's name.
    pub subject: String,
    /// What the actor signed in with: a key's id, a token's `jti`.
    pub credential: Option<String>,
    /// What was done: `create`, `pause` …
    pub verb: String,
    /// To what, as a path below `/v1`: `queues/mail`.
    pub object: String,
    /// How it stood before, as JSON.
    pub before: Option<String>,
    /// How it stands since, as JSON.
    pub after: Option<String>,
    /// Why, as the actor wrote.
    pub reason: Option<String>,
    /// The caller's address.
    pub address: Option<String>,
    /// The id of the request.
    pub request_id: Option<String>,
}

impl Entry {
    /// The hash that binds this entry to the one before, whose hash is `previous`.
    pub fn hash(&self, previous: &Hash) -> Hash {
        let mut hash = Sha256::new();
        let mut part = |bytes: &[u8]| {
            // The length first, so that nothing can move from one part into the next.
            hash.update(bytes.len().to_be_bytes());
            hash.update(bytes);
        };
        part(DOMAIN.as_bytes());
        part(previous);
        part(self.team.as_str().as_bytes());
        part(&self.seq.to_be_bytes());
        part(&self.at.timestamp_micros().to_be_bytes());
        for text in [&self.kind, &self.subject, &self.verb, &self.object] {
            part(text.as_bytes());
        }
        let may_lack = [
            &self.credential,
            &self.before,
            &self.after,
            &self.reason,
            &self.address,
            &self.request_id,
        ];
        for text in may_lack {
            part(&[u8::from(text.is_some())]);
            part(text.as_deref().unwrap_or_default().as_bytes());
        }
        hash.finalize().into()
    }
}

/// An entry in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// What it says.
    pub entry: Entry,
    /// The hash of the entry before.
    pub previous: Hash,
    /// Its own.
    pub hash: Hash,
}

/// The end of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The number of the newest entry; 0 before the first.
    pub seq: i64,
    /// Its hash.
    pub hash: Hash,
}

impl Head {
    /// Before the first entry.
    pub const START: Self = Self { seq: 0, hash: GENESIS };

    /// The head after the next link; an error names what is wrong with it.
    pub fn follow(self, link: &Link) -> Result<Self, Broken> {
        let seq = self.seq + 1;
        if link.entry.seq != seq {
            return Err(Broken::Missing { seq });
        }
        if link.previous != self.hash {
            return Err(Broken::Cut { seq });
        }
        if link.entry.hash(&self.hash) != link.hash {
            return Err(Broken::Altered { seq });
        }
        Ok(Self { seq, hash: link.hash })
    }
}

/// The first broken link of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// An entry is not there, though later ones are.
    #[error("entry {seq} is missing")]
    Missing {
        /// Its number.
        seq: i64,
    },
    /// An entry does not continue the one before.
    #[error("entry {seq} does not continue the entry before it")]
    Cut {
        /// Its number.
        seq: i64,
    },
    /// An entry is not as it was written.
    #[error("entry {seq} was altered")]
    Altered {
        /// Its number.
        seq: i64,
    },
    /// The newest entries are gone, or were replaced.
    #[error("the log ends with entry {found}, and entry {expected} was written as its last")]
    Truncated {
        /// The number of the last that is there.
        found: i64,
        /// The number that was noted.
        expected: i64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(seq: i64) -> Entry {
        Entry {
            team: Team::parse("acme").unwrap(),
            seq,
            at: DateTime::from_timestamp_micros(1_796_004_000_000_000 + seq).unwrap(),
            kind: "key".into(),
            subject: "billing".into(),
            credential: Some("key_7k3m9x2p".into()),
            verb: "pause".into(),
            object: "queues/mail".into(),
            before: None,
            after: Some(r#"{"paused":true}"#.into()),
            reason: Some("maintenance".into()),
            address: Some("127.0.0.1".into()),
            request_id: Some("req_1".into()),
        }
    }

    fn chain(length: i64) -> Vec<Link> {
        let mut head = Head::START;
        (1..=length)
            .map(|seq| {
                let entry = entry(seq);
                let hash = entry.hash(&head.hash);
                let link = Link { entry, previous: head.hash, hash };
                head = head.follow(&link).unwrap();
                link
            })
            .collect()
    }

    fn walk(links: &[Link]) -> Result<Head, Broken> {
        links.iter().try_fold(Head::START, Head::follow)
    }

    #[test]
    fn a_whole_chain_holds_and_every_change_breaks_it() {
        let whole = chain(4);
        assert_eq!(walk(&whole).map(|head| head.seq), Ok(4));
        let mut removed = whole.clone();
        removed.remove(1);
        assert_eq!(walk(&removed), Err(Broken::Missing { seq: 2 }));
        let mut swapped = whole.clone();
        let (one, two) = (whole[1].entry.clone(), whole[2].entry.clone());
        swapped[1].entry = Entry { seq: 2, ..two };
        swapped[2].entry = Entry { seq: 3, ..one };
        assert_eq!(walk(&swapped), Err(Broken::Altered { seq: 2 }));
        let mut rehashed = whole.clone();
        rehashed[1].entry.subject = "somebody else".into();
        rehashed[1].hash = rehashed[1].entry.hash(&rehashed[1].previous);
        assert_eq!(walk(&rehashed), Err(Broken::Cut { seq: 3 }));
    }

    #[test]
    fn the_hash_covers_every_field() {
        let changes: [fn(&mut Entry); 13] = [
            |e| e.team = Team::parse("rival").unwrap(),
            |e| e.seq = 2,
            |e| e.at = DateTime::UNIX_EPOCH,
            |e| e.kind = "token".into(),
            |e| e.subject = "x".into(),
            |e| e.credential = None,
            |e| e.verb = "resume".into(),
            |e| e.object = "queues/x".into(),
            |e| e.before = Some(String::new()),
            |e| e.after = None,
            |e| e.reason = None,
            |e| e.address = None,
            |e| e.request_id = None,
        ];
        let hash = entry(1).hash(&GENESIS);
        assert_ne!(entry(1).hash(&hash), hash);
        for (n, change) in changes.iter().enumerate() {
            let mut changed = entry(1);
            change(&mut changed);
            assert_ne!(changed.hash(&GENESIS), hash, "change {n}");
        }
        // What moves from one field into the next is another entry.
        let moved = Entry { kind: "keyb".into(), subject: "illing".into(), ..entry(1) };
        assert_ne!(moved.hash(&GENESIS), hash);
    }
}
