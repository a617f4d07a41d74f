//! Sealing everything anew with the newest key, so that older ones can be forgotten. It may run
//! beside servers, and again: each row is replaced only if it is still the one that was read. The
//! canary comes last: as long as anything is left under an older key, a start without that key is
//! refused.

use uuid::Uuid;

use super::secrets::{Keyring, Purpose, Vault};
use super::{Ctx, Error};
use crate::domain::id::{JobId, ScheduleId, Shard};
use crate::domain::job::{SecretHeader, Target};
use crate::domain::principal::Team;
use crate::store::secrets;

/// What was sealed anew, and what was not.
#[derive(Clone, Debug, Default)]
pub struct Rewrapped {
    /// Signing secrets.
    pub signing: usize,
    /// Jobs with secret headers.
    pub jobs: usize,
    /// Schedules with secret headers.
    pub schedules: usize,
    /// What none of the keys opens, or what changed at the same moment; each in a sentence.
    pub left: Vec<String>,
}

/// Seals everything with the newest key that is not sealed with it.
pub async fn rewrap(ctx: &Ctx, vault: &Vault) -> Result<Rewrapped, Error> {
    let mut done = Rewrapped::default();
    signing(ctx, vault.keys(), &mut done).await?;
    for shard in ctx.shards.iter() {
        jobs(ctx, vault.keys(), *shard, &mut done).await?;
        schedules(ctx, vault.keys(), *shard, &mut done).await?;
    }
    if done.left.is_empty() {
        canary(ctx, vault.keys()).await?;
    }
    Ok(done)
}

async fn signing(ctx: &Ctx, keys: &Keyring, done: &mut Rewrapped) -> Result<(), Error> {
    let prefix = keys.newest_prefix();
    let mut after = (String::new(), Uuid::nil());
    loop {
        let rows = secrets::stale(&ctx.store, &prefix, (&after.0, after.1)).await?;
        let Some(last) = rows.last() else { return Ok(()) };
        after = (last.team.as_str().to_owned(), last.id.uuid());
        for row in &rows {
            let purpose = Purpose::Signing(row.id, row.kind, &row.queue);
            match keys.reseal(row.team.as_str(), purpose, &row.sealed)? {
                Ok(sealed) => {
                    done.signing += usize::from(secrets::reseal(&ctx.store, row, &sealed).await?);
                }
                Err(why) => done.left.push(format!("the signing secret {}: {why}", row.id)),
            }
        }
    }
}

async fn jobs(ctx: &Ctx, keys: &Keyring, shard: Shard, done: &mut Rewrapped) -> Result<(), Error> {
    let mut after = Uuid::nil();
    loop {
        let mut page = secrets::jobs(&ctx.store, shard, after).await?;
        let Some(last) = page.last() else { return Ok(()) };
        after = last.id;
        for holder in &mut page {
            let id = JobId::from_uuid(holder.id);
            match target(keys, &holder.team, &mut holder.document.target)? {
                Ok(false) => {}
                Ok(true) if secrets::reseal_job(&ctx.store, shard, holder).await? => done.jobs += 1,
                Ok(true) => done.left.push(format!("the job {id} changed this moment")),
                Err(why) => done.left.push(format!("the job {id}: {why}")),
            }
        }
    }
}

async fn schedules(
    ctx: &Ctx,
    keys: &Keyring,
    shard: Shard,
    done: &mut Rewrapped,
) -> Result<(), Error> {
    let mut after = Uuid::nil();
    loop {
        let mut page = secrets::schedules(&ctx.store, shard, after).await?;
        let Some(last) = page.last() else { return Ok(()) };
        after = last.id;
        for holder in &mut page {
            let id = ScheduleId::from_uuid(holder.id);
            match target(keys, &holder.team, &mut holder.document.job.spec.target)? {
                Ok(false) => {}
                Ok(true) if secrets::reseal_schedule(&ctx.store, shard, holder).await? => {
                    done.schedules += 1;
                }
                Ok(true) => done.left.push(format!("the schedule {id} changed this moment")),
                Err(why) => done.left.push(format!("the schedule {id}: {why}")),
            }
        }
    }
}

/// Seals a target's headers anew; whether any was not sealed with the newest key, or why one does
/// not open.
fn target(keys: &Keyring, team: &Team, target: &mut Target) -> Result<Result<bool, String>, Error> {
    let (prefix, origin) = (keys.newest_prefix(), target.origin().unwrap_or_default());
    let mut changed = false;
    for header in &mut target.secret_headers {
        let SecretHeader::Sealed { name, sealed, .. } = header else { continue };
        if sealed.starts_with(&prefix) {
            continue;
        }
        match keys.reseal(team.as_str(), Purpose::Header(name, &origin), sealed)? {
            Ok(again) => *sealed = again,
            Err(why) => return Ok(Err(format!("the header {name}: {why}"))),
        }
        changed = true;
    }
    Ok(Ok(changed))
}

async fn canary(ctx: &Ctx, keys: &Keyring) -> Result<(), Error> {
    let Some(old) = secrets::canary(&ctx.store).await? else { return Ok(()) };
    if old.starts_with(&keys.newest_prefix()) {
        return Ok(());
    }
    let again = keys.reseal("", Purpose::Masks, &old)?;
    let again = again.map_err(|why| Error::Broken(why.to_string()))?;
    secrets::reseal_canary(&ctx.store, &old, &again).await.map(drop)?;
    Ok(())
}
