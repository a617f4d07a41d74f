//! The figures as a table for people and as JSON for programs: medians, ranges, shares of the limits,
//! and whether the bars are held.

use std::fmt::Write as _;

use serde::Serialize;

use super::figures::{Figures, What};
use super::machine::Machine;

/// The table: medians, the range over the rounds, the share of the limit, and the bars unless the run
/// was quick or of a server elsewhere.
pub(super) fn table(machine: &Machine, figures: &Figures, quick: bool) -> String {
    let mut text = format!("{}\n", machine.line());
    if !machine.optimised {
        text.push_str("This is not a release build: the figures say nothing about speed.\n");
    }
    if quick {
        text.push_str("A quick run, too small to compare.\n");
    }
    let judged = !quick && !machine.postgres.is_empty();
    // Writing to a String cannot fail, here and below.
    let _infallible = writeln!(
        text,
        "\n{:51} {:>10} {:6} {:>19} {:>8}  {}",
        "",
        "median",
        "",
        "lowest – highest",
        "of limit",
        if judged { "bar" } else { "" },
    );
    for (what, values) in figures.iter() {
        let row = what.row();
        let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
        let highest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let range = format!("{} – {}", plain(lowest), plain(highest));
        let share = figures.share(what).map_or_else(String::new, |share| format!("{share:.2}"));
        let _infallible = writeln!(
            text,
            "{:51} {:>10} {:6} {range:>19} {share:>8}  {}",
            row.name,
            figures.median(what).map_or_else(String::new, plain),
            row.unit,
            if judged { bars(figures, what) } else { String::new() },
        );
    }
    let trimmed: Vec<_> = text.lines().map(str::trim_end).collect();
    trimmed.join("\n")
}

/// What the figure is to reach, and whether it does.
fn bars(figures: &Figures, what: What) -> String {
    let bars: Vec<_> = what.row().bars.iter().map(ToString::to_string).collect();
    let held = match figures.held(what) {
        Some(true) => ": held",
        Some(false) => ": NOT held",
        None if bars.is_empty() => "",
        None => ": its limit was not measured",
    };
    bars.join(", ") + held
}

/// Everything, each round's value too.
pub(super) fn json(machine: &Machine, figures: &Figures, quick: bool) -> anyhow::Result<String> {
    let figures = figures.iter().map(|(what, values)| {
        let row = what.row();
        FigureView {
            key: row.key,
            name: row.name,
            unit: row.unit,
            median: figures.median(what),
            values,
            limit: row.limit.map(|limit| limit.row().key),
            share_of_limit: figures.share(what),
            bars: row.bars.iter().map(ToString::to_string).collect(),
            held: figures.held(what),
        }
    });
    let view = ReportView { quick, machine, figures: figures.collect() };
    Ok(serde_json::to_string_pretty(&view)? + "\n")
}

#[derive(Serialize)]
struct ReportView<'a> {
    quick: bool,
    machine: &'a Machine,
    figures: Vec<FigureView<'a>>,
}

#[derive(Serialize)]
struct FigureView<'a> {
    key: &'static str,
    name: &'static str,
    unit: &'static str,
    median: Option<f64>,
    values: &'a [f64],
    limit: Option<&'static str>,
    share_of_limit: Option<f64>,
    bars: Vec<String>,
    held: Option<bool>,
}

/// As many digits as mean something.
fn plain(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        0.0 => "0".to_owned(),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn digits_go_with_the_size() {
        let shown = [8880.4, 24.51, 1.234, -0.25, 0.0].map(plain);
        assert_eq!(shown, ["8880", "24.5", "1.23", "-0.250", "0"]);
    }
}
