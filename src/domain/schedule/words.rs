//! Numbers and days in plain English, for the descriptions of schedules.

use super::field::Set;

const WEEKDAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// `a`, `a and b`, `a, b and c`.
pub(super) fn and(items: &[String]) -> String {
    joined(items, "and")
}

/// `a`, `a or b`, `a, b or c`.
pub(super) fn or(items: &[String]) -> String {
    joined(items, "or")
}

/// The set's members, three or more in a row as `a to b`.
pub(super) fn runs(set: Set, name: impl Fn(u32) -> String) -> Vec<String> {
    runs_of(&set.iter().collect::<Vec<_>>(), name)
}

/// Weekdays from Monday on, three or more in a row as `Monday to Friday`.
pub(super) fn weekdays(set: Set) -> Vec<String> {
    // Sunday ends the week here, so that Saturday and Sunday stand together.
    let days: Vec<_> = (1..=7).filter(|day| set.contains(day % 7)).collect();
    runs_of(&days, |day| weekday(day % 7).to_owned())
}

/// `Sunday` for 0.
pub(super) fn weekday(day: u32) -> &'static str {
    at(&WEEKDAYS, day)
}

/// `January` for 1.
pub(super) fn month(month: u32) -> &'static str {
    at(&MONTHS, month.wrapping_sub(1))
}

/// `first` to `fifth`, then `6th` and so on.
pub(super) fn ordinal(n: u32) -> String {
    let words = ["first", "second", "third", "fourth", "fifth"];
    let word = usize::try_from(n).ok().and_then(|n| words.get(n.checked_sub(1)?));
    word.map_or_else(|| short_ordinal(n), |word| (*word).to_owned())
}

/// `1st`, `2nd`, `3rd`, `4th`.
pub(super) fn short_ordinal(n: u32) -> String {
    let ending = match (n % 10, n % 100) {
        (1, rest) if rest != 11 => "st",
        (2, rest) if rest != 12 => "nd",
        (3, rest) if rest != 13 => "rd",
        _ => "th",
    };
    format!("{n}{ending}")
}

/// A length of time in its largest whole unit.
pub(super) fn span(ms: u64) -> String {
    let units = [(86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute"), (1_000, "second")];
    let whole = units.iter().find(|(unit, _)| ms.is_multiple_of(*unit));
    let (count, unit) = whole.map_or((ms, "millisecond"), |(unit, name)| (ms / unit, *name));
    if count == 1 { unit.to_owned() } else { format!("{count} {unit}s") }
}

fn joined(items: &[String], last: &str) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., end] => format!("{} {last} {end}", first.join(", ")),
    }
}

fn runs_of(values: &[u32], name: impl Fn(u32) -> String) -> Vec<String> {
    let mut parts = Vec::new();
    for run in values.chunk_by(|a, b| a + 1 == *b) {
        match run {
            [first, _, .., last] => parts.push(format!("{} to {}", name(*first), name(*last))),
            short => parts.extend(short.iter().map(|value| name(*value))),
        }
    }
    parts
}

fn at(names: &[&'static str], index: u32) -> &'static str {
    usize::try_from(index).ok().and_then(|index| names.get(index)).copied().unwrap_or("")
}
