//! How many jobs the database takes in at best: 500 in a commit, by `unnest`, into copies of our own
//! tables. No request, no token, no check; what a batch over HTTP costs above it is ours.

use std::time::Duration;

use anyhow::Context as _;
use chrono::{DateTime, Utc};
use futures_util::future::try_join_all;
use serde_json::Value;
use tokio::time::Instant;
use uuid::Uuid;

use super::api::Api;
use super::figures::{Figures, What, number};
use super::stage::Stage;
use super::{database, drain};

/// Connections that insert, as many as the batches of the bench have.
const CONNECTIONS: u64 = 4;
/// Rows in a commit.
const ROWS: u64 = 500;

/// A job as the server stores it.
pub(super) struct Template {
    spec: Value,
    payload: Vec<u8>,
    due_at: DateTime<Utc>,
    /// Every shard.
    pub(super) shards: Vec<i32>,
}

impl Template {
    /// Has one job run, so that there is one, and reads what the server made of it.
    pub(super) async fn make(stage: &Stage) -> anyhow::Result<Self> {
        let request = stage.api.post("/v1/jobs", &stage.api.job(0)?)?;
        Api::check(&stage.api.connect().await?.ask(&request).await?)?;
        drain::wait(stage, 1).await?;
        database::with(&stage.database, async |client| {
            let row = client.query_one(include_str!("template.sql"), &[]).await?;
            Ok(Self {
                spec: row.try_get("spec")?,
                payload: row.try_get("payload")?,
                due_at: row.try_get("due_at")?,
                shards: row.try_get("shards")?,
            })
        })
        .await
    }
}

/// Inserts for so long into the copies.
pub(super) async fn measure(
    stage: &Stage,
    template: &Template,
    seconds: u32,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    let started = Instant::now();
    let deadline = started + Duration::from_secs(seconds.into());
    let inserters = (0..CONNECTIONS).map(|mine| insert(stage, template, mine, deadline));
    let commits: u64 = try_join_all(inserters).await?.into_iter().sum();
    let rows = number(usize::try_from(commits * ROWS)?);
    figures.add(What::Rows, rows / started.elapsed().as_secs_f64());
    Ok(())
}

/// Inserts on one connection, into one shard after the other; says how many commits it made.
async fn insert(
    stage: &Stage,
    template: &Template,
    mine: u64,
    deadline: Instant,
) -> anyhow::Result<u64> {
    let specs: Vec<&Value> = (0..ROWS).map(|_| &template.spec).collect();
    let payloads: Vec<&[u8]> = (0..ROWS).map(|_| template.payload.as_slice()).collect();
    let dues: Vec<DateTime<Utc>> = (0..ROWS).map(|_| template.due_at).collect();
    database::within(&stage.database, "limits", async |client| {
        let insert = client.prepare(include_str!("limit_rows.sql")).await?;
        let mut shards = template.shards.iter().cycle();
        let mut commits = 0;
        while Instant::now() < deadline {
            let shard = shards.next().context("no shards")?;
            // In order, as ids that are made of the time.
            let id = |row: u64| u128::from((commits * ROWS + row) * CONNECTIONS + mine) << 64;
            let ids: Vec<Uuid> = (0..ROWS).map(|row| Uuid::from_u128(id(row))).collect();
            client
                .execute(&insert, &[shard, &ids, &specs, &payloads, &dues, &template.due_at])
                .await?;
            commits += 1;
        }
        Ok(commits)
    })
    .await
}
