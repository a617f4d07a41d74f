//! What a system costs that has nothing to do: CPU, and what it asks the database.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::figures::{Figures, What};
use super::stage::Stage;
use super::statements;

/// After this time without work everything that follows work is over.
const CALM: Duration = Duration::from_secs(3);

/// Watches for so long and lets the system be.
pub(super) async fn measure(
    stage: &Stage,
    seconds: u32,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    stage.statements.count(true).await?;
    sleep(CALM).await;
    let transactions = transactions(stage).await?;
    let asked = stage.statements.so_far().await?;
    let (spent, started) = (stage.spent(), Instant::now());
    sleep(Duration::from_secs(seconds.into())).await;
    let took = started.elapsed().as_secs_f64();
    let spent = stage.spent().since(spent, took);
    figures.add_some(What::IdleCpu, spent.puller.map(|share| share * 100.0));
    figures.add_some(What::IdleApiCpu, spent.api.map(|share| share * 100.0));
    let asked = stage.statements.so_far().await?.zip(asked).map(|(now, before)| now - before);
    figures.add_some(What::IdleStatements, asked.map(|asked| asked / took));
    let ended = self::transactions(stage).await? - transactions;
    figures.add(What::IdleTransactions, ended / took);
    stage.statements.count(false).await
}

async fn transactions(stage: &Stage) -> anyhow::Result<f64> {
    statements::number(&stage.database, include_str!("transactions.sql")).await
}
