//! The command line: its grammar, the commands that need no server of ours, and those that are
//! clients of one.

pub mod crontab;
pub mod healthcheck;
pub mod schedules;
pub mod targets;
pub mod token;
pub mod told;
pub mod verify;

use std::path::PathBuf;

use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::config;

/// An HTTP job queue and scheduler on PostgreSQL.
#[derive(Debug, Parser)]
#[command(name = "axle", version, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Everything on this machine: brings its own PostgreSQL, asks loopback callers for nothing
    Dev(Dev),
    /// Serve the API, pull and call jobs, or both
    Serve,
    /// Bring the database's schema up to date
    #[command(subcommand)]
    Migrate(Migrate),
    /// Create, look at and act on schedules; explain a cron line
    #[command(alias = "schedule")]
    Schedules(schedules::words::Schedules),
    /// Look at the targets that calls are held back from
    #[command(alias = "target")]
    Targets(targets::Targets),
    /// Move from cron
    #[command(subcommand)]
    Cron(crontab::Cron),
    /// Print the OpenAPI document
    Openapi,
    /// Make a token for the API, signed with the secret of the server
    Token(Token),
    /// Make the first person, whom nobody can invite
    #[command(subcommand)]
    Admin(Admin),
    /// Prove the audit log
    #[command(subcommand)]
    Audit(Audit),
    /// Say why a captured call verifies with a signing secret or not; asks no server
    Verify(verify::Verify),
    /// Change the key that secrets in the database are encrypted with
    #[command(subcommand)]
    Secrets(Secrets),
    /// Show or check the settings
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Look at everything that a server needs and say what is wrong
    Doctor,
    /// Ask a running server whether it is ready; for a container's HEALTHCHECK
    Healthcheck,
    /// Measure this build on this machine, with a PostgreSQL of its own
    Bench(Bench),
}

/// `axle dev`.
#[derive(Args, Debug)]
pub struct Dev {
    /// Where the database lives [default: ~/.local/share/axle/dev, as root /var/lib/axle-dev]
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// A database that is gone when this ends
    #[arg(long, conflicts_with = "data_dir")]
    pub ephemeral: bool,
    /// Register a real job at the start and show what becomes of it
    #[arg(long)]
    pub r#try: bool,
}

/// `axle bench`.
#[derive(Args, Debug)]
pub struct Bench {
    /// Everything small and once, in less than a minute: shows that it runs, not how fast
    #[arg(long)]
    pub quick: bool,
    /// Only this phase; may be repeated. An unknown name is answered with the list
    #[arg(long = "phase", value_name = "NAME")]
    pub phases: Vec<String>,
    /// Measure the server whose API is there, as its caller, with the token in `AXLE_TOKEN` or the
    /// file that `AXLE_TOKEN_FILE` names
    #[arg(long, value_name = "URL", conflicts_with = "dir")]
    pub url: Option<String>,
    /// With --url: the name or address by which that server's pullers reach this machine
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1", requires = "url")]
    pub sink_host: String,
    /// Also write every figure of every round there
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Where the temporary database lives, and so the disk that is measured [default: the system's
    /// temporary folder]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// How long the phase `churn` takes, in minutes
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=1440))]
    pub minutes: Option<u16>,
    /// The servers of the bench also wake one another by this Redis (a `redis://` URL)
    #[arg(long, value_name = "URL", conflicts_with = "url")]
    pub redis_url: Option<String>,
    /// Measure nothing; run this against the servers of the bench, which it finds in `AXLE_URL`,
    /// `AXLE_TOKEN` and, as a target, `SINK_URL`
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["url", "phases", "json"])]
    pub command: Vec<String>,
}

/// `axle migrate`.
#[derive(Debug, Subcommand)]
pub enum Migrate {
    /// Apply what is pending
    Up,
    /// Say what is applied and what is pending; exit status 1 if something is
    Status,
}

/// `axle secrets`.
#[derive(Debug, Subcommand)]
pub enum Secrets {
    /// Seal everything anew with the first key of `AXLE_SECRET_KEY`; then the others can go. Exit
    /// status 1 if something could not be
    Rewrap,
}

/// `axle token`.
#[derive(Args, Debug)]
pub struct Token {
    /// The team whose jobs the bearer sees
    #[arg(long, value_name = "TEAM")]
    pub team: String,
    /// owner, admin, operator, writer or viewer
    #[arg(long, value_name = "ROLE", default_value = "writer")]
    pub role: String,
    /// How long it is good for, such as 1h
    #[arg(long, value_name = "DURATION", default_value = "1h")]
    pub ttl: String,
    /// Whom it stands for
    #[arg(long, value_name = "NAME", default_value = "cli")]
    pub subject: String,
    /// Let the bearer manage the installation's teams too
    #[arg(long)]
    pub installation_admin: bool,
}

/// `axle admin`.
#[derive(Debug, Subcommand)]
pub enum Admin {
    /// Make a person who owns a team and manages all teams; the password comes from a prompt,
    /// standard input, or the file that `AXLE_ADMIN_PASSWORD_FILE` names
    Create(NewAdmin),
}

/// `axle admin create`.
#[derive(Args, Debug)]
pub struct NewAdmin {
    /// The e-mail address to sign in with
    #[arg(long, value_name = "ADDRESS")]
    pub email: String,
    /// What people call them [default: the e-mail address]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// The team that they own
    #[arg(long, value_name = "TEAM", default_value = "main")]
    pub team: String,
}

/// `axle audit`.
#[derive(Debug, Subcommand)]
pub enum Audit {
    /// Walk the chain of each team's log; name the first broken link, exit status 1 if there is one
    Verify {
        /// Only this team's
        #[arg(long, value_name = "TEAM")]
        team: Option<String>,
    },
}

/// `axle config`.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print the settings as a settings file, secrets masked
    Show {
        /// Say where each came from
        #[arg(long)]
        origin: bool,
    },
    /// Check the settings and start nothing
    Check,
}

/// Reads the command line. The second value holds the settings given as flags.
pub fn parse() -> (Command, clap::ArgMatches) {
    let mut grammar = Cli::command();
    let with_settings = [
        "serve",
        "dev",
        "migrate",
        "token",
        "secrets",
        "config",
        "doctor",
        "healthcheck",
        "audit",
        "admin",
    ];
    for name in with_settings {
        grammar = grammar.mut_subcommand(name, |command| {
            let global = config::flags().into_iter().map(|flag| flag.global(true));
            command.args(global)
        });
    }
    let matches = grammar.get_matches();
    match Cli::from_arg_matches(&matches) {
        Ok(cli) => (cli.command, innermost(matches)),
        Err(error) => error.exit(),
    }
}

/// The matches of the subcommand that was named last: it has the flags.
fn innermost(matches: clap::ArgMatches) -> clap::ArgMatches {
    match matches.subcommand() {
        Some((_, inner)) => innermost(inner.clone()),
        None => matches,
    }
}
