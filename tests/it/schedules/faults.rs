//! One bad schedule stops no other, and is shown with what is wrong.

use axle::domain::schedule::record::ScheduleState;
use axle::engine::schedules::{self, Ident};

use crate::support::engine::Engine;
use crate::support::schedule::every;

/// Schedules of the same shard, so that they are fired in one transaction.
async fn neighbours(engine: &Engine, count: usize) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut shard = None;
    for n in 0.. {
        let name = format!("s{n}");
        let lives = axle::engine::place::by_key(engine, &engine.who.team, &name);
        if *shard.get_or_insert(lives) == lives {
            engine.schedule(every(&name, 60_000)).await;
            found.push(name);
        }
        if found.len() == count {
            break;
        }
    }
    found
}

#[tokio::test]
async fn b006_a_schedule_that_cannot_be_read_is_set_aside_and_the_others_go_on() {
    let engine = Engine::new().await;
    let names = neighbours(&engine, 3).await;
    let bad = engine.schedule_named(&names[1]).await.id;
    let spoil = format!(
        "UPDATE schedules SET plan = '{{\"rule\":7}}' WHERE schedule_id = '{}'",
        bad.uuid()
    );
    engine.db.execute(&spoil).await;
    engine.fire_at("2026-11-30T02:01:00Z").await;
    assert_eq!(engine.briefs(&names[0]).await, ["02:01:00 fired"]);
    assert_eq!(engine.briefs(&names[2]).await, ["02:01:00 fired"]);
    let row = engine.db.ask("SELECT state, reason FROM schedules WHERE state = 'ERROR'").await;
    assert!(row.get::<_, String>(1).contains("its plan cannot be read"), "{row:?}");
}

#[tokio::test]
async fn a_schedule_whose_zone_is_gone_is_in_error_until_it_is_mended() {
    let engine = Engine::new().await;
    let names = neighbours(&engine, 2).await;
    let id = engine.schedule_named(&names[0]).await.id;
    let spoil = format!(
        "UPDATE schedules SET plan = replace(plan::text, '\"UTC\"', '\"Moon/Base\"')::json \
         WHERE schedule_id = '{}'",
        id.uuid()
    );
    engine.db.execute(&spoil).await;
    engine.fire_at("2026-11-30T02:01:00Z").await;
    let broken = engine.schedule_named(&names[0]).await;
    assert_eq!(broken.state, ScheduleState::Error);
    assert!(broken.reason.unwrap().contains("#/time_zone"));
    assert_eq!(engine.briefs(&names[1]).await, ["02:01:00 fired"]);
    // It is listed among the others, and an edit mends it.
    let (page, _) =
        schedules::list(&engine, &engine.who, &schedules::Filter::default(), (None, 10))
            .await
            .unwrap();
    assert_eq!(page.len(), 2);
    engine.put(every(&names[0], 60_000)).await;
    engine.fire_at("2026-11-30T02:02:00Z").await;
    assert_eq!(engine.briefs(&names[0]).await.last().unwrap(), "02:02:00 fired");
}

#[tokio::test]
async fn a_schedule_that_cannot_be_written_is_set_aside_alone() {
    let engine = Engine::new().await;
    let names = neighbours(&engine, 3).await;
    let bad = engine.schedule_named(&names[2]).await.id;
    let refuse =
        format!("ALTER TABLE fires ADD CONSTRAINT planted CHECK (schedule_id <> '{}')", bad.uuid());
    engine.db.execute(&refuse).await;
    engine.fire_at("2026-11-30T02:01:00Z").await;
    assert_eq!(engine.briefs(&names[0]).await, ["02:01:00 fired"]);
    assert_eq!(engine.briefs(&names[1]).await, ["02:01:00 fired"]);
    let set_aside = engine.schedule_named(&names[2]).await;
    assert_eq!(set_aside.state, ScheduleState::Error);
    assert!(set_aside.reason.unwrap().contains("planted"));
    engine.db.execute("ALTER TABLE fires DROP CONSTRAINT planted").await;
    engine.move_to("2026-11-30T02:03:30Z");
    engine.resume_schedule(&names[2], false).await.unwrap();
    assert_eq!(engine.briefs(&names[2]).await, ["02:01:00 missed ×3"], "told, not silently lost");
    let ident = Ident::Name(names[2].clone());
    schedules::delete(&engine, &engine.who, &ident, None).await.unwrap();
}
