//! What an owner does with jobs before and beside their runs: create, look, list.

use super::error::{allow, allow_queue};
use super::group::{Joined, Joining};
use super::once::{Answer, Key, once};
use super::register::{Registered, due_at, register};
use super::{Ctx, Error, history, place, privacy, quota, random, secrets};
use crate::domain::id::JobId;
use crate::domain::invalid::Invalid;
use crate::domain::job::{Job, NewJob, OnDuplicate};
use crate::domain::principal::{Act, Principal};
use crate::store::idempotency::Kept;
use crate::store::jobs;

pub use crate::store::jobs::Filter;
use crate::telemetry::metrics as names;

/// Whether a batch is taken whole or item by item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Batch {
    /// One bad item refuses all.
    Atomic,
    /// Each item has its own answer.
    EachAlone,
}

/// What became of one item of a batch.
#[derive(Clone, Debug)]
pub enum Item {
    /// A new job.
    Created(Job),
    /// The unfinished job that has the unique key.
    Existing(Job),
    /// That job, where the caller wanted an error; none if it is of a queue beyond the caller's.
    Duplicate(Option<JobId>),
    /// Values that cannot be accepted.
    Invalid(Invalid),
}

/// Registers a job: durable when this returns.
pub async fn create(
    ctx: &Ctx,
    who: &Principal,
    key: Option<&Key>,
    mut new: NewJob,
    render: impl Fn(&Registered) -> Kept,
) -> Result<Answer<Registered>, Error> {
    allow(who, Act::Write)?;
    allow_queue(who, &new.queue)?;
    ctx.limits.guard.admit_target(&new.spec.target, "#")?;
    seal(ctx, who, &mut new, "#")?;
    let veil = privacy::veil(ctx, who);
    veil.refuse_masks("#/payload", &new.payload).into_result(())?;
    let repeats = (key, new.unique_key.as_deref());
    let room = quota::admit(ctx, who, repeats, (1, new.payload.len())).await?;
    let answer = match together(ctx, who, key, new, &render).await? {
        Together::Done(answer) => answer,
        Together::Alone(new) => {
            let answer = alone(ctx, who, key, new, render).await?;
            if let Answer::Fresh(Registered::New(job), _) = &answer {
                ctx.wake.due(job.id.shard(), job.asked.due_at);
            }
            answer
        }
    };
    if let Answer::Fresh(Registered::New(job), _) = &answer {
        room.keep();
        count(job, "api");
    }
    Ok(answer)
}

/// What became of a registration that went with others.
enum Together {
    Done(Answer<Registered>),
    /// Nothing: it must go alone, where there is time to look what stands against it.
    Alone(NewJob),
}

/// Registers a job in one transaction with those that arrive at the same time. The answer is made
/// before, so that it can be kept with the job.
async fn together(
    ctx: &Ctx,
    who: &Principal,
    key: Option<&Key>,
    new: NewJob,
    render: impl Fn(&Registered) -> Kept,
) -> Result<Together, Error> {
    let now = ctx.clock.now();
    let shard = match (&new.unique_key, key) {
        (Some(unique), _) => place::by_key(ctx, &who.team, unique),
        (None, Some(key)) => key.shard,
        (None, None) => ctx.group.shard(&ctx.shards),
    };
    let id = JobId::new(now, shard, random::bits());
    let due_at = due_at(new.due, now);
    let made = Registered::New(Job::registered(id, who.team.clone(), &new, (due_at, now)));
    let kept = render(&made);
    let (team, key) = (who.team.clone(), key.cloned());
    let joined = ctx.group.join(Joining { id, team, new, due_at, at: now, key, kept }).await?;
    Ok(match joined {
        Joined::Committed(joining) => Together::Done(Answer::Fresh(made, joining.kept)),
        Joined::LeftOut(joining) => Together::Alone(joining.new),
    })
}

