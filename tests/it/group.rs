//! Single registrations that share a transaction: each has its own fate.

use std::time::Duration;

use axle::domain::id::JobId;
use axle::domain::job::NewJob;
use axle::domain::principal::{Principal, Role};
use axle::engine::once::{self, Answer, Key, Request};
use axle::engine::register::Registered;
use axle::engine::{Error, jobs};
use axle::store::idempotency::{self, Kept};
use futures_util::future::join_all;
use tokio::time::timeout;

use crate::support::engine::{Engine, With as _, job, principal};
use crate::support::program::eventually;

const URL: &str = "http://127.0.0.1:1/";
/// Longer than a transaction of many waits for a lock, shorter than a lock is waited for.
const SOON: Duration = Duration::from_secs(2);

fn key(engine: &Engine, text: &str) -> Key {
    let request = Request { route: "POST /v1/jobs", path: "/v1/jobs", body: b"{}" };
    once::key(&engine.ctx, &engine.who, request, text)
}

fn render(made: &Registered) -> Kept {
    let (Registered::New(job) | Registered::Existing(job)) = made;
    Kept { status: 201, body: job.id.to_string().into_bytes(), ..Kept::default() }
}

async fn create(
    engine: &Engine,
    who: &Principal,
    key: Option<&Key>,
    new: NewJob,
) -> Result<Answer<Registered>, Error> {
    jobs::create(&engine.ctx, who, key, new, render).await
}

fn new_id(answer: Result<Answer<Registered>, Error>) -> JobId {
    match answer {
        Ok(Answer::Fresh(Registered::New(job), _)) => job.id,
        other => panic!("not a new job: {other:?}"),
    }
}

async fn count(engine: &Engine, table: &str) -> i64 {
    engine.db.ask(&format!("SELECT count(*) AS rows FROM {table}")).await.get("rows")
}

/// Transactions that have written rows of `live`.
async fn transactions(engine: &Engine) -> i64 {
    engine.db.ask("SELECT count(DISTINCT xmin::text) AS n FROM live").await.get("n")
}

#[tokio::test]
async fn registrations_of_a_moment_share_transactions_and_each_is_read_back_as_answered() {
    const JOBS: usize = 300;
    let engine = Engine::new().await;
    let teams = ["acme", "shop", "bank"].map(|team| principal(team, Role::Writer));
    let asked: Vec<_> = (0..JOBS)
        .map(|number| {
            let new = job(URL).with(|job| job.name = Some(format!("job {number}")));
            let key = (number % 3 == 0).then(|| key(&engine, &format!("key {number}")));
            let unique = (number % 5 == 0).then(|| format!("unique {number}"));
            (&teams[number % 2], key, new.with(|job| job.unique_key = unique))
        })
        .collect();
    let made = asked.iter().map(|(who, key, new)| create(&engine, who, key.as_ref(), new.clone()));
    let ids: Vec<_> = join_all(made).await.into_iter().map(new_id).collect();

    for (id, (who, _, new)) in ids.iter().zip(&asked) {
        let read = jobs::get(&engine.ctx, who, *id).await.unwrap();
        assert_eq!((&read.asked.name, &read.asked.unique_key), (&new.name, &new.unique_key));
        assert_eq!(read.asked.created_at, engine.clock.now());
    }
    let all = i64::try_from(JOBS).unwrap();
    assert_eq!([count(&engine, "live").await, count(&engine, "jobs").await], [all, all]);
    assert_eq!(count(&engine, "idempotency").await, all / 3);
    let transactions = transactions(&engine).await;
    assert!(transactions < 30, "{transactions} transactions for {JOBS} registrations");
}

#[tokio::test]
async fn a_row_that_the_database_refuses_fails_none_of_its_neighbours() {
    let engine = Engine::new().await;
    // The wire refuses it; whatever gets past that must hurt nobody else.
    let bad = || job(URL).with(|job| job.name = Some("a\0b".to_owned()));
    let made = (0..40).map(|number| {
        let new = if number % 10 == 7 { bad() } else { job(URL) };
        create(&engine, &engine.who, None, new)
    });
    for (number, answer) in join_all(made).await.into_iter().enumerate() {
        match answer {
            Err(Error::Broken(text)) if number % 10 == 7 => {
                assert!(text.contains("22021"), "{text}");
            }
            answer => drop(new_id(answer)),
        }
    }
    assert_eq!([count(&engine, "live").await, count(&engine, "jobs").await], [36, 36]);
}

