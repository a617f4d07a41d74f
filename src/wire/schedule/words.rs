//! The words of a schedule's policies, for readers and views alike.

use crate::domain::schedule::doc::{CatchUp, DayDoc, Overlap};

/// What happens to a fire while an earlier job is unfinished.
pub(super) const OVERLAPS: [(&str, Overlap); 5] = [
    ("skip", Overlap::Skip),
    ("queue_one", Overlap::QueueOne),
    ("queue_all", Overlap::QueueAll),
    ("cancel_running", Overlap::CancelRunning),
    ("allow", Overlap::Allow),
];
/// Which missed fires are made up for.
pub(super) const CATCH_UPS: [(&str, CatchUp); 3] =
    [("none", CatchUp::None), ("last", CatchUp::Last), ("all", CatchUp::All)];
/// Which day of a month.
pub(super) const DAYS: [(&str, DayDoc); 3] = [
    ("last_of_month", DayDoc::LastOfMonth),
    ("last_business_day", DayDoc::LastBusinessDay),
    ("nth_business_day", DayDoc::NthBusinessDay),
];
/// What happens to a time that does not exist: whether it is skipped.
pub(super) const GAPS: [(&str, bool); 2] = [("fire", false), ("skip", true)];
/// Which passes of a repeated time fire.
pub(super) const PASSES: [(&str, (bool, bool)); 3] =
    [("first", (true, false)), ("second", (false, true)), ("both", (true, true))];
/// Where a slot on a closed day goes.
pub(super) const SHIFTS: [(&str, Option<bool>); 3] =
    [("skip", None), ("next_business_day", Some(true)), ("previous_business_day", Some(false))];

/// The word of a value; empty for one that has none.
pub(super) fn word<T: PartialEq>(words: &[(&'static str, T)], value: &T) -> &'static str {
    words.iter().find(|(_, known)| known == value).map_or("", |(word, _)| word)
}