/// Registers a job in a transaction of its own.
async fn alone(
    ctx: &Ctx,
    who: &Principal,
    key: Option<&Key>,
    new: NewJob,
    render: impl Fn(&Registered) -> Kept,
) -> Result<Answer<Registered>, Error> {
    let now = ctx.clock.now();
    let reject = new.on_duplicate == OnDuplicate::Reject;
    let work = async |session: &crate::store::Session| {
        let place = (key.map(|key| key.shard), now);
        let mut made = register(ctx, session, &who.team, vec![new], place).await?;
        match made.pop() {
            Some(Registered::Existing(job)) if reject || !reaches(who, &job) => {
                Err(duplicate(who, &job))
            }
            Some(made) => Ok(made),
            None => Err(Error::Broken("a registration had no answer".into())),
        }
    };
    once(ctx, key, now, work, render).await
}

/// Registers up to a thousand jobs in one transaction.
pub async fn create_batch(
    ctx: &Ctx,
    who: &Principal,
    key: Option<&Key>,
    (mode, items): (Batch, Vec<Result<NewJob, Invalid>>),
    render: impl Fn(&Vec<Item>) -> Kept,
) -> Result<Answer<Vec<Item>>, Error> {
    allow(who, Act::Write)?;
    items.iter().flatten().try_for_each(|new| allow_queue(who, &new.queue))?;
    let admit = |(place, item): (usize, Result<NewJob, Invalid>)| {
        let new = item?;
        ctx.limits.guard.admit_target(&new.spec.target, &format!("#/jobs/{place}"))?;
        Ok(new)
    };
    let mut items: Vec<Result<NewJob, Invalid>> =
        items.into_iter().enumerate().map(admit).collect();
    let veil = privacy::veil(ctx, who);
    for (place, item) in items.iter_mut().enumerate() {
        let Ok(new) = item else { continue };
        let masks = veil.refuse_masks(&format!("#/jobs/{place}/payload"), &new.payload);
        let sealed = seal(ctx, who, new, &format!("#/jobs/{place}"));
        match masks.into_result(()).map_err(Error::from).and(sealed) {
            Ok(()) => {}
            Err(Error::Invalid(invalid)) => *item = Err(invalid),
            Err(error) => return Err(error),
        }
    }
    if mode == Batch::Atomic {
        let faults: Vec<_> =
            items.iter().filter_map(|item| item.as_ref().err()).flat_map(|e| e.0.clone()).collect();
        if !faults.is_empty() {
            return Err(Error::Invalid(Invalid(faults)));
        }
    }
    let now = ctx.clock.now();
    let sizes: Vec<_> =
        items.iter().filter_map(|item| item.as_ref().ok()).map(|new| new.payload.len()).collect();
    let more = (sizes.len(), sizes.iter().sum());
    let room = quota::admit(ctx, who, (key, None), more).await?;
    let work = async |session: &crate::store::Session| {
        let good: Vec<_> = items.iter().filter_map(|item| item.as_ref().ok().cloned()).collect();
        let rejects: Vec<_> = good.iter().map(|n| n.on_duplicate == OnDuplicate::Reject).collect();
        let made = register(ctx, session, &who.team, good, (None, now)).await?;
        let mut made = made.into_iter().zip(rejects);
        let mut answers = Vec::with_capacity(items.len());
        for (place, item) in items.iter().enumerate() {
            answers.push(match (item, item.is_ok().then(|| made.next()).flatten()) {
                (Err(invalid), _) => Item::Invalid(invalid.clone()),
                (Ok(_), Some((Registered::New(job), _))) => Item::Created(job),
                (Ok(_), Some((Registered::Existing(job), rejects)))
                    if rejects || !reaches(who, &job) =>
                {
                    if mode == Batch::Atomic {
                        return Err(taken(who, &answers, place, &job));
                    }
                    Item::Duplicate(reaches(who, &job).then_some(job.id))
                }
                (Ok(_), Some((Registered::Existing(job), _))) => Item::Existing(job),
                (Ok(_), None) => {
                    return Err(Error::Broken("a registration had no answer".into()));
                }
            });
        }
        Ok(answers)
    };
    let answer = once(ctx, key, now, work, render).await?;
    if let Answer::Fresh(items, _) = &answer {
        room.keep();
        let jobs = items.iter().filter_map(|item| match item {
            Item::Created(job) => Some(job),
            Item::Existing(_) | Item::Duplicate(_) | Item::Invalid(_) => None,
        });
        registered(ctx, jobs, "api");
    }
    Ok(answer)
}