#[tokio::test]
async fn of_equal_keys_one_makes_a_job_and_the_others_are_told_of_it() {
    let engine = Engine::new().await;
    let idempotent = key(&engine, "k");
    let unique = || job(URL).with(|job| job.unique_key = Some("u".to_owned()));
    let replays = (0..20).map(|_| create(&engine, &engine.who, Some(&idempotent), job(URL)));
    let own: Vec<_> = (0..20).map(|number| key(&engine, &format!("own {number}"))).collect();
    let existing = own.iter().map(|key| create(&engine, &engine.who, Some(key), unique()));
    let (replays, existing) = futures_util::join!(join_all(replays), join_all(existing));

    let body = |answer: &Result<Answer<Registered>, Error>| match answer {
        Ok(Answer::Fresh(_, kept) | Answer::Replayed(kept)) => kept.body.clone(),
        Err(error) => panic!("{error}"),
    };
    for answers in [&replays, &existing] {
        assert!(answers.iter().all(|answer| body(answer) == body(&answers[0])));
    }
    let is_new = |answer: &&Result<Answer<Registered>, Error>| {
        matches!(answer, Ok(Answer::Fresh(Registered::New(_), _)))
    };
    assert_eq!([&replays, &existing].map(|all| all.iter().filter(is_new).count()), [1, 1]);
    assert_eq!([count(&engine, "live").await, count(&engine, "jobs").await], [2, 2]);
    // Each of those that a unique key kept out has its answer under its own key.
    assert_eq!(count(&engine, "idempotency WHERE body IS NOT NULL").await, 21);
}

#[tokio::test]
async fn a_key_that_somebody_holds_delays_nobody_else() {
    let engine = Engine::new().await;
    let held = key(&engine, "held");
    let holder = engine.store.session().await.unwrap();
    assert!(idempotency::take(&holder, &held, engine.clock.now()).await.unwrap());

    let keys: Vec<_> = (0..20).map(|number| key(&engine, &format!("key {number}"))).collect();
    let others = keys.iter().enumerate().map(|(number, key)| {
        create(&engine, &engine.who, (number % 2 == 0).then_some(key), job(URL))
    });
    let (second, others) = futures_util::join!(
        create(&engine, &engine.who, Some(&held), job(URL)),
        timeout(SOON, join_all(others)),
    );
    assert_eq!(others.expect("held up by a key of another").into_iter().map(new_id).count(), 20);
    assert!(matches!(second, Err(Error::KeyInFlight)), "{second:?}");
    holder.rollback().await;
    assert_eq!(count(&engine, "live").await, 20);
}

#[tokio::test]
async fn a_caller_that_goes_away_takes_neither_its_job_nor_anybody_elses_with_it() {
    let engine = Engine::new().await;
    for _ in 0..50 {
        let mut left = Box::pin(create(&engine, &engine.who, None, job(URL)));
        assert!(futures_util::poll!(left.as_mut()).is_pending());
        drop(left);
    }
    new_id(create(&engine, &engine.who, None, job(URL)).await);
    eventually("all are there", SOON, async || {
        (count(&engine, "live").await == 51 && count(&engine, "jobs").await == 51).then_some(())
    })
    .await;
}

#[tokio::test]
async fn pullers_are_told_of_a_job_whose_caller_has_gone_away() {
    let engine = Engine::new().await;
    let mut left = Box::pin(create(&engine, &engine.who, None, job(URL)));
    assert!(futures_util::poll!(left.as_mut()).is_pending());
    drop(left);
    timeout(SOON, engine.wake.jobs().here.news()).await.expect("a hint");
    let dues: Vec<_> = engine.wake.jobs().here.take().into_values().collect();
    assert_eq!(dues, [engine.clock.now()]);
}
