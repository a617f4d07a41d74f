//! Doing a request once: idempotency keys and unique keys, under concurrency.

use std::sync::Arc;
use std::time::Duration;

use axle::domain::id::JobId;
use axle::domain::job::{NewJob, OnDuplicate};
use axle::domain::principal::{Principal, Role};
use axle::domain::state::State;
use axle::domain::verdict::Outcome;
use axle::engine::jobs::{self, Batch, Item};
use axle::engine::once::{self, Answer, Key, Request, once};
use axle::engine::register::Registered;
use axle::engine::{Ctx, Error, Group, clock, moves, place};
use axle::store::idempotency::{self, Kept};
use axle::store::live;
use futures_util::future::join_all;
use tokio::sync::Notify;
use tokio_util::task::TaskTracker;

use crate::support::engine::{Engine, FAILED, LEASE, REFUSED, With as _, job, principal};

const URL: &str = "http://127.0.0.1:1/";
const ROUTE: &str = "POST /v1/jobs";

fn key(engine: &Engine, who: &Principal, body: &str, text: &str) -> Key {
    key_at(engine, who, ROUTE, body, text)
}

fn key_at(engine: &Engine, who: &Principal, route: &str, body: &str, text: &str) -> Key {
    let request = Request { route, path: "/v1/jobs", body: body.as_bytes() };
    once::key(&engine.ctx, who, request, text)
}

/// An answer that shows which job it is about.
fn render(made: &Registered) -> Kept {
    let (Registered::New(job) | Registered::Existing(job)) = made;
    let deduplicated = matches!(made, Registered::Existing(_));
    let location = Some(format!("/v1/jobs/{}", job.id));
    Kept { status: 201, location, deduplicated, body: job.id.to_string().into_bytes() }
}

async fn create(
    engine: &Engine,
    who: &Principal,
    key: Option<&Key>,
    new: NewJob,
) -> Result<Answer<Registered>, Error> {
    jobs::create(&engine.ctx, who, key, new, render).await
}

fn kept<T>(answer: Answer<T>) -> (Kept, bool) {
    match answer {
        Answer::Fresh(_, kept) => (kept, true),
        Answer::Replayed(kept) => (kept, false),
    }
}

async fn count(engine: &Engine, table: &str) -> i64 {
    engine.db.ask(&format!("SELECT count(*) AS rows FROM {table}")).await.get("rows")
}

