//! The timer: one job per slot, what it carries, and what becomes of slots that make none.

use std::time::Duration;

use axle::domain::schedule::doc::{CalendarDoc, RuleDoc};
use axle::domain::schedule::record::ScheduleState;
use axle::domain::state::State;
use axle::engine::calendars;
use chrono::TimeDelta;

use crate::support::engine::Engine;
use crate::support::schedule::{at, cron, draft, every};

#[tokio::test]
async fn a_slot_makes_one_job_that_knows_where_it_comes_from() {
    let engine = Engine::new().await;
    let made = engine.schedule(cron("nightly", "30 2 * * *")).await;
    assert_eq!(made.state, ScheduleState::Active);
    assert_eq!(made.next_fire_at, Some(at("2026-11-30T02:30:00Z")));
    engine.fire_at("2026-11-30T02:29:59.999Z").await;
    assert!(engine.fires("nightly").await.is_empty(), "never early");
    engine.fire_at("2026-11-30T02:30:00Z").await;
    engine.fire().await;
    let fires = engine.fires("nightly").await;
    assert_eq!(fires.len(), 1, "{fires:?}");
    assert_eq!((fires[0].outcome.as_str(), fires[0].origin.as_str()), ("fired", "timer"));
    let job = engine.get(fires[0].job.unwrap()).await;
    assert_eq!(job.asked.schedule_id, Some(made.id));
    assert_eq!(job.asked.fire_at, Some(at("2026-11-30T02:30:00Z")));
    assert_eq!(job.asked.due_at, at("2026-11-30T02:30:00Z"));
    assert_eq!(job.asked.name.as_deref(), Some("nightly"));
    assert_eq!(job.asked.payload.as_deref(), Some(&b"{\"n\":1}"[..]));
    assert_eq!(job.state(), State::Pending);
    let after = engine.schedule_named("nightly").await;
    assert_eq!(after.next_fire_at, Some(at("2026-12-01T02:30:00Z")));
    assert_eq!((after.fires, after.last_fire_at), (1, Some(at("2026-11-30T02:30:00Z"))));
}

#[tokio::test]
async fn b001_and_b002_the_clock_changes_of_a_year_make_one_job_a_day() {
    let engine = Engine::new().await;
    let mut new_york = cron("ny", "30 2 * * *");
    new_york.doc.time_zone = "America/New_York".into();
    engine.schedule(new_york).await;
    let mut second = cron("ny-back", "30 1 * * *");
    second.doc.time_zone = "America/New_York".into();
    engine.schedule(second).await;
    for (start, hours) in [("2027-03-12T12:00:00Z", 96), ("2027-11-05T12:00:00Z", 96)] {
        engine.move_to(start);
        for _ in 0..hours {
            engine.pass(Duration::from_hours(1));
            engine.fire().await;
            release_all(&engine).await;
        }
    }
    let around = |fires: Vec<axle::domain::schedule::record::Fire>, from: &str, to: &str| {
        let (from, to) = (at(from), at(to));
        let inside = fires.into_iter().filter(|fire| fire.outcome == "fired");
        inside.map(|fire| fire.at).filter(|at| (from..to).contains(at)).collect::<Vec<_>>()
    };
    let spring = around(engine.fires("ny").await, "2027-03-13T00:00:00Z", "2027-03-16T00:00:00Z");
    let expected = ["2027-03-13T07:30:00Z", "2027-03-14T07:00:00Z", "2027-03-15T06:30:00Z"];
    assert_eq!(spring, expected.map(at));
    let autumn =
        around(engine.fires("ny-back").await, "2027-11-06T00:00:00Z", "2027-11-09T00:00:00Z");
    let expected = ["2027-11-06T05:30:00Z", "2027-11-07T05:30:00Z", "2027-11-08T06:30:00Z"];
    assert_eq!(autumn, expected.map(at));
}

/// Ends the jobs of every schedule, so that none is in the way of the next.
async fn release_all(engine: &Engine) {
    for name in ["ny", "ny-back"] {
        for fire in engine.fires(name).await.into_iter().rev().take(1) {
            if let Some(job) = fire.job {
                engine.cancel(job).await;
            }
        }
    }
}

#[tokio::test]
async fn a_gap_that_is_skipped_has_its_row_at_its_time() {
    let engine = Engine::new().await;
    let mut nightly = cron("nightly", "30 2 * * *");
    nightly.doc.time_zone = "Europe/Berlin".into();
    nightly.doc.skip_gap = true;
    engine.move_to("2027-03-27T12:00:00Z");
    let made = engine.schedule(nightly).await;
    assert_eq!(made.next_fire_at, Some(at("2027-03-29T00:30:00Z")));
    assert_eq!(made.next_slot_at, Some(at("2027-03-28T01:00:00Z")));
    engine.fire_at("2027-03-28T01:00:00Z").await;
    assert_eq!(engine.briefs("nightly").await, ["01:00:00 skipped_gap"]);
    engine.fire_at("2027-03-29T00:30:00Z").await;
    assert_eq!(engine.briefs("nightly").await, ["01:00:00 skipped_gap", "00:30:00 fired"]);
}

