//! One field of a cron line, by the grammar of Debian's `crontab(5)` with our extras for days.
//!
//! Reads text into sets of numbers and says for each fault what would be right. It knows nothing of
//! calendars, clocks or zones.

/// What a field may hold.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Kind {
    /// What people call it, for messages.
    pub(super) name: &'static str,
    /// The smallest number.
    pub(super) low: u32,
    /// The largest number; 7 for days of the week, where it means Sunday as 0 does.
    pub(super) high: u32,
    /// Three-letter names, the first of which stands for `low`.
    pub(super) names: &'static [&'static str],
    /// Which extras it takes.
    extras: Extras,
}

#[derive(Debug, PartialEq, Eq)]
enum Extras {
    None,
    OfMonth,
    OfWeek,
}

const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

pub(super) const SECOND: Kind = Kind::plain("second", 0, 59);
pub(super) const MINUTE: Kind = Kind::plain("minute", 0, 59);
pub(super) const HOUR: Kind = Kind::plain("hour", 0, 23);
pub(super) const DAY: Kind =
    Kind { extras: Extras::OfMonth, ..Kind::plain("day of the month", 1, 31) };
pub(super) const MONTH: Kind = Kind { names: &MONTHS, ..Kind::plain("month", 1, 12) };
pub(super) const WEEKDAY: Kind =
    Kind { names: &WEEKDAYS, extras: Extras::OfWeek, ..Kind::plain("day of the week", 0, 7) };

impl Kind {
    const fn plain(name: &'static str, low: u32, high: u32) -> Self {
        Self { name, low, high, names: &[], extras: Extras::None }
    }

    /// The largest number that is not a second name for another one.
    fn last(&self) -> u32 {
        if self.extras == Extras::OfWeek { 6 } else { self.high }
    }
}

/// A set of small numbers, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Set(u64);

impl Set {
    pub(super) fn contains(self, value: u32) -> bool {
        self.0.checked_shr(value).is_some_and(|bits| bits & 1 == 1)
    }

    pub(super) fn insert(&mut self, value: u32) {
        self.0 |= 1_u64.checked_shl(value).unwrap_or(0);
    }

    pub(super) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn len(self) -> u32 {
        self.0.count_ones()
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Its members, ascending.
    pub(super) fn iter(self) -> impl Iterator<Item = u32> {
        (0..u64::BITS).filter(move |value| self.contains(*value))
    }

    /// How many members are less than `value`.
    pub(super) fn below(self, value: u32) -> u32 {
        (self.0 & 1_u64.checked_shl(value).map_or(u64::MAX, |bit| bit - 1)).count_ones()
    }
}

impl FromIterator<u32> for Set {
    fn from_iter<I: IntoIterator<Item = u32>>(values: I) -> Self {
        let mut set = Self::default();
        values.into_iter().for_each(|value| set.insert(value));
        set
    }
}

/// A day that numbers alone cannot say. Weekdays count from Sunday, 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extra {
    /// `L`: the last day of the month.
    Last,
    /// `LW`: the last Monday to Friday of the month.
    LastWeekday,
    /// `dL`: the last such weekday of the month.
    LastOf(u32),
    /// `d#k`: the k-th such weekday of the month.
    Nth(u32, u32),
}

/// A field, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    /// The numbers it names; days of the week from Sunday, 0, to 6.
    pub(super) set: Set,
    /// The days it names otherwise.
    pub(super) extras: Vec<Extra>,
    /// Whether its text begins with `*`, which decides how days combine and whether the line
    /// follows the wall clock (so `*/2` counts, `1-31` does not).
    pub(super) star: bool,
}

impl Field {
    /// Whether it leaves nothing out.
    pub(super) fn is_full(&self, kind: &Kind) -> bool {
        (kind.low..=kind.last()).all(|value| self.set.contains(value))
    }
}

/// Reads a field; the error says what is wrong and what would be right.
pub(super) fn read(text: &str, kind: &Kind) -> Result<Field, String> {
    let mut field = Field { set: Set::default(), extras: Vec::new(), star: text.starts_with('*') };
    for item in text.split(',') {
        if item.is_empty() {
            return Err(format!("{text}: nothing stands before or after a comma; leave it out"));
        }
        if let Some(extra) = read_extra(item, kind)? {
            if !field.extras.contains(&extra) {
                field.extras.push(extra);
            }
        } else {
            field.set = field.set.union(read_numbers(item, kind)?);
        }
    }
    Ok(field)
}

