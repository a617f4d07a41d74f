//! A captured call: its headers and its body.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| axle_fuzz::checks::signature(data));
