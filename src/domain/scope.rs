//! Which queues of its team somebody reaches. Whoever is held to some queues acts on the jobs and
//! schedules of those alone, and manages nothing, whatever their role.

use std::fmt;
use std::sync::Arc;

use super::principal::Act;

/// The most queues that somebody is held to.
pub const QUEUES_MAX: usize = 50;

/// All queues of the team, or only these. Cloning shares the names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope(Option<Arc<[String]>>);

impl Scope {
    /// Only these queues.
    pub fn of(mut queues: Vec<String>) -> Self {
        queues.sort();
        queues.dedup();
        Self(Some(queues.into()))
    }

    /// The queues, in the order of their names; none if it is all of them.
    pub fn queues(&self) -> Option<&[String]> {
        self.0.as_deref()
    }

    /// Whether the queue is one of them.
    pub fn holds(&self, queue: &str) -> bool {
        self.queues().is_none_or(|queues| queues.iter().any(|known| known == queue))
    }

    /// Whether an act can be confined to queues.
    pub fn allows(&self, act: Act) -> bool {
        match act {
            Act::Read | Act::Write | Act::Operate | Act::Configure => true,
            Act::Manage | Act::Own | Act::Install => self.0.is_none(),
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.queues() {
            None => f.write_str("every queue"),
            Some([one]) => write!(f, "the queue {one}"),
            Some(queues) => write!(f, "the queues {}", queues.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_holds_what_it_names_and_manages_nothing() {
        let all = Scope::default();
        let some = Scope::of(vec!["mail".into(), "high".into(), "mail".into()]);
        assert!(all.holds("mail") && all.holds("x") && all.queues().is_none());
        assert!(some.holds("mail") && some.holds("high") && !some.holds("x") && !some.holds(""));
        assert_eq!(some.to_string(), "the queues high, mail");
        for act in Act::ALL {
            let expected = matches!(act.as_str(), "read" | "write" | "operate" | "configure");
            assert_eq!((some.allows(*act), all.allows(*act)), (expected, true), "{act}");
        }
    }
}
