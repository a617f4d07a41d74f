//! What the integration tests share. Nothing in here asserts a behaviour of Axle, but one: the
//! client of `api` compares every answer with the OpenAPI document.

#![expect(unreachable_pub, reason = "a test binary exports nothing: `pub` means `for the tests`")]

pub mod api;
pub mod callback;
pub mod contract;
pub mod db;
pub mod dns;
pub mod engine;
pub mod process;
pub mod program;
pub mod redis;
pub mod rig;
pub mod schedule;
pub mod target;
