//! One nominal fire of a schedule, and what there is to say about it.

use chrono::{DateTime, FixedOffset, NaiveDate, NaiveDateTime, Utc};

/// One nominal fire: an instant, once per schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The nominal instant, which identifies the slot. A time that does not exist stands at the end
    /// of its gap; a shifted one on the day to which it went.
    pub at: DateTime<Utc>,
    /// The same instant as the schedule's zone shows it.
    pub local: DateTime<FixedOffset>,
    /// Whether it fires.
    pub fate: Fate,
    /// What is special about it; empty for nearly all.
    pub notes: Vec<Note>,
}

/// What becomes of a slot, as far as the rule alone decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// It fires.
    Fires,
    /// Its day is closed; it was left out, or moved to another day.
    SkippedCalendar,
    /// Its local time does not exist and `on_gap` is `skip`.
    SkippedGap,
}

impl Fate {
    /// The word in the log of fires; none for a slot that fires.
    pub fn skipped(self) -> Option<&'static str> {
        match self {
            Self::Fires => None,
            Self::SkippedCalendar => Some("skipped_calendar"),
            Self::SkippedGap => Some("skipped_gap"),
        }
    }
}

/// Which of two equal local times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// Before the clocks go back.
    First,
    /// After.
    Second,
}

/// What is special about a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// A time inside a gap fires here, at the gap's end. If several do, the earliest is named.
    MovedFromGap {
        /// The local time that does not exist.
        missing: NaiveDateTime,
    },
    /// A time inside a gap that ends here is left out.
    SkippedGap {
        /// The local time that does not exist.
        missing: NaiveDateTime,
    },
    /// The local time comes twice.
    RepeatedHour {
        /// Which of the two this is.
        pass: Pass,
    },
    /// The offset differs from that at the slot before.
    OffsetChange {
        /// Before, in seconds east of UTC.
        from: i32,
        /// From here on.
        to: i32,
    },
    /// The day is closed.
    Holiday {
        /// The calendar that closes it; empty for a weekend that no calendar names.
        calendar: String,
        /// The day to which the slot went, if it was shifted.
        moved_to: Option<NaiveDate>,
    },
    /// It comes from a closed day.
    Shifted {
        /// The nearest such day.
        from: NaiveDate,
    },
}

impl Note {
    /// The word for machines.
    pub fn code(&self) -> &'static str {
        match self {
            Self::MovedFromGap { .. } => "moved_from_gap",
            Self::SkippedGap { .. } => "skipped_gap",
            Self::RepeatedHour { .. } => "repeated_hour",
            Self::OffsetChange { .. } => "offset_change",
            Self::Holiday { .. } => "holiday",
            Self::Shifted { .. } => "shifted",
        }
    }

    /// The note in plain English, for a slot with this local time.
    pub fn text(&self, local: DateTime<FixedOffset>) -> String {
        let day = |date: NaiveDate| date.format("%a %-d %b %Y").to_string();
        let clock = |at: NaiveDateTime| time(at.time());
        match self {
            Self::MovedFromGap { missing } => format!(
                "{} does not exist on {} (clocks go forward); runs at {}",
                clock(*missing),
                day(missing.date()),
                time(local.time())
            ),
            Self::SkippedGap { missing } => format!(
                "{} does not exist on {} (clocks go forward); it is skipped",
                clock(*missing),
                day(missing.date())
            ),
            Self::RepeatedHour { pass } => format!(
                "{} occurs twice on {} (clocks go back); this is the {}",
                time(local.time()),
                day(local.date_naive()),
                match pass {
                    Pass::First => "first",
                    Pass::Second => "second",
                }
            ),
            Self::OffsetChange { from, to } => {
                format!("from here {}, before {}", utc(*to), utc(*from))
            }
            Self::Holiday { calendar, moved_to } => {
                let why = if calendar.is_empty() {
                    "it is a weekend".to_owned()
                } else {
                    format!("the day is closed in {calendar}")
                };
                match moved_to {
                    Some(date) => format!("{why}; moved to {}", day(*date)),
                    None => format!("{why}; it is skipped"),
                }
            }
            Self::Shifted { from } => format!("moved from {}", day(*from)),
        }
    }
}

/// A time of day as people write it: seconds only where there are some.
pub(super) fn time(time: chrono::NaiveTime) -> String {
    let seconds = chrono::Timelike::second(&time) != 0;
    time.format(if seconds { "%H:%M:%S" } else { "%H:%M" }).to_string()
}

/// An offset as people write it: `UTC+2`, `UTC-3:30`.
pub(super) fn utc(offset: i32) -> String {
    let sign = if offset < 0 { '-' } else { '+' };
    let minutes = offset.unsigned_abs() / 60;
    match (minutes / 60, minutes % 60) {
        (0, 0) => "UTC".to_owned(),
        (hours, 0) => format!("UTC{sign}{hours}"),
        (hours, rest) => format!("UTC{sign}{hours}:{rest:02}"),
    }
}
