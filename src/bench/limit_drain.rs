//! What a drained job costs at least, in CPU: its share of claims and settles of 200 rows, by the
//! server's own statements on copies of our tables; and a bare client's request with the sink's
//! answer. All cores divided by their sum is the limit of the drain.

use std::thread::available_parallelism;

use anyhow::ensure;
use chrono::{DateTime, TimeDelta, Utc};
use futures_util::future::try_join_all;
use serde_json::{Value, json};
use tokio_postgres::types::{FromSql, ToSql};
use tokio_postgres::{Client, Row, Statement};
use uuid::Uuid;

use super::database;
use super::figures::{Figures, What, number};
use super::limit_rows::Template;
use super::origin::Origin;
use super::stage::Stage;

/// Connections that claim and settle, as many as a puller settles on at once.
const CONNECTIONS: usize = 4;
/// Rows of a claim and of a settle: the most that a puller takes.
const ROWS: i64 = 200;

/// The statements of a drain, those that the server runs.
struct Statements {
    claim: Statement,
    lock: Statement,
    finish: Statement,
    done: Statement,
    runs: Statement,
}

/// Fills the copies and drains them with so many claims of each shard; the requests were measured
/// before.
pub(super) async fn measure(
    stage: &Stage,
    template: &Template,
    claims: i64,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    database::within(&stage.database, "limits", async |client| {
        client.execute(include_str!("limit_fill.sql"), &[&(ROWS * claims)]).await?;
        Ok(client.batch_execute(include_str!("vacuum.sql")).await?)
    })
    .await?;
    let now = Origin::now().instant(std::time::Duration::ZERO).parse::<DateTime<Utc>>()?;
    let spent = stage.spent();
    let share = template.shards.len().div_ceil(CONNECTIONS);
    let drains = template.shards.chunks(share).map(|shards| drain(stage, (shards, claims), now));
    let jobs: usize = try_join_all(drains).await?.into_iter().sum();
    let expected = usize::try_from(ROWS * claims)? * template.shards.len();
    ensure!(jobs == expected, "{jobs} of {expected} jobs of the copies were drained");
    let spent = stage.spent().since(spent, number(jobs) / 1000.0);
    let statements = spent.postgres.zip(spent.bench).map(|(theirs, ours)| theirs + ours);
    figures.add_some(What::StatementCpu, statements);
    let both = statements.zip(figures.latest(What::RequestCpu));
    let cores = number(available_parallelism()?.get());
    figures.add_some(What::DrainLimit, both.map(|(a, b)| cores / (a + b) * 1000.0));
    Ok(())
}

/// Claims and settles what is due in these shards; says how many jobs that were.
async fn drain(
    stage: &Stage,
    (shards, claims): (&[i32], i64),
    now: DateTime<Utc>,
) -> anyhow::Result<usize> {
    database::within(&stage.database, "limits", async |client| {
        let statements = Statements::prepare(client).await?;
        let mut jobs = 0;
        for shard in shards {
            for _ in 0..claims {
                let claimed = statements.claim(client, *shard, now).await?;
                jobs += claimed.len();
                statements.settle(client, (*shard, &claimed), now).await?;
            }
        }
        Ok(jobs)
    })
    .await
}

impl Statements {
    async fn prepare(client: &Client) -> anyhow::Result<Self> {
        let prepare = async |text: &str, parameters: usize| {
            let statement = client.prepare(text).await?;
            let found = statement.params().len();
            ensure!(found == parameters, "{found} parameters, not {parameters}: {text}");
            anyhow::Ok(statement)
        };
        Ok(Self {
            claim: prepare(include_str!("../store/live/claim.sql"), 9).await?,
            lock: prepare(include_str!("../store/live/lock.sql"), 2).await?,
            finish: prepare(include_str!("../store/live/finish.sql"), 3).await?,
            done: prepare(include_str!("../store/done/insert.sql"), 9).await?,
            runs: prepare(include_str!("../store/runs/insert.sql"), 21).await?,
        })
    }

    async fn claim(
        &self,
        client: &Client,
        shard: i32,
        now: DateTime<Utc>,
    ) -> anyhow::Result<Vec<Row>> {
        let lease_until = now + TimeDelta::minutes(1);
        let team = Some("bench");
        // No team has a ceiling.
        let (teams, rooms) = (Vec::<&str>::new(), Vec::<i64>::new());
        let params: &[&(dyn ToSql + Sync)] = &[
            &shard,
            &now,
            &ROWS,
            &lease_until,
            &"limit",
            &team,
            &teams,
            &rooms,
            &DateTime::UNIX_EPOCH,
        ];
        Ok(client.query(&self.claim, params).await?)
    }

    /// As the puller's settles do it: the rows are locked and read, then everything is written
    /// together.
    async fn settle(
        &self,
        client: &mut Client,
        (shard, claimed): (i32, &[Row]),
        now: DateTime<Utc>,
    ) -> anyhow::Result<()> {
        let ids: Vec<Uuid> = column(claimed, "job_id")?;
        let transaction = client.transaction().await?;
        let rows = transaction.query(&self.lock, &[&shard, &ids]).await?;
        let ids: Vec<Uuid> = column(&rows, "job_id")?;
        let fences: Vec<i32> = column(&rows, "fence")?;
        let teams: Vec<String> = column(&rows, "team")?;
        let attempts: Vec<i32> = column(&rows, "attempt")?;
        let failures: Vec<i32> = column(&rows, "failures")?;
        let pullers: Vec<Option<String>> = column(&rows, "puller")?;
        let claimed: Vec<Option<DateTime<Utc>>> = column(&rows, "claimed_at")?;
        let success = vec![Some("SUCCESS"); rows.len()];
        let no_text = vec![None::<&str>; rows.len()];
        let no_time = vec![None::<DateTime<Utc>>; rows.len()];
        let sent = vec![Some(now); rows.len()];
        let status = vec![Some(200_i32); rows.len()];
        // What the sink answers.
        let headers = vec![json!({"content-length": "0", "date": now.to_rfc2822()}); rows.len()];
        let no_json = vec![None::<Value>; rows.len()];
        let body = vec![Some(&b""[..]); rows.len()];
        let no_bytes = vec![None::<&[u8]>; rows.len()];
        let whole = vec![false; rows.len()];
        let finish: &[&(dyn ToSql + Sync)] = &[&shard, &ids, &fences];
        let done: &[&(dyn ToSql + Sync)] =
            &[&shard, &ids, &teams, &success, &no_text, &attempts, &failures, &fences, &now];
        let runs: &[&(dyn ToSql + Sync)] = &[
            &shard, &ids, &fences, &attempts, &success, &pullers, &claimed, &sent, &no_time,
            &no_time, &no_time, &no_time, &status, &no_text, &no_text, &headers, &body, &whole,
            &no_bytes, &no_json, &now,
        ];
        tokio::try_join!(
            transaction.execute(&self.finish, finish),
            transaction.execute(&self.done, done),
            transaction.execute(&self.runs, runs),
        )?;
        Ok(transaction.commit().await?)
    }
}

fn column<'a, T: FromSql<'a>>(rows: &'a [Row], name: &str) -> anyhow::Result<Vec<T>> {
    rows.iter().map(|row| Ok(row.try_get(name)?)).collect()
}
