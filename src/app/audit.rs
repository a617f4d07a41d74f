//! `axle audit verify`: walks the chain of the audit log over the database, and says what holds.

use anyhow::Context as _;

use super::parts;
use crate::config::Config;
use crate::domain::principal::Team;
use crate::engine::audit::{self, Checked};
use crate::wire::audit::hex;

/// Checks one team's log, or all; a line for each, and whether all of them hold.
pub async fn verify(config: &Config, team: Option<&str>) -> anyhow::Result<(Vec<String>, bool)> {
    // The store alone: whoever checks the log need not have the keys of the secrets.
    let store = parts::store(config, "audit").await?;
    let teams = match team {
        Some(team) => vec![Team::parse(team).context("--team")?],
        None => audit::teams(&store).await?,
    };
    let mut lines = Vec::new();
    let mut all_hold = true;
    for team in teams {
        let checked = audit::verify(&store, &team).await?;
        all_hold &= checked.broken.is_none();
        lines.push(line(&team, checked));
    }
    Ok((lines, all_hold))
}

fn line(team: &Team, Checked { head, broken }: Checked) -> String {
    let (seq, hash) = (head.seq, hex(&head.hash));
    match broken {
        None => format!("{team}: {seq} entries hold; the last has the hash {hash}"),
        Some(broken) => format!("{team}: BROKEN after {seq} entries: {broken}"),
    }
}
