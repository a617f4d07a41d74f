//! A brute-force oracle. It walks every minute (or second) of real time, shows it on the zone's wall
//! clock, and matches the fields by the written rules. It shares no code with the evaluator.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use chrono::{NaiveDateTime, Offset, TimeZone};

use super::super::slot::Note;
use super::super::{OnGap, OnOverlapHour};
use super::oracle_case::{Line, Random};
use super::*;

const ZONES: [&str; 41] = [
    "America/Boa_Vista",
    "UTC",
    "America/New_York",
    "Europe/Berlin",
    "Australia/Lord_Howe",
    "Antarctica/Troll",
    "America/Santiago",
    "Asia/Beirut",
    "America/Havana",
    "Africa/Cairo",
    "Africa/Casablanca",
    "Pacific/Apia",
    "Europe/London",
    "Europe/Dublin",
    "America/Sao_Paulo",
    "Asia/Tehran",
    "Asia/Kolkata",
    "Asia/Kathmandu",
    "Australia/Sydney",
    "Pacific/Auckland",
    "Pacific/Chatham",
    "America/St_Johns",
    "America/Caracas",
    "Asia/Pyongyang",
    "Asia/Gaza",
    "Asia/Amman",
    "America/Asuncion",
    "Africa/Monrovia",
    "Pacific/Kwajalein",
    "America/Anchorage",
    "America/Nuuk",
    "Atlantic/Azores",
    "Europe/Moscow",
    "Europe/Istanbul",
    "America/Mexico_City",
    "Asia/Tokyo",
    "Africa/El_Aaiun",
    "America/Port-au-Prince",
    "Antarctica/Casey",
    "Pacific/Kiritimati",
    "Africa/Windhoek",
];

/// Slots compared in each case.
const COMPARED: usize = 8;
const HOUR: i64 = 3_600;

/// A slot as the oracle sees it: instant, whether it fires, the time that did not exist.
type Seen = (i64, bool, Option<NaiveDateTime>);

#[derive(Debug)]
struct Case {
    line: Line,
    zone: Tz,
    on_gap: OnGap,
    overlap: OnOverlapHour,
    after: i64,
    until: i64,
}

fn offset(zone: Tz, at: i64) -> i64 {
    let utc = DateTime::from_timestamp(at, 0).unwrap().naive_utc();
    i64::from(zone.offset_from_utc_datetime(&utc).fix().local_minus_utc())
}

fn local(seconds: i64) -> NaiveDateTime {
    DateTime::from_timestamp(seconds, 0).unwrap().naive_utc()
}

impl Case {
    /// Hour by hour; an hour without a clock change whose dates do not match is passed over.
    fn expected(&self) -> Vec<Seen> {
        let mut seen = Vec::new();
        let mut from = self.after + 1;
        while from <= self.until && seen.len() < COMPARED {
            let to = (from + HOUR - 1).min(self.until);
            let (before, here) = (offset(self.zone, from - 1), offset(self.zone, to));
            // No zone changes twice within an hour; a test of its own holds that.
            let steady = (before == here).then_some(here);
            let named = |at| self.line.matches_date(local(at + here));
            if steady.is_none() || named(from) || named(to) {
                self.walk(from, to, steady, &mut seen);
            }
            from = to + 1;
        }
        seen.truncate(COMPARED);
        seen
    }

    fn walk(&self, from: i64, to: i64, steady: Option<i64>, seen: &mut Vec<Seen>) {
        let mut at = from;
        while at <= to {
            let offset = |at| steady.unwrap_or_else(|| offset(self.zone, at));
            let (before, here) = (offset(at - 1), offset(at));
            let missing = (here > before).then(|| self.in_gap(at + before, at + here)).flatten();
            let fires = self.line.matches(local(at + here)) && self.counts(at, here);
            match missing {
                Some(_) => seen.push((at, fires || self.on_gap == OnGap::Fire, missing)),
                None if fires => seen.push((at, true, None)),
                None => {}
            }
            // Only whole minutes of the wall clock can match without seconds; clocks never change
            // anywhere else than at a whole minute before or after.
            at += if self.line.seconds { 1 } else { 60 - (at + here).rem_euclid(60) };
        }
    }

    /// The first time that the line names among those that do not exist.
    fn in_gap(&self, from: i64, to: i64) -> Option<NaiveDateTime> {
        let fixed = self.line.is_fixed();
        (from..to).map(local).find(|at| fixed && self.line.matches(*at))
    }

    /// Whether this pass of a repeated hour counts.
    fn counts(&self, at: i64, here: i64) -> bool {
        if !self.line.is_fixed() {
            return true;
        }
        let twin = |direction: i64| {
            (1..=27 * 4).map(|quarter| at + direction * quarter * HOUR / 4).any(|near| {
                let there = offset(self.zone, near);
                let twin = at + here - there;
                there != here
                    && (twin - at).signum() == direction
                    && offset(self.zone, twin) == there
            })
        };
        match self.overlap {
            OnOverlapHour::First => !twin(-1),
            OnOverlapHour::Second => !twin(1),
            OnOverlapHour::Both => true,
        }
    }

