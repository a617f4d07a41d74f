//! A queue: where a team's jobs wait, by name. It comes into being when a job names it.

use chrono::{DateTime, Utc};

/// The queue of a job that names none.
pub const DEFAULT_QUEUE: &str = "default";

/// What is known of a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Unique within the team.
    pub name: String,
    /// While set, jobs are accepted and not claimed.
    pub paused: bool,
    /// Why it was paused, as the person who did it wrote.
    pub pause_reason: Option<String>,
    /// What the queue is for, for people.
    pub description: Option<String>,
    /// Grows with every change; 0 for a queue that exists only because jobs name it.
    pub version: i32,
    /// When it was last changed; none if it never was.
    pub updated_at: Option<DateTime<Utc>>,
}

impl Queue {
    /// The queue as it is before anybody has changed it.
    pub fn untouched(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            paused: false,
            pause_reason: None,
            description: None,
            version: 0,
            updated_at: None,
        }
    }
}

/// Whether `name` can be a queue's: 1 to 63 of `a-z`, `0-9`, `.`, `_`, `-`, the first a letter or
/// digit, so that it stands in a URL and a metric as it is.
pub fn is_queue_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    name.len() <= 63
        && name.bytes().next().is_some_and(plain)
        && name.bytes().all(|b| plain(b) || matches!(b, b'.' | b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain() {
        for good in ["default", "a", "0", "mail.high-1_x", &"q".repeat(63)] {
            assert!(is_queue_name(good), "{good}");
        }
        for bad in ["", "-a", ".a", "A", "a b", "a/b", "ä", "a\0", &"q".repeat(64)] {
            assert!(!is_queue_name(bad), "{bad:?}");
        }
    }
}
