//! The private cluster and the demo target of `axle dev`.

mod cluster;
mod demo;
