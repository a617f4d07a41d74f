//! Axle.
