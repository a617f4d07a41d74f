//! A cron line, with a field for seconds or without.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| axle_fuzz::checks::cron(data));
