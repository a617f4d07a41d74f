//! How many runs a team may have at the same time, over all pullers.

use std::sync::Arc;

use axle::domain::principal::{Role, Team};
use axle::domain::quota::Quotas;
use axle::engine::every::every;
use axle::engine::{Ctx, Roster, Wake, clock, jobs, quota};
use axle::store::idempotency::Kept;
use axle::store::live;
use tokio_util::task::TaskTracker;

use crate::support::engine::{Engine, LEASE, SHARD, job, principal};
use crate::support::target::{Held, PATIENCE, Target, ok};

/// Sets the limit of a team, or takes it back, as an admin of the installation does.
async fn limit(engine: &Engine, team: &str, runs: &str) {
    let text = format!(
        "INSERT INTO teams (team, name, settings, created_at, updated_at)
         VALUES ('{team}', '', '{{\"quotas\": {{\"concurrent_runs\": {runs}}}}}', now(), now())
             ON CONFLICT (team) DO UPDATE SET settings = excluded.settings"
    );
    engine.db.execute(&text).await;
}

async fn enqueue(engine: &Engine, team: &str, url: &str) {
    let who = principal(team, Role::Admin);
    jobs::create(&engine.ctx, &who, None, job(url), |_| Kept::default()).await.unwrap();
}

/// Pullers as processes of their own, which know nothing of each other.
fn pull(engine: &Engine, pullers: usize) {
    let tasks = TaskTracker::new();
    for nth in 0..pullers {
        let (wake, roster) = (Wake::default(), Roster::default());
        let quotas = quota::Desk::new(roster.clone(), Quotas::default());
        let ctx = Ctx { wake, roster, quotas, ..engine.ctx.clone() };
        let puller = engine.puller_on(ctx.clone(), &format!("p{nth}"), 50);
        let stop = engine.stop.clone();
        tasks.spawn(async move {
            every("claim", stop, || ctx.wake.jobs().here.news(), || puller.step()).await;
        });
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pullers_together_keep_to_a_teams_ceiling_and_every_job_runs_once() {
    const RUNS: usize = 3;
    const JOBS: usize = 40;
    let engine = Arc::new(Engine::new().await);
    let target = Target::start().await;
    limit(&engine, "acme", &RUNS.to_string()).await;
    for _ in 0..JOBS {
        enqueue(&engine, "acme", &target.url("/acme")).await;
        enqueue(&engine, "rival", &target.url("/rival")).await;
    }
    let gate = target.gate("/acme");
    pull(&engine, 2);
    target.wait_calls("/rival", JOBS, PATIENCE).await;
    let mut held: Vec<Held> = Vec::new();
    for released in 0..JOBS - RUNS {
        while held.len() < RUNS {
            held.push(gate.arrived().await);
        }
        let under_way = target.calls("/acme").len() - released;
        assert_eq!(under_way, RUNS, "after {released}");
        assert!(held.remove(0).release(ok()));
    }
    for _ in held.len()..RUNS {
        held.push(gate.arrived().await);
    }
    assert!(held.into_iter().all(|call| call.release(ok())));
    let done =
        "SELECT count(*) FROM done WHERE team = 'acme' AND attempt = 1 AND state = 'SUCCESS'";
    let all = async {
        while engine.db.ask(done).await.get::<_, i64>(0) < i64::try_from(JOBS).unwrap() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, all).await.expect("all have run, and none was charged twice");
    assert_eq!(target.calls("/acme").len(), JOBS);
    engine.stop.cancel();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ceiling_that_is_lifted_lets_the_rest_go() {
    let engine = Arc::new(Engine::new().await);
    let target = Target::start().await;
    limit(&engine, "acme", "1").await;
    for _ in 0..20 {
        enqueue(&engine, "acme", &target.url("/acme")).await;
    }
    let gate = target.gate("/acme");
    pull(&engine, 1);
    let first = gate.arrived().await;
    limit(&engine, "acme", "null").await;
    let mut held = vec![first];
    while held.len() < 20 {
        held.push(gate.arrived().await);
    }
    engine.stop.cancel();
}

#[tokio::test]
async fn a_claim_takes_no_more_of_a_team_than_it_is_told() {
    let engine = Engine::new().await;
    engine.enqueue_together(vec![job("http://127.0.0.1:1/"); 30]).await;
    let session = engine.store.session().await.unwrap();
    let now = engine.clock.now();
    let times = (now, now, clock::after(now, LEASE));
    let acme = Team::parse("acme").unwrap();
    for (room, expected) in [(0, 0), (3, 3), (1_000, 20)] {
        let rooms = [(acme.clone(), room)];
        let within = (None, &rooms[..]);
        let (claimed, next) =
            live::claim_within(&session, SHARD, ("p", 20), times, within).await.unwrap();
        assert_eq!(claimed.len(), expected, "with room for {room}");
        assert_eq!(next, Some(now), "there is more");
    }
}
