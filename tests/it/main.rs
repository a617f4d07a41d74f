//! The integration tests: one binary, one file per noun.

#[cfg(test)] // also tells clippy that the helpers are test code
mod dev;
