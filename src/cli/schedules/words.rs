//! The grammar of `axle schedules`.

use std::path::PathBuf;

use chrono::{DateTime, Utc};
use clap::{ArgGroup, Args, Subcommand};

/// `axle schedules`.
#[derive(Args, Debug)]
pub struct Schedules {
    /// Print JSON, for programs
    #[arg(long, global = true)]
    pub json: bool,
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// What to do with schedules.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Say in words what a cron line means, when it fires and what clock changes do to it; asks no
    /// server
    Explain(Explain),
    /// Create a schedule
    Create(Create),
    /// List schedules, newest first
    List(List),
    /// Show one schedule
    Get(One),
    /// Show when a schedule fires next
    Next(Next),
    /// Show what became of the fires of a schedule
    Fires(Fires),
    /// Fire a schedule now, beside its times
    Trigger(Trigger),
    /// Stop a schedule from firing until it is resumed
    Pause(Pause),
    /// Let a paused schedule fire again
    Resume(Resume),
    /// Make the jobs of past times that have none
    Backfill(Backfill),
    /// Change what is named and leave all else as it is
    Update(Update),
    /// Delete a schedule; jobs that it made stay
    Delete(One),
}

/// `axle schedules explain`.
#[derive(Args, Debug)]
pub struct Explain {
    /// Minute, hour, day, month and weekday in quotes, such as '30 2 * * 1-5', or @daily
    pub cron: String,
    /// The IANA time zone of its local times
    #[arg(long, value_name = "ZONE", default_value = "UTC")]
    pub tz: String,
    /// How many fires to show, 1 to 100
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 5,
          value_parser = clap::value_parser!(u16).range(1..=100))]
    pub count: u16,
    /// The line has six fields, the first being the second
    #[arg(long)]
    pub seconds: bool,
    /// As seen from this instant (RFC 3339) [default: now]
    #[arg(long, value_name = "TIME", value_parser = instant)]
    pub from: Option<DateTime<Utc>>,
}

/// When a schedule fires: one way of several.
#[derive(Args, Clone, Debug, Default)]
pub struct When {
    /// A cron line in quotes, such as '30 2 * * 1-5', or @daily
    #[arg(long, value_name = "CRON")]
    pub cron: Option<String>,
    /// The cron line has six fields, the first being the second
    #[arg(long, requires = "cron")]
    pub seconds: bool,
    /// An interval in real time, such as 90s or 1h30m
    #[arg(long, value_name = "DURATION")]
    pub every: Option<String>,
    /// A file with the JSON document; - for standard input
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
}

/// `axle schedules create`.
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("when").required(true).args(["cron", "every", "file"]))]
pub struct Create {
    /// Its name, once and for all
    #[arg(value_parser = name)]
    pub name: String,
    /// What its jobs call
    #[arg(required_unless_present = "file", conflicts_with = "file")]
    pub url: Option<String>,
    #[command(flatten)]
    #[expect(missing_docs, reason = "flattened: a text here would become the command's help")]
    pub when: When,
    /// The IANA time zone of its local times [default: that of the server]
    #[arg(long, value_name = "ZONE", conflicts_with = "file")]
    pub tz: Option<String>,
    /// What happens to a fire while an earlier job is unfinished
    #[arg(long, value_name = "POLICY", conflicts_with = "file", value_parser = OVERLAPS)]
    pub overlap: Option<String>,
    /// What the jobs send: JSON, or @FILE
    #[arg(short, long, value_name = "JSON", conflicts_with = "file")]
    pub data: Option<String>,
    /// The method of the call [default: POST]
    #[arg(long, value_name = "METHOD", conflicts_with = "file")]
    pub method: Option<String>,
    /// Where the jobs wait
    #[arg(long, value_name = "QUEUE", conflicts_with = "file")]
    pub queue: Option<String>,
    /// It does not fire before it is resumed
    #[arg(long, conflicts_with = "file")]
    pub paused: bool,
}

/// `axle schedules list`.
#[derive(Args, Debug)]
pub struct List {
    /// Only schedules in this state: ACTIVE, PAUSED, ENDED or ERROR; several with commas
    #[arg(long, value_name = "STATE")]
    pub state: Option<String>,
    /// Only schedules with this in their name
    #[arg(long, value_name = "TEXT")]
    pub name: Option<String>,
    /// How many at most
    #[arg(long, value_name = "COUNT", default_value_t = 50,
          value_parser = clap::value_parser!(u16).range(1..=500))]
    pub limit: u16,
}

/// A verb that needs the schedule only.
#[derive(Args, Debug)]
pub struct One {
    /// Its name or id
    #[arg(value_name = "SCHEDULE", value_parser = name)]
    pub which: String,
}

