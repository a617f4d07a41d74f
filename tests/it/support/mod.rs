//! What the integration tests share. Nothing in here asserts a behaviour of Axle.

#![expect(unreachable_pub, reason = "a test binary exports nothing: `pub` means `for the tests`")]

pub mod callback;
pub mod db;
pub mod engine;
pub mod process;
pub mod program;
pub mod rig;
pub mod target;