fn read_extra(item: &str, kind: &Kind) -> Result<Option<Extra>, String> {
    let upper = item.to_ascii_uppercase();
    match kind.extras {
        Extras::None => Ok(None),
        Extras::OfMonth => Ok(match upper.as_str() {
            "L" => Some(Extra::Last),
            "LW" => Some(Extra::LastWeekday),
            _ => None,
        }),
        Extras::OfWeek => {
            if let Some((day, nth)) = upper.split_once('#') {
                let day = number(day, kind)?;
                return match nth.parse() {
                    Ok(nth @ 1..=5)
                        if nth.to_string().len()
                            == item.len() - item.find('#').map_or(0, |at| at + 1) =>
                    {
                        Ok(Some(Extra::Nth(day % 7, nth)))
                    }
                    _ => Err(format!("{item}: after # stands 1 to 5, as in 5#3, the third Friday")),
                };
            }
            match upper.strip_suffix('L') {
                Some("") => {
                    Err("L alone names no weekday; write 5L for the last Friday".to_owned())
                }
                Some(day) => Ok(Some(Extra::LastOf(number(day, kind)? % 7))),
                None => Ok(None),
            }
        }
    }
}

fn read_numbers(item: &str, kind: &Kind) -> Result<Set, String> {
    let (base, step) = match item.split_once('/') {
        Some((base, step)) => (base, Some(read_step(item, step)?)),
        None => (item, None),
    };
    let (first, last) = if base == "*" {
        (kind.low, kind.high)
    } else if let Some((first, last)) = base.split_once('-') {
        let range = (number(first, kind)?, number(last, kind)?);
        if range.0 > range.1 {
            return Err(backwards(base, range, step, kind));
        }
        range
    } else {
        let only = number(base, kind)?;
        if step.is_some() {
            return Err(format!(
                "{item}: a step needs * or a range in front; write {base}-{}/{}",
                kind.last(),
                step.unwrap_or(1)
            ));
        }
        (only, only)
    };
    let step = usize::try_from(step.unwrap_or(1)).unwrap_or(usize::MAX);
    let fold = |value| if kind.extras == Extras::OfWeek { value % 7 } else { value };
    Ok((first..=last).step_by(step).map(fold).collect())
}

fn read_step(item: &str, step: &str) -> Result<u32, String> {
    let digits = !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit());
    match step.parse() {
        Ok(step @ 1..) if digits => Ok(step),
        _ => Err(format!("{item}: after / stands a whole number from 1, as in */15")),
    }
}

fn backwards(base: &str, (first, last): (u32, u32), step: Option<u32>, kind: &Kind) -> String {
    if step.is_some() {
        return format!("{base} runs backwards; write its values one by one, separated by commas");
    }
    let run =
        |from: u32, to: u32| if from == to { from.to_string() } else { format!("{from}-{to}") };
    let last = last.min(kind.last());
    if first > kind.last() {
        return format!("{base} runs backwards; write {}", run(kind.low, last));
    }
    let (upper, lower) = (run(first, kind.last()), run(kind.low, last));
    format!("{base} runs backwards; write {upper},{lower}")
}

fn number(text: &str, kind: &Kind) -> Result<u32, String> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return match text.parse() {
            Ok(value) if (kind.low..=kind.high).contains(&value) => Ok(value),
            _ => Err(format!("{} must be {} to {}, got {text}", kind.name, kind.low, kind.high)),
        };
    }
    let named = kind.names.iter().position(|name| name.eq_ignore_ascii_case(text));
    match named.and_then(|at| u32::try_from(at).ok()) {
        Some(at) => Ok(kind.low + at),
        None => Err(hint(text, kind)),
    }
}

/// What is wrong with a word that is neither a number nor a name.
fn hint(text: &str, kind: &Kind) -> String {
    let upper = text.to_ascii_uppercase();
    let by_name = |name: &&&str| upper.starts_with(**name);
    if text.is_empty() {
        format!("{}: a number is missing beside -", kind.name)
    } else if let Some(name) = kind.names.iter().find(by_name).filter(|_| is_word(text)) {
        format!("{text}: names have three letters; write {name}")
    } else if text.contains('?') {
        format!("{}: ? is not used here; write *", kind.name)
    } else if text.contains('~') {
        format!("{text}: no random values; write a number and give the schedule a jitter")
    } else if upper.ends_with('W') && kind.extras == Extras::OfMonth {
        format!("{text}: not taken; write LW, or a day rule such as nth_business_day")
    } else if upper.starts_with('L') && kind.extras == Extras::OfMonth {
        format!("{text}: only L (last day) and LW (last Monday to Friday) are taken")
    } else if upper.ends_with('L') || text.contains('#') {
        format!("{text}: not taken for {}; L and # belong to days", kind.name)
    } else if kind.names.is_empty() {
        format!(
            "{} must be {} to {}, *, a range or a list, got {text:?}",
            kind.name, kind.low, kind.high
        )
    } else {
        let (first, last) = (kind.names.first().unwrap_or(&""), kind.names.last().unwrap_or(&""));
        format!(
            "{} must be {} to {} or {first} to {last}, got {text:?}",
            kind.name, kind.low, kind.high
        )
    }
}

fn is_word(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphabetic())
}
