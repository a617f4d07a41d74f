//! An iCalendar file.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| axle_fuzz::checks::ical(data));
