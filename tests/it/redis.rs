//! Hints over Redis: sooner than PostgreSQL's, and of no matter when they are lost.

use std::time::Duration;

use axle::engine::hint;
use axle::hints::{Redis, Speaker};
use axle::store::hints::Topic;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout};
use tokio_util::task::TaskTracker;

use crate::support::db::Db;
use crate::support::engine::{Engine, job};
use crate::support::process::{MARGIN, Server};
use crate::support::program::{axle, eventually};
use crate::support::redis::Redis as Program;
use crate::support::target::{PATIENCE, Target};

/// By a hint; by a look it would take up to two seconds.
const SOON: Duration = Duration::from_millis(250);

fn redis(program: &Program) -> Redis {
    Redis::new(&program.url).unwrap().within(b"this installation")
}

/// An engine that only Redis tells of anything.
async fn listener(db: &Db, redis: &Redis) -> Engine {
    let engine = Engine::on(Db::at(db.url.clone())).await;
    let listening = hint::listen_sooner(engine.ctx.clone(), redis.clone(), engine.stop.clone());
    engine.tasks.spawn(listening);
    eventually("it listens", PATIENCE, async || redis.is_up().then_some(())).await;
    engine
}

/// An engine that tells by Redis what it makes due.
async fn teller(db: &Db, redis: &Redis) -> Engine {
    let engine = Engine::on(Db::at(db.url.clone())).await;
    let telling = hint::tell_sooner(engine.ctx.clone(), redis.clone(), engine.stop.clone());
    engine.tasks.spawn(telling);
    engine
}

async fn is_told(listener: &Engine) -> bool {
    timeout(PATIENCE, listener.wake.jobs().here.news()).await.is_ok()
}

#[tokio::test]
async fn a_job_is_told_of_by_redis_alone() {
    let (db, mut program) = (Db::new().await, Program::start().await);
    let redis = redis(&program);
    let (listener, teller) = (listener(&db, &redis).await, teller(&db, &redis).await);
    let registered = teller.enqueue(job("http://127.0.0.1:1/")).await;
    assert!(is_told(&listener).await);
    let dues = listener.wake.jobs().here.take();
    assert_eq!(dues, [(registered.id.shard(), teller.clock.now())].into());

    // Redis is gone, and comes back: so do both of its connections.
    program.kill().await;
    eventually("it is missed", PATIENCE, async || (!redis.is_up()).then_some(())).await;
    teller.enqueue(job("http://127.0.0.1:1/")).await;
    program.restart().await;
    eventually("it is told of again", PATIENCE, async || {
        teller.enqueue(job("http://127.0.0.1:1/")).await;
        let news = listener.wake.jobs().here.news();
        timeout(SOON, news).await.ok()
    })
    .await;
}

#[tokio::test]
async fn what_is_no_hint_is_passed_over() {
    let (db, program) = (Db::new().await, Program::start().await);
    let redis = redis(&program);
    let (listener, teller) = (listener(&db, &redis).await, teller(&db, &redis).await);
    for junk in [&b""[..], b"\xff\xfe", b"1:2:3,x,:,99999999999:1,5:99999999999999999999", b"7:"] {
        assert_eq!(program.shout(junk).await, 2, "jobs and slots");
    }
    teller.enqueue(job("http://127.0.0.1:1/")).await;
    assert!(is_told(&listener).await);
    assert_eq!(listener.wake.jobs().here.take().len(), 1);
}

#[tokio::test]
async fn installations_that_share_a_redis_do_not_hear_each_other() {
    let program = Program::start().await;
    let (ours, theirs) = (redis(&program), redis(&program).within(b"another installation"));
    let (begun, begins) = oneshot::channel();
    let (tell, mut told) = mpsc::unbounded_channel();
    let tasks = TaskTracker::new();
    let listening = tasks.spawn({
        let ours = ours.clone();
        async move {
            let heard = |topic: &str, text: &str| {
                drop(tell.send((topic.to_owned(), text.to_owned())));
            };
            ours.listen(&[Topic::Jobs.channel()], || _ = begun.send(()), heard).await
        }
    });
    begins.await.unwrap();
    let mut speaker = Speaker::default();
    theirs.publish(&mut speaker, (Topic::Jobs.channel(), "1:1")).await.unwrap();
    ours.publish(&mut speaker, (Topic::Slots.channel(), "2:2")).await.unwrap();
    ours.publish(&mut speaker, (Topic::Jobs.channel(), "3:3")).await.unwrap();
    let heard = timeout(PATIENCE, told.recv()).await.unwrap().unwrap();
    assert_eq!(heard, ("axle_due".to_owned(), "3:3".to_owned()));
    listening.abort();
}

/// What `/readyz` says of Redis.
async fn check(server: &Server) -> String {
    let (status, text) = server.admin("/readyz?verbose").await.unwrap();
    assert_eq!(status, 200, "without Redis it is ready all the same: {text}");
    let line = text.lines().find_map(|line| line.strip_prefix("redis: "));
    line.expect("a line about Redis").to_owned()
}

async fn wait_for(server: &Server, words: &str) {
    eventually(words, PATIENCE, async || check(server).await.starts_with(words).then_some(()))
        .await;
}

/// How long it takes from a registration at the API to the call.
async fn latency(api: &Server, target: &Target) -> Duration {
    let calls = target.calls("/work").len();
    let begun = Instant::now();
    api.api().create(&crate::processes::job(&target.url("/work"))).await;
    let calls = target.wait_calls("/work", calls + 1, PATIENCE).await;
    calls.last().unwrap().at - begun
}

#[tokio::test]
async fn redis_may_vanish_at_any_moment() {
    let (db, mut program) = (Db::new().await, Program::start().await);
    let target = Target::start().await;
    let env = [("AXLE_REDIS_URL", &*program.url.clone())];
    let api = Server::start(&db.url, "api", &env).await;
    let puller = Server::start(&db.url, "puller", &env).await;
    wait_for(&puller, "ok").await;
    let mut taken = vec![("there", latency(&api, &target).await)];

    // It answers nobody: nothing waits for it.
    program.pause();
    taken.push(("silent", latency(&api, &target).await));
    wait_for(&puller, "away").await;
    taken.push(("known to be silent", latency(&api, &target).await));
    program.resume();
    wait_for(&puller, "ok").await;

    program.kill().await;
    wait_for(&puller, "away").await;
    taken.push(("gone", latency(&api, &target).await));
    program.restart().await;
    wait_for(&puller, "ok").await;
    taken.push(("back", latency(&api, &target).await));
    assert!(taken.iter().all(|(_, took)| *took < SOON + MARGIN), "{taken:?}");
    assert!(taken.iter().filter(|(_, took)| *took < SOON).count() >= 3, "{taken:?}");
}

#[tokio::test]
async fn the_doctor_looks_at_redis() {
    let (db, mut program) = (Db::new().await, Program::start().await);
    let url = program.url.clone();
    let env = [("AXLE_DATABASE_URL", &*db.url), ("AXLE_REDIS_URL", &*url)];
    let there = axle(&["doctor"], &env).await;
    assert!(there.out.contains("ok    Redis: passes hints on"), "{there:?}");
    program.kill().await;
    let away = axle(&["doctor"], &env).await;
    assert!(away.out.contains("WRONG Redis") && away.code == Some(1), "{away:?}");
}

#[tokio::test]
async fn a_server_starts_without_its_redis() {
    let (db, program) = (Db::new().await, Program::start().await);
    let url = program.url.clone();
    drop(program);
    let server = Server::start(&db.url, "all", &[("AXLE_REDIS_URL", &url)]).await;
    wait_for(&server, "away").await;
}
