//! Schedulers that live through years of clock changes in seconds: the database's clock jumps from
//! one change to the next, and at each jump another process comes and one is killed.

use std::collections::{BTreeSet, VecDeque};

use axle::domain::schedule::doc::{Draft, RuleDoc};
use axle::domain::schedule::record::Schedule;
use axle::domain::schedule::slot::{Note, Pass};
use chrono::{DateTime, Duration, Utc};

use super::{beside, check, each, scheduler, travel_to, wait_accounted};
use crate::support::db::Db;
use crate::support::process::Server;
use crate::support::schedule::{at, brief, cron};

/// Zones, and local times that lie in their gaps and in their repeated hours.
const ZONES: &[(&str, &[&str])] = &[
    ("Europe/Berlin", &["30 2 * * *"]),
    ("America/New_York", &["30 1,2 * * *"]),
    ("America/Santiago", &["30 0,23 * * *"]),
    ("America/St_Johns", &["30 0,1,2,23 * * *"]),
    // By half an hour.
    ("Australia/Lord_Howe", &["15 2 * * *", "45 1 * * *"]),
    // Four changes in some years.
    ("Africa/Casablanca", &["30 0,2,23 * * *"]),
    // Had no 30 December 2011.
    ("Pacific/Apia", &["30 0,3 * * *"]),
];

/// `skip_gap`, and which passes of a repeated time fire.
const POLICIES: [(bool, (bool, bool)); 3] =
    [(false, (true, false)), (true, (false, true)), (false, (true, true))];

/// Each zone by each policy, and one that follows the wall clock.
fn drafts() -> Vec<Draft> {
    let line = |line: &&str| RuleDoc::Cron { cron: (*line).to_owned(), seconds: false };
    let mut drafts = Vec::new();
    for (zone, lines) in ZONES {
        for (n, (skip_gap, passes)) in POLICIES.into_iter().enumerate() {
            let name = format!("{}-{n}", zone.replace('/', "."));
            let mut draft = each(&name, RuleDoc::AnyOf(lines.iter().map(line).collect()));
            draft.doc.time_zone = (*zone).to_owned();
            (draft.doc.skip_gap, draft.doc.passes) = (skip_gap, passes);
            drafts.push(draft);
        }
    }
    let mut star = each("star", line(&"*/30 2 * * *"));
    "Europe/Berlin".clone_into(&mut star.doc.time_zone);
    drafts.push(star);
    drafts
}

/// A second after every clock change of every zone, in order; the end.
fn stops(
    made: &[Schedule],
    (begin, end): (DateTime<Utc>, DateTime<Utc>),
) -> BTreeSet<DateTime<Utc>> {
    let mut stops = BTreeSet::from([end]);
    for schedule in made {
        let timetable = schedule.doc.timetable(&[]).unwrap();
        let mut after = begin;
        while let Some(change) = timetable.next_clock_change(after).filter(|c| c.at < end) {
            after = change.at;
            stops.insert(after + Duration::seconds(1));
        }
    }
    stops
}

/// Slots that a gap moved, that a gap took away, and that are second passes.
fn special(made: &[Schedule], until: DateTime<Utc>) -> [usize; 3] {
    let mut counts = [0; 3];
    for schedule in made {
        let timetable = schedule.doc.timetable(&[]).unwrap();
        let slots = timetable.slots(schedule.created_at, until, usize::MAX);
        for note in slots.iter().flat_map(|slot| &slot.notes) {
            match note {
                Note::MovedFromGap { .. } => counts[0] += 1,
                Note::SkippedGap { .. } => counts[1] += 1,
                Note::RepeatedHour { pass: Pass::Second } => counts[2] += 1,
                Note::RepeatedHour { pass: Pass::First }
                | Note::OffsetChange { .. }
                | Note::Holiday { .. }
                | Note::Shifted { .. } => {}
            }
        }
    }
    counts
}

