//! Every command of the command line, from its words to what it does.

use std::io::{ErrorKind, Write as _};
use std::process::ExitCode;

use super::edge::Front;
use super::serve::{Launch, bind, serve};
use super::stop::Stop;
use super::{
    audit, auth, dev, doctor, first, migrate, no_database, parts, secrets, settings,
    settings_for_dev, with_database,
};
use crate::bench;
use crate::cli::told::Told;
use crate::cli::{self, Command, ConfigCommand, Migrate, Secrets, healthcheck, token};
use crate::config::{self, Config};
use crate::engine::auth::{MintClaims, Powers, mint_with};
use crate::engine::clock::system_now;
use crate::http;

/// Does it; what it has to tell a person goes to the standard output.
pub async fn run(command: Command, flags: &clap::ArgMatches) -> anyhow::Result<ExitCode> {
    match command {
        Command::Dev(options) => {
            let (config, is_named) = settings_for_dev(flags)?;
            dev::run(config, &options, is_named).await?;
        }
        Command::Serve => run_server(flags).await?,
        Command::Migrate(Migrate::Up) => {
            let applied = migrate::up(&with_database(flags)?).await?;
            say(if applied.is_empty() { "nothing to apply" } else { "the schema is up to date" });
            for line in applied {
                say(&line);
            }
        }
        Command::Migrate(Migrate::Status) => {
            let (lines, current) = migrate::status(&with_database(flags)?).await?;
            return Ok(report(&lines, current));
        }
        Command::Schedules(words) => {
            return Ok(tell(&cli::schedules::run(&words, system_now()).await));
        }
        Command::Targets(words) => return Ok(tell(&cli::targets::run(&words).await)),
        Command::Cron(words) => return Ok(tell(&cli::crontab::run(&words).await)),
        Command::Openapi => say(&http::document().to_pretty_json()?),
        Command::Token(wanted) => {
            let config = settings(flags)?;
            say(&make_token(&config, &wanted)?);
        }
        Command::Verify(words) => return Ok(tell(&cli::verify::run(&words, system_now()))),
        Command::Secrets(Secrets::Rewrap) => {
            let (done, left) = secrets::rewrap(&with_database(flags)?).await?;
            say(&done);
            for line in &left {
                complain(line);
            }
            return Ok(if left.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        Command::Config(ConfigCommand::Show { origin }) => {
            say(Config::load(flags)?.show(origin).trim_end());
        }
        Command::Config(ConfigCommand::Check) => {
            let loaded = Config::load(flags)?;
            for warning in &loaded.warnings {
                complain(warning);
            }
            return Ok(check(&loaded.config));
        }
        Command::Admin(cli::Admin::Create(words)) => {
            say(&first::create(&with_database(flags)?, &words).await?);
        }
        Command::Audit(cli::Audit::Verify { team }) => {
            let (lines, hold) = audit::verify(&with_database(flags)?, team.as_deref()).await?;
            return Ok(report(&lines, hold));
        }
        Command::Doctor => return examine(flags).await,
        Command::Healthcheck => {
            let address = parts::reachable(Config::load(flags)?.config.admin_listen);
            healthcheck::ask(address).await?;
            say("ready");
        }
        Command::Bench(words) => say(&bench::run(&wanted(words)?, complain).await?),
    }
    Ok(ExitCode::SUCCESS)
}

/// What a bench is asked. The token of a server that runs already comes from the environment, as that
/// of every other verb.
fn wanted(words: cli::Bench) -> anyhow::Result<bench::Options> {
    let cli::Bench { quick, phases, url, sink_host, json, dir, minutes, redis_url, command } =
        words;
    let server = url.map(|url| {
        let token = config::Remote::load()?.token.map(|token| token.expose().to_owned());
        anyhow::Ok(bench::Server { url, token, sink_host })
    });
    let server = server.transpose()?;
    let pg_bin = config::pg_bin();
    Ok(bench::Options { quick, phases, server, command, json, dir, minutes, redis_url, pg_bin })
}

/// Says what was found, and by the exit status whether it is as it should be.
fn report(lines: &[String], good: bool) -> ExitCode {
    for line in lines {
        say(line);
    }
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Whether `axle serve` would start with these settings.
fn check(config: &Config) -> ExitCode {
    let database = if config.database_url.is_empty() { Err(no_database()) } else { Ok(()) };
    let callers = if config.roles.api { auth::from_config(config).map(drop) } else { Ok(()) };
    let edge = Front::from_config(config, system_now()).map(drop);
    let mut code = ExitCode::SUCCESS;
    for wrong in [database, callers, edge].into_iter().filter_map(Result::err) {
        complain(&format!("{wrong:#}"));
        code = ExitCode::FAILURE;
    }
    if code == ExitCode::SUCCESS {
        say("the settings are usable");
    }
    code
}

async fn run_server(flags: &clap::ArgMatches) -> anyhow::Result<()> {
    let config = with_database(flags)?;
    if config.allow_private_targets {
        tracing::warn!("{}", parts::OPEN);
    }
    let api = if config.roles.api {
        let auth = auth::from_config(&config)?;
        let front = Front::from_config(&config, system_now())?;
        Some((bind(config.listen, "the API")?, auth, front))
    } else {
        None
    };
    let admin = bind(config.admin_listen, "the admin listener")?;
    let stop = Stop::default();
    stop.on_signals()?;
    serve(&config, Launch { api, admin, extra: None, notice: config.shutdown_grace / 5 }, &stop)
        .await
}

async fn examine(flags: &clap::ArgMatches) -> anyhow::Result<ExitCode> {
    let findings = doctor::examine(&with_database(flags)?).await;
    let mut code = ExitCode::SUCCESS;
    for finding in findings {
        match finding.found {
            Ok(found) => say(&format!("ok    {}: {found}", finding.what)),
            Err(wrong) => {
                code = ExitCode::FAILURE;
                say(&format!("WRONG {}: {wrong}", finding.what));
            }
        }
    }
    Ok(code)
}

fn make_token(config: &Config, words: &cli::Token) -> anyhow::Result<String> {
    let secret = token::secret(config)?;
    let wanted = token::wanted(words)?;
    let claims = MintClaims {
        team: wanted.team,
        role: wanted.role,
        subject: wanted.subject,
        ttl: wanted.ttl,
        issuer: config.jwt_issuer.clone(),
        audience: config.jwt_audience.clone(),
    };
    let powers = Powers { session: None, installation_admin: words.installation_admin };
    Ok(mint_with(secret.expose().as_bytes(), &claims, powers, system_now())?)
}

fn tell(told: &Told) -> ExitCode {
    if !told.out.is_empty() {
        say(&told.out);
    }
    for line in &told.err {
        complain(line);
    }
    told.code.into()
}

/// The command's answer. A reader that has seen enough (`| head`) is no failure.
fn say(line: &str) {
    match writeln!(std::io::stdout(), "{line}") {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            complain(&format!("standard output: {error}"));
        }
        Ok(()) | Err(_) => {}
    }
}

/// Says what went wrong.
#[expect(clippy::print_stderr, reason = "a person has to see it")]
pub fn complain(line: &str) {
    eprintln!("axle: {line}");
}
