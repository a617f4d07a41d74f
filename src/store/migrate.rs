//! Numbered migrations, forward only, embedded in the binary. Any number of processes may start at
//! once: an advisory lock lets one of them migrate. A checksum refuses a file that was changed
//! after it ran, and a database newer than the binary is not touched.

use std::time::Duration;

use chrono::{DateTime, Utc};
use sha2::{Digest, Sha256};
use tokio::time::{Instant, sleep};

use super::{Bounds, Call, Error, Session, Statement, Store};

/// A migration: its number, its name and its text.
#[derive(Clone, Copy, Debug)]
pub struct Migration {
    /// From 1, without gaps.
    pub version: i32,
    /// What it does.
    pub name: &'static str,
    text: &'static str,
}

/// Every migration, in order.
pub const MIGRATIONS: &[Migration] = &[
    Migration { version: 1, name: "init", text: include_str!("../../migrations/0001_init.sql") },
    Migration {
        version: 2,
        name: "schedules",
        text: include_str!("../../migrations/0002_schedules.sql"),
    },
    Migration {
        version: 3,
        name: "people",
        text: include_str!("../../migrations/0003_people.sql"),
    },
    Migration {
        version: 4,
        name: "limits",
        text: include_str!("../../migrations/0004_limits.sql"),
    },
    Migration {
        version: 5,
        name: "secrets",
        text: include_str!("../../migrations/0005_secrets.sql"),
    },
    Migration { version: 6, name: "teams", text: include_str!("../../migrations/0006_teams.sql") },
    Migration {
        version: 7,
        name: "quotas",
        text: include_str!("../../migrations/0007_quotas.sql"),
    },
    Migration {
        version: 8,
        name: "targets",
        text: include_str!("../../migrations/0008_targets.sql"),
    },
    Migration {
        version: 9,
        name: "signing_kinds",
        text: include_str!("../../migrations/0009_signing_kinds.sql"),
    },
    Migration {
        version: 10,
        name: "suspension",
        text: include_str!("../../migrations/0010_suspension.sql"),
    },
    Migration {
        version: 11,
        name: "privacy",
        text: include_str!("../../migrations/0011_privacy.sql"),
    },
    Migration {
        version: 12,
        name: "history",
        text: include_str!("../../migrations/0012_history.sql"),
    },
];

/// One line of `axle migrate status`.
#[derive(Clone, Debug)]
pub struct Applied {
    /// Its number.
    pub version: i32,
    /// Its name.
    pub name: String,
    /// When it was applied; none if it is pending.
    pub applied_at: Option<DateTime<Utc>>,
}

/// How a database and this binary stand to each other.
#[derive(Clone, Debug)]
pub struct Status {
    /// Every migration of the binary, and any of the database that the binary does not know.
    pub migrations: Vec<Applied>,
}

impl Status {
    /// Whether everything that this binary knows is applied.
    pub fn is_current(&self) -> bool {
        self.migrations.iter().all(|m| m.applied_at.is_some())
    }

    /// The first migration of the database that this binary does not know: a newer one has been
    /// here. A process that runs goes on; none starts.
    pub fn unknown(&self) -> Option<&Applied> {
        self.migrations.get(MIGRATIONS.len())
    }
}

/// What to do about a database that is newer than this binary.
pub fn too_new(unknown: &Applied) -> Error {
    Error::Broken(format!(
        "the database has migration {} ({}), which this version of Axle does not know: start a \
         newer one",
        unknown.version, unknown.name
    ))
}

const LEDGER: Statement =
    Statement { name: "migrate/ledger", text: include_str!("migrate/ledger.sql") };
const APPLIED: Statement =
    Statement { name: "migrate/applied", text: include_str!("migrate/applied.sql") };
const EXISTS: Statement =
    Statement { name: "migrate/exists", text: include_str!("migrate/exists.sql") };
const RECORD: Statement =
    Statement { name: "migrate/record", text: include_str!("migrate/record.sql") };
const KEY: Statement = Statement { name: "migrate/key", text: include_str!("migrate/key.sql") };
const TRY_LOCK: Statement =
    Statement { name: "migrate/try_lock", text: include_str!("migrate/try_lock.sql") };

