//! What becomes of a fire while earlier jobs of its schedule are unfinished. Pure; decided under the
//! lock of the schedule's row, so that timer, trigger and backfill never decide side by side.

use super::doc::Overlap;

/// The most jobs of one schedule that wait for their turn.
pub const QUEUE_LIMIT: usize = 1_000;

/// The unfinished jobs of a schedule, as seen by one who holds its lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unfinished {
    /// May run or run already.
    pub active: usize,
    /// Wait for their turn.
    pub waiting: usize,
}

/// What a fire does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It makes a job that may run at once.
    Run,
    /// It makes a job that waits for its turn.
    Wait,
    /// It cancels the unfinished jobs, then makes one.
    Replace,
    /// It makes none.
    Skip,
}

impl Unfinished {
    /// What the next fire does, and what is unfinished afterwards.
    pub fn turn(&mut self, overlap: Overlap) -> Turn {
        let busy = self.active + self.waiting > 0;
        let turn = match overlap {
            Overlap::Allow => Turn::Run,
            _ if !busy => Turn::Run,
            Overlap::CancelRunning => Turn::Replace,
            Overlap::QueueOne if self.waiting == 0 => Turn::Wait,
            Overlap::QueueAll if self.waiting < QUEUE_LIMIT => Turn::Wait,
            Overlap::Skip | Overlap::QueueOne | Overlap::QueueAll => Turn::Skip,
        };
        match turn {
            Turn::Run => self.active += 1,
            Turn::Wait => self.waiting += 1,
            Turn::Replace => *self = Self { active: 1, waiting: 0 },
            Turn::Skip => {}
        }
        turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_policy_in_each_situation() {
        use Overlap::{Allow, CancelRunning, QueueAll, QueueOne, Skip};
        let situations = [(0, 0), (1, 0), (1, 1), (1, QUEUE_LIMIT), (0, 1)];
        let table = [
            (Skip, [Turn::Run, Turn::Skip, Turn::Skip, Turn::Skip, Turn::Skip]),
            (QueueOne, [Turn::Run, Turn::Wait, Turn::Skip, Turn::Skip, Turn::Skip]),
            (QueueAll, [Turn::Run, Turn::Wait, Turn::Wait, Turn::Skip, Turn::Wait]),
            (
                CancelRunning,
                [Turn::Run, Turn::Replace, Turn::Replace, Turn::Replace, Turn::Replace],
            ),
            (Allow, [Turn::Run; 5]),
        ];
        for (overlap, expected) in table {
            for ((active, waiting), turn) in situations.into_iter().zip(expected) {
                let mut unfinished = Unfinished { active, waiting };
                assert_eq!(unfinished.turn(overlap), turn, "{overlap:?} {active} {waiting}");
                let made = usize::from(turn != Turn::Skip);
                let kept = if turn == Turn::Replace { 0 } else { active + waiting };
                assert_eq!(unfinished.active + unfinished.waiting, kept + made);
            }
        }
    }

    #[test]
    fn of_three_fires_at_once_the_policy_decides_in_turn() {
        let mut unfinished = Unfinished::default();
        let turns = [(); 3].map(|()| unfinished.turn(Overlap::QueueOne));
        assert_eq!(turns, [Turn::Run, Turn::Wait, Turn::Skip]);
    }
}
