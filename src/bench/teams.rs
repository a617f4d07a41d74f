//! A drain of the jobs of many teams beside one of a single team: claims divide themselves among the
//! teams, and what that costs must not grow with their number.

use super::figures::{Figures, What, percentiles};
use super::stage::Stage;
use super::{database, drain, enqueue, ratio};

/// Drains that count, by their median.
const DRAINS: usize = 3;

/// Drains `jobs` jobs of one team, and as many of `teams` teams.
pub(super) async fn measure(
    stage: &Stage,
    (jobs, teams): (usize, i64),
    figures: &mut Figures,
) -> anyhow::Result<()> {
    let one = ratio::rate(stage, jobs).await?;
    let mut rates = Vec::with_capacity(DRAINS);
    for _ in 0..DRAINS {
        stage.hold_pullers().await?;
        enqueue::fill(&stage.api, 0..jobs, |_| ()).await?;
        deal(stage, teams).await?;
        rates.push(ratio::called(jobs, &drain::drain(stage, jobs).await?));
    }
    figures.add(What::TeamsRatio, percentiles(rates).0 / one);
    Ok(())
}

/// Deals what is queued out among so many teams. The rows are written anew, so that none of them has a
/// dead one beside it that another backlog does not have.
async fn deal(stage: &Stage, teams: i64) -> anyhow::Result<()> {
    database::with(&stage.database, async |client| {
        let transaction = client.transaction().await?;
        transaction.batch_execute(include_str!("teams_take.sql")).await?;
        transaction.execute(include_str!("teams_jobs.sql"), &[&teams]).await?;
        transaction.execute(include_str!("teams_live.sql"), &[&teams]).await?;
        transaction.commit().await?;
        Ok(client.batch_execute(include_str!("vacuum.sql")).await?)
    })
    .await
}
