//! A scheduler that is told to stop in the middle of a fire, and the one that comes after it.

use std::time::Duration;

use axle::domain::schedule::doc::Overlap;
use axle::engine::clock;
use chrono::{DateTime, Utc};
use rustix::process::Signal;

use super::{Hold, beside, scheduler, travel_to, wait_accounted};
use crate::support::db::Db;
use crate::support::schedule::{at, brief, cron};
use crate::support::target::PATIENCE;

const SLOT: &str = "2026-12-24T18:00:00Z";

#[tokio::test]
async fn b154_a_fire_under_way_at_sigterm_is_finished_and_the_next_process_catches_up() {
    let (fires, late) = stopped(true).await;
    assert_eq!(fires, ["18:00:00 fired", "18:01:00 coalesced ×9", "18:10:00 fired"]);
    println!("the catch-up came {late:?} after the start");
}

#[tokio::test]
async fn b154_a_fire_that_cannot_end_at_sigterm_is_undone_and_told_by_the_next_process() {
    let (fires, _) = stopped(false).await;
    assert_eq!(fires, ["18:00:00 coalesced ×10", "18:10:00 fired"]);
}

/// Stops a scheduler that is in the middle of the fire of 18:00, and starts it again at 18:10:20.
/// Returns what became of the slots, and how long the second process took.
async fn stopped(may_end: bool) -> (Vec<String>, Duration) {
    let db = Db::new().await;
    travel_to(&db, at(SLOT) - chrono::Duration::seconds(2)).await;
    let engine = beside(&db.url).await;
    let mut minutely = cron("minutely", "* * * * *");
    // Nobody runs its jobs.
    minutely.doc.overlap = Overlap::Allow;
    let made = engine.schedule(minutely).await;
    let mut process = scheduler(&db.url, &[]).await;
    let hold = Hold::on(&db, made.id, at(SLOT)).await;
    db.wait_for_lock_waiters(1).await;
    process.signal(Signal::TERM);
    process.err.with("a second signal stops at once").await;
    let mut held = Some(hold);
    if may_end {
        held.take().unwrap().let_go().await;
    }
    let status = process.ended(PATIENCE).await;
    assert_eq!(status.code(), Some(0), "{status}");
    if let Some(hold) = held {
        hold.let_go().await;
    }
    let later: DateTime<Utc> = at("2026-12-24T18:10:20Z");
    travel_to(&db, later).await;
    let _next = process.again().await;
    wait_accounted(&db, later).await;
    let late = clock::until(later, beside(&db.url).await.clock.now());
    (engine.fires("minutely").await.iter().map(brief).collect(), late)
}