    fn found(&self, table: &Timetable) -> Vec<Seen> {
        let [after, until] =
            [self.after, self.until].map(|at| DateTime::from_timestamp(at, 0).unwrap());
        let slots = table.slots(after, until, COMPARED);
        let missing = |slot: &Slot| {
            slot.notes.iter().find_map(|note| match note {
                Note::MovedFromGap { missing } | Note::SkippedGap { missing } => Some(*missing),
                Note::RepeatedHour { .. }
                | Note::OffsetChange { .. }
                | Note::Holiday { .. }
                | Note::Shifted { .. } => None,
            })
        };
        let seen = |slot: &Slot| (slot.at.timestamp(), slot.fate == Fate::Fires, missing(slot));
        slots.iter().map(seen).collect()
    }

    fn check(&self, name: &str) -> usize {
        let text = self.line.text();
        // A line that can never fire is refused; the oracle has nothing to say about it.
        let Ok(rule) = Cron::parse(&text, self.line.seconds, "#") else {
            assert!(self.expected().is_empty(), "{name}: {text:?} was refused");
            return 0;
        };
        let mut plan = Plan::new(Rule::Cron(rule), self.zone);
        (plan.on_gap, plan.on_overlap_hour) = (self.on_gap, self.overlap);
        let table = table(plan);
        let (expected, found) = (self.expected(), self.found(&table));
        let about = || {
            format!(
                "{name}: {text:?} in {} {:?} {:?} after {} until {}",
                self.zone,
                self.on_gap,
                self.overlap,
                local(self.after),
                local(self.until)
            )
        };
        assert_eq!(found, expected, "{}", about());
        let fires: Vec<_> = expected.iter().filter(|(_, fires, _)| *fires).collect();
        let [after, until] =
            [self.after, self.until].map(|at| DateTime::from_timestamp(at, 0).unwrap());
        let next = table.next(after).map(|slot| slot.at.timestamp());
        if let Some((first, ..)) = fires.first() {
            assert_eq!(next, Some(*first), "next of {}", about());
        }
        if expected.len() < COMPARED {
            let count = table.count(after, until);
            assert_eq!(count.fires, u64::try_from(fires.len()).unwrap(), "count of {}", about());
            if let Some((last, ..)) = fires.last() {
                let found = table.last(until).map(|slot| slot.at.timestamp());
                assert_eq!(found, Some(*last), "last of {}", about());
            }
        }
        expected.len()
    }
}

/// Every clock change of a zone, by hours.
fn changes(zone: Tz) -> Vec<i64> {
    let years = (1970, 2099);
    let start = |year| chrono::Utc.with_ymd_and_hms(year, 1, 1, 0, 0, 0).unwrap().timestamp();
    let (mut found, mut at) = (Vec::new(), start(years.0) + 2 * 86_400);
    let mut before = offset(zone, at);
    while at < start(years.1 + 1) {
        at += 6 * HOUR;
        let here = offset(zone, at);
        if here != before {
            let exact = (at - 6 * HOUR..=at).step_by(30).find(|t| offset(zone, *t) != before);
            found.extend(exact);
            before = here;
        }
    }
    found
}

fn random_case(random: &mut Random, all: &BTreeMap<&str, (Tz, Vec<i64>)>) -> Case {
    let (zone, changes) = &all[random.pick(&ZONES)];
    let line = Line::random(random);
    let width = if line.seconds { 6 * HOUR } else { random.within(1, 40) * 24 * HOUR };
    let after = if random.chance(60) && !changes.is_empty() {
        let change = *random.pick(changes);
        let near = if random.chance(60) { 3 * HOUR } else { 30 * HOUR };
        change + random.within(-near, near)
    } else {
        random.within(3 * 86_400, 4_102_444_799 - 50 * 86_400)
    };
    Case {
        line,
        zone: *zone,
        on_gap: *random.pick(&[OnGap::Fire, OnGap::Skip]),
        overlap: *random.pick(&[OnOverlapHour::First, OnOverlapHour::Second, OnOverlapHour::Both]),
        after,
        until: after + width,
    }
}

static CHANGES: LazyLock<BTreeMap<&str, (Tz, Vec<i64>)>> =
    LazyLock::new(|| ZONES.iter().map(|name| (*name, (zone(name), changes(zone(name))))).collect());

fn run(seed: u64, cases: usize) {
    let mut random = Random(seed);
    let mut slots = 0;
    for number in 0..cases {
        let case = random_case(&mut random, &CHANGES);
        slots += case.check(&format!("seed {seed} case {number}"));
    }
    println!("seed {seed}: {cases} cases, {slots} slots compared");
    assert!(slots > cases, "too few cases had slots at all: {slots}");
}

#[test]
fn the_evaluator_agrees_with_the_oracle_1() {
    run(20_261_130, 10_000);
}

#[test]
fn the_evaluator_agrees_with_the_oracle_2() {
    run(19_700_101, 10_000);
}