async fn live_through(begin: &str, end: &str) {
    let db = Db::new().await;
    let (begin, end) = (at(begin), at(end));
    travel_to(&db, begin).await;
    let engine = beside(&db.url).await;
    let mut made = Vec::new();
    for draft in drafts() {
        made.push(engine.schedule(draft).await);
    }
    // It learns of the jumps when it next asks, some seconds late: its clock is behind by months.
    let slow = scheduler(&db.url, &[]).await;
    let mut crew: VecDeque<Server> = VecDeque::new();
    let stops = stops(&made, (begin, end));
    for stop in &stops {
        travel_to(&db, *stop).await;
        crew.push_back(Server::launch(&db.url, "scheduler", &[("AXLE_LOG", "info")]));
        if crew.len() > 2 {
            // One that lives some months ago.
            crew.pop_front().unwrap().kill().await;
        }
        wait_accounted(&db, *stop).await;
    }
    drop((slow, crew));
    let rows = check(&db, &made, end).await;
    let special = special(&made, end);
    println!(
        "{} clock changes, {rows} slots; moved, skipped, repeated: {special:?}",
        stops.len() - 1
    );
    assert!(special.iter().all(|count| *count >= 5), "changes were met: {special:?}");
}

#[tokio::test]
async fn b001_b002_b010_two_years_of_both_hemispheres_clock_changes_fire_as_the_timetable_says() {
    live_through("2011-01-10T12:00:00Z", "2013-01-10T12:00:00Z").await;
}

#[tokio::test]
async fn b001_b002_b010_the_clock_changes_of_the_next_year_fire_as_the_timetable_says() {
    live_through("2026-11-30T12:00:00Z", "2027-11-30T12:00:00Z").await;
}

#[tokio::test]
async fn b049_a_database_clock_that_steps_back_two_hours_fires_nothing_again() {
    let db = Db::new().await;
    travel_to(&db, at("2026-12-24T17:59:58Z")).await;
    let engine = beside(&db.url).await;
    engine.schedule(cron("minutely", "* * * * *")).await;
    let first = scheduler(&db.url, &[]).await;
    wait_accounted(&db, at("2026-12-24T18:00:00Z")).await;
    drop(first);
    travel_to(&db, at("2026-12-24T15:59:58Z")).await;
    // A clock within a process never goes back; new processes show the earlier time.
    let earlier = beside(&db.url).await;
    let busy =
        earlier.schedule(each("busy", RuleDoc::Every { every_ms: 1_000, anchor: None })).await;
    let second = scheduler(&db.url, &[]).await;
    // Past a full minute, at which the other schedule has a slot too.
    let until = at("2026-12-24T16:00:01Z");
    wait_busy(&db, &busy, until).await;
    let briefs = |fires: Vec<_>| fires.iter().map(brief).collect::<Vec<_>>();
    assert_eq!(briefs(earlier.fires("minutely").await), ["18:00:00 fired"]);
    drop(second);
    travel_to(&db, at("2026-12-24T18:01:00Z")).await;
    let _third = scheduler(&db.url, &[]).await;
    wait_accounted(&db, at("2026-12-24T18:01:00Z")).await;
    let fires = briefs(engine.fires("minutely").await);
    assert_eq!(fires, ["18:00:00 fired", "18:01:00 skipped_overlap"]);
}

/// Waits until a schedule's slots up to an instant have been handled.
async fn wait_busy(db: &Db, busy: &Schedule, until: DateTime<Utc>) {
    use crate::support::{program::eventually, target::PATIENCE};
    let client = db.connect().await;
    let open = "SELECT next_slot_at > $3 FROM schedules WHERE shard = $1 AND schedule_id = $2";
    eventually("the busy one has fired", PATIENCE, async || {
        let row = client.query_one(open, &[&busy.id.shard().0, &busy.id.uuid(), &until]).await;
        row.unwrap().get::<_, bool>(0).then_some(())
    })
    .await;
}
