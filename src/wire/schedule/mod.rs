//! Schedules on the wire: the definition that callers send and are shown, its readers, and what is
//! answered about fire times.
//!
//! The definition in a [`view::ScheduleView`], read again, gives the same document; the merge patch
//! rests on that.

pub mod act;
pub mod patch;
pub mod preview;
pub mod read;
pub mod request;
mod rule;
pub mod view;
mod words;

#[cfg(test)]
mod tests;
