//! What the next clock changes of a zone do to a schedule, for people who plan ahead.

use chrono::{DateTime, Utc};

use super::OnOverlapHour;
use super::rule::Rule;
use super::slot::{Note, time, utc};
use super::times::Side;
use super::timetable::Timetable;
use super::walk::Walk;
use super::zone::{civil, next_change, offset};

/// How far ahead changes are looked for, in seconds: a year and a month.
const LOOK_AHEAD: i64 = 400 * 86_400;

/// A clock change of the schedule's zone, and what it does to the schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockChange {
    /// The first instant with the new offset.
    pub at: DateTime<Utc>,
    /// The offset before, in seconds east of UTC.
    pub from: i32,
    /// The offset from then on.
    pub to: i32,
    /// The whole in English.
    pub text: String,
    /// The fire that is moved, skipped or doubled, if there is one.
    pub touched: Option<Touched>,
}

/// A fire out of the ordinary at a clock change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touched {
    /// `moved-at-clock-change`, `skipped-at-clock-change` or `repeated-at-clock-change`.
    pub code: &'static str,
    /// What happens, in English.
    pub text: String,
}

impl Timetable {
    /// The next clock change after an instant, if the zone has one within 400 days.
    pub fn next_clock_change(&self, after: DateTime<Utc>) -> Option<ClockChange> {
        let from = after.timestamp().clamp(0, self.clamp(0, i64::MAX).1 / 1_000);
        let change = next_change(self.zone, from, from.saturating_add(LOOK_AHEAD))?;
        let (before, here) = (offset(self.zone, change - 1), offset(self.zone, change));
        let (was, is) = (civil(change, before)?, civil(change, here)?);
        let touched = self.touched(change, here - before);
        let effect = match &touched {
            Some(touched) => touched.text.clone(),
            None => self.untouched(here > before),
        };
        let (from, to) = (i32::try_from(before).ok()?, i32::try_from(here).ok()?);
        let text = format!(
            "clocks go {} on {} from {} to {} ({} to {}): {effect}",
            if here > before { "forward" } else { "back" },
            was.format("%a %-d %b %Y"),
            time(was.time()),
            time(is.time()),
            utc(from),
            utc(to),
        );
        Some(ClockChange { at: DateTime::from_timestamp(change, 0)?, from, to, text, touched })
    }

    fn touched(&self, change: i64, by: i64) -> Option<Touched> {
        let (first, last) = self.clamp(0, i64::MAX);
        let inside = |at: i64| (first..=last).contains(&(at * 1_000));
        let walks = self.rule.members().iter().filter_map(|rule| self.walk(rule, Side::Kept));
        walks.filter(|walk| walk.times.is_fixed()).find_map(|walk| {
            if by > 0 {
                let missing = walk.at_gap_end(change).filter(|hit| inside(hit.at))?.missing?;
                self.in_gap(change, missing)
            } else {
                let hit = walk.at_or_after(change + by, change - by - 1)?;
                inside(hit.at).then(|| self.in_fold(&walk, hit.at)).flatten()
            }
        })
    }

    fn in_gap(&self, change: i64, missing: chrono::NaiveDateTime) -> Option<Touched> {
        let local = DateTime::from_timestamp(change, 0)?.with_timezone(&self.zone).fixed_offset();
        let (code, note) = match self.on_gap {
            super::OnGap::Fire => ("moved-at-clock-change", Note::MovedFromGap { missing }),
            super::OnGap::Skip => ("skipped-at-clock-change", Note::SkippedGap { missing }),
        };
        Some(Touched { code, text: note.text(local) })
    }

    fn in_fold(&self, walk: &Walk<'_>, at: i64) -> Option<Touched> {
        let local = civil(at, offset(self.zone, at))?;
        let runs = match walk.on_overlap_hour {
            OnOverlapHour::First => "once, at the first",
            OnOverlapHour::Second => "once, at the second",
            OnOverlapHour::Both => "both times",
        };
        let text = format!(
            "{} occurs twice on {} (clocks go back); runs {runs}",
            time(local.time()),
            local.format("%a %-d %b %Y")
        );
        Some(Touched { code: "repeated-at-clock-change", text })
    }

    fn untouched(&self, forward: bool) -> String {
        let members = self.rule.members();
        let follows = |rule: &Rule| matches!(rule, Rule::Cron(cron) if !cron.is_fixed());
        let instants = |rule: &Rule| matches!(rule, Rule::Every(_) | Rule::At(_));
        if members.iter().all(instants) {
            "it runs in real time and is not touched"
        } else if !members.iter().any(follows) {
            "no fire is moved, lost or doubled"
        } else if forward {
            "it follows the wall clock; times in between do not come"
        } else {
            "it follows the wall clock; times that come twice fire twice"
        }
        .to_owned()
    }
}