#[tokio::test]
async fn closed_days_are_told_and_a_changed_calendar_moves_the_schedule() {
    let engine = Engine::new().await;
    let calendar = |dates: &[&str]| CalendarDoc {
        name: "de".into(),
        dates: dates.iter().map(|date| date.parse().unwrap()).collect(),
        weekend: Vec::new(),
    };
    calendars::put(&engine, &engine.who, &calendar(&["2026-12-01"])).await.unwrap();
    let mut daily = cron("daily", "0 9 * * *");
    daily.doc.exclude = vec!["de".into()];
    engine.schedule(daily).await;
    engine.fire_at("2026-11-30T09:00:00Z").await;
    engine.fire_at("2026-12-01T09:00:00Z").await;
    assert_eq!(engine.briefs("daily").await, ["09:00:00 fired", "09:00:00 skipped_calendar"]);
    assert_eq!(engine.schedule_named("daily").await.next_fire_at, Some(at("2026-12-02T09:00:00Z")));
    // Closed after the next fire was worked out: the slot asks when it comes.
    calendars::put(&engine, &engine.who, &calendar(&["2026-12-02", "2026-12-03"])).await.unwrap();
    assert_eq!(engine.schedule_named("daily").await.next_fire_at, Some(at("2026-12-04T09:00:00Z")));
    // Opened again.
    calendars::put(&engine, &engine.who, &calendar(&["2026-12-02"])).await.unwrap();
    assert_eq!(engine.schedule_named("daily").await.next_fire_at, Some(at("2026-12-03T09:00:00Z")));
    let error = calendars::delete(&engine, &engine.who, "de").await.unwrap_err();
    assert!(error.to_string().contains("daily"), "{error}");
}

#[tokio::test]
async fn b044_slots_before_birth_never_fire_and_start_at_bounds_the_first() {
    let engine = Engine::new().await;
    engine.move_to("2026-11-30T10:07:00Z");
    let hourly = engine.schedule(cron("hourly", "0 * * * *")).await;
    assert_eq!(hourly.next_fire_at, Some(at("2026-11-30T11:00:00Z")));
    let mut later = cron("later", "0 * * * *");
    later.doc.start_at = Some(at("2026-11-30T13:00:00Z"));
    assert_eq!(engine.schedule(later).await.next_fire_at, Some(at("2026-11-30T13:00:00Z")));
    engine.fire().await;
    assert!(engine.fires("hourly").await.is_empty());
}

#[tokio::test]
async fn max_fires_and_end_at_end_a_schedule() {
    let engine = Engine::new().await;
    let mut twice = every("twice", 60_000);
    twice.doc.max_fires = Some(2);
    twice.doc.overlap = axle::domain::schedule::doc::Overlap::Allow;
    engine.schedule(twice).await;
    let mut ends = every("ends", 60_000);
    ends.doc.end_at = Some(at("2026-11-30T02:02:00Z"));
    engine.schedule(ends).await;
    engine.schedule(draft("once", RuleDoc::At(vec![at("2026-11-30T02:01:30Z")]))).await;
    for _ in 0..5 {
        engine.pass(Duration::from_mins(1));
        engine.fire().await;
    }
    assert_eq!(engine.briefs("twice").await, ["02:01:00 fired", "02:02:00 fired"]);
    assert_eq!(engine.briefs("ends").await, ["02:01:00 fired"]);
    assert_eq!(engine.briefs("once").await, ["02:01:30 fired"]);
    for name in ["twice", "ends", "once"] {
        let ended = engine.schedule_named(name).await;
        assert_eq!((ended.state, ended.next_fire_at), (ScheduleState::Ended, None), "{name}");
    }
}

#[tokio::test]
async fn b055_jitter_is_stable_and_stays_inside_the_slot() {
    let engine = Engine::new().await;
    for n in 0..40 {
        let mut spread = cron(&format!("s{n}"), "* * * * *");
        spread.doc.jitter_ms = 3_600_000;
        engine.schedule(spread).await;
    }
    engine.fire_at("2026-11-30T02:01:00Z").await;
    let slot = at("2026-11-30T02:01:00Z");
    let mut delays = std::collections::BTreeSet::new();
    for n in 0..40 {
        let fires = engine.fires(&format!("s{n}")).await;
        let job = engine.get(fires[0].job.unwrap()).await;
        assert_eq!(job.asked.fire_at, Some(slot));
        let delay = job.asked.due_at - slot;
        assert!((TimeDelta::zero()..TimeDelta::minutes(1)).contains(&delay), "{delay}");
        delays.insert(delay);
    }
    assert!(delays.len() > 30, "they are spread: {delays:?}");
}

#[tokio::test]
async fn a_schedule_of_a_second_fires_every_second() {
    let engine = Engine::new().await;
    let mut tick = draft("tick", RuleDoc::Cron { cron: "*/1 * * * * *".into(), seconds: true });
    tick.doc.overlap = axle::domain::schedule::doc::Overlap::Allow;
    engine.schedule(tick).await;
    let firing = engine.firing();
    for _ in 0..10 {
        engine.pass(Duration::from_secs(1));
        firing.step().await.unwrap();
    }
    let fires = engine.fires("tick").await;
    assert_eq!(fires.len(), 10);
    assert!(fires.iter().all(|fire| fire.outcome == "fired"));
    let gaps: Vec<_> = fires.windows(2).map(|w| w[1].at - w[0].at).collect();
    assert!(gaps.iter().all(|gap| *gap == TimeDelta::seconds(1)), "{gaps:?}");
    assert!(fires[0].at < at("2026-11-30T02:00:02Z"));
}
