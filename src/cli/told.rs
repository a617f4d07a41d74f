//! What a command has to say when it is done, and why one could not be done. Nothing here prints:
//! whoever runs the command does.

use std::fmt::Write as _;

use crate::client;
use crate::config::ConfigError;

/// Text for both streams, and the exit status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// For standard output, without the last line break; may be empty.
    pub out: String,
    /// For standard error, a message each.
    pub err: Vec<String>,
    /// The exit status.
    pub code: u8,
}

impl From<Result<String, Failure>> for Told {
    fn from(result: Result<String, Failure>) -> Self {
        match result {
            Ok(out) => Self { out, ..Self::default() },
            Err(failure) => {
                Self { out: String::new(), code: failure.code(), err: vec![failure.to_string()] }
            }
        }
    }
}

/// Why a command was not done.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// What was typed cannot be meant.
    #[error("{0}")]
    Usage(String),
    /// The environment says something unusable.
    #[error("{0}")]
    Settings(#[from] ConfigError),
    /// The server refused, or did not answer.
    #[error("{}", explained(.0))]
    Client(#[from] client::Error),
    /// The answer is not what the API promises.
    #[error("the server's answer cannot be used: {0}")]
    Answer(String),
}

impl Failure {
    /// The exit status: 2 usage, 4 not signed in or not allowed, 5 not found or not kept, 6 conflict or refused
    /// values, 7 try again later, 1 all else.
    pub fn code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Client(client::Error::Transport(_)) => 7,
            Self::Client(client::Error::Problem(problem)) => match problem.status {
                401 | 403 => 4,
                404 | 410 => 5,
                409 | 412 | 422 | 428 => 6,
                429 | 503 => 7,
                _ => 1,
            },
            Self::Settings(_) | Self::Answer(_) => 1,
        }
    }
}

/// What failed, why, where, what to do next, and the number to ask about.
fn explained(error: &client::Error) -> String {
    let problem = match error {
        client::Error::Problem(problem) => problem,
        client::Error::Transport(_) => {
            return format!("{error}\n  hint: AXLE_URL says where the server is; does it run?");
        }
    };
    let mut text = format!("{}\n  {}", problem.title, problem.detail);
    let mut line = |words: String| {
        let written = write!(text, "\n  {words}");
        debug_assert!(written.is_ok(), "a String takes every text");
    };
    for fault in &problem.errors {
        line(format!("{}: {}", fault.pointer, fault.detail));
    }
    if !problem.hint.is_empty() {
        line(format!("hint: {}", problem.hint));
    }
    line(format!("request: {}", problem.request_id));
    text
}
