//! A rule, a zone, an instant and policies.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| axle_fuzz::checks::timetable(data));
