//! Doing a request once, however often it comes: the Idempotency-Key (conventions 2.3).
//!
//! The key is taken, the work done and the answer kept in one transaction. A second request with
//! the same key waits inside the database until the first has committed and then gets the same
//! answer, byte for byte; if the first failed, the second does the work. So there is no moment at
//! which two of them run (bugs B108 to B112).

use chrono::{DateTime, Utc};
use sha2::{Digest, Sha256};

use super::{Ctx, Error, clock, place};
use crate::domain::principal::Principal;
use crate::store::idempotency;
use crate::store::{self, Session};

pub use crate::store::idempotency::{Kept, Key};

/// What a caller is answered.
#[derive(Debug)]
pub enum Answer<T> {
    /// The work was done now.
    Fresh(T, Kept),
    /// It had been done; this was the answer.
    Replayed(Kept),
}

/// What makes a request the same as another one.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Method and route template, such as `POST /v1/jobs/{id}/cancel`.
    pub route: &'a str,
    /// The path as it came, so that two jobs' cancellations are told apart.
    pub path: &'a str,
    /// The body as it came.
    pub body: &'a [u8],
}

/// The key `text` of a caller's request. The scope is (team, kind of principal, its queues, route,
/// key): no two teams or endpoints ever share an answer, and who reaches some queues gets none that
/// was about another. The fingerprint covers path and body.
pub fn key(ctx: &Ctx, who: &Principal, request: Request<'_>, text: &str) -> Key {
    let mut scope = Sha256::new();
    let kind = who.kind.as_str();
    for part in [who.team.as_str(), kind, request.route, text] {
        // Length first, so that no two lists of parts read the same.
        scope.update(part.len().to_be_bytes());
        scope.update(part);
    }
    for queue in who.scope.queues().unwrap_or_default() {
        scope.update(queue.len().to_be_bytes());
        scope.update(queue);
    }
    let scope = scope.finalize().to_vec();
    let mut fingerprint = Sha256::new();
    fingerprint.update(request.path.len().to_be_bytes());
    fingerprint.update(request.path);
    fingerprint.update(request.body);
    Key {
        shard: place::by_hash(ctx, &scope),
        scope,
        fingerprint: fingerprint.finalize().to_vec(),
        expires_at: clock::after(ctx.clock.now(), ctx.limits.idempotency_ttl),
    }
}

/// Does `work` in one transaction, once per key; without a key, simply in one transaction.
/// `render` makes the answer that is given, and kept.
pub async fn once<T>(
    ctx: &Ctx,
    key: Option<&Key>,
    now: DateTime<Utc>,
    work: impl AsyncFnOnce(&Session) -> Result<T, Error>,
    render: impl Fn(&T) -> Kept,
) -> Result<Answer<T>, Error> {
    let Some(key) = key else {
        let done = whole(ctx, work).await?;
        let kept = render(&done);
        return Ok(Answer::Fresh(done, kept));
    };
    let session = ctx.store.session().await?;
    match idempotency::take(&session, key, now).await {
        Ok(true) => {}
        Ok(false) => return replay(&session, key).await,
        // Waited for the first request as long as a lock may be waited for.
        Err(store::Error::Locked(_)) => return Err(Error::KeyInFlight),
        Err(error) => return Err(error.into()),
    }
    let done = finish(&session, work(&session).await).await?;
    let kept = render(&done);
    idempotency::keep(&session, key, &kept).await?;
    session.commit().await?;
    Ok(Answer::Fresh(done, kept))
}

/// Does `work` in one transaction: for what takes no key, since doing it twice is the same as once.
pub async fn whole<T>(
    ctx: &Ctx,
    work: impl AsyncFnOnce(&Session) -> Result<T, Error>,
) -> Result<T, Error> {
    let session = ctx.store.session().await?;
    session.begin();
    let done = finish(&session, work(&session).await).await?;
    session.commit().await?;
    Ok(done)
}

/// A refusal leaves nothing behind, the key included: the caller may mend the request.
async fn finish<T>(session: &Session, done: Result<T, Error>) -> Result<T, Error> {
    if done.is_err() {
        session.rollback().await;
    }
    done
}

async fn replay<T>(session: &Session, key: &Key) -> Result<Answer<T>, Error> {
    let found = idempotency::get(session, key).await;
    session.rollback().await;
    match found? {
        Some((fingerprint, _)) if fingerprint != key.fingerprint => Err(Error::KeyReused),
        Some((_, kept)) => Ok(Answer::Replayed(kept)),
        // It was pruned between the two statements.
        None => Err(Error::KeyInFlight),
    }
}
