//! Catch-up as a table: every policy in every situation, written out.

use super::due::{POLICIES, told, with};

/// A row of a table: what is expected of none, last and all, with a window of an hour and at most
/// three caught up.
type Situation = (&'static str, &'static str, &'static str, [&'static [&'static str]; 3]);

const TABLE: [Situation; 12] = [
    ("nothing was due", "12:00:00", "12:09:59", [&[], &[], &[]]),
    ("on time", "12:00:00", "12:10:00", [&["fire 12:10:00"]; 3]),
    ("seconds late", "12:00:00", "12:10:02", [&["fire 12:10:00"]; 3]),
    ("as late as on time can be", "12:00:00", "12:10:10", [&["fire 12:10:00"]; 3]),
    (
        "a second later",
        "12:00:00",
        "12:10:11",
        [&["missed 12:10:00"], &["fire 12:10:00"], &["fire 12:10:00"]],
    ),
    (
        "one slot late",
        "12:00:00",
        "12:15:00",
        [&["missed 12:10:00"], &["fire 12:10:00"], &["fire 12:10:00"]],
    ),
    (
        "as many late as max",
        "12:00:00",
        "12:35:00",
        [
            &["missed 12:10:00..12:30:00 x3"],
            &["fire 12:30:00", "coalesced 12:10:00..12:20:00 x2"],
            &["fire 12:10:00", "fire 12:20:00", "fire 12:30:00"],
        ],
    ),
    (
        "max reached",
        "12:00:00",
        "12:55:00",
        [
            &["missed 12:10:00..12:50:00 x5"],
            &["fire 12:50:00", "coalesced 12:10:00..12:40:00 x4"],
            &["fire 12:10:00", "fire 12:20:00", "fire 12:30:00", "missed 12:40:00..12:50:00 x2"],
        ],
    ),
    (
        "a punctual slot with late ones",
        "12:00:00",
        "12:30:05",
        [
            &["fire 12:30:00", "missed 12:10:00..12:20:00 x2"],
            &["fire 12:30:00", "coalesced 12:10:00..12:20:00 x2"],
            &["fire 12:10:00", "fire 12:20:00", "fire 12:30:00"],
        ],
    ),
    (
        "a punctual slot beyond max",
        "12:00:00",
        "12:50:05",
        [
            &["fire 12:50:00", "missed 12:10:00..12:40:00 x4"],
            &["fire 12:50:00", "coalesced 12:10:00..12:40:00 x4"],
            &[
                "fire 12:10:00",
                "fire 12:20:00",
                "fire 12:30:00",
                "fire 12:50:00",
                "missed 12:40:00",
            ],
        ],
    ),
    (
        "the window's edge is inside",
        "12:00:00",
        "13:10:00",
        [
            &["fire 13:10:00", "missed 12:10:00..13:00:00 x6"],
            &["fire 13:10:00", "coalesced 12:10:00..13:00:00 x6"],
            &[
                "fire 12:10:00",
                "fire 12:20:00",
                "fire 12:30:00",
                "fire 13:10:00",
                "missed 12:40:00..13:00:00 x3",
            ],
        ],
    ),
    (
        "older than the window",
        "12:00:00",
        "13:25:00",
        [
            &["missed 12:10:00..13:20:00 x8"],
            &["fire 13:20:00", "missed 12:10:00..12:20:00 x2", "coalesced 12:30:00..13:10:00 x5"],
            &[
                "fire 12:30:00",
                "fire 12:40:00",
                "fire 12:50:00",
                "missed 12:10:00..12:20:00 x2",
                "missed 13:00:00..13:20:00 x3",
            ],
        ],
    ),
];

#[test]
fn each_policy_in_each_situation() {
    for (situation, after, now, expected) in TABLE {
        for (policy, right) in POLICIES.into_iter().zip(expected) {
            let doc = with(policy, 3_600_000, 3);
            let [after, now] = [after, now].map(|time| format!("2027-01-01T{time}"));
            assert_eq!(told(&doc, &[], &after, &now), right, "{situation}, {policy:?}");
        }
    }
}
