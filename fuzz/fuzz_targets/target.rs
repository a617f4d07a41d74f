//! The URL of a target, and whether it may be called.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| axle_fuzz::guard_checks::target(data));
