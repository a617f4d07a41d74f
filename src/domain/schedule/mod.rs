//! Schedules: when something fires, by which rule, in which zone, and what clock changes and
//! holidays do to it.
//!
//! Pure, as the room is: every question says from when. The way of an answer: `cron`/`rule` hold
//! what was asked for; `civil` and `times` name local times; `walk` turns them into instants;
//! `timetable` puts it together. Nothing here decides about jobs, overlap or catch-up.
//! No other room uses these rules yet: the API and the engine of schedules are to be built on them.

pub mod calendar;
pub mod changes;
mod civil;
pub mod count;
pub mod cron;
pub mod describe;
mod field;
pub mod ical;
pub mod jitter;
pub mod preview;
pub mod rule;
pub mod slot;
mod times;
pub mod timetable;
mod walk;
mod words;
pub mod zone;

pub use walk::{OnGap, OnOverlapHour};

#[cfg(test)]
mod tests;
