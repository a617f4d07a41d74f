//! The program: reads the command line, starts what it names, and maps the end to an exit status.

use std::process::ExitCode;

use axle::app::serve::{Launch, bind, serve};
use axle::app::stop::Stop;
use axle::app::{auth, dev, doctor, migrate, parts, settings, settings_logging, with_database};
use axle::cli::{self, Command, ConfigCommand, Migrate, healthcheck, token};
use axle::config::Config;
use axle::engine::auth::{MintClaims, mint};
use axle::engine::clock::system_now;
use axle::http;

fn main() -> ExitCode {
    let (command, flags) = cli::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let ended = match runtime {
        Ok(runtime) => runtime.block_on(run(command, &flags)),
        Err(error) => Err(error.into()),
    };
    match ended {
        Ok(code) => code,
        Err(error) => {
            complain(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

async fn run(command: Command, flags: &clap::ArgMatches) -> anyhow::Result<ExitCode> {
    match command {
        Command::Dev(options) => {
            // What it has to tell, it tells a person.
            dev::run(settings_logging(flags, Some("warn"))?, &options).await?;
        }
        Command::Serve => run_server(flags).await?,
        Command::Migrate(Migrate::Up) => {
            let applied = migrate::up(&with_database(flags)?).await?;
            let nothing = applied.is_empty().then(|| "nothing to apply".to_owned());
            applied.iter().chain(&nothing).for_each(|line| say(line));
        }
        Command::Migrate(Migrate::Status) => {
            let (lines, current) = migrate::status(&with_database(flags)?).await?;
            lines.iter().for_each(|line| say(line));
            return Ok(if current { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        Command::Openapi => say(&http::document().to_pretty_json()?),
        Command::Token(wanted) => {
            let config = settings(flags)?;
            say(&make_token(&config, &wanted)?);
        }
        Command::Config(ConfigCommand::Show { origin }) => {
            say(Config::load(flags)?.show(origin).trim_end());
        }
        Command::Config(ConfigCommand::Check) => {
            let loaded = Config::load(flags)?;
            loaded.warnings.iter().for_each(|warning| complain(warning));
            say("the settings are usable");
        }
        Command::Doctor => return examine(flags).await,
        Command::Healthcheck => {
            let address = parts::reachable(Config::load(flags)?.config.admin_listen);
            healthcheck::ask(address).await?;
            say("ready");
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn run_server(flags: &clap::ArgMatches) -> anyhow::Result<()> {
    let config = with_database(flags)?;
    let api = if config.roles.api {
        let auth = auth::from_config(&config)?;
        Some((bind(config.listen, "the API")?, auth))
    } else {
        None
    };
    let admin = bind(config.admin_listen, "the admin listener")?;
    let stop = Stop::default();
    stop.on_signals()?;
    serve(&config, Launch { api, admin, extra: None }, &stop).await
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
    Ok(mint(secret.expose().as_bytes(), &claims, system_now())?)
}

#[expect(clippy::print_stdout, reason = "the command's answer")]
fn say(line: &str) {
    println!("{line}");
}

#[expect(clippy::print_stderr, reason = "a person has to see it")]
fn complain(line: &str) {
    eprintln!("axle: {line}");
}
