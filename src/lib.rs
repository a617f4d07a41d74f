//! Axle.
pub mod config;
pub mod dev;
pub mod domain;
pub mod engine;
pub mod store;
pub mod telemetry;
