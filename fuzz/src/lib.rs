//! What the fuzz targets have in common. The room `domain` uses no other room, so its sources are
//! taken in here as they are: a target is built in a minute, without the server around it.

pub mod checks;
#[path = "../../src/domain/mod.rs"]
pub mod domain;
pub mod guard_checks;
