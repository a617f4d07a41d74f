//! A team's signing secrets: make, look, rotate, revoke, show the public keys; and say why a captured
//! call does not verify.
//!
//! A secret is shown once, when it is made. An answer kept for an `Idempotency-Key` is kept without
//! it, so nothing in the database holds it in the open.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use super::audit::{self, Deed};
use super::error::allow;
use super::once::{Answer, Key, once, whole};
use super::secrets::{Purpose, Vault, random};
use super::signers::{self, FRESH};
use super::{Ctx, Error, clock};
use crate::domain::hidden::Hidden;
use crate::domain::id::{JobId, Shard, SigningId};
use crate::domain::principal::{Act, Principal, Team};
use crate::domain::signature::verify::{Captured, Freshness, Why, header, verify};
use crate::domain::signature::{PublicKey, SigningKind, SigningSecret};
use crate::store::idempotency::Kept;
use crate::store::secrets::{self, SigningRow};
use crate::store::{Session, jobs};

/// The bytes of a new secret: as many as the signature's (RFC 2104, section 3), and those of a key
/// pair's seed (RFC 8032).
const SECRET_BYTES: usize = 32;
/// So many secrets of one queue and kind sign at once, at most: each is a signature in a header.
const MOST: usize = 5;
/// How long secrets that have ended are remembered, to say so of a call that they signed.
const REMEMBERED: TimeDelta = TimeDelta::days(30);

/// A secret without the secret.
#[derive(Clone, Debug)]
pub struct Signing {
    /// Its identity.
    pub id: SigningId,
    /// The queue whose calls it signs; none for all of the team's.
    pub queue: Option<String>,
    /// How it signs.
    pub kind: SigningKind,
    /// What targets check its signatures with, of a pair of keys.
    pub public_key: Option<PublicKey>,
    /// Where it stands.
    pub state: SigningState,
    /// A short keyed hash of it, equal for equal secrets of the team.
    pub mask: String,
    /// Who made it.
    pub created_by: String,
    /// When.
    pub created_at: DateTime<Utc>,
    /// From when on it signs nothing.
    pub expires_at: Option<DateTime<Utc>>,
}

/// Where a signing secret stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SigningState {
    /// It signs.
    Current,
    /// It signs beside the one that takes its place.
    Retiring,
    /// It signs no more.
    Ended,
}

/// A new secret, the only time that it is shown.
#[derive(Debug)]
pub struct Made {
    /// What is known of it.
    pub signing: Signing,
    /// The secret.
    pub secret: SigningSecret,
    /// Calls that are stamped later have its signature, whatever process makes them.
    pub signs_from: DateTime<Utc>,
}

/// Makes the secret of a team, or of one of its queues.
pub async fn create(
    ctx: &Ctx,
    who: &Principal,
    key: Option<&Key>,
    (queue, kind): (Option<&str>, SigningKind),
    render: impl Fn(&Made) -> Kept,
) -> Result<Answer<Made>, Error> {
    allow(who, Act::Manage)?;
    let vault = vault(ctx)?;
    let now = ctx.clock.now();
    let work = async |session: &Session| {
        let made = insert(session, (vault, who), (queue, kind), now).await?.ok_or(
            Error::SigningConflict(
                "there is a current secret of this kind already: rotate it, or revoke it first",
            ),
        )?;
        audit::record(session, who, made.deed("create"), now).await?;
        Ok(made)
    };
    let answer = once(ctx, key, now, work, render).await;
    vault.signers.forget(&who.team).await;
    answer
}

