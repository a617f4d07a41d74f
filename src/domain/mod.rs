//! What Axle's words mean: ids, states, jobs, runs, retries, principals.
//!
//! Pure: no async, no I/O, no SQL, no HTTP, no clock and no randomness of its own (both are passed
//! in). Every other room may use this one; it uses none.

pub mod address;
pub mod audit;
pub mod block;
pub mod breaker;
pub mod check;
pub mod claim;
pub mod egress;
pub mod headers;
pub mod hidden;
pub mod id;
pub mod invalid;
pub mod job;
pub mod json_path;
pub mod key;
pub mod next_step;
pub mod person;
pub mod principal;
pub mod proxy;
pub mod queue;
pub mod quota;
pub mod rate;
pub mod redact;
pub mod retention;
pub mod retry;
pub mod run;
pub mod schedule;
pub mod scope;
pub mod signature;
pub mod state;
pub mod target_url;
pub mod team;
pub mod throttled;
pub mod verdict;
pub mod week;
