//! What a suspension does to jobs that are due, and what it spares the pullers.

use std::time::Duration;

use axle::domain::id::JobId;
use axle::domain::job::{Due, NewJob};
use axle::domain::next_step::next_step;
use axle::domain::principal::{Role, Team};
use axle::domain::state::State;
use axle::engine::register::{Registered, register};
use serde_json::json;

use crate::support::api::Api;
use crate::support::engine::{Engine, SHARD, With, job};
use crate::support::target::{PATIENCE, Target};

/// Longer than a puller rests that was asked in vain.
const REST: Duration = Duration::from_millis(500);

/// Registers due jobs of a team in one shard.
async fn enqueue(engine: &Engine, team: &str, new: Vec<NewJob>) -> Vec<JobId> {
    let session = engine.store.session().await.unwrap();
    session.begin().await.unwrap();
    let place = (Some(SHARD), engine.clock.now());
    let team = Team::parse(team).unwrap();
    let made = register(&engine.ctx, &session, &team, new, place).await.unwrap();
    session.commit().await.unwrap();
    let id = |made: Registered| match made {
        Registered::New(job) | Registered::Existing(job) => job.id,
    };
    made.into_iter().map(id).collect()
}

async fn held(engine: &Engine) -> i64 {
    engine.db.ask("SELECT count(*) FROM live WHERE held").await.get(0)
}

/// Suspends `acme`, or lifts it.
async fn suspend(api: &Api, does: bool) {
    let admin = api.as_team("acme").installation_admin();
    let reply = if does {
        admin.post("/v1/teams/acme/suspend", &json!({"reason": "unpaid"})).await
    } else {
        admin.act("/v1/teams/acme/unsuspend").await
    };
    assert_eq!(reply.status, 200, "{}", reply.text);
}

#[tokio::test]
async fn due_jobs_of_a_suspended_team_are_set_aside_and_given_back() {
    let api = Api::start().await;
    let engine = &api.engine;
    let target = Target::start().await;
    let puller = engine.puller("p", 50);
    let later = job(&target.url("/later")).with(|new| new.due = Due::In(3_600_000));
    let mut ids = enqueue(engine, "acme", vec![job(&target.url("/acme")); 300]).await;
    ids.extend(enqueue(engine, "acme", vec![later; 3]).await);
    enqueue(engine, "rival", vec![job(&target.url("/rival")); 2]).await;
    suspend(&api, true).await;

    // Without the sweep they are not called either; but the puller comes back for them soon.
    engine.wake.due(SHARD, engine.clock.now());
    assert!(puller.step().await.unwrap() <= REST);
    assert!(puller.drain(PATIENCE).await);
    assert_eq!((target.calls("/acme").len(), target.calls("/rival").len()), (0, 2));
    engine.sweep().await;
    assert_eq!(held(engine).await, 300, "those that are due, and no others");
    engine.wake.due(SHARD, engine.clock.now());
    assert!(puller.step().await.unwrap() > REST, "nothing in this shard is worth a claim");
    let owner = api.as_team("acme").role(Role::Owner);
    let shown = owner.get(&format!("/v1/jobs/{}", ids[0])).await.json;
    assert!(shown["next_step"].as_str().unwrap().contains("the team suspended"), "{shown}");
    let one = engine.get(ids[0]).await;
    assert_eq!(next_step(&one, engine.clock.now()), shown["next_step"]);

    suspend(&api, false).await;
    assert_eq!(held(engine).await, 0);
    engine.wake.due(SHARD, engine.clock.now());
    while target.calls("/acme").len() < 300 {
        puller.step().await.unwrap();
        assert!(puller.drain(PATIENCE).await);
    }
    for id in &ids[..300] {
        assert_eq!(engine.get(*id).await.state(), State::Success);
    }
    assert_eq!(target.calls("/later").len(), 0);
}

#[tokio::test]
async fn a_lifted_suspension_that_was_interrupted_is_finished_by_the_sweep() {
    let api = Api::start().await;
    let engine = &api.engine;
    enqueue(engine, "acme", vec![job("http://127.0.0.1:9/"); 3]).await;
    suspend(&api, true).await;
    engine.sweep().await;
    assert_eq!(held(engine).await, 3);
    // The process that lifted it has died behind its commit.
    engine.db.execute("UPDATE teams SET suspended_at = NULL, suspend_reason = NULL").await;
    engine.sweep().await;
    assert_eq!(held(engine).await, 0);
    let holds = engine.db.ask("SELECT count(*) FROM teams WHERE holds").await;
    assert_eq!(holds.get::<_, i64>(0), 0, "and it is not looked at again");
}

#[tokio::test]
async fn a_paused_queue_stays_paused_when_its_team_goes_on() {
    let api = Api::start().await;
    let engine = &api.engine;
    let target = Target::start().await;
    let mail = job(&target.url("/mail")).with(|new| "mail".clone_into(&mut new.queue));
    enqueue(engine, "acme", vec![mail; 2]).await;
    enqueue(engine, "acme", vec![job(&target.url("/other"))]).await;
    let acme = api.as_team("acme");
    assert_eq!(acme.post("/v1/queues/mail/pause", &json!({"reason": "spring"})).await.status, 200);
    suspend(&api, true).await;
    engine.sweep().await;
    assert_eq!(held(engine).await, 3);
    suspend(&api, false).await;
    assert_eq!(held(engine).await, 2, "those of the queue stay aside");
    let puller = engine.puller("p", 50);
    engine.wake.due(SHARD, engine.clock.now());
    puller.step().await.unwrap();
    assert!(puller.drain(PATIENCE).await);
    engine.sweep().await;
    assert_eq!((target.calls("/mail").len(), target.calls("/other").len()), (0, 1));
    assert_eq!(held(engine).await, 2);

    // A queue that is resumed meanwhile gives its jobs back to nobody until the team goes on too.
    suspend(&api, true).await;
    let owner = acme.role(Role::Owner).installation_admin();
    assert_eq!(owner.act("/v1/queues/mail/resume").await.status, 200);
    engine.sweep().await;
    assert_eq!(held(engine).await, 2);
    suspend(&api, false).await;
    engine.wake.due(SHARD, engine.clock.now());
    puller.step().await.unwrap();
    assert!(puller.drain(PATIENCE).await);
    assert_eq!(target.calls("/mail").len(), 2);
}