fn keyed(key: &str) -> NewJob {
    job(URL).with(|job| job.unique_key = Some(key.to_owned()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn b108_many_equal_requests_at_once_make_one_job_and_equal_answers() {
    let engine = Arc::new(Engine::new().await);
    let tasks = TaskTracker::new();
    let requests = (0..200).map(|_| {
        let engine = Arc::clone(&engine);
        tasks.spawn(async move {
            let key = key(&engine, &engine.who, "{}", "k");
            create(&engine, &engine.who, Some(&key), job(URL)).await
        })
    });
    let answers: Vec<_> = join_all(requests.collect::<Vec<_>>())
        .await
        .into_iter()
        .map(|answer| kept(answer.unwrap().unwrap()))
        .collect();
    assert_eq!(answers.iter().filter(|(_, fresh)| *fresh).count(), 1);
    assert!(answers.iter().all(|(kept, _)| *kept == answers[0].0));
    assert_eq!((count(&engine, "jobs").await, count(&engine, "live").await), (1, 1));
}

#[tokio::test]
async fn b109_the_same_key_with_another_body_is_refused() {
    let engine = Engine::new().await;
    let [first, other] = ["{}", "{\"a\":1}"].map(|body| key(&engine, &engine.who, body, "k"));
    create(&engine, &engine.who, Some(&first), job(URL)).await.unwrap();
    let refused = create(&engine, &engine.who, Some(&other), job(URL)).await;
    assert!(matches!(refused, Err(Error::KeyReused)), "{refused:?}");
    let (_, fresh) = kept(create(&engine, &engine.who, Some(&first), job(URL)).await.unwrap());
    assert!(!fresh);
    assert_eq!(count(&engine, "jobs").await, 1);
}

/// Begins a request with `key` whose work ends, as told by `good`, when `go` is notified.
fn slow(
    engine: &Arc<Engine>,
    (key, good, go): (Key, bool, Arc<Notify>),
) -> tokio::task::JoinHandle<Result<Answer<()>, Error>> {
    let engine = Arc::clone(engine);
    TaskTracker::new().spawn(async move {
        let work = async |_: &axle::store::Session| {
            go.notified().await;
            if good { Ok(()) } else { Err(Error::KeyMissing) }
        };
        once(&engine.ctx, Some(&key), engine.clock.now(), work, |()| Kept::default()).await
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b109_another_body_is_a_mistake_even_while_the_first_is_worked_on() {
    let engine = Arc::new(Engine::new().await);
    let go = Arc::new(Notify::new());
    let first = slow(&engine, (key(&engine, &engine.who, "{}", "k"), true, Arc::clone(&go)));
    engine.db.wait_for_open_transactions(1).await;
    let second = slow(&engine, (key(&engine, &engine.who, "{ }", "k"), true, Arc::clone(&go)));
    engine.db.wait_for_lock_waiters(1).await;
    go.notify_one();
    assert!(matches!(first.await.unwrap(), Ok(Answer::Fresh(..))));
    let second = second.await.unwrap();
    assert!(matches!(second, Err(Error::KeyReused)), "{second:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b110_a_second_request_waits_for_the_first_and_does_the_work_if_that_failed() {
    let engine = Arc::new(Engine::new().await);
    let key = key(&engine, &engine.who, "{}", "k");
    let go = Arc::new(Notify::new());
    let first = slow(&engine, (key.clone(), false, Arc::clone(&go)));
    engine.db.wait_for_open_transactions(1).await;
    let second = slow(&engine, (key, true, Arc::clone(&go)));
    engine.db.wait_for_lock_waiters(1).await;
    go.notify_one();
    assert!(matches!(first.await.unwrap(), Err(Error::KeyMissing)));
    go.notify_one();
    assert!(matches!(second.await.unwrap(), Ok(Answer::Fresh(..))), "nothing was left behind");
}

#[tokio::test]
async fn b111_a_key_belongs_to_its_team_and_its_route() {
    let engine = Engine::new().await;
    let other = principal("other", Role::Writer);
    let keys = [
        (&engine.who, key(&engine, &engine.who, "{}", "k")),
        (&other, key(&engine, &other, "{}", "k")),
        (&engine.who, key_at(&engine, &engine.who, "POST /v1/schedules", "{}", "k")),
        (&engine.who, key(&engine, &engine.who, "{}", "K")),
    ];
    for (who, key) in &keys {
        let (_, fresh) = kept(create(&engine, who, Some(key), job(URL)).await.unwrap());
        assert!(fresh, "{key:?}");
    }
    let unique = [&engine.who, &other].map(|who| create(&engine, who, None, keyed("order-42")));
    for made in join_all(unique).await {
        assert!(matches!(made, Ok(Answer::Fresh(Registered::New(_), _))), "{made:?}");
    }
}

#[tokio::test]
async fn b112_a_key_is_remembered_for_its_time_and_then_free() {
    let engine = Engine::new().await;
    let ask = async || {
        let key = key(&engine, &engine.who, "{}", "k");
        kept(create(&engine, &engine.who, Some(&key), job(URL)).await.unwrap())
    };
    let (first, _) = ask().await;
    let second = Duration::from_secs(1);
    engine.pass(engine.limits.idempotency_ttl.saturating_sub(second));
    engine.sweep().await;
    assert_eq!(ask().await, (first.clone(), false));
    engine.pass(second);
    let (second, fresh) = ask().await;
    assert!(fresh && second != first, "taken anew before any sweep");
    engine.pass(engine.limits.idempotency_ttl);
    engine.sweep().await;
    assert_eq!(count(&engine, "idempotency").await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_unfinished_job_has_a_unique_key_however_many_ask_at_once() {
    let engine = Arc::new(Engine::new().await);
    let tasks = TaskTracker::new();
    let requests = (0..100).map(|nth| {
        let engine = Arc::clone(&engine);
        tasks.spawn(async move {
            // Each with a key of its own: these are different requests.
            let key = key(&engine, &engine.who, "{}", &nth.to_string());
            create(&engine, &engine.who, Some(&key), keyed("order-42")).await.unwrap()
        })
    });
    let mut ids = Vec::new();
    let mut new = 0;
    for answer in join_all(requests.collect::<Vec<_>>()).await {
        match answer.unwrap() {
            Answer::Fresh(Registered::New(job), _) => {
                new += 1;
                ids.push(job.id);
            }
            Answer::Fresh(Registered::Existing(job), _) => ids.push(job.id),
            Answer::Replayed(_) => panic!("the keys differ"),
        }
    }
    ids.dedup();
    assert_eq!((new, ids.len(), count(&engine, "live").await), (1, 1, 1));
}

/// Ends a claimed or waiting job so.
async fn end(engine: &Engine, id: JobId, how: &str) {
    let shard = id.shard();
    let claim = async || {
        let session = engine.store.session().await.unwrap();
        let now = engine.clock.now();
        let times = (now, clock::after(now, LEASE));
        let (claimed, _) = live::claim(&session, shard, ("test", 1), times, None).await.unwrap();
        claimed[0].run
    };
    match how {
        "success" => _ = engine.settle(claim().await, Outcome::Succeeded).await,
        "no_retry" => _ = engine.settle(claim().await, REFUSED).await,
        "by_user" => {
            let act = moves::cancel(&engine.ctx, &engine.who, None, id, |_| Kept::default());
            act.await.unwrap();
        }
        "expired" => {
            engine.pass(Duration::from_mins(1));
            engine.sweep().await;
        }
        _ => {
            for _ in 0..4 {
                engine.settle(claim().await, FAILED).await;
                engine.pass(Duration::from_mins(2));
            }
        }
    }
}

#[tokio::test]
async fn b080_every_final_state_frees_the_unique_key() {
    let engine = Engine::new().await;
    let ends = [
        ("success", State::Success),
        ("no_retry", State::Failed),
        ("retries_exhausted", State::Failed),
        ("by_user", State::Cancelled),
        ("expired", State::Failed),
    ];
    let mut before: Option<JobId> = None;
    for (how, state) in ends {
        let new = keyed("order-42").with(|job| {
            let deadline = clock::after(engine.clock.now(), Duration::from_mins(1));
            job.start_deadline = (how == "expired").then_some(deadline);
        });
        let id = engine.enqueue(new).await.id;
        assert_ne!(Some(id), before.replace(id));
        let again = create(&engine, &engine.who, None, keyed("order-42")).await.unwrap();
        assert!(matches!(&again, Answer::Fresh(Registered::Existing(job), _) if job.id == id));
        end(&engine, id, how).await;
        let job = engine.get(id).await;
        assert_eq!(job.state(), state, "{how}");
        assert!(job.standing.reason.is_none_or(|reason| reason.as_str() == how), "{how}");
    }
}

#[tokio::test]
async fn duplicates_within_a_batch_are_met_like_any_other() {
    let engine = Engine::new().await;
    let reject = keyed("a").with(|job| job.on_duplicate = OnDuplicate::Reject);
    let items = [keyed("a"), keyed("a"), job(URL), keyed("b"), reject];
    let batch = async |mode| {
        let items = items.iter().cloned().map(Ok).collect();
        jobs::create_batch(&engine.ctx, &engine.who, None, (mode, items), |_| Kept::default()).await
    };
    let refused = batch(Batch::Atomic).await;
    let Err(Error::Invalid(invalid)) = &refused else { panic!("{refused:?}") };
    let [fault] = invalid.0.as_slice() else { panic!("{invalid}") };
    assert_eq!((fault.pointer.as_str(), fault.code), ("#/jobs/4/unique_key", "duplicate"));
    assert_eq!((count(&engine, "jobs").await, count(&engine, "live").await), (0, 0));

    let Ok(Answer::Fresh(answers, _)) = batch(Batch::EachAlone).await else { panic!("taken") };
    let [
        Item::Created(a),
        Item::Existing(same),
        Item::Created(_),
        Item::Created(b),
        Item::Duplicate(Some(id)),
    ] = &answers[..]
    else {
        panic!("{answers:?}");
    };
    assert_eq!((same.id, *id), (a.id, a.id));
    assert_ne!(a.id, b.id);
    assert_eq!((count(&engine, "jobs").await, count(&engine, "live").await), (3, 3));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn batches_that_share_unique_keys_in_any_order_do_not_deadlock() {
    let engine = Arc::new(Engine::new().await);
    let tasks = TaskTracker::new();
    let batches = (0..12).map(|nth| {
        let engine = Arc::clone(&engine);
        tasks.spawn(async move {
            let mut items: Vec<_> = (0..40).map(|key| Ok(keyed(&key.to_string()))).collect();
            items.rotate_left(nth * 3);
            if nth % 2 == 0 {
                items.reverse();
            }
            let items = (Batch::EachAlone, items);
            jobs::create_batch(&engine.ctx, &engine.who, None, items, |_| Kept::default()).await
        })
    });
    for answer in join_all(batches.collect::<Vec<_>>()).await {
        answer.unwrap().unwrap();
    }
    assert_eq!(count(&engine, "live").await, 40);
    assert_eq!(engine.db.deadlocks().await, 0);
}

#[tokio::test]
async fn b089_each_rerun_makes_a_job_and_the_same_request_makes_one() {
    let engine = Engine::new().await;
    let id = engine.enqueue(job(URL)).await.id;
    end(&engine, id, "no_retry").await;
    let rerun = async |text: &str| {
        let key = key_at(&engine, &engine.who, "POST /v1/jobs/{id}/rerun", "", text);
        let render = |job: &axle::domain::job::Job| Kept {
            body: job.id.to_string().into_bytes(),
            ..Kept::default()
        };
        kept(moves::rerun(&engine.ctx, &engine.who, Some(&key), id, render).await.unwrap()).0
    };
    let [first, repeated, second] = [rerun("a").await, rerun("a").await, rerun("b").await];
    assert_eq!(first, repeated);
    assert_ne!(first, second);
    assert_eq!(count(&engine, "jobs").await, 3);
    let linked = count(&engine, "jobs WHERE rerun_of IS NOT NULL").await;
    assert_eq!(linked, 2);
}

#[tokio::test]
async fn a_unique_key_is_met_in_its_own_shard_whatever_the_idempotency_key() {
    let engine = Engine::new().await;
    let shard = place::by_key(&engine.ctx, &engine.who.team, "order-42");
    let key = (0..100)
        .map(|nth| key(&engine, &engine.who, "{}", &nth.to_string()))
        .find(|key| key.shard != shard)
        .unwrap();
    let answer = create(&engine, &engine.who, Some(&key), keyed("order-42")).await.unwrap();
    let Answer::Fresh(Registered::New(job), _) = answer else { panic!("{answer:?}") };
    assert_eq!(job.id.shard(), shard);
}

#[tokio::test]
async fn a_key_that_is_held_too_long_is_in_flight_and_a_database_that_refuses_is_not() {
    let engine = Engine::new().await;
    let key = key(&engine, &engine.who, "{}", "held");
    let first = engine.store.session().await.unwrap();
    assert!(idempotency::take(&first, &key, engine.clock.now()).await.unwrap());
    let second = create(&engine, &engine.who, Some(&key), job(URL)).await;
    assert!(matches!(second, Err(Error::KeyInFlight)), "{second:?}");
    first.rollback().await;

    let name: String = engine.db.ask("SELECT current_database() AS name").await.get("name");
    let refuse = format!("ALTER DATABASE \"{name}\" SET default_transaction_read_only = on");
    engine.db.execute(&refuse).await;
    let store = engine.db.another_store();
    let group = Group::new(store.clone(), engine.wake.clone());
    let ctx = Ctx { group, store, ..engine.ctx.clone() };
    let refused = jobs::create(&ctx, &engine.who, Some(&key), job(URL), render).await;
    assert!(matches!(refused, Err(Error::Busy(_))), "{refused:?}");
}
