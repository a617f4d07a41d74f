//! The only room that speaks SQL. One statement per `.sql` file, named like the function that runs
//! it, in a folder beside its noun. The store never decides: it moves rows and says what happened.
//!
//! A [`Session`] is one connection. Several statements go out together as a [`flight`]: they are
//! prepared first and then pipelined, so the server sees them in order and the caller waits for one
//! round trip. Every wait has an end: for a connection, for an answer, for a lock.
//!
//! [`flight`]: Session::flight

pub mod audit;
pub mod calendars;
pub mod claimed;
pub mod clock;
pub mod connect;
pub mod done;
pub mod entries;
pub mod error;
pub mod events;
pub mod fires;
pub mod hints;
pub mod history;
pub mod idempotency;
pub mod invitations;
pub mod jobs;
pub mod keys;
pub mod live;
pub mod members;
pub mod migrate;
pub mod queues;
pub mod quotas;
pub mod rounds;
pub mod runs;
pub mod schedules;
pub mod secrets;
pub mod sessions;
pub mod settings;
pub mod shards;
pub mod suspended;
pub mod sweep;
pub mod targets;
pub mod teams;
pub mod tokens;
pub mod tries;
pub mod turns;
pub mod users;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use deadpool_postgres::Object;
use futures_util::future::join_all;
use tokio::time::timeout;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, Statement as Prepared};

pub use connect::{Store, StoreSettings};
pub use error::Error;

/// A statement's name and text.
#[derive(Clone, Copy, Debug)]
pub struct Statement {
    /// `noun/verb`, as in the file's path.
    pub name: &'static str,
    /// The file's text.
    pub text: &'static str,
}

/// The statement in `src/store/<name>.sql`.
macro_rules! sql {
    ($name:literal) => {
        $crate::store::Statement { name: $name, text: include_str!(concat!($name, ".sql")) }
    };
}
pub(crate) use sql;

/// The parameters of a statement.
pub type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// One statement of a flight, with its parameters.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    statement: Statement,
    params: Params<'a>,
}

impl<'a> Call<'a> {
    /// `statement` with `params`.
    pub fn new(statement: Statement, params: Params<'a>) -> Self {
        Self { statement, params }
    }
}

/// Whether a flight opens or closes a transaction around its statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bounds {
    /// Begin before the first statement and leave the transaction open.
    Begin,
    /// Commit after the last one.
    Commit,
    /// Both.
    Whole,
    /// Neither.
    Inside,
}

/// How much longer than the server's own statement timeout the client waits before it gives the
/// connection up: the server may be gone, or its COMMIT may wait for a lost standby, which no
/// statement timeout ends.
const PATIENCE: Duration = Duration::from_secs(5);

/// A connection, for as long as one use case needs it.
pub struct Session {
    object: Option<Object>,
    /// Set while the connection must not go back to the pool: a transaction is open, or an answer
    /// is still outstanding.
    dirty: AtomicBool,
    /// A transaction was asked for: its BEGIN goes out with the first statement.
    begins: AtomicBool,
    limit: Duration,
}

impl Store {
    /// A connection from the pool; waits a bounded time for one.
    pub async fn session(&self) -> Result<Session, Error> {
        let object = self.pool().get().await?;
        let limit = self.statement_timeout() + PATIENCE;
        Ok(Session {
            object: Some(object),
            dirty: AtomicBool::new(false),
            begins: AtomicBool::new(false),
            limit,
        })
    }

    /// Runs one statement on a connection of its own.
    pub async fn query(&self, statement: Statement, params: Params<'_>) -> Result<Vec<Row>, Error> {
        self.session().await?.query(statement, params).await
    }
}

impl Session {
    /// Runs one statement, inside the transaction if one is open.
    pub async fn query(&self, statement: Statement, params: Params<'_>) -> Result<Vec<Row>, Error> {
        let mut answers = self.flight(Bounds::Inside, &[Call::new(statement, params)]).await?;
        Ok(answers.pop().unwrap_or_default())
    }

    /// Runs one statement that gives at most one row.
    pub async fn query_opt(
        &self,
        statement: Statement,
        params: Params<'_>,
    ) -> Result<Option<Row>, Error> {
        Ok(self.query(statement, params).await?.pop())
    }

