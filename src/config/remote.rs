//! What the client's verbs are told by the environment: where the server is, and who asks. Server
//! and client may stand on different machines, so no setting of a server is read here.

use super::parse::parse_http_url;
use super::sources::{Given, Sources};
use super::{ConfigError, Secret};

/// The variables read here. The token may also stand in a file that `AXLE_TOKEN_FILE` names.
pub const REMOTE_VARIABLES: &[&str] = &[URL, TOKEN];

const URL: &str = "AXLE_URL";
const TOKEN: &str = "AXLE_TOKEN";

/// Where a server listens by default.
const DEFAULT_URL: &str = "http://127.0.0.1:8080";

/// The server that the client's verbs ask.
#[derive(Clone, Debug)]
pub struct Remote {
    /// The base of its API, without a trailing slash.
    pub url: String,
    /// The bearer token; `axle dev` asks loopback callers for none.
    pub token: Option<Secret>,
}

impl Remote {
    /// Reads `AXLE_URL`, and `AXLE_TOKEN` or the file that `AXLE_TOKEN_FILE` names.
    pub fn load() -> Result<Self, ConfigError> {
        Self::from_sources(Sources::of_environment())
    }

    pub(super) fn from_sources(mut sources: Sources) -> Result<Self, ConfigError> {
        let url = match sources.find_in_environment("url", URL) {
            None => DEFAULT_URL.to_owned(),
            Some(Given { text, origin }) => parse_http_url(&text).unwrap_or_else(|reason| {
                sources.problems.push(format!("url: {origin}: {reason}; {URL_FORM}"));
                String::new()
            }),
        };
        let token = sources.find_in_environment("token", TOKEN).map(|Given { text, origin }| {
            if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
                sources.problems.push(format!("token: {origin}: {TOKEN_FORM}"));
            }
            Secret::from(text)
        });
        if sources.problems.is_empty() {
            return Ok(Self { url, token });
        }
        Err(ConfigError { problems: sources.problems })
    }
}

const URL_FORM: &str = "it must be an http or https URL without user, query or fragment";
const TOKEN_FORM: &str = "it must be one token: visible ASCII without spaces";
