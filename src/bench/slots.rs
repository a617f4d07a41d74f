//! Schedules: how late their jobs reach the target on an idle system; and a thousand that fire at the
//! same instant, while somebody reads, with and without a hundred thousand that do not.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use chrono::{DateTime, Utc};
use futures_util::future::try_join_all;
use tokio::time::{Instant, sleep, timeout};

use super::api::Api;
use super::database;
use super::figures::{Figures, What, percentiles, signed_ms};
use super::origin::Origin;
use super::stage::Stage;
use crate::wire::schedule::request::{ScheduleJobRequest, ScheduleRequest, SpecRequest};

/// The first slot comes after this time and so much more for each schedule, so that every one is there
/// before.
const FIRST: Duration = Duration::from_secs(2);
const FIRST_EACH: Duration = Duration::from_millis(3);
/// And the last so much later, where each has an instant of its own.
const SPREAD: Duration = Duration::from_secs(3);
/// All must have come by then.
const PATIENCE: Duration = Duration::from_mins(1);
/// How often the sink is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How often somebody reads meanwhile.
const READ_EVERY: Duration = Duration::from_millis(5);
/// Connections that create schedules.
const CONNECTIONS: usize = 8;
/// When the others come next.
const FAR: &str = "2090-01-01T00:00:00Z";

/// Measures the three: schedules with instants of their own, so many in one slot, and the same again
/// beside `others`.
pub(super) async fn measure(
    stage: &Stage,
    (timed, slot, others): (usize, usize, i64),
    figures: &mut Figures,
) -> anyhow::Result<()> {
    let origin = Origin::now();
    let apart = SPREAD / u32::try_from(timed)?;
    let slots: Vec<_> = (0_u32..).take(timed).map(|n| whole(first(timed) + apart * n)).collect();
    create(stage, &origin, &slots).await?;
    let (p50, p99) = percentiles(lateness(stage, &origin, &slots).await?);
    figures.add(What::SlotLatenessP50, p50);
    figures.add(What::SlotLatenessP99, p99);
    let alone = crowd(stage, slot).await?;
    figures.add(What::SlotArrived, alone.arrived);
    figures.add(What::SlotApiP99, alone.api_p99);
    fill(stage, others).await?;
    figures.add(What::SlotBeside, crowd(stage, slot).await?.arrived);
    clear(stage).await
}

/// None of these schedules fires again, but the next round is to begin as this one did.
async fn clear(stage: &Stage) -> anyhow::Result<()> {
    database::with(&stage.database, async |client| {
        Ok(client.batch_execute(include_str!("slots_clear.sql")).await?)
    })
    .await
}

/// When the first slot of so many schedules comes.
fn first(count: usize) -> Duration {
    FIRST + FIRST_EACH * u32::try_from(count).unwrap_or(u32::MAX)
}

/// Slots lie on whole milliseconds.
fn whole(after: Duration) -> Duration {
    Duration::from_millis(u64::try_from(after.as_millis()).unwrap_or(0))
}

/// Creates a schedule for each slot, whose job calls the sink under the slot's number.
async fn create(stage: &Stage, origin: &Origin, slots: &[Duration]) -> anyhow::Result<()> {
    stage.sink.take();
    let mut shares = vec![Vec::new(); CONNECTIONS];
    for (number, slot) in slots.iter().enumerate() {
        let at = origin.instant(*slot);
        let request = ScheduleRequest {
            name: Some(format!("s-{number}-{}", at.replace(':', "-"))),
            spec: SpecRequest { at: Some(vec![at]), ..SpecRequest::default() },
            job: ScheduleJobRequest {
                target: stage.api.job(number)?.target,
                ..ScheduleJobRequest::default()
            },
            ..ScheduleRequest::default()
        };
        let request = stage.api.post("/v1/schedules", &request)?;
        shares.get_mut(number % CONNECTIONS).into_iter().for_each(|s| s.push(request.clone()));
    }
    try_join_all(shares.iter().map(async |share| {
        let mut connection = stage.api.connect().await?;
        for request in share {
            Api::check(&connection.ask(request).await?)?;
        }
        anyhow::Ok(())
    }))
    .await?;
    ensure!(
        origin.monotonic.elapsed() < first(slots.len()),
        "creating took so long that slots were due"
    );
    Ok(())
}

/// How late each call was.
async fn lateness(stage: &Stage, origin: &Origin, slots: &[Duration]) -> anyhow::Result<Vec<f64>> {
    let all_came = async {
        while stage.sink.count() < slots.len() {
            sleep(LOOK_EVERY).await;
        }
    };
    timeout(PATIENCE, all_came).await.context("not every job of a schedule came")?;
    let mut late = Vec::new();
    for arrival in stage.sink.take() {
        let slot = slots.get(arrival.number).context("a schedule that was not created")?;
        late.push(signed_ms(arrival.at, origin.monotonic + *slot));
    }
    ensure!(late.iter().all(|late| *late >= 0.0), "a schedule fired early: {late:?}");
    Ok(late)
}

/// What many schedules of one slot took, in milliseconds.
struct Crowd {
    arrived: f64,
    api_p99: f64,
}

async fn crowd(stage: &Stage, count: usize) -> anyhow::Result<Crowd> {
    let origin = Origin::now();
    let first = first(count);
    let slots = vec![whole(first); count];
    create(stage, &origin, &slots).await?;
    let reads = read_until(stage, origin.monotonic + first);
    let (late, reads) = tokio::try_join!(lateness(stage, &origin, &slots), reads)?;
    database::with(&stage.database, async |client| {
        let slot: DateTime<Utc> = origin.instant(first).parse()?;
        let row = client.query_one(include_str!("slots_made.sql"), &[&slot]).await?;
        ensure!(row.try_get::<_, i64>("made")? == i64::try_from(count)?, "one job per slot");
        Ok(())
    })
    .await?;
    let arrived = late.into_iter().fold(0.0, f64::max);
    Ok(Crowd { arrived, api_p99: percentiles(reads).1 })
}

/// Reads schedules from the slot on, for a second.
async fn read_until(stage: &Stage, slot: Instant) -> anyhow::Result<Vec<f64>> {
    let mut connection = stage.api.connect().await?;
    let request = stage.api.get("/v1/schedules?limit=10");
    tokio::time::sleep_until(slot).await;
    let mut took = Vec::new();
    while slot.elapsed() < Duration::from_secs(1) {
        let called = Instant::now();
        Api::check(&connection.ask(&request).await?)?;
        took.push(signed_ms(Instant::now(), called));
        sleep(READ_EVERY).await;
    }
    Ok(took)
}

/// Schedules that are not due, beside those that were.
async fn fill(stage: &Stage, others: i64) -> anyhow::Result<()> {
    database::with(&stage.database, async |client| {
        let batch = Origin::now().instant(Duration::ZERO);
        let text = include_str!("future_schedules.sql");
        let far: DateTime<Utc> = FAR.parse()?;
        client.execute(text, &[&batch, &others, &far]).await?;
        Ok(client.batch_execute("ANALYZE schedules").await?)
    })
    .await
}
