//! What sort of value a setting takes: its bounds, its place in `Config`, and what to call it in
//! help, errors and the README. Text becomes a value here and nowhere else.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use super::parse::{
    parse_address, parse_duration, parse_http_url, parse_size, spell_duration, spell_size,
};
use super::{Config, Secret};

/// The place in a `Config` that a setting fills.
type Slot<T> = fn(&mut Config) -> &mut T;

/// The sorts of value. `Display` says what the value may be, fit to follow "must be".
#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// A duration within inclusive bounds.
    Duration { least: Duration, most: Duration, slot: Slot<Duration> },
    /// A whole number within inclusive bounds.
    Count { least: usize, most: usize, slot: Slot<usize> },
    /// The same, or unset.
    Optional { least: usize, most: usize, slot: Slot<Option<usize>> },
    /// A number of bytes within inclusive bounds.
    Size { least: usize, most: usize, slot: Slot<usize> },
    /// An address to listen on.
    Address(Slot<SocketAddr>),
    /// `true` or `false`.
    Switch(Slot<bool>),
    /// An http or https URL.
    Url(Slot<Option<String>>),
    /// Any text but none.
    Text(Slot<Option<String>>),
    /// Secret text of at least so many bytes.
    Secret { least: usize, slot: Slot<Option<Secret>> },
    /// A sort that one setting alone has.
    Own { name: &'static str, form: &'static str, set: fn(&mut Config, &str) -> Result<(), String> },
}

impl Kind {
    /// Puts the value that `text` spells into its place. An error says what is wrong with the
    /// text, without repeating it: it may be a secret.
    pub(super) fn set(self, config: &mut Config, text: &str) -> Result<(), String> {
        match self {
            Self::Duration { least, most, slot } => {
                let value = parse_duration(text).map_err(|error| error.to_string())?;
                *slot(config) = within(value, least, most)?;
            }
            Self::Count { least, most, slot } => *slot(config) = count(text, least, most)?,
            Self::Optional { least, most, slot } => {
                *slot(config) = Some(count(text, least, most)?);
            }
            Self::Size { least, most, slot } => {
                *slot(config) = within(parse_size(text)?, least, most)?;
            }
            Self::Address(slot) => *slot(config) = parse_address(text)?,
            Self::Switch(slot) => *slot(config) = switch(text)?,
            Self::Url(slot) => *slot(config) = Some(parse_http_url(text)?),
            Self::Text(slot) => *slot(config) = Some(at_least(text, 1)?.to_owned()),
            Self::Secret { least, slot } => *slot(config) = Some(at_least(text, least)?.into()),
            Self::Own { set, .. } => set(config, text)?,
        }
        Ok(())
    }

    /// What help calls the value.
    pub(super) const fn value_name(self) -> &'static str {
        match self {
            Self::Duration { .. } => "DURATION",
            Self::Count { .. } | Self::Optional { .. } => "NUMBER",
            Self::Size { .. } => "SIZE",
            Self::Address(_) => "ADDRESS",
            Self::Switch(_) => "BOOL",
            Self::Url(_) => "URL",
            Self::Text(_) | Self::Secret { .. } => "TEXT",
            Self::Own { name, .. } => name,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Duration { least, most, .. } => {
                write!(f, "a duration from {} to {}", spell_duration(*least), spell_duration(*most))
            }
            Self::Count { least, most, .. } | Self::Optional { least, most, .. } => {
                write!(f, "a whole number from {least} to {most}")
            }
            Self::Size { least, most, .. } => {
                write!(f, "a size from {} to {}", spell_size(*least), spell_size(*most))
            }
            Self::Address(_) => f.write_str(
                "an IP address and port such as `127.0.0.1:8080`, or `:8080` for all interfaces",
            ),
            Self::Switch(_) => f.write_str("`true` or `false`"),
            Self::Url(_) => f.write_str("an http or https URL without user, query or fragment"),
            Self::Text(_) | Self::Secret { least: 0 | 1, .. } => f.write_str("text"),
            Self::Secret { least, .. } => write!(f, "text of at least {least} bytes"),
            Self::Own { form, .. } => f.write_str(form),
        }
    }
}

fn within<T: PartialOrd>(value: T, least: T, most: T) -> Result<T, String> {
    if value < least {
        return Err("it is too small".to_owned());
    }
    if value > most {
        return Err("it is too large".to_owned());
    }
    Ok(value)
}

/// Digits only: `usize` itself would also take `+5`.
fn count(text: &str, least: usize, most: usize) -> Result<usize, String> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("it is not a whole number".to_owned());
    }
    within(text.parse().unwrap_or(usize::MAX), least, most)
}

fn switch(text: &str) -> Result<bool, String> {
    match text {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err("it is neither".to_owned()),
    }
}

fn at_least(text: &str, least: usize) -> Result<&str, String> {
    match text.len() {
        0 => Err("it is empty".to_owned()),
        short if short < least => Err(format!("it has {short} bytes")),
        _ => Ok(text),
    }
}
