//! The engine on a database of its own, under a clock that stands still until a test moves it.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use axle::domain::egress::Egress;
use axle::domain::hidden::Hidden;
use axle::domain::id::{JobId, RunId, Shard};
use axle::domain::job::{Completion, Due, Job, NewJob, OnDuplicate, Spec, Target};
use axle::domain::principal::{Kind, Principal, Role, Subject, Team, Via};
use axle::domain::quota::Quotas;
use axle::domain::retry::RetryPolicy;
use axle::domain::scope::Scope;
use axle::domain::state::State;
use axle::domain::verdict::Outcome;
use axle::engine::breaker::Ceiling;
use axle::engine::invoke::Invoker;
use axle::engine::login::Signer;
use axle::engine::once::Answer;
use axle::engine::puller::Puller;
use axle::engine::register::{Registered, register};
use axle::engine::secrets::{Keyring, Vault};
use axle::engine::settle::{self, News, Report, Settled};
use axle::engine::{
    Access, Clock, Ctx, Group, Guard, Limits, Roster, Wake, clock, jobs, journal, quota, sweep,
};
use axle::store::idempotency::Kept;
use axle::store::live::{self, Claimed};
use axle::store::{self, Session, Store};
use bytes::Bytes;
use chrono::{DateTime, Utc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::db::Db;
use super::target::PATIENCE;

/// When every manual clock starts: 2026-11-30T02:00:00Z.
pub const START: DateTime<Utc> = DateTime::from_timestamp(1_796_004_000, 0).unwrap();
/// The lease of a claim.
pub const LEASE: Duration = Duration::from_secs(30);
/// `AXLE_SECRET_KEY`.
pub const SECRET_KEY: &[&str] = &["a secret key of the tests with 32 bytes"];
/// The shard of jobs that a test wants together.
pub const SHARD: Shard = Shard(0);

/// An engine; derefs to its [`Ctx`].
pub struct Engine {
    /// Its database.
    pub db: Db,
    /// What every use case takes.
    pub ctx: Ctx,
    /// An admin of the team `acme`.
    pub who: Principal,
    /// Stops what [`Engine::puller`] started.
    pub stop: CancellationToken,
    /// What runs beside it.
    pub tasks: TaskTracker,
}

impl Deref for Engine {
    type Target = Ctx;

    fn deref(&self) -> &Ctx {
        &self.ctx
    }
}

impl Engine {
    /// An engine on a new database.
    pub async fn new() -> Self {
        Self::on(Db::new().await).await
    }

    /// An engine on a migrated database.
    pub async fn on(db: Db) -> Self {
        Self::on_with(db, SECRET_KEY).await
    }

    /// The same under these secret keys.
    pub async fn on_with(db: Db, secret_keys: &[&str]) -> Self {
        let limits = Limits {
            max_payload: 256 * 1024,
            idempotency_ttl: Duration::from_hours(24),
            retention: Some(Duration::from_hours(30 * 24)),
            lease: LEASE,
            public_url: "http://127.0.0.1:1".to_owned(),
            people_url: None,
            callback_key: store::clock::key(&db.store).await.unwrap(),
            other_callback_keys: Vec::new(),
            default_time_zone: "UTC".to_owned(),
            // As AXLE_ALLOW_PRIVATE_TARGETS=true: the targets of tests are on loopback.
            guard: Guard::new(Egress { allow_private: true, ..Egress::default() }, None),
            vault: vault(&db.store, secret_keys).await.map(Arc::new),
        };
        let (roster, wake) = (Roster::default(), Wake::default());
        let ctx = Ctx {
            store: db.store.clone(),
            clock: Clock::manual(START),
            group: Group::new(db.store.clone(), wake.clone()),
            wake,
            shards: store::shards::list(&db.store).await.unwrap().into(),
            limits: Arc::new(limits),
            access: Access::new(Some(signer())),
            quotas: quota::Desk::new(roster.clone(), Quotas::default()),
            roster,
        };
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        Self { db, ctx, who: principal("acme", Role::Admin), stop, tasks }
    }

    /// Moves the clock.
    pub fn pass(&self, time: Duration) {
        self.clock.advance(time);
    }

    /// Registers a job.
    pub async fn enqueue(&self, new: NewJob) -> Job {
        let made = jobs::create(&self.ctx, &self.who, None, new, |_| Kept::default()).await;
        match made.unwrap() {
            Answer::Fresh(Registered::New(job), _) => job,
            other @ (Answer::Fresh(..) | Answer::Replayed(_)) => panic!("not a new job: {other:?}"),
        }
    }

    /// Registers jobs in [`SHARD`], in order; the pullers are not told.
    pub async fn enqueue_together(&self, new: Vec<NewJob>) -> Vec<JobId> {
        let session = self.store.session().await.unwrap();
        session.begin();
        let place = (Some(SHARD), self.clock.now());
        let made = register(&self.ctx, &session, &self.who.team, new, place).await.unwrap();
        session.commit().await.unwrap();
        let id = |made: Registered| match made {
            Registered::New(job) | Registered::Existing(job) => job.id,
        };
        made.into_iter().map(id).collect()
    }

    /// A job of the team `acme`.
    pub async fn get(&self, id: JobId) -> Job {
        jobs::get(&self.ctx, &self.who, id).await.unwrap()
    }

    /// The run states of a job, oldest first.
    pub async fn run_states(&self, id: JobId) -> Vec<&'static str> {
        let (runs, _) = journal::runs(&self.ctx, &self.who, id, (None, 100)).await.unwrap();
        runs.iter().rev().map(|run| run.state.as_str()).collect()
    }

    /// Claims up to `limit` due jobs of [`SHARD`], as a puller does, and calls nobody.
    pub async fn claim(&self, limit: i64) -> Vec<Claimed> {
        self.claim_with(&self.store.session().await.unwrap(), limit).await
    }

    /// The same on a session of the test's.
    pub async fn claim_with(&self, session: &Session, limit: i64) -> Vec<Claimed> {
        let now = self.clock.now();
        let times = (now, clock::after(now, LEASE));
        live::claim(session, SHARD, ("test", limit), times, None).await.unwrap().0
    }

    /// Claims the one job of [`SHARD`] that is due.
    pub async fn claim_one(&self) -> RunId {
        let claimed = self.claim(2).await;
        assert_eq!(claimed.len(), 1, "one job is due");
        claimed[0].run
    }

    /// Settles one run of a job with the default retry policy.
    pub async fn settle(&self, run: RunId, outcome: Outcome) -> Settled {
        let settled = settle::write(&self.ctx, run.shard(), &[ended(run, outcome)]).await;
        settled.unwrap()[0]
    }

    /// One sweep.
    pub async fn sweep(&self) {
        sweep::step(&self.ctx, Duration::from_secs(1)).await.unwrap();
        sweep::tend(&self.ctx).await.unwrap();
    }

    /// A puller, with `concurrency` permits; it does nothing until its `step` is called.
    pub fn puller(&self, name: &str, concurrency: usize) -> Arc<Puller> {
        self.puller_on(self.ctx.clone(), name, concurrency)
    }

    /// The same on a context of its own, as another process would have.
    pub fn puller_on(&self, ctx: Ctx, name: &str, concurrency: usize) -> Arc<Puller> {
        // Most tests have one target, and mean its calls by the permits.
        self.puller_with(ctx, (name, concurrency, Ceiling::Hard(concurrency)))
    }

    /// The same with a ceiling for each target.
    pub fn puller_with(&self, ctx: Ctx, settings: (&str, usize, Ceiling)) -> Arc<Puller> {
        self.start_puller(ctx, &self.limits.guard, settings)
    }

    /// The same with a guard of its own: what it refuses was registered all the same.
    pub fn guarded_puller(&self, guard: &Guard, (name, concurrency): (&str, usize)) -> Arc<Puller> {
        let settings = (name, concurrency, Ceiling::Hard(concurrency));
        self.start_puller(self.ctx.clone(), guard, settings)
    }

    fn start_puller(
        &self,
        ctx: Ctx,
        guard: &Guard,
        (name, concurrency, ceiling): (&str, usize, Ceiling),
    ) -> Arc<Puller> {
        let invoker = Invoker::new(&self.limits.public_url, guard).unwrap();
        let settings = (name.to_owned(), concurrency, ceiling);
        Puller::new(ctx, invoker, settings, (&self.tasks, &self.stop))
    }

    /// Waits until a job has this state, and returns it.
    pub async fn wait_state(&self, id: JobId, state: State) -> Job {
        let reached = async {
            loop {
                let job = self.get(id).await;
                if job.state() == state {
                    return job;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        if let Ok(job) = tokio::time::timeout(PATIENCE, reached).await {
            return job;
        }
        panic!("{id} is still {:?}, not {state:?}", self.get(id).await.standing)
    }
}

/// Signs the tokens of people with the secret that the tests' API verifies with.
fn signer() -> Signer {
    Signer { secret: super::api::SECRET.to_vec(), issuer: None, audience: None }
}

/// The vault of a database under these keys.
pub async fn vault(store: &Store, keys: &[&str]) -> Option<Vault> {
    let keys: Vec<_> = keys.iter().copied().map(Hidden::new).collect();
    Vault::open(store, Keyring::new(&keys)).await.unwrap()
}

/// Somebody of a team.
pub fn principal(team: &str, role: Role) -> Principal {
    Principal {
        team: Team::parse(team).unwrap(),
        subject: Subject::parse("tester").unwrap(),
        role,
        scope: Scope::default(),
        kind: Kind::Token,
        installation_admin: false,
        via: Via::default(),
    }
}

/// A job with the defaults: due at once, priority 5, POST to `url`, three retries without jitter.
pub fn job(url: &str) -> NewJob {
    NewJob {
        name: None,
        queue: "default".to_owned(),
        spec: Spec {
            target: Target {
                url: url.to_owned(),
                method: "POST".to_owned(),
                headers: Vec::new(),
                secret_headers: Vec::new(),
            },
            content_type: "application/json".to_owned(),
            json: true,
            timeout_ms: 30_000,
            completion: Completion::Response,
            heartbeat_timeout_ms: None,
            retry: RetryPolicy { jitter: 0.0, ..RetryPolicy::default() },
        },
        payload: Bytes::from_static(b"{}"),
        due: Due::At(None),
        priority: 5,
        start_deadline: None,
        unique_key: None,
        on_duplicate: OnDuplicate::Existing,
        owner_service: None,
        tags: BTreeMap::new(),
        rerun_of: None,
        fire: None,
    }
}

/// Changes of a job in the making.
pub trait With: Sized {
    /// `self`, changed.
    fn with(self, change: impl FnOnce(&mut Self)) -> Self;
}

impl With for NewJob {
    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

/// News that a run ended, under the default retry policy without jitter.
pub fn ended(run: RunId, outcome: Outcome) -> News {
    let policy = RetryPolicy { jitter: 0.0, ..RetryPolicy::default() };
    News::Ended { run, policy, report: Box::new(Report::bare(outcome, None)) }
}

/// A failure that may be retried.
pub const FAILED: Outcome = Outcome::Failed { retryable: true, retry_after: None };
/// A failure that may not.
pub const REFUSED: Outcome = Outcome::Failed { retryable: false, retry_after: None };
