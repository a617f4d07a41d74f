//! A random line whose meaning is known from how it was made, not from reading it.

use chrono::{Datelike, NaiveDateTime, Timelike};

/// `SplitMix64`; a seed gives the same cases everywhere.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Within `low..=high`.
    pub(super) fn within(&mut self, low: i64, high: i64) -> i64 {
        let width = u64::try_from(high - low + 1).unwrap();
        low + i64::try_from(self.next() % width).unwrap()
    }

    pub(super) fn chance(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }

    pub(super) fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        let last = i64::try_from(all.len()).unwrap() - 1;
        &all[usize::try_from(self.within(0, last)).unwrap()]
    }
}

/// One field: its text and what it allows.
#[derive(Clone, Debug, Default)]
pub(super) struct Part {
    pub(super) text: String,
    numbers: Vec<i64>,
    last: bool,
    last_weekday: bool,
    last_of: Vec<i64>,
    nth: Vec<(i64, i64)>,
}

impl Part {
    pub(super) fn is_star(&self) -> bool {
        self.text.starts_with('*')
    }

    fn has(&self, value: u32) -> bool {
        self.numbers.contains(&i64::from(value))
    }
}

/// A line with its meaning.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) seconds: bool,
    pub(super) second: Part,
    pub(super) minute: Part,
    pub(super) hour: Part,
    day: Part,
    month: Part,
    weekday: Part,
}

impl Line {
    pub(super) fn random(random: &mut Random) -> Self {
        let seconds = random.chance(8);
        let zero = Part { text: "0".to_owned(), numbers: vec![0], ..Part::default() };
        let star = random.chance(40);
        Self {
            seconds,
            second: if seconds { numbers(random, 0, 59, 30) } else { zero },
            minute: numbers(random, 0, 59, if star { 60 } else { 0 }),
            hour: numbers(random, 0, 23, if star { 60 } else { 0 }),
            day: day(random),
            month: numbers(random, 1, 12, 85),
            weekday: weekday(random),
        }
    }

    pub(super) fn text(&self) -> String {
        let fields =
            [&self.second, &self.minute, &self.hour, &self.day, &self.month, &self.weekday];
        let from = usize::from(!self.seconds);
        fields[from..].iter().map(|part| part.text.as_str()).collect::<Vec<_>>().join(" ")
    }

    /// By the written rule: neither the minute nor the hour begins with a star.
    pub(super) fn is_fixed(&self) -> bool {
        !self.minute.is_star() && !self.hour.is_star()
    }

    pub(super) fn matches(&self, at: NaiveDateTime) -> bool {
        self.second.has(at.second())
            && self.minute.has(at.minute())
            && self.hour.has(at.hour())
            && self.matches_date(at)
    }

    pub(super) fn matches_date(&self, at: NaiveDateTime) -> bool {
        if !self.month.has(at.month()) {
            return false;
        }
        let (of_month, of_week) = (self.of_month(at), self.of_week(at));
        if self.day.is_star() || self.weekday.is_star() {
            of_month && of_week
        } else {
            of_month || of_week
        }
    }

    fn of_month(&self, at: NaiveDateTime) -> bool {
        let date = at.date();
        let in_month = |days: i64| (date + chrono::TimeDelta::days(days)).month() == date.month();
        let weekday = date.weekday().number_from_monday();
        // The last weekday: itself Monday to Friday, and only a weekend follows in this month.
        let last_weekday = weekday <= 5
            && (1..=3).all(|days| {
                let later = date + chrono::TimeDelta::days(days);
                !in_month(days) || later.weekday().number_from_monday() > 5
            });
        self.day.has(at.day())
            || self.day.last && !in_month(1)
            || self.day.last_weekday && last_weekday
    }

    fn of_week(&self, at: NaiveDateTime) -> bool {
        let date = at.date();
        let weekday = i64::from(date.weekday().num_days_from_sunday());
        let other = |weeks: i64| (date + chrono::TimeDelta::days(7 * weeks)).month();
        let nth = 1 + (1..=4_i64).filter(|weeks| other(-*weeks) == date.month()).count();
        let sunday = weekday == 0 && self.weekday.numbers.contains(&7);
        sunday
            || self.weekday.numbers.contains(&weekday)
            || self.weekday.last_of.contains(&weekday) && other(1) != date.month()
            || self.weekday.nth.contains(&(weekday, i64::try_from(nth).unwrap()))
    }
}

/// A star, with or without a step, in `stars` of a hundred; else values, ranges, lists.
fn numbers(random: &mut Random, low: i64, high: i64, stars: u64) -> Part {
    if random.chance(stars) {
        let step = if random.chance(50) { 1 } else { random.within(2, (high - low) / 2 + 2) };
        let text = if step == 1 { "*".to_owned() } else { format!("*/{step}") };
        let numbers = (low..=high).filter(|value| (value - low) % step == 0).collect();
        return Part { text, numbers, ..Part::default() };
    }
    let mut part = Part::default();
    for _ in 0..random.within(1, 3) {
        add_item(random, &mut part, low, high);
    }
    part
}

fn add_item(random: &mut Random, part: &mut Part, low: i64, high: i64) {
    let first = random.within(low, high);
    let item = match random.within(0, 3) {
        0 | 1 => {
            part.numbers.push(first);
            first.to_string()
        }
        2 => {
            let last = random.within(first, high);
            part.numbers.extend(first..=last);
            format!("{first}-{last}")
        }
        _ => {
            let (last, step) = (random.within(first, high), random.within(1, 9));
            part.numbers.extend((first..=last).filter(|value| (value - first) % step == 0));
            format!("{first}-{last}/{step}")
        }
    };
    add_text(part, &item);
}

fn add_text(part: &mut Part, item: &str) {
    let comma = if part.text.is_empty() { "" } else { "," };
    part.text.extend([comma, item]);
}

fn day(random: &mut Random) -> Part {
    if !random.chance(12) {
        return numbers(random, 1, 31, 80);
    }
    let mut part = Part::default();
    if random.chance(50) {
        (part.last, part.text) = (true, "L".to_owned());
    } else {
        (part.last_weekday, part.text) = (true, "LW".to_owned());
    }
    if random.chance(30) {
        add_item(random, &mut part, 1, 31);
    }
    part
}

fn weekday(random: &mut Random) -> Part {
    if !random.chance(12) {
        return numbers(random, 0, 7, 75);
    }
    let mut part = Part::default();
    let day = random.within(0, 7);
    if random.chance(50) {
        part.last_of.push(day % 7);
        add_text(&mut part, &format!("{day}L"));
    } else {
        let nth = random.within(1, 5);
        part.nth.push((day % 7, nth));
        add_text(&mut part, &format!("{day}#{nth}"));
    }
    if random.chance(30) {
        add_item(random, &mut part, 0, 7);
    }
    part
}
