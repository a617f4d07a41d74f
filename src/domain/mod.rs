//! The pure room: values, rules and tables. No async, no I/O, no SQL, no HTTP.

pub mod principal;