/// `axle schedules next`.
#[derive(Args, Debug)]
pub struct Next {
    /// Its name or id
    #[arg(value_name = "SCHEDULE", value_parser = name)]
    pub which: String,
    /// How many fires to show, 1 to 100
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 10,
          value_parser = clap::value_parser!(u16).range(1..=100))]
    pub count: u16,
}

/// `axle schedules fires`.
#[derive(Args, Debug)]
pub struct Fires {
    /// Its name or id
    #[arg(value_name = "SCHEDULE", value_parser = name)]
    pub which: String,
    /// None before this instant (RFC 3339)
    #[arg(long, value_name = "TIME", value_parser = instant)]
    pub from: Option<DateTime<Utc>>,
    /// Only those before this instant (RFC 3339)
    #[arg(long, value_name = "TIME", value_parser = instant)]
    pub to: Option<DateTime<Utc>>,
    /// How many past ones at most
    #[arg(long, value_name = "COUNT", default_value_t = 50,
          value_parser = clap::value_parser!(u16).range(1..=500))]
    pub limit: u16,
}

/// `axle schedules trigger`.
#[derive(Args, Debug)]
pub struct Trigger {
    /// Its name or id
    #[arg(value_name = "SCHEDULE", value_parser = name)]
    pub which: String,
    /// What happens if an earlier job is unfinished [default: what the schedule says]
    #[arg(long, value_name = "POLICY", value_parser = OVERLAPS)]
    pub overlap: Option<String>,
}

/// `axle schedules pause`.
#[derive(Args, Debug)]
pub struct Pause {
    /// Its name or id
    #[arg(value_name = "SCHEDULE", value_parser = name)]
    pub which: String,
    /// Why, for whoever wonders later
    #[arg(long, value_name = "TEXT")]
    pub reason: String,
}

/// `axle schedules resume`.
#[derive(Args, Debug)]
pub struct Resume {
    /// Its name or id
    #[arg(value_name = "SCHEDULE", value_parser = name)]
    pub which: String,
    /// Make up for what lay in the pause, as its catch-up policy says
    #[arg(long)]
    pub catch_up: bool,
}

/// `axle schedules backfill`.
#[derive(Args, Debug)]
pub struct Backfill {
    /// Its name or id
    #[arg(value_name = "SCHEDULE", value_parser = name)]
    pub which: String,
    /// The first instant (RFC 3339)
    #[arg(long, value_name = "TIME", value_parser = instant)]
    pub from: DateTime<Utc>,
    /// The end; a fire on it is not made
    #[arg(long, value_name = "TIME", value_parser = instant)]
    pub to: DateTime<Utc>,
    /// Only show which fires it would make
    #[arg(long)]
    pub dry_run: bool,
    /// Let at most so many jobs become due in a second
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_per_second: Option<u32>,
}

/// `axle schedules update`.
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("what").required(true).multiple(true)
    .args(["cron", "every", "file", "tz", "overlap"]))]
pub struct Update {
    /// Its name or id
    #[arg(value_name = "SCHEDULE", value_parser = name)]
    pub which: String,
    #[command(flatten)]
    #[expect(missing_docs, reason = "flattened: a text here would become the command's help")]
    pub when: When,
    /// The IANA time zone of its local times
    #[arg(long, value_name = "ZONE", conflicts_with = "file")]
    pub tz: Option<String>,
    /// What happens to a fire while an earlier job is unfinished
    #[arg(long, value_name = "POLICY", conflicts_with = "file", value_parser = OVERLAPS)]
    pub overlap: Option<String>,
}

/// What may happen to a fire while an earlier job is unfinished.
pub const OVERLAPS: [&str; 5] = ["skip", "queue_one", "queue_all", "cancel_running", "allow"];

/// An instant as people and programs write it.
fn instant(text: &str) -> Result<DateTime<Utc>, String> {
    let read = DateTime::parse_from_rfc3339(text).map(|at| at.to_utc());
    read.map_err(|error| {
        format!("{error}; must be a time such as 2026-03-29T02:30:00Z or …+02:00 (RFC 3339)")
    })
}

/// A name or an id. It becomes part of a path, so nothing else may come through.
fn name(text: &str) -> Result<String, String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let begins = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    if begins && text.bytes().all(fits) && text.len() <= NAME_LIMIT {
        return Ok(text.to_owned());
    }
    Err(format!("must be letters, digits, '.', '_' and '-', at most {NAME_LIMIT} of them"))
}

/// As the API has it.
const NAME_LIMIT: usize = 128;