/// Makes a new secret in place of the current one, which goes on signing beside it for `overlap`.
pub async fn rotate(
    ctx: &Ctx,
    who: &Principal,
    key: Option<&Key>,
    ((queue, kind), overlap): ((Option<&str>, SigningKind), Duration),
    render: impl Fn(&Made) -> Kept,
) -> Result<Answer<Made>, Error> {
    allow(who, Act::Manage)?;
    let vault = vault(ctx)?;
    let now = ctx.clock.now();
    let work = async |session: &Session| {
        let (team, name) = (&who.team, queue.unwrap_or_default());
        // Whoever rotates at the same time waits here, and then finds no current one.
        let until = clock::after(now, overlap);
        let is_of = |row: &SigningRow| row.queue == name && row.kind == kind;
        if !secrets::succeed(session, team, (name, kind), until).await? {
            let active = secrets::active(session, team, now).await?;
            let is_current = |row: &SigningRow| is_of(row) && row.expires_at.is_none();
            return Err(if active.iter().any(is_current) {
                Error::Busy("somebody else has rotated the secret this moment".into())
            } else {
                Error::Missing { noun: "signing secret" }
            });
        }
        let active = secrets::active(session, team, now).await?;
        if active.iter().filter(|row| is_of(row)).count() >= MOST {
            return Err(Error::SigningConflict(
                "five secrets sign already: wait until one of them has ended, or revoke one",
            ));
        }
        let made = insert(session, (vault, who), (queue, kind), now).await?;
        let busy = || Error::Busy("somebody else has made a secret this moment".into());
        let made = made.ok_or_else(busy)?;
        audit::record(session, who, made.deed("rotate"), now).await?;
        Ok(made)
    };
    let answer = once(ctx, key, now, work, render).await;
    vault.signers.forget(&who.team).await;
    answer
}

async fn insert(
    session: &Session,
    (vault, who): (&Vault, &Principal),
    (queue, kind): (Option<&str>, SigningKind),
    now: DateTime<Utc>,
) -> Result<Option<Made>, Error> {
    let bytes: [u8; SECRET_BYTES] = random()?;
    let secret = SigningSecret::from_bytes(kind, &bytes);
    let secret = secret.map_err(|error| Error::Broken(error.to_string()))?;
    // It lives in no shard: the table is a small one beside them.
    let id = SigningId::new(now, Shard(0), super::random::bits());
    let (team, queue) = (&who.team, queue.unwrap_or_default());
    let row = SigningRow {
        id,
        team: team.clone(),
        queue: queue.to_owned(),
        kind,
        sealed: vault.keys().seal(team.as_str(), Purpose::Signing(id, kind, queue), &bytes)?,
        public_key: secret.public(),
        mask: vault.mask(team, &bytes),
        created_by: who.subject.as_str().to_owned(),
        created_at: now,
        expires_at: None,
    };
    secrets::prune(session, team, now - REMEMBERED).await?;
    if !secrets::insert(session, &row).await? {
        return Ok(None);
    }
    // Two of the time for which a process takes what it knows for current: one to hear, one to spare.
    let signs_from = clock::after(now, 2 * FRESH);
    Ok(Some(Made { signing: Signing::of(row, now), secret, signs_from }))
}

/// A team's secrets, newest first, those of the last month that have ended included.
pub async fn list(ctx: &Ctx, who: &Principal) -> Result<Vec<Signing>, Error> {
    allow(who, Act::Manage)?;
    let now = ctx.clock.now();
    let rows = secrets::list(&ctx.store, &who.team).await?;
    Ok(rows.into_iter().map(|row| Signing::of(row, now)).collect())
}

/// The public keys that check a team's calls at `now`, the newest first. Whoever asks is not known:
/// a team that has none and one that never was are the same.
pub async fn public_keys(ctx: &Ctx, team: &Team) -> Result<Vec<Signing>, Error> {
    let now = ctx.clock.now();
    let rows = secrets::active(&ctx.store.session().await?, team, now).await?;
    let pairs = rows.into_iter().filter(|row| row.public_key.is_some());
    Ok(pairs.map(|row| Signing::of(row, now)).collect())
}

/// Ends a secret at once. The last one of a queue leaves its calls to the team's; the last one of
/// the team leaves them unsigned.
pub async fn revoke(ctx: &Ctx, who: &Principal, id: SigningId) -> Result<(), Error> {
    allow(who, Act::Manage)?;
    let now = ctx.clock.now();
    let ended = whole(ctx, async |session| {
        let ended = secrets::revoke(session, &who.team, id, now).await?;
        if ended {
            audit::record(session, who, Deed::of("revoke", object(id)), now).await?;
        }
        Ok(ended)
    })
    .await?;
    if let Some(vault) = &ctx.limits.vault {
        vault.signers.forget(&who.team).await;
    }
    if ended { Ok(()) } else { Err(Error::Missing { noun: "signing secret" }) }
}

