//! A scheduler that is told to stop in the middle of a fire, and the one that comes after it or after
//! a long time without any.

use std::time::Duration;

use axle::domain::schedule::doc::{Overlap, RuleDoc};
use axle::engine::{clock, place};
use chrono::{DateTime, Utc};
use rustix::process::Signal;

use super::{Hold, beside, each, scheduler, travel_to, wait_accounted};
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

#[tokio::test]
async fn b043_what_a_long_outage_left_is_made_up_for_in_transactions_of_bounded_size() {
    const SCHEDULES: usize = 12;
    const MADE_UP: u32 = 400;
    /// What fills a transaction, and the last schedule that it took.
    const MOST: i64 = 2_000 + 400 + 20;
    let db = Db::new().await;
    let engine = beside(&db.url).await;
    let mut made = Vec::new();
    let mut shard = None;
    for n in 0.. {
        let name = format!("s{n}");
        let lives = place::by_key(&engine, &engine.who.team, &name);
        if *shard.get_or_insert(lives) != lives {
            continue;
        }
        let mut draft = each(&name, RuleDoc::Every { every_ms: 1_000, anchor: None });
        (draft.doc.catch_up_window_ms, draft.doc.catch_up_max) = (3_600_000, MADE_UP);
        made.push(engine.schedule(draft).await);
        if made.len() == SCHEDULES {
            break;
        }
    }
    let later = engine.clock.now() + chrono::Duration::hours(2);
    travel_to(&db, later).await;
    let _process = scheduler(&db.url, &[]).await;
    wait_accounted(&db, later).await;
    let row = db
        .ask(
            "SELECT max(rows), max(made_up), min(made_up)
               FROM (SELECT count(*) AS rows FROM fires GROUP BY xmin::text) AS transactions,
                    (SELECT count(*) AS made_up FROM fires
                      WHERE outcome = 'fired' AND recorded_at - fire_at > interval '10 s'
                      GROUP BY schedule_id) AS schedules",
        )
        .await;
    let [rows, most, least] = [0, 1, 2].map(|n| row.get::<_, i64>(n));
    println!("at most {rows} fires were written in one transaction");
    assert!(rows <= MOST, "{rows}");
    assert_eq!((most, least), (400, 400), "each makes up for as many as it says");
}
