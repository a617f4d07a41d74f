//! What goes on beside the upkeep of the history: readers, claims, repeats of requests, callbacks, runs
//! by hand.

use std::sync::Arc;
use std::time::Duration;

use axle::domain::principal::Role;
use axle::domain::run::RunState;
use axle::domain::verdict::Outcome;
use axle::engine::callbacks::{self, Word};
use axle::engine::once::{self, Answer, Request};
use axle::engine::{Error, Limits, history, jobs, journal, moves, run_token};
use axle::store::idempotency::Kept;
use tokio::time::timeout;

use super::{URL, WEEK, at, count, engine, finished, names, retention, rows, upkeep};
use crate::support::engine::{Engine, job, principal};

/// Removes all that is finished, by dropping the week.
async fn drop_week(engine: &Engine) {
    at(engine, "2100-02-10T01:00:00Z");
    upkeep(engine).await;
    assert!(!names(engine).await.contains(&WEEK.to_owned()));
}

#[tokio::test]
async fn a_long_reader_delays_the_drop_and_nobody_else() {
    let engine = engine().await;
    finished(&engine, "acme", 3).await;
    let reader = engine.db.connect().await;
    reader.batch_execute("BEGIN; SELECT count(*) FROM jobs").await.unwrap();
    at(&engine, "2100-02-10T01:00:00Z");
    let work = async {
        for _ in 0..20 {
            finished(&engine, "acme", 2).await;
        }
    };
    let both = async { tokio::join!(upkeep(&engine), work) };
    let (wait, ()) = timeout(Duration::from_secs(20), Box::pin(both))
        .await
        .expect("nobody waits for the reader");
    assert_eq!(wait, Duration::from_mins(5), "it comes back later");
    assert!(names(&engine).await.contains(&WEEK.to_owned()));
    let seen: i64 = reader.query_one("SELECT count(*) FROM jobs", &[]).await.unwrap().get(0);
    assert_eq!(seen, 43, "the reader sees all of it");
    reader.batch_execute("COMMIT").await.unwrap();
    upkeep(&engine).await;
    assert_eq!(count(&engine).await, 40);
    assert!(!names(&engine).await.contains(&WEEK.to_owned()));
}

#[tokio::test]
async fn a_reader_holds_up_the_making_of_a_week_and_its_jobs_are_taken_all_the_same() {
    let engine = engine().await;
    let reader = engine.db.connect().await;
    reader.batch_execute("BEGIN; SELECT count(*) FROM runs").await.unwrap();
    at(&engine, "2100-01-11T00:00:00Z");
    assert_eq!(history::step(&engine.ctx).await.unwrap(), Duration::from_mins(5));
    finished(&engine, "acme", 1).await;
    reader.batch_execute("COMMIT").await.unwrap();
    upkeep(&engine).await;
    assert_eq!(names(&engine).await, [WEEK, "21000111", "21000118", "21000125", "rest"]);
}

#[tokio::test]
async fn b112_b161_a_key_answers_as_long_as_it_lives_whatever_became_of_its_job() {
    let mut engine = engine().await;
    let idempotency_ttl = Duration::from_hours(90 * 24);
    engine.ctx.limits = Arc::new(Limits { idempotency_ttl, ..(*engine.ctx.limits).clone() });
    let request = Request { route: "POST /v1/jobs", path: "/v1/jobs", body: b"{}" };
    let render =
        |_: &_| Kept { status: 201, body: b"the first answer".to_vec(), ..Kept::default() };
    let create = async || {
        let key = once::key(&engine.ctx, &engine.who, request, "k");
        jobs::create(&engine.ctx, &engine.who, Some(&key), job(URL), render).await.unwrap()
    };
    let Answer::Fresh(made, _) = create().await else { panic!("the first one is done") };
    let axle::engine::register::Registered::New(made) = made else { panic!("a new job") };
    moves::cancel(&engine.ctx, &engine.who, None, made.id, |_| Kept::default()).await.unwrap();
    drop_week(&engine).await;
    assert_eq!(rows(&engine, made.id).await, (None, 0));
    let Answer::Replayed(kept) = create().await else { panic!("a new job, of an old request") };
    assert_eq!(kept.body, b"the first answer");
    assert_eq!(count(&engine).await, 0);
}

#[tokio::test]
async fn a_word_about_a_run_of_a_removed_job_is_refused_and_leaves_nothing() {
    let engine = engine().await;
    engine.enqueue_together(vec![job(URL)]).await;
    let run = engine.claim_one().await;
    engine.settle(run, Outcome::Succeeded).await;
    let token = run_token::token(&engine.limits.callback_key, run);
    let say = async || {
        callbacks::callback(&engine.ctx, run, &token, Word::Succeeded { result: None }).await
    };
    assert!(say().await.is_ok(), "a repeat, while it is known");
    drop_week(&engine).await;
    let word = say().await;
    assert!(matches!(word, Err(Error::Missing { noun: "run" })), "{word:?}");
    let beat = callbacks::heartbeat(&engine.ctx, run, &token, None).await;
    assert!(matches!(beat, Err(Error::Missing { noun: "run" })), "{beat:?}");
    assert_eq!(rows(&engine, run.job).await, (None, 0));
    // Nor does a settle that comes late bring it back (bug B068).
    engine.settle(run, Outcome::Succeeded).await;
    engine.sweep().await;
    assert_eq!(rows(&engine, run.job).await, (None, 0));
}

#[tokio::test]
async fn a_job_run_again_outlives_the_one_that_it_was_made_of() {
    let engine = engine().await;
    let first = finished(&engine, "acme", 1).await[0];
    at(&engine, "2100-01-20T00:00:00Z");
    let again = moves::rerun(&engine.ctx, &engine.who, None, first, |_| Kept::default()).await;
    let Answer::Fresh(again, _) = again.unwrap() else { panic!("a new job") };
    drop_week(&engine).await;
    assert_eq!(engine.get(again.id).await.asked.rerun_of, Some(first));
    let gone = moves::rerun(&engine.ctx, &engine.who, None, first, |_| Kept::default()).await;
    assert!(matches!(gone, Err(Error::Expired { noun: "job" })), "{gone:?}");
}

#[tokio::test]
async fn owners_see_all_of_a_job_or_nothing_while_it_is_removed() {
    let engine = engine().await;
    retention(&engine, "acme", 1).await;
    engine.roster.refresh(&engine.store).await.unwrap();
    let ids = finished(&engine, "acme", 600).await;
    at(&engine, "2100-01-20T00:00:00Z");
    let who = principal("acme", Role::Viewer);
    let look = async {
        let mut removed = 0;
        while removed < ids.len() {
            removed = 0;
            for id in ids.iter().step_by(7) {
                match jobs::get(&engine.ctx, &who, *id).await {
                    Ok(job) => {
                        let last = job.standing.last.expect("a finished job has had a run");
                        assert_eq!(last.state, RunState::Success);
                    }
                    Err(Error::Expired { .. }) => removed += 7,
                    Err(error) => panic!("{error:?}"),
                }
            }
        }
    };
    let both = async { tokio::join!(upkeep(&engine), look) };
    timeout(Duration::from_mins(1), both).await.expect("all of it is removed");
    let gone = journal::events(&engine.ctx, &who, ids[0]).await;
    assert!(matches!(gone, Err(Error::Expired { noun: "job" })), "{gone:?}");
}