/// What was found about a captured call.
#[derive(Debug)]
pub struct Verdict {
    /// What is wrong: a code and words for each; nothing if it verifies.
    pub reasons: Vec<(&'static str, String)>,
    /// The secret that signed it.
    pub by: Option<SigningId>,
}

/// Says whether a captured call verifies with the secrets of the caller's team, and why not. It tells
/// no secret and makes no signature.
pub async fn judge(
    ctx: &Ctx,
    who: &Principal,
    (headers, body): (&[(String, String)], &[u8]),
    tolerance: u64,
) -> Result<Verdict, Error> {
    allow(who, Act::Read)?;
    let now = ctx.clock.now();
    let vault = vault(ctx)?;
    let rows = secrets::list(&ctx.store, &who.team).await?;
    let known = rows.iter().map(|row| signers::open(vault, row));
    let known = known.collect::<Result<Vec<_>, _>>()?;
    let job = match header(headers, crate::domain::signature::ID).map(str::parse::<JobId>) {
        Some(Ok(id)) => jobs::get(&ctx.store.session().await?, id, &who.team).await?,
        Some(Err(_)) | None => None,
    };
    let sent = job.as_ref().and_then(|job| job.asked.payload.as_deref());
    let call = Captured { headers, body, sent };
    let (by, why) = verify(call, &known, Freshness { now: now.timestamp(), tolerance });
    let mut reasons: Vec<_> = why.iter().map(|why| (why.code(), why.detail())).collect();
    let signer = by.and_then(|place| rows.get(place));
    match (signer, &job) {
        (Some(row), _) if row.expires_at.is_some_and(|end| end <= now) => {
            reasons.push(("ended-secret", format!("the secret {} signs no more", row.id)));
        }
        (Some(row), Some(job)) if !row.queue.is_empty() && row.queue != job.asked.queue => {
            let (id, of, queue) = (row.id, &row.queue, &job.asked.queue);
            let told =
                format!("the secret {id} is that of the queue {of}; the job waits in {queue}");
            reasons.push(("other-queue", told));
        }
        (None, None) if !blames_headers(&why) => reasons.push(("unknown-job", UNKNOWN_JOB.into())),
        (_, _) => {}
    }
    if known.is_empty() {
        reasons.push((
            "no-secret",
            "your team has no signing secret: its calls are not signed".into(),
        ));
    }
    Ok(Verdict { reasons, by: signer.map(|row| row.id) })
}

const UNKNOWN_JOB: &str = "webhook-id names no job of your team: the call was made for another team, or \
                           not by this installation";

fn blames_headers(why: &[Why]) -> bool {
    why.iter().any(|why| matches!(why, Why::Missing(_) | Why::Malformed(..)))
}

fn vault(ctx: &Ctx) -> Result<&Vault, Error> {
    ctx.limits.vault.as_deref().ok_or(Error::SecretKeyMissing)
}

impl Made {
    /// Its making, for the record; the mask tells secrets apart and tells none.
    fn deed(&self, verb: &'static str) -> Deed<'static> {
        let Signing { id, queue, kind, mask, .. } = &self.signing;
        let after = serde_json::json!({ "queue": queue, "kind": kind.as_str(), "mask": mask });
        Deed::of(verb, object(*id)).change(serde_json::Value::Null, after)
    }
}

fn object(id: SigningId) -> String {
    format!("signing/secrets/{id}")
}

impl Signing {
    fn of(row: SigningRow, now: DateTime<Utc>) -> Self {
        let state = match row.expires_at {
            None => SigningState::Current,
            Some(end) if end > now => SigningState::Retiring,
            Some(_) => SigningState::Ended,
        };
        Self {
            id: row.id,
            queue: (!row.queue.is_empty()).then_some(row.queue),
            kind: row.kind,
            public_key: row.public_key,
            state,
            mask: row.mask,
            created_by: row.created_by,
            created_at: row.created_at,
            expires_at: row.expires_at,
        }
    }
}

impl Made {
    /// The text of a shared secret, which targets are given.
    pub fn text(&self) -> Option<Hidden> {
        self.secret.text()
    }
}
