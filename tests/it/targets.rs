//! `GET /v1/targets`: what pullers tell of the targets that they hold calls back from, and to whom.

use std::sync::Arc;
use std::time::Duration;

use axle::domain::job::NewJob;
use axle::domain::principal::{Role, Team};
use axle::engine::breaker::Ceiling;
use axle::engine::puller::Puller;
use axle::engine::register::register;
use axle::engine::targets::Teller;
use serde_json::{Value, json};

use crate::support::api::{Api, Caller};
use crate::support::db::Db;
use crate::support::engine::{Engine, SHARD, job};
use crate::support::process::Server;
use crate::support::program::{axle, eventually};
use crate::support::target::{ClosedPort, PATIENCE, Script, Target, ok, status};

const SECOND: Duration = Duration::from_secs(1);

/// A puller with what it knows and the teller of that.
struct Pulling {
    puller: Arc<Puller>,
    teller: Teller,
}

impl Pulling {
    fn new(engine: &Engine, name: &str) -> Self {
        let puller = engine.puller(name, 50);
        Self { teller: puller.teller(), puller }
    }

    /// One step, until all that it claimed is settled; then it tells.
    async fn pull(&self, engine: &Engine) {
        engine.wake.due(SHARD, engine.clock.now());
        self.puller.step().await.unwrap();
        assert!(self.puller.drain(PATIENCE).await);
        self.teller.step().await.unwrap();
    }
}

/// Registers jobs of a team in one shard.
async fn enqueue(engine: &Engine, team: &str, new: Vec<NewJob>) {
    let session = engine.store.session().await.unwrap();
    session.begin();
    let place = (Some(SHARD), engine.clock.now());
    register(&engine.ctx, &session, &Team::parse(team).unwrap(), new, place).await.unwrap();
    session.commit().await.unwrap();
}

async fn list(caller: &Caller<'_>) -> Vec<Value> {
    let reply = caller.clone().role(Role::Viewer).get("/v1/targets").await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply.json["data"].as_array().unwrap().clone()
}

async fn rows(engine: &Engine) -> i64 {
    engine.db.ask("SELECT count(*) FROM throttled_targets").await.get(0)
}

#[tokio::test]
async fn a_dead_target_is_seen_with_its_reason_by_its_own_team_alone() {
    let api = Api::start().await;
    let (acme, rival) = (api.as_team("acme"), api.as_team("rival"));
    let engine = &api.engine;
    let dead = ClosedPort::reserve();
    let pulling = Pulling::new(engine, "p-1");
    enqueue(engine, "acme", vec![job(&dead.url("/secret-path?token=x")); 4]).await;
    pulling.pull(engine).await;
    assert_eq!(rows(engine).await, 0, "a closed breaker is nothing to tell");

    let opened_at = engine.clock.now();
    enqueue(engine, "acme", vec![job(&dead.url("/secret-path?token=x"))]).await;
    enqueue(engine, "rival", vec![job(&dead.url("/"))]).await;
    pulling.pull(engine).await;
    let seen = list(&acme).await;
    let name = dead.url("/").replace("http://", "").replace('/', "");
    let [target] = seen.as_slice() else { panic!("{seen:?}") };
    assert_eq!((&target["target"], &target["state"]), (&json!(name), &json!("open")));
    let one = &target["pullers"][0];
    assert_eq!(one["puller"], "p-1");
    assert_eq!(one["last_error"]["class"], "connect", "{target}");
    assert_eq!(one["since"], axle::wire::instant(opened_at));
    assert!(one["next_probe_at"].as_str().unwrap() > one["since"].as_str().unwrap(), "{target}");
    assert_eq!((&one["in_flight"], &one["ceiling"]), (&json!(0), &json!(50)));
    assert!(!target.to_string().contains("secret-path"), "{target}");
    assert_eq!(list(&rival).await, Vec::<Value>::new(), "its own breaker for this host is closed");
}

#[tokio::test]
async fn what_comes_back_vanishes_and_so_does_what_a_dead_puller_said() {
    let api = Api::start().await;
    let (acme, engine) = (api.as_team("acme"), &api.engine);
    let target = Target::start().await;
    let overloaded = || status(503).header("retry-after", "4");
    target
        .script("/", (0..5).fold(Script::new(), |script, _| script.then(overloaded())).then(ok()));
    let (one, other) = (Pulling::new(engine, "p-1"), Pulling::new(engine, "p-2"));
    enqueue(engine, "acme", vec![job(&target.url("/")); 5]).await;
    one.pull(engine).await;
    let seen = list(&acme).await;
    assert_eq!(seen[0]["pullers"][0]["last_error"]["http_status"], 503, "{seen:?}");

    // Said again, it stays; not said again, it ends.
    engine.pass(SECOND * 9);
    one.teller.step().await.unwrap();
    engine.pass(SECOND * 9);
    assert_eq!(list(&acme).await.len(), 1);
    engine.pass(SECOND * 2);
    assert_eq!(list(&acme).await, Vec::<Value>::new(), "nobody has told of it for eleven seconds");
    assert_eq!(rows(engine).await, 1);

    // Who tells next sweeps it out.
    let dead = ClosedPort::reserve();
    enqueue(engine, "acme", vec![job(&dead.url("/")); 5]).await;
    engine.wake.due(SHARD, engine.clock.now());
    other.pull(engine).await;
    let pullers: Vec<String> = {
        let all = "SELECT array_agg(puller) FROM throttled_targets";
        engine.db.ask(all).await.get(0)
    };
    assert_eq!(pullers, ["p-2"]);

    // The first one's target answers its probe: it takes its word back.
    one.teller.step().await.unwrap();
    assert_eq!(list(&acme).await.len(), 2);
    enqueue(engine, "acme", vec![job(&target.url("/"))]).await;
    one.pull(engine).await;
    let left = list(&acme).await;
    assert_eq!(left.len(), 1, "{left:?}");
    assert_ne!(left[0]["target"], seen[0]["target"]);
    engine.pass(SECOND * 60);
    one.teller.step().await.unwrap();
    assert_eq!(rows(engine).await, 1, "who has nothing to tell asks no database");
}