    /// Sends `calls` together and returns each one's rows. If one fails, its error is returned and
    /// nothing of the transaction will be committed.
    pub async fn flight(&self, bounds: Bounds, calls: &[Call<'_>]) -> Result<Vec<Vec<Row>>, Error> {
        let prepared = self.prepare(calls).await?;
        // From here to the sending nothing waits: of two flights side by side the one that is sent first
        // begins.
        let bounds = self.beginning(bounds);
        let was_dirty = self.dirty.swap(true, Ordering::Relaxed);
        let sent = timeout(self.limit, self.send(bounds, &prepared, calls)).await;
        let answers = match sent {
            Ok(Ok(answers)) => answers,
            Ok(Err(error)) => {
                // Inside a transaction another flight may still be under way: nothing may be sent
                // after a ROLLBACK of ours as if it stood alone. The connection stays dirty.
                if bounds != Bounds::Inside || !was_dirty {
                    self.roll_back(bounds != Bounds::Inside).await;
                }
                return Err(error.into());
            }
            // The answer may still come, on a connection that nobody may use again.
            Err(_elapsed) => return Err(Error::Busy("the database did not answer in time".into())),
        };
        let open = match bounds {
            Bounds::Begin => true,
            Bounds::Commit | Bounds::Whole => false,
            Bounds::Inside => was_dirty,
        };
        self.dirty.store(open, Ordering::Relaxed);
        Ok(answers)
    }

    /// Ends a transaction that is not to be committed.
    pub async fn rollback(&self) {
        if !self.begins.swap(false, Ordering::Relaxed) {
            self.roll_back(true).await;
        }
    }

    /// Opens a transaction; this costs no round trip of its own.
    pub fn begin(&self) {
        self.begins.store(true, Ordering::Relaxed);
    }

    /// Commits what earlier flights of an open transaction have done.
    pub async fn commit(&self) -> Result<(), Error> {
        self.flight(Bounds::Commit, &[]).await.map(drop)
    }

    /// Runs text that is no statement of ours: migrations.
    pub async fn batch(&self, text: &str) -> Result<(), Error> {
        match self.object() {
            Some(object) => Ok(object.batch_execute(text).await?),
            None => Err(Error::closed()),
        }
    }

    /// Prepares before anything is sent: a statement that had to be prepared in the middle of a
    /// flight would be overtaken by those after it.
    async fn prepare(&self, calls: &[Call<'_>]) -> Result<Vec<Prepared>, Error> {
        let object = self.object().ok_or_else(Error::closed)?;
        let mut prepared = Vec::with_capacity(calls.len());
        for call in calls {
            let ready = timeout(self.limit, object.prepare_cached(call.statement.text)).await;
            let ready = ready.map_err(|_elapsed| {
                self.dirty.store(true, Ordering::Relaxed);
                Error::Busy("the database did not answer in time".into())
            })?;
            prepared.push(ready.map_err(|error| Error::from(error).named(call.statement.name))?);
        }
        Ok(prepared)
    }

    fn beginning(&self, bounds: Bounds) -> Bounds {
        if !self.begins.swap(false, Ordering::Relaxed) {
            return bounds;
        }
        match bounds {
            Bounds::Begin | Bounds::Inside => Bounds::Begin,
            Bounds::Commit | Bounds::Whole => Bounds::Whole,
        }
    }

    async fn send(
        &self,
        bounds: Bounds,
        prepared: &[Prepared],
        calls: &[Call<'_>],
    ) -> Result<Vec<Vec<Row>>, tokio_postgres::Error> {
        let Some(object) = self.object() else { return Ok(Vec::new()) };
        // Whether a statement has failed already, because its parameters cannot be encoded: it was never
        // sent, and the COMMIT of the others must not be sent either.
        let failed = AtomicBool::new(false);
        let begin = async {
            match bounds {
                Bounds::Begin | Bounds::Whole => object.batch_execute("BEGIN").await,
                Bounds::Commit | Bounds::Inside => Ok(()),
            }
        };
        let run = async |(ready, call): (&Prepared, &Call<'_>)| {
            let answer = object.query(ready, call.params).await;
            failed.fetch_or(answer.is_err(), Ordering::Relaxed);
            answer
        };
        let statements = join_all(prepared.iter().zip(calls).map(run));
        let commit = async {
            match bounds {
                Bounds::Commit | Bounds::Whole if failed.load(Ordering::Relaxed) => Ok(()),
                Bounds::Commit | Bounds::Whole => object.batch_execute("COMMIT").await,
                Bounds::Begin | Bounds::Inside => Ok(()),
            }
        };
        // Polled in this order, so sent in this order. A statement that fails in the server turns the
        // COMMIT that follows it into a rollback.
        let (began, answers, committed) = futures_util::join!(begin, statements, commit);
        began?;
        let answers = answers.into_iter().collect::<Result<_, _>>()?;
        committed?;
        Ok(answers)
    }

    async fn roll_back(&self, open: bool) {
        let Some(object) = self.object() else { return };
        let ended = if open {
            let sent = timeout(self.limit, object.batch_execute("ROLLBACK")).await;
            matches!(sent, Ok(Ok(())))
        } else {
            !object.is_closed()
        };
        self.dirty.store(!ended, Ordering::Relaxed);
    }

    fn object(&self) -> Option<&Object> {
        self.object.as_ref()
    }
}

impl Drop for Session {
    /// A connection with an open transaction or an outstanding answer is closed, not shared.
    fn drop(&mut self) {
        if self.dirty.load(Ordering::Relaxed)
            && let Some(object) = self.object.take()
        {
            drop(Object::take(object));
        }
    }
}
