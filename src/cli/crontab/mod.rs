//! `axle cron import`: turns the lines of a crontab into schedules that call a URL in the place of
//! each command. It prints them, or puts them to a server; a line that cannot be taken is named with
//! its number and the reason, and keeps no other from being taken.

pub mod plan;
pub mod read;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::schedules::words::OVERLAPS;
use super::schedules::{SCHEDULES, client, read_file};
use super::told::{Failure, Told};
use crate::client::{Ask, Client, Error};
use crate::domain::schedule::zone::zone;
use plan::{Mould, Planned};
use read::{Crontab, Form, Refused, reason};

/// `axle cron`.
#[derive(Debug, Subcommand)]
pub enum Cron {
    /// Turn a crontab into schedules: print them as JSON, a line each, or create them
    Import(Import),
}

/// `axle cron import`.
#[derive(Args, Debug)]
pub struct Import {
    /// The crontab; - for standard input, as in crontab -l | axle cron import - …
    pub file: PathBuf,
    /// The IANA time zone of lines under no zone of the file; cron takes that of its host [default:
    /// that of the server]
    #[arg(long, value_name = "ZONE")]
    pub tz: Option<String>,
    /// What to call in the place of the command, which is in the payload. {name} is the name of the
    /// schedule, {line} the number of its line
    #[arg(long, value_name = "URL")]
    pub url_template: String,
    /// What the names of the schedules begin with
    #[arg(long, value_name = "TEXT", default_value = "crontab", value_parser = prefix)]
    pub prefix: String,
    /// What happens to a fire while an earlier job is unfinished; cron allows it
    #[arg(long, value_name = "POLICY", default_value = "allow", value_parser = OVERLAPS)]
    pub overlap: String,
    /// The form of /etc/crontab: a user stands before the command
    #[arg(long)]
    pub system: bool,
    /// Create the schedules; those that are there under their names become like this
    #[arg(long)]
    pub apply: bool,
}

/// Does it. Exit status 1 if some line was not taken.
pub async fn run(Cron::Import(words): &Cron) -> Told {
    match planned(words) {
        Err(failure) => Err(failure).into(),
        Ok((planned, refused)) if words.apply => apply(&planned, refused, words).await,
        Ok((planned, refused)) => {
            let lines = planned.iter().map(|planned| planned.definition.to_string()).collect();
            told(lines, refused, words)
        }
    }
}

fn planned(words: &Import) -> Result<(Vec<Planned>, Vec<Refused>), Failure> {
    let mould = Mould {
        prefix: words.prefix.clone(),
        url: words.url_template.clone(),
        zone: words.tz.clone(),
        overlap: words.overlap.clone(),
    };
    if let Some(name) = &words.tz {
        zone(name, "#").map_err(|e| Failure::Usage(format!("--tz: {}", reason(&e))))?;
    }
    mould.check().map_err(|reason| Failure::Usage(format!("--url-template: {reason}")))?;
    let text = read_file(&words.file).map_err(Failure::Usage)?;
    let form = if words.system { Form::System } else { Form::User };
    let Crontab { entries, mut refused } = read::read(&text, form);
    let mut taken = Vec::new();
    for entry in entries {
        match mould.plan(&entry) {
            Ok(planned) => taken.push(planned),
            Err(reason) => refused.push(Refused { line: entry.line, reason }),
        }
    }
    Ok((taken, refused))
}

/// Puts them one after another. A server that refuses one may take the next; one that does not
/// answer, or does not know us, would say the same of each.
async fn apply(planned: &[Planned], mut refused: Vec<Refused>, words: &Import) -> Told {
    let client = match client() {
        Ok(client) => client,
        Err(failure) => return Err(failure).into(),
    };
    let mut lines = Vec::new();
    for planned in planned {
        match put(&client, planned).await {
            Ok(what) => lines.push(format!("{what} {}", planned.name)),
            Err(failure) if is_of_one_line(&failure) => {
                refused.push(Refused { line: planned.line, reason: failure.to_string() });
            }
            Err(failure) => {
                let mut told = told(lines, refused, words);
                told.err.push(failure.to_string());
                told.code = failure.code();
                return told;
            }
        }
    }
    told(lines, refused, words)
}

async fn put(client: &Client, planned: &Planned) -> Result<&'static str, Failure> {
    let path = format!("{SCHEDULES}/{}", planned.name);
    let reply = client.call(&Ask::put(path, planned.definition.to_string())).await?;
    Ok(if reply.status == 201 { "created" } else { "up to date:" })
}

fn is_of_one_line(failure: &Failure) -> bool {
    matches!(failure, Failure::Client(Error::Problem(problem))
        if matches!(problem.status, 400 | 409 | 412 | 413 | 422))
}

fn told(lines: Vec<String>, mut refused: Vec<Refused>, words: &Import) -> Told {
    refused.sort_by_key(|refused| refused.line);
    let mut err: Vec<_> = refused
        .iter()
        .map(|refused| format!("line {}: {}", refused.line, refused.reason))
        .collect();
    if words.tz.is_none() && !lines.is_empty() {
        err.push(
            "note: lines without CRON_TZ fire by the server's default zone; cron took that of its \
             host: name it with --tz"
                .to_owned(),
        );
    }
    Told { out: lines.join("\n"), err, code: u8::from(!refused.is_empty()) }
}

fn prefix(text: &str) -> Result<String, String> {
    const MOST: usize = 64;
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let begins = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    if begins && text.bytes().all(fits) && text.len() <= MOST && !text.starts_with("sch_") {
        return Ok(text.to_owned());
    }
    Err(format!("must be letters, digits, '.', '_' and '-', at most {MOST}, and not begin sch_"))
}
