//! The verbs, one function per use case; the only room where decisions have effects.

pub mod auth;
