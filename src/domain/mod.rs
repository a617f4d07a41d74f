//! What Axle's words mean: ids, states, jobs, runs, retries, principals.
//!
//! Pure: no async, no I/O, no SQL, no HTTP, no clock and no randomness of its own (both are passed
//! in). Every other room may use this one; it uses none.

pub mod breaker;
pub mod check;
pub mod id;
pub mod invalid;
pub mod job;
pub mod next_step;
pub mod principal;
pub mod queue;
pub mod retry;
pub mod run;
pub mod schedule;
pub mod state;
pub mod verdict;
