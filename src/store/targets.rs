//! What pullers say of targets that they hold calls back from. A row is one puller's word about one
//! target of one team, and good for some seconds.

use chrono::{DateTime, Utc};
use tokio_postgres::Row;

use super::{Error, Session, Store, sql};
use crate::domain::principal::Team;
use crate::domain::run::RunError;
use crate::domain::throttled::{Phase, Throttled};

/// Says what `puller` holds back, in place of what it said of the same targets before; good until
/// `expires_at`.
pub async fn tell(
    session: &Session,
    puller: &str,
    throttled: &[(Team, Throttled)],
    expires_at: DateTime<Utc>,
) -> Result<(), Error> {
    let each = || throttled.iter().map(|(_, one)| one);
    let teams: Vec<_> = throttled.iter().map(|(team, _)| team.as_str()).collect();
    let targets: Vec<_> = each().map(|one| one.target.as_str()).collect();
    let states: Vec<_> = each().map(|one| one.phase.as_str()).collect();
    let since: Vec<_> = each().map(|one| one.since).collect();
    let error = |one: &Throttled| one.error.as_ref().map(|error| error.class.clone());
    let classes: Vec<_> = each().map(error).collect();
    let error = |one: &Throttled| one.error.as_ref().map(|error| error.message.clone());
    let messages: Vec<_> = each().map(error).collect();
    let statuses: Vec<_> = each().map(|one| one.http_status).collect();
    let probes: Vec<_> = each().map(|one| one.probe_at).collect();
    let in_flight: Vec<_> = each().map(|one| one.in_flight).collect();
    let ceilings: Vec<_> = each().map(|one| one.ceiling).collect();
    let params: super::Params<'_> = &[
        &puller,
        &expires_at,
        &teams,
        &targets,
        &states,
        &since,
        &classes,
        &messages,
        &statuses,
        &probes,
        &in_flight,
        &ceilings,
    ];
    session.query(sql!("targets/tell"), params).await.map(drop)
}

/// Takes back what `puller` said of targets that are not among `kept`.
pub async fn forget(
    session: &Session,
    puller: &str,
    kept: &[(Team, Throttled)],
) -> Result<(), Error> {
    let (teams, targets): (Vec<_>, Vec<_>) =
        kept.iter().map(|(team, one)| (team.as_str(), one.target.as_str())).unzip();
    let params: super::Params<'_> = &[&puller, &teams, &targets];
    session.query(sql!("targets/forget"), params).await.map(drop)
}

/// Drops what ended before `ended`, whose ever it was.
pub async fn prune(session: &Session, ended: DateTime<Utc>, most: i64) -> Result<(), Error> {
    session.query(sql!("targets/prune"), &[&ended, &most]).await.map(drop)
}

/// A page of a team's targets that are held back at `now`, after one if it is given: a row for each
/// puller that does, in the order of the targets and then of the pullers.
pub async fn list(
    store: &Store,
    team: &Team,
    now: DateTime<Utc>,
    (after, limit): (Option<&str>, i64),
) -> Result<Vec<(String, Throttled)>, Error> {
    let params: super::Params<'_> = &[&team.as_str(), &now, &after, &limit];
    store.query(sql!("targets/list"), params).await?.iter().map(read).collect()
}

fn read(row: &Row) -> Result<(String, Throttled), Error> {
    let phase = Phase::parse(row.try_get("state")?).ok_or_else(|| Error::corrupt("state"))?;
    let class: Option<String> = row.try_get("error_class")?;
    let message: Option<String> = row.try_get("error")?;
    let throttled = Throttled {
        target: row.try_get("target")?,
        phase,
        since: row.try_get("since")?,
        error: class.map(|class| RunError::new(class, message.unwrap_or_default())),
        http_status: row.try_get("http_status")?,
        probe_at: row.try_get("probe_at")?,
        in_flight: row.try_get("in_flight")?,
        ceiling: row.try_get("ceiling")?,
    };
    Ok((row.try_get("puller")?, throttled))
}
