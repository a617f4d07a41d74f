//! Axle.

pub mod dev;
