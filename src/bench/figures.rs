//! The values of each round, and what follows from them.

use std::collections::BTreeMap;

use tokio::time::Instant;

pub(super) use super::what::{Bar, What};

/// The values of every round.
#[derive(Debug, Default)]
pub(super) struct Figures(BTreeMap<What, Vec<f64>>);

impl Figures {
    /// Adds a round's value.
    pub(super) fn add(&mut self, what: What, value: f64) {
        self.0.entry(what).or_default().push(value);
    }

    /// Adds a round's value if this machine can tell it.
    pub(super) fn add_some(&mut self, what: What, value: Option<f64>) {
        if let Some(value) = value {
            self.add(what, value);
        }
    }

    /// Keeps the value only if it is the highest so far.
    pub(super) fn keep_most(&mut self, what: What, value: Option<f64>) {
        if let Some(value) = value {
            let most = self.latest(what).map_or(value, |before| before.max(value));
            self.0.insert(what, vec![most]);
        }
    }

    /// Everything that was measured, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (What, &[f64])> {
        self.0.iter().map(|(what, values)| (*what, values.as_slice()))
    }

    /// What was added last.
    pub(super) fn latest(&self, what: What) -> Option<f64> {
        self.0.get(&what)?.last().copied()
    }

    /// The middle value.
    pub(super) fn median(&self, what: What) -> Option<f64> {
        Some(percentiles(self.0.get(&what)?.clone()).0)
    }

    /// Which share of its limit it reaches, by the medians.
    pub(super) fn share(&self, what: What) -> Option<f64> {
        Some(self.median(what)? / self.median(what.row().limit?)?)
    }

    /// Whether all its bars are held, by the medians; none if it has no bar, or if one needs a limit
    /// that was not measured and no other is missed.
    pub(super) fn held(&self, what: What) -> Option<bool> {
        let value = self.median(what)?;
        let holds = |bar: &Bar| match *bar {
            Bar::Share(least) => self.share(what).map(|share| share >= least),
            Bar::AtLeast(least) => Some(value >= least),
            Bar::AtMost(most) => Some(value <= most),
            Bar::Below(most) => Some(value < most),
        };
        let all: Vec<_> = what.row().bars.iter().map(holds).collect();
        if all.contains(&Some(false)) {
            return Some(false);
        }
        (!all.is_empty() && !all.contains(&None)).then_some(true)
    }
}

/// The 50th and the 99th percentile, by nearest rank: always one of the values, NaN if there are none.
pub(super) fn percentiles(mut values: Vec<f64>) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    let rank = |percent: usize| {
        let rank = (values.len() * percent).div_ceil(100);
        values.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
    };
    (rank(50), rank(99))
}

/// Milliseconds from one instant to another, negative if the order is the other one.
pub(super) fn signed_ms(later: Instant, earlier: Instant) -> f64 {
    let ahead = later.saturating_duration_since(earlier).as_secs_f64();
    (ahead - earlier.saturating_duration_since(later).as_secs_f64()) * 1000.0
}

/// A count as a number to calculate with.
pub(super) fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let values = (1..=300).map(f64::from).rev().collect();
        assert_eq!(percentiles(values), (150.0, 297.0));
        assert_eq!(percentiles(vec![3.0, 1.0, 2.0]), (2.0, 3.0));
        assert_eq!(percentiles(vec![7.0]), (7.0, 7.0));
        assert!(percentiles(Vec::new()).0.is_nan());
    }

    #[test]
    fn a_share_is_of_the_medians_and_only_where_there_is_a_limit() {
        let mut figures = Figures::default();
        for (commits, enqueues) in [(100.0, 10.0), (400.0, 20.0), (200.0, 50.0)] {
            figures.add(What::Commits, commits);
            figures.add(What::EnqueueSingle, enqueues);
        }
        assert_eq!(figures.share(What::EnqueueSingle), Some(0.1));
        assert_eq!(figures.share(What::Commits), None);
    }

    #[test]
    fn a_bar_is_held_missed_or_cannot_be_told() {
        let mut figures = Figures::default();
        figures.add(What::EnqueueBatch, 31_000.0);
        assert_eq!(figures.held(What::EnqueueBatch), Some(false), "below the peer");
        figures = Figures::default();
        figures.add(What::EnqueueBatch, 40_000.0);
        assert_eq!(figures.held(What::EnqueueBatch), None, "its limit is not known");
        figures.add(What::Rows, 80_000.0);
        assert_eq!(figures.held(What::EnqueueBatch), Some(true));
        figures.add(What::Early, 0.0);
        assert_eq!(figures.held(What::Early), Some(true));
        assert_eq!(figures.held(What::Rows), None, "it has no bar");
    }
}
