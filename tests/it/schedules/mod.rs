//! Schedules: every slot accounted for, by the engine on a real database under a clock of the test's.

mod catch_up;
mod edits;
mod faults;
mod fires;
mod hands;
mod overlap;
mod races;