/// Before anything of it is stored.
fn seal(ctx: &Ctx, who: &Principal, new: &mut NewJob, at: &str) -> Result<(), Error> {
    let vault = ctx.limits.vault.as_deref();
    secrets::seal_target(vault, &who.team, &mut new.spec.target, (None, at))
}

/// Why an atomic batch is refused whose item at `place` meets its unique key on a job. If that is of
/// the same batch it will never have been, so the batch itself is at fault.
fn taken(who: &Principal, before: &[Item], place: usize, existing: &Job) -> Error {
    let is_own = |item: &Item| matches!(item, Item::Created(job) if job.id == existing.id);
    if before.iter().any(is_own) {
        let detail = "another job of this batch has the same unique key";
        return Invalid::one(format!("#/jobs/{place}/unique_key"), "duplicate", detail).into();
    }
    duplicate(who, existing)
}

/// Whether the job is of a queue that the caller reaches; to others it does not exist.
pub(super) fn reaches(who: &Principal, job: &Job) -> bool {
    who.scope.holds(&job.asked.queue)
}

/// Why nothing is registered where `existing` has the unique key.
pub(super) fn duplicate(who: &Principal, existing: &Job) -> Error {
    if reaches(who, existing) {
        Error::Duplicate { existing: existing.id }
    } else {
        Error::TakenElsewhere("unique key")
    }
}

/// One job.
pub async fn get(ctx: &Ctx, who: &Principal, id: JobId) -> Result<Job, Error> {
    allow(who, Act::Read)?;
    let session = ctx.store.session().await?;
    let found = jobs::get(&session, id, &who.team).await?.filter(|job| reaches(who, job));
    found.ok_or_else(|| history::missing(ctx, &who.team, id, "job"))
}

/// A page of jobs, newest first, and whether there are more.
pub async fn list(
    ctx: &Ctx,
    who: &Principal,
    filter: &Filter,
    (before, limit): (Option<JobId>, usize),
) -> Result<(Vec<Job>, bool), Error> {
    allow(who, Act::Read)?;
    let one_more = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let of = (&who.team, queues(who, filter));
    if of.1.is_some_and(<[String]>::is_empty) {
        return Ok((Vec::new(), false));
    }
    let mut page = jobs::list(&ctx.store, of, filter, before, one_more).await?;
    let more = page.len() > limit;
    page.truncate(limit);
    Ok((page, more))
}

/// Of which queues jobs are listed, none for all; an empty list if the caller does not reach the one
/// that is wanted.
fn queues<'a>(who: &'a Principal, filter: &'a Filter) -> Option<&'a [String]> {
    match &filter.queue {
        None => who.scope.queues(),
        Some(queue) if who.scope.holds(queue) => Some(std::slice::from_ref(queue)),
        Some(_) => Some(&[]),
    }
}

/// Tells the pullers, after the commit that made it true.
pub(super) fn registered<'a>(ctx: &Ctx, jobs: impl Iterator<Item = &'a Job>, source: &'static str) {
    for job in jobs {
        ctx.wake.due(job.id.shard(), job.asked.due_at);
        count(job, source);
    }
}

fn count(job: &Job, source: &'static str) {
    let team = job.team.as_str().to_owned();
    metrics::counter!(names::JOBS_CREATED, "team" => team, "source" => source).increment(1);
}
