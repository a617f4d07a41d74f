//! Axle.
pub mod app;
pub mod cli;
pub mod client;
pub mod config;
pub mod dev;
pub mod domain;
pub mod engine;
pub mod http;
pub mod store;
pub mod telemetry;
pub mod wire;
