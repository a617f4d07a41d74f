//! Who has something due, shard by shard: for the puller whose permits are all taken, so that no
//! team waits behind another's backlog.

use chrono::{DateTime, Utc};

use super::live::read_team;
use super::{Error, Store, sql};
use crate::domain::id::Shard;
use crate::domain::principal::Team;

/// What a look at the teams found.
#[derive(Clone, Debug, Default)]
pub struct Rivals {
    /// Teams that have something due, and where.
    pub due: Vec<(Shard, Team)>,
    /// Some shard has more teams than were looked at: those below this one come next.
    pub below: Option<Team>,
}

/// Looks which teams have something due in some shards, from the one below `below` on. With each shard
/// comes a time before which nothing in it is due.
pub async fn rivals(
    store: &Store,
    now: DateTime<Utc>,
    shards: &[(Shard, DateTime<Utc>)],
    below: Option<&Team>,
) -> Result<Rivals, Error> {
    let below = below.map(Team::as_str);
    let (shards, floors): (Vec<i32>, Vec<_>) =
        shards.iter().map(|(shard, floor)| (shard.0, *floor)).unzip();
    let rows = store.query(sql!("rounds/rivals"), &[&now, &below, &shards, &floors]).await?;
    let mut found = Rivals::default();
    for row in &rows {
        let team = read_team(row)?;
        // Of two shards that were cut short the one that came less far decides.
        if row.try_get("is_last")? && found.below.as_ref().is_none_or(|other| *other < team) {
            found.below = Some(team.clone());
        }
        if row.try_get("is_due")? {
            found.due.push((Shard(row.try_get("shard")?), team));
        }
    }
    Ok(found)
}

/// When the next job of a shard is due that is of none of these teams, as far as one look sees.
pub async fn next_due_beside(
    store: &Store,
    shard: Shard,
    teams: &[Team],
) -> Result<Option<DateTime<Utc>>, Error> {
    let teams: Vec<&str> = teams.iter().map(Team::as_str).collect();
    let rows = store.query(sql!("rounds/next_due_beside"), &[&shard.0, &teams]).await?;
    Ok(rows.first().map(|row| row.try_get("due_at")).transpose()?.flatten())
}
