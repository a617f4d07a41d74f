//! Replays the inputs of `fuzz/seeds` through the very functions that the fuzz targets call, so that
//! what was found once stays found without a nightly compiler.

use std::path::Path;

#[expect(unreachable_pub, reason = "public for the fuzz targets, whose library it is a part of")]
#[path = "../../../../fuzz/src/checks.rs"]
mod checks;

fn replay(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds").join(target);
    let mut seeds = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        println!("{}", path.display()); // shown if it panics
        check(&std::fs::read(&path).unwrap());
        seeds += 1;
    }
    assert!(seeds >= 10, "{seeds} seeds of {target}");
}

#[test]
fn b025_seeds_of_cron_lines() {
    replay("cron", checks::cron);
}

#[test]
fn seeds_of_icalendar_files() {
    replay("ical", checks::ical);
}

#[test]
fn seeds_of_timetables() {
    replay("timetable", checks::timetable);
}

#[test]
fn seeds_of_captured_calls() {
    replay("signature", checks::signature);
}
