//! Counting statements, where PostgreSQL has `pg_stat_statements`. The module is loaded at the start
//! and counts nothing until it is told to, so that it costs the other phases nothing to speak of.

use anyhow::Context as _;
use tokio_postgres::Client;

use super::database;
use crate::dev::{Cluster, Options};

/// Whether statements can be counted, and where.
pub(super) struct Statements {
    database: String,
    there: bool,
}

impl Statements {
    /// Starts the cluster of these options, with the module if its programs have it.
    pub(super) async fn load(mut options: Options) -> anyhow::Result<(Cluster, Self)> {
        let cluster = Cluster::start(options.clone()).await?;
        let database = cluster.url("axle");
        let there = database::with(&database, async |client| {
            Ok(client.batch_execute(include_str!("statements_load.sql")).await.is_ok())
        })
        .await?;
        if !there {
            return Ok((cluster, Self { database, there }));
        }
        cluster.stop().await.context("starting PostgreSQL with pg_stat_statements")?;
        let module = ("shared_preload_libraries".to_owned(), "pg_stat_statements".to_owned());
        options.settings.push(module);
        let cluster = Cluster::start(options).await?;
        let statements = Self { database: cluster.url("axle"), there };
        statements.run(include_str!("statements_create.sql")).await?;
        statements.count(false).await?;
        Ok((cluster, statements))
    }

    /// Begins or ends to count.
    pub(super) async fn count(&self, on: bool) -> anyhow::Result<()> {
        if !self.there {
            return Ok(());
        }
        let track =
            if on { include_str!("statements_on.sql") } else { include_str!("statements_off.sql") };
        self.run(track).await?;
        self.run(include_str!("statements_reload.sql")).await
    }

    /// How many the server has been sent while they were counted, none of them by the bench itself;
    /// none if they cannot be counted.
    pub(super) async fn so_far(&self) -> anyhow::Result<Option<f64>> {
        if !self.there {
            return Ok(None);
        }
        number(&self.database, include_str!("statements_sum.sql")).await.map(Some)
    }

    async fn run(&self, statement: &str) -> anyhow::Result<()> {
        let run = async |client: &mut Client| Ok(client.batch_execute(statement).await?);
        database::with(&self.database, run).await
    }
}

/// The one number that a statement gives.
pub(super) async fn number(database: &str, statement: &str) -> anyhow::Result<f64> {
    database::with(database, async |client| {
        Ok(client.query_one(statement, &[]).await?.try_get::<_, f64>(0)?)
    })
    .await
}
