//! After an outage: each policy in each situation, and how little a long one costs.

use std::time::Duration;

use axle::domain::schedule::doc::{CatchUp, Draft, Overlap};

use tokio::time::Instant;

use crate::support::engine::Engine;
use crate::support::schedule::{cron, every};

fn every_ten_minutes(name: &str, catch_up: CatchUp) -> Draft {
    let mut draft = cron(name, "*/10 * * * *");
    draft.doc.catch_up = catch_up;
    draft.doc.overlap = Overlap::Allow;
    draft
}

/// What became of slots after a pause of the schedulers until `back`.
async fn after(draft: Draft, back: &str) -> Vec<String> {
    let engine = Engine::new().await;
    let name = draft.name.clone();
    engine.schedule(draft).await;
    engine.fire_at(back).await;
    engine.briefs(&name).await
}

#[tokio::test]
async fn each_policy_in_each_situation() {
    let table: [(&str, CatchUp, &[&str]); 12] = [
        // On time.
        ("02:10:00", CatchUp::None, &["02:10:00 fired"]),
        ("02:10:00", CatchUp::Last, &["02:10:00 fired"]),
        ("02:10:00", CatchUp::All, &["02:10:00 fired"]),
        // A few seconds late is on time (bug B040).
        ("02:10:09", CatchUp::None, &["02:10:00 fired"]),
        // One slot is late.
        ("02:12:00", CatchUp::None, &["02:10:00 missed"]),
        ("02:12:00", CatchUp::Last, &["02:10:00 fired"]),
        ("02:12:00", CatchUp::All, &["02:10:00 fired"]),
        // Three are.
        ("02:35:00", CatchUp::None, &["02:10:00 missed ×3"]),
        ("02:35:00", CatchUp::Last, &["02:10:00 coalesced ×2", "02:30:00 fired"]),
        ("02:35:00", CatchUp::All, &["02:10:00 fired", "02:20:00 fired", "02:30:00 fired"]),
        // Late ones, and one on time: it stands for the last; all means all.
        ("02:30:00", CatchUp::Last, &["02:10:00 coalesced ×2", "02:30:00 fired"]),
        ("02:30:00", CatchUp::All, &["02:10:00 fired", "02:20:00 fired", "02:30:00 fired"]),
    ];
    for (back, policy, expected) in table {
        let back = format!("2026-11-30T{back}Z");
        let found = after(every_ten_minutes("s", policy), &back).await;
        assert_eq!(found, expected, "{policy:?} at {back}");
    }
}

#[tokio::test]
async fn what_lies_before_the_window_is_missed() {
    for (policy, expected) in [
        (CatchUp::Last, ["02:10:00 missed ×11", "04:00:00 coalesced ×5", "04:50:00 fired"]),
        (CatchUp::None, ["02:10:00 missed ×17", "", ""]),
    ] {
        let found = after(every_ten_minutes("s", policy), "2026-11-30T04:55:00Z").await;
        let expected: Vec<_> = expected.into_iter().filter(|brief| !brief.is_empty()).collect();
        assert_eq!(found, expected, "{policy:?}");
    }
}

#[tokio::test]
async fn all_makes_up_for_the_oldest_up_to_max() {
    let mut draft = every_ten_minutes("s", CatchUp::All);
    draft.doc.catch_up_max = 2;
    draft.doc.catch_up_window_ms = 86_400_000;
    let found = after(draft, "2026-11-30T03:05:00Z").await;
    assert_eq!(found, ["02:10:00 fired", "02:20:00 fired", "02:30:00 missed ×4"]);
}

#[tokio::test]
async fn b038_the_window_reaches_as_far_as_it_says() {
    let mut draft = every_ten_minutes("s", CatchUp::Last);
    draft.doc.catch_up_window_ms = 600_000;
    // The slot of 02:10 is exactly as old as the window.
    assert_eq!(
        after(draft, "2026-11-30T02:20:00Z").await,
        ["02:10:00 coalesced", "02:20:00 fired"]
    );
}

#[tokio::test]
async fn b039_four_hundred_days_behind_cost_one_step() {
    let engine = Engine::new().await;
    engine.schedule(every("minutely", 60_000)).await;
    let mut all = every("seconds", 1_000);
    all.doc.catch_up = CatchUp::All;
    engine.schedule(all).await;
    engine.pass(Duration::from_hours(400 * 24));
    let began = Instant::now();
    engine.fire().await;
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    let fires = engine.fires("minutely").await;
    let missed = &fires[0];
    assert_eq!((missed.outcome.as_str(), missed.count), ("missed", 400 * 1_440 - 61));
    assert_eq!(fires.last().unwrap().outcome, "fired");
    let seconds = engine.fires("seconds").await;
    let told: i64 = seconds.iter().map(|fire| i64::from(fire.count)).sum();
    assert_eq!(told, 400 * 86_400, "every slot is accounted for");
    // And the next one comes on time.
    engine.pass(Duration::from_mins(1));
    engine.fire().await;
    assert_eq!(engine.fires("minutely").await.len(), fires.len() + 1);
}

#[tokio::test]
async fn b041_a_new_schedule_fires_no_other() {
    let engine = Engine::new().await;
    engine.schedule(every_ten_minutes("a", CatchUp::All)).await;
    engine.fire_at("2026-11-30T02:10:00Z").await;
    engine.schedule(every_ten_minutes("b", CatchUp::All)).await;
    engine.fire().await;
    engine.fire().await;
    assert_eq!(engine.briefs("a").await, ["02:10:00 fired"]);
    assert!(engine.fires("b").await.is_empty());
}

#[tokio::test]
async fn b043_runs_that_are_made_up_for_obey_overlap_too() {
    let mut draft = every_ten_minutes("s", CatchUp::All);
    draft.doc.overlap = Overlap::Skip;
    let found = after(draft.clone(), "2026-11-30T02:35:00Z").await;
    assert_eq!(found, ["02:10:00 fired", "02:20:00 skipped_overlap", "02:30:00 skipped_overlap"]);
    draft.doc.overlap = Overlap::CancelRunning;
    let found = after(draft, "2026-11-30T02:35:00Z").await;
    assert_eq!(found, ["02:10:00 coalesced", "02:20:00 coalesced", "02:30:00 fired"]);
}
