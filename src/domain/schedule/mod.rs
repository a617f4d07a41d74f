//! Schedules: when something fires, by which rule, in which zone, and what clock changes and
//! holidays do to it.
//!
//! Pure, as the room is: every question says from when. The way of an answer: `cron`/`rule` hold
//! what was asked for; `civil` and `times` name local times; `walk` turns them into instants;
//! `timetable` puts it together. `doc` and `record` are the schedule as it is kept; `due` and
//! `overlap` decide what becomes of slots whose time has come.

pub mod calendar;
pub mod changes;
mod civil;
pub mod count;
pub mod cron;
pub mod describe;
pub mod doc;
pub mod due;
mod field;
pub mod ical;
pub mod jitter;
pub mod overlap;
pub mod preview;
pub mod record;
pub mod rule;
mod skipped;
pub mod slot;
mod times;
pub mod timetable;
mod walk;
mod words;
pub mod zone;

pub use walk::{OnGap, OnOverlapHour};

#[cfg(test)]
mod tests;
