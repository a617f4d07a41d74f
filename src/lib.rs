//! Axle: an HTTP job queue and scheduler on PostgreSQL. This page is the map of the house.
//!
//! A *job* is one piece of work: call this target with this payload, now or then, and see it
//! through. Each attempt is a *run*. Jobs are registered over HTTP, or made by a *schedule* at each of
//! its fire times, kept in PostgreSQL, claimed by *pullers*, and settled when the target has answered
//! or called back.
//!
//! # Rooms
//!
//! Every room uses only those below it; `tests/tidy.rs` holds the table and fails on any other arrow.
//!
//! | room | what it is for |
//! |---|---|
//! | [`app`] | starts and stops things: the roles of a server, `axle dev`, the operator's commands |
//! | [`mod@bench`] | measures this build against the limits of the machine, from outside |
//! | [`cli`] | the grammar of the command line |
//! | [`client`] | a typed client of our own API |
//! | [`http`] | actix only: bytes ↔ engine types; one problem document for every error |
//! | [`engine`] | the verbs, one function per use case; the only room where decisions have effects |
//! | [`store`] | the only room that speaks SQL; one statement per file, named like its function |
//! | [`hints`] | Redis, where there is one: wake-ups between processes; losing it costs milliseconds |
//! | [`wire`] | the API's documents, read field by field and written plain |
//! | [`domain`] | pure: ids, the state machine, retries, verdicts, the times of schedules; no async, no I/O, no clock |
//! | [`config`] | the only reader of the environment |
//! | [`telemetry`] | logs and the names of metrics |
//! | [`dev`] | a private PostgreSQL and a demo target, for `axle dev` and the tests |
//!
//! # How a job flows
//!
//! `http` reads it → `engine::group` commits it with those that come at the same time (a batch goes
//! through `engine::register` alone) into `jobs` and `live` → `engine::puller` claims it
//! (a row of `live`, durable before the call) → `engine::invoke` calls the target and turns whatever
//! happens into news → `engine::settle` decides ([`domain::verdict`]) and moves the row: to
//! `RETRY_WAIT`, or out of `live` into `done`, with one row of `runs`, in one transaction. A callback
//! (`engine::callbacks`) and a silence (`engine::sweep`) go through the same settle. `engine::history`
//! removes what has been kept long enough, by the week or job by job.
//!
//! # How a schedule fires
//!
//! `engine::fire` sleeps until the next slot of any shard, locks what is due there (`SKIP LOCKED`), asks
//! [`domain::schedule`] which slots make a job, and writes rows of `fires`, jobs and the schedule's
//! next slot in one transaction. Owners' verbs (`engine::schedules`, `trigger`, `backfill`) take the
//! same lock and write through the same `engine::fire::batch`; `engine::turns` lets waiting jobs go.
//!
//! # What always holds
//!
//! - A job is in `live` or in `done`, never in both, never in neither.
//! - [`domain::state::MOVES`] lists every legal move; each is one guarded statement that names the
//!   state it leaves and, for a run, its fence. A test compares table and database.
//! - A fire's identity is (schedule, nominal time), a primary key: a slot makes one job, and every slot
//!   up to a schedule's `accounted_until` has its row.
//! - A run's identity is (job, fence). News of a run that is not the current one changes nothing.
//! - The database's clock decides what is due; a host's wall clock decides nothing.
//! - Who asks is known at one door (`engine::access`); a role may do what one table says
//!   ([`domain::principal`]), and what people do by hand has an entry in the audit log, written in the
//!   same transaction.
//! - No call leaves but through `engine::guard`, to an address that it has judged; secrets are sealed
//!   before they are stored and opened just before a call.
//! - Every hot statement names one shard and writes one table; rows are locked in id order.
//! - Every wait has an end: for a connection, an answer, a lock, a target.
//!
//! # What is not here, on purpose
//!
//! No leader and no election: unique keys and `SKIP LOCKED` do that work. No promotion of scheduled
//! jobs: due is a comparison. No triggers, sequences or session locks. No trait with one
//! implementation, no event bus. Hints between processes may all be lost; they cost milliseconds.

pub mod app;
pub mod bench;
pub mod cli;
pub mod client;
pub mod config;
pub mod dev;
pub mod domain;
pub mod engine;
pub mod hints;
pub mod http;
pub mod store;
pub mod telemetry;
pub mod wire;
