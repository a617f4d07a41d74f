//! What a job costs the database: bytes of write-ahead log, and statements. Apart from the other
//! phases, since counting statements costs a little.

use super::figures::{Figures, What, number};
use super::stage::Stage;
use super::{drain, enqueue, statements};

/// What was written and asked so far.
struct Paid {
    wal: f64,
    statements: Option<f64>,
}

/// Single enqueues for `seconds`, then a fill of `jobs` jobs and its drain, each by itself.
pub(super) async fn measure(
    stage: &Stage,
    (seconds, jobs): (u32, usize),
    figures: &mut Figures,
) -> anyhow::Result<()> {
    stage.statements.count(true).await?;
    stage.hold_pullers().await?;
    let before = paid(stage).await?;
    let singles = enqueue::singles(&stage.api, seconds).await?;
    let after = paid(stage).await?;
    after.note(&before, singles, (What::SingleWal, What::SingleStatements), figures);
    stage.release_pullers()?;
    drain::wait(stage, singles).await?;

    stage.hold_pullers().await?;
    let before = paid(stage).await?;
    enqueue::fill(&stage.api, 0..jobs, |_| ()).await?;
    let filled = paid(stage).await?;
    filled.note(&before, jobs, (What::BatchWal, What::BatchStatements), figures);
    drain::drain(stage, jobs).await?;
    let drained = paid(stage).await?;
    drained.note(&filled, jobs, (What::DrainWal, What::DrainStatements), figures);
    stage.statements.count(false).await
}

async fn paid(stage: &Stage) -> anyhow::Result<Paid> {
    let wal = statements::number(&stage.database, include_str!("wal.sql")).await?;
    Ok(Paid { wal, statements: stage.statements.so_far().await? })
}

impl Paid {
    fn note(&self, before: &Self, jobs: usize, what: (What, What), figures: &mut Figures) {
        figures.add(what.0, (self.wal - before.wal) / number(jobs));
        let asked = self.statements.zip(before.statements).map(|(now, before)| now - before);
        figures.add_some(what.1, asked.map(|asked| asked / number(jobs)));
    }
}
