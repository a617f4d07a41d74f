//! The password of a person who is made from the command line: from the environment or a file, never
//! an argument, which every process of the machine can read.

use super::sources::{Given, Sources};
use super::{ConfigError, Secret};

/// The variable; the file may be named by `AXLE_ADMIN_PASSWORD_FILE`.
const ADMIN_PASSWORD: &str = "AXLE_ADMIN_PASSWORD";

/// The password that the environment holds or names, if it does.
pub fn admin_password() -> Result<Option<Secret>, ConfigError> {
    let mut sources = Sources::of_environment();
    let given = sources.find_in_environment("admin_password", ADMIN_PASSWORD);
    if sources.problems.is_empty() {
        return Ok(given.map(|Given { text, .. }| Secret::from(text)));
    }
    Err(ConfigError { problems: sources.problems })
}
