//! How late fires are on a system that has little else to do, and when a thousand come at once.

use std::collections::BTreeMap;
use std::time::Duration;

use axle::domain::schedule::doc::RuleDoc;
use axle::engine::{Clock, clock};
use chrono::{DateTime, TimeDelta, Utc};
use futures_util::{StreamExt as _, stream};
use reqwest::Method;
use serde_json::json;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::{beside, each, scheduler, travel_to};
use crate::support::db::Db;
use crate::support::process::{MARGIN, Server};
use crate::support::program::eventually;
use crate::support::target::{PATIENCE, Target};

/// How far the clocks of a test and of a process, both set by the database's, may differ.
const CLOCKS: TimeDelta = TimeDelta::milliseconds(20);

/// The value below which `percent` of them lie.
fn percentile<T: Copy + Ord>(values: &mut [T], percent: usize) -> T {
    values.sort_unstable();
    values[(values.len() * percent).div_ceil(100).max(1) - 1]
}

#[tokio::test]
async fn a_schedule_registered_at_one_process_fires_on_time_in_others() {
    const SCHEDULES: usize = 5;
    const SLOTS: usize = 15;
    const LIMIT: TimeDelta = TimeDelta::seconds(1);
    let db = Db::new().await;
    let target = Target::start().await;
    let api = Server::start(&db.url, "api", &[]).await;
    let _scheduler = scheduler(&db.url, &[]).await;
    let _puller = Server::start(&db.url, "puller", &[]).await;
    let clock = Clock::synced(&db.store).await.unwrap();
    for n in 0..SCHEDULES {
        let schedule = json!({
            "name": format!("s{n}"),
            "spec": {"cron": "* * * * * *", "seconds": true},
            "overlap": "allow",
            "job": {"target": {"url": target.url("/tick")}},
        });
        let (status, body) = api.api().post("/v1/schedules", &schedule).await;
        assert_eq!(status, 201, "{body}");
    }
    let within = Duration::from_secs(20) + PATIENCE;
    let calls = target.wait_calls("/tick", SCHEDULES * SLOTS, within).await;
    let (now, here) = (clock.now(), Instant::now());
    let mut fires: BTreeMap<&str, Vec<DateTime<Utc>>> = BTreeMap::new();
    let mut late = Vec::new();
    for call in &calls {
        let slot: DateTime<Utc> = call.header("axle-fire-at").unwrap().parse().unwrap();
        late.push(now - TimeDelta::from_std(here - call.at).unwrap() - slot);
        fires.entry(call.header("axle-schedule-id").unwrap()).or_default().push(slot);
    }
    let (p50, p99) = (percentile(&mut late, 50), percentile(&mut late, 99));
    let (least, most) = (late[0], late[late.len() - 1]);
    println!("from slot to target: p50 {p50}, p99 {p99}, least {least}, most {most}");
    assert_eq!(fires.len(), SCHEDULES);
    for slots in fires.values_mut() {
        slots.sort_unstable();
        let steps: Vec<_> = slots.windows(2).map(|two| two[1] - two[0]).collect();
        assert!(steps.iter().all(|step| *step == TimeDelta::seconds(1)), "{slots:?}");
    }
    assert!(least >= -CLOCKS, "none is early: {least}");
    assert!(p50 < LIMIT, "{p50}");
    assert!(most < LIMIT + TimeDelta::from_std(MARGIN).unwrap(), "{most}");
}

#[tokio::test]
async fn b055_a_thousand_schedules_of_one_slot_make_their_jobs_and_leave_the_api_responsive() {
    const SCHEDULES: usize = 1_000;
    const LIMIT: Duration = Duration::from_secs(5);
    const API_LIMIT: Duration = Duration::from_millis(500);
    let db = Db::new().await;
    let target = Target::start().await;
    let engine = beside(&db.url).await;
    // As near as tokens live.
    let slot = engine.clock.now() + TimeDelta::minutes(30);
    stream::iter(0..SCHEDULES)
        .for_each_concurrent(8, async |n| {
            let mut draft = each(&format!("s{n}"), RuleDoc::At(vec![slot]));
            draft.doc.job.spec.target.url = target.url("/many");
            engine.schedule(draft).await;
        })
        .await;
    travel_to(&db, slot - TimeDelta::seconds(3)).await;
    let server = Server::start(&db.url, "all", &[("AXLE_LOG", "info")]).await;
    let clock = Clock::synced(&db.store).await.unwrap();
    // How quick the API is on this machine when nothing is due; then from the slot to the last
    // delivery.
    let mut before = asked_until(&server, sleep(clock::until(clock.now(), slot))).await;
    let done = CancellationToken::new();
    let made = async {
        let made = eventually("every job is there", PATIENCE, async || {
            let count = "SELECT count(*) FROM jobs WHERE schedule_id IS NOT NULL";
            let all = db.ask(count).await.get::<_, i64>(0) == 1_000;
            all.then(|| clock.now() - slot)
        })
        .await;
        target.wait_calls("/many", SCHEDULES, PATIENCE).await;
        let received = clock.now() - slot;
        done.cancel();
        (made, received)
    };
    let asking = asked_until(&server, done.cancelled());
    let ((made, received), mut answers) = tokio::join!(made, asking);
    let (p50, p99) = (percentile(&mut answers, 50), percentile(&mut answers, 99));
    let (count, idle) = (answers.len(), percentile(&mut before, 99));
    println!("{SCHEDULES} jobs were made {made} after their slot, received {received} after it");
    println!("{count} requests meanwhile: p50 {p50:?}, p99 {p99:?}; p99 before {idle:?}");
    assert!(made.to_std().unwrap() < LIMIT + MARGIN, "{made}");
    // On a machine that is slow anyhow, a few times slower at most.
    assert!(p99 < API_LIMIT.max(idle * 8), "{p99:?}, before {idle:?}");
    assert_eq!(target.calls("/many").len(), SCHEDULES);
}

/// How long each request took of three clients that ask the API one thing after another until `done`.
async fn asked_until(server: &Server, done: impl Future<Output = ()>) -> Vec<Duration> {
    let enough = CancellationToken::new();
    let clients = stream::iter(0..3).map(|_| ask(server, &enough)).buffer_unordered(3).concat();
    let stop = async {
        done.await;
        enough.cancel();
    };
    tokio::join!(clients, stop).0
}

async fn ask(server: &Server, enough: &CancellationToken) -> Vec<Duration> {
    let api = server.api();
    let later = json!({"target": {"url": "http://127.0.0.1:9/"}, "delay_ms": 3_600_000});
    let asks = [
        (Method::GET, "/v1/version", None),
        (Method::GET, "/v1/jobs", None),
        (Method::POST, "/v1/jobs", Some(&later)),
    ];
    let mut taken = Vec::new();
    while !enough.is_cancelled() {
        for (method, path, body) in &asks {
            let asked = Instant::now();
            let reply = api.try_ask(method.clone(), path, *body).await;
            taken.push(asked.elapsed());
            let status = reply.map(|reply| reply.0);
            assert!(status.is_some_and(|status| status < 300), "{path}: {status:?}");
        }
        sleep(Duration::from_millis(10)).await;
    }
    taken
}
