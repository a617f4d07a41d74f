//! Schedulers that die or fall asleep, between slots and in the middle of a transaction.

use std::time::Duration;

use axle::domain::schedule::doc::{CatchUp, RuleDoc};
use axle::engine::clock;
use rustix::process::Signal;
use tokio::time::sleep;

use super::{
    Hold, beside, check, each, every_second, scheduler, slot_ahead, wait_accounted, wait_seconds,
};
use crate::support::db::Db;
use crate::support::process::MARGIN;

const SOON: Duration = Duration::from_millis(500);

#[tokio::test]
async fn b048_b037_schedulers_killed_between_their_statements_leave_no_hole_and_no_double() {
    const KILLS: usize = 4;
    let db = Db::new().await;
    let engine = beside(&db.url).await;
    let made = every_second(&engine, 12).await;
    let mut process = scheduler(&db.url, &[]).await;
    for kill in 0..KILLS {
        let victim = &made[kill % made.len()];
        let slot = slot_ahead(&engine, victim, SOON);
        let hold = Hold::on(&db, victim.id, slot).await;
        // It has locked its schedules and waits to write their fires.
        db.wait_for_lock_waiters(1).await;
        process.kill().await;
        if kill % 2 == 0 {
            hold.let_go().await;
            process = process.again().await;
        } else {
            // What it asked for is still being worked on when the next one comes.
            process = process.again().await;
            hold.let_go().await;
        }
        wait_accounted(&db, slot).await;
    }
    let until = wait_seconds(&engine, 1).await;
    let rows = check(&db, &made, until).await;
    println!("{rows} slots, {KILLS} kills");
}

#[tokio::test]
async fn b038_b047_a_scheduler_that_sleeps_across_slots_doubles_nothing_when_it_wakes() {
    let db = Db::new().await;
    let engine = beside(&db.url).await;
    let made = every_second(&engine, 12).await;
    let asleep = scheduler(&db.url, &[]).await;
    wait_seconds(&engine, 1).await;
    asleep.signal(Signal::STOP);
    // Three slots of each come while nobody is there.
    sleep(Duration::from_secs(3)).await;
    let awake = scheduler(&db.url, &[]).await;
    wait_seconds(&engine, 1).await;
    asleep.signal(Signal::CONT);
    let until = wait_seconds(&engine, 1).await;
    check(&db, &made, until).await;
    // And it goes on as a scheduler like any other.
    drop(awake);
    let until = wait_seconds(&engine, 1).await;
    check(&db, &made, until).await;
}

#[tokio::test]
async fn b046_a_scheduler_asleep_in_its_transaction_makes_its_slots_late_but_not_missed() {
    /// The server ends a transaction in which nothing is asked for so long.
    const IDLE: Duration = Duration::from_secs(5);
    let db = Db::new().await;
    let engine = beside(&db.url).await;
    let mut made = every_second(&engine, 6).await;
    // It makes up for nothing: a slot that others cannot get at in time is lost.
    let mut strict = each("strict", RuleDoc::Every { every_ms: 1_000, anchor: None });
    strict.doc.catch_up = CatchUp::None;
    let strict = engine.schedule(strict).await;
    made.push(strict.clone());
    let asleep = scheduler(&db.url, &[]).await;
    wait_seconds(&engine, 1).await;
    let slot = slot_ahead(&engine, &strict, SOON);
    let hold = Hold::on(&db, strict.id, slot).await;
    db.wait_for_lock_waiters(1).await;
    asleep.signal(Signal::STOP);
    hold.let_go().await;
    db.wait_for_open_transactions(1).await;
    let others = [scheduler(&db.url, &[]).await, scheduler(&db.url, &[]).await];
    wait_accounted(&db, slot).await;
    let late = clock::until(slot, engine.clock.now());
    println!("the slot was handled {late:?} late");
    assert!(late < IDLE + MARGIN, "{late:?}");

    asleep.signal(Signal::CONT);
    asleep.err.with("could not be fired").await;
    let until = wait_seconds(&engine, 1).await;
    check(&db, &made, until).await;
    drop(others);
    let until = wait_seconds(&engine, 1).await;
    check(&db, &made, until).await;
}
