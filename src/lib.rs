//! Axle.
pub mod domain;
pub mod engine;