#[tokio::test]
async fn a_target_at_its_ceiling_is_closed_and_held_back() {
    let api = Api::start().await;
    let engine = &api.engine;
    let target = Target::start().await;
    let gate = target.gate("/slow");
    let puller = engine.puller_with(engine.ctx.clone(), ("p", 8, Ceiling::new(None, 8)));
    let teller = puller.teller();
    enqueue(engine, "acme", vec![job(&target.url("/slow")); 5]).await;
    engine.wake.due(SHARD, engine.clock.now());
    puller.step().await.unwrap();
    let calls = [gate.arrived().await, gate.arrived().await];
    teller.step().await.unwrap();
    let seen = list(&api.as_team("acme")).await;
    let one = &seen[0]["pullers"][0];
    assert_eq!(
        (&seen[0]["state"], &one["last_error"]),
        (&json!("closed"), &Value::Null),
        "{seen:?}"
    );
    assert_eq!((&one["in_flight"], &one["ceiling"]), (&json!(2), &json!(2)));
    for call in calls {
        call.release(ok());
    }
    assert!(puller.drain(PATIENCE).await);
    engine.pass(SECOND * 7);
    teller.step().await.unwrap();
    assert_eq!(list(&api.as_team("acme")).await, Vec::<Value>::new());
}

#[tokio::test]
async fn the_list_has_pages_and_refuses_what_it_does_not_know() {
    let api = Api::start().await;
    let (acme, engine) = (api.as_team("acme"), &api.engine);
    let dead: Vec<_> = (0..3).map(|_| ClosedPort::reserve()).collect();
    let jobs: Vec<_> = dead.iter().flat_map(|port| vec![job(&port.url("/")); 5]).collect();
    for name in ["p-1", "p-2"] {
        enqueue(engine, "acme", jobs.clone()).await;
        Pulling::new(engine, name).pull(engine).await;
    }
    let (mut names, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = acme.get(&format!("/v1/targets?limit=1{cursor}")).await.json;
        let [target] = page["data"].as_array().unwrap().as_slice() else { panic!("{page}") };
        let pullers = target["pullers"].as_array().unwrap();
        let pullers: Vec<_> = pullers.iter().map(|one| one["puller"].as_str().unwrap()).collect();
        assert_eq!(pullers, ["p-1", "p-2"], "a page does not cut a target in two");
        names.push(target["target"].as_str().unwrap().to_owned());
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert!(names.is_sorted() && names.len() == 3, "{names:?}");
    let nul = axle::http::cursor::encode("a\0b", "/v1/targets?");
    for (query, status, code) in [
        ("limit=0", 422, "validation-failed"),
        ("state=open", 422, "validation-failed"),
        ("cursor=x", 400, "invalid-cursor"),
        (&format!("cursor={nul}"), 400, "invalid-cursor"),
    ] {
        let reply = acme.get(&format!("/v1/targets?{query}")).await;
        assert_eq!((reply.status, reply.code()), (status, code), "{query}");
    }
}

/// The whole of it, with processes: the loop of the puller tells, the API and the command show.
#[tokio::test]
async fn a_puller_process_tells_and_the_command_shows_it() {
    let db = Db::new().await;
    let api = Server::start(&db.url, "api", &[]).await;
    let puller = Server::start(&db.url, "puller", &[]).await;
    let dead = ClosedPort::reserve();
    api.api().create_many(&json!({"target": {"url": dead.url("/")}}), 8).await;
    eventually("the target is listed", PATIENCE, async || {
        let page = api.api().get("/v1/targets").await;
        (page["data"].as_array()?.len() == 1).then_some(())
    })
    .await;
    let throttled = eventually("it is counted", PATIENCE, async || {
        Some(puller.metric("axle_target_throttled").await).filter(|count| *count > 0.0)
    });
    assert!((throttled.await - 1.0).abs() < f64::EPSILON);
    let url = format!("http://{}", api.address());
    let token = crate::support::process::token("acme");
    let env = [("AXLE_URL", url.as_str()), ("AXLE_TOKEN", token.as_str())];
    let shown = axle(&["targets", "list"], &env).await;
    let name = dead.url("").replace("http://", "");
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert!(shown.out.contains(&name) && shown.out.contains("refused"), "{shown:?}");
    let json = axle(&["target", "list", "--json", "--limit", "1"], &env).await;
    let page: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(page["data"][0]["target"], name, "{json:?}");
    assert_eq!(axle(&["targets", "list", "--limit", "0"], &env).await.code, Some(2));
}
