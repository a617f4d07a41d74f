//! Headers that a caller sends along, one a line.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| axle_fuzz::guard_checks::header(data));
