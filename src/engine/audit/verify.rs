//! Proving the log: the chain of a team is walked from its first entry to the noted end.

use crate::domain::audit::{Broken, Head};
use crate::domain::principal::Team;
use crate::engine::Error;
use crate::store::{Store, audit};

/// Entries read at a time.
const PAGE: i64 = 1_000;

/// What the walk found: how far the chain holds, and the first link that does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The last entry that holds. Its hash, kept elsewhere, proves everything up to it later.
    pub head: Head,
    /// What is wrong with the next.
    pub broken: Option<Broken>,
}

/// Every team that has a log.
pub async fn teams(store: &Store) -> Result<Vec<Team>, Error> {
    Ok(audit::teams(store).await?)
}

/// Walks the chain of a team. What is added meanwhile is walked too.
pub async fn verify(store: &Store, team: &Team) -> Result<Checked, Error> {
    let mut head = Head::START;
    let mut noted = None;
    loop {
        let links = audit::walk(store, team, head.seq, PAGE).await?;
        for link in &links {
            match head.follow(link) {
                Ok(next) => head = next,
                Err(broken) => return Ok(Checked { head, broken: Some(broken) }),
            }
        }
        if links.is_empty() {
            // The end was noted with its entry: one that was read before a look at the entries is
            // among them.
            if let Some(Head { seq, hash }) = noted
                && (seq > head.seq || (seq == head.seq && hash != head.hash))
            {
                let broken = Broken::Truncated { found: head.seq, expected: seq };
                return Ok(Checked { head, broken: Some(broken) });
            }
            let newest = audit::head(store, team).await?.unwrap_or(Head::START);
            if newest == head {
                return Ok(Checked { head, broken: None });
            }
            if newest.seq < head.seq {
                let broken = Broken::Truncated { found: head.seq, expected: newest.seq };
                return Ok(Checked { head, broken: Some(broken) });
            }
            noted = Some(newest);
        }
    }
}