/// How long to wait for another process that migrates.
const LOCK_PATIENCE: Duration = Duration::from_mins(1);
/// A blocking lock call would hold a snapshot meanwhile, so it is polled.
const LOCK_PERIOD: Duration = Duration::from_millis(200);

/// Applies what is pending; returns what was applied. `random` becomes the installation's key if
/// this is a new one.
pub async fn up(store: &Store, random: [u8; 32]) -> Result<Vec<Migration>, Error> {
    let session = store.session().await?;
    let deadline = Instant::now() + LOCK_PATIENCE;
    // The lock belongs to the transaction, so that a crash cannot leave it behind and no pooler can
    // hand it to somebody else.
    while !try_lock(&session).await? {
        session.rollback().await;
        if Instant::now() > deadline {
            return Err(Error::Busy("another process has been migrating for a minute".into()));
        }
        sleep(LOCK_PERIOD).await;
    }
    session.query(LEDGER, &[]).await?;
    let applied = applied(&session).await?;
    check(&applied)?;
    if let Some(unknown) = compare(&applied).unknown() {
        return Err(too_new(unknown));
    }
    let mut new = Vec::new();
    for migration in MIGRATIONS.iter().filter(|m| !applied.iter().any(|a| a.0 == m.version)) {
        session.batch(migration.text).await?;
        let (version, name) = (migration.version, migration.name);
        let app = env!("CARGO_PKG_VERSION");
        session.query(RECORD, &[&version, &name, &checksum(migration), &app]).await?;
        new.push(*migration);
    }
    session.query(KEY, &[&random.as_slice()]).await?;
    session.commit().await?;
    Ok(new)
}

/// How the database stands; changes nothing.
pub async fn status(store: &Store) -> Result<Status, Error> {
    let session = store.session().await?;
    let exists = session.query_opt(EXISTS, &[]).await?;
    let exists = exists.is_some_and(|row| row.try_get("present").unwrap_or(false));
    let applied = if exists { applied(&session).await? } else { Vec::new() };
    check(&applied)?;
    Ok(compare(&applied))
}

fn compare(applied: &[LedgerRow]) -> Status {
    let mut migrations: Vec<_> = MIGRATIONS
        .iter()
        .map(|m| Applied { version: m.version, name: m.name.to_owned(), applied_at: None })
        .collect();
    for (version, name, _, at) in applied {
        match migrations.iter_mut().find(|m| m.version == *version) {
            Some(known) => known.applied_at = Some(*at),
            None => migrations.push(Applied {
                version: *version,
                name: name.clone(),
                applied_at: Some(*at),
            }),
        }
    }
    Status { migrations }
}

type LedgerRow = (i32, String, Vec<u8>, DateTime<Utc>);

async fn try_lock(session: &Session) -> Result<bool, Error> {
    let answers = session.flight(Bounds::Begin, &[Call::new(TRY_LOCK, &[])]).await?;
    let row = answers.first().and_then(|rows| rows.first());
    Ok(row.map(|row| row.try_get("locked")).transpose()?.unwrap_or(false))
}

async fn applied(session: &Session) -> Result<Vec<LedgerRow>, Error> {
    let rows = session.query(APPLIED, &[]).await?;
    rows.iter()
        .map(|row| {
            Ok((
                row.try_get("version")?,
                row.try_get("name")?,
                row.try_get("checksum")?,
                row.try_get("applied_at")?,
            ))
        })
        .collect()
}

/// Refuses a migration whose text is not the one that was applied.
fn check(applied: &[LedgerRow]) -> Result<(), Error> {
    let changed = |row: &&LedgerRow| {
        MIGRATIONS.iter().any(|known| known.version == row.0 && checksum(known) != row.2)
    };
    match applied.iter().find(changed) {
        None => Ok(()),
        Some((version, name, ..)) => Err(Error::Broken(format!(
            "migration {version} ({name}) was changed after it was applied to this database"
        ))),
    }
}

fn checksum(migration: &Migration) -> Vec<u8> {
    Sha256::digest(migration.text.as_bytes()).to_vec()
}
