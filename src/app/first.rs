//! `axle admin create`: the first person of an installation, whom nobody can invite.

use std::io::{IsTerminal as _, Write as _};

use anyhow::{Context as _, bail};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use super::parts;
use crate::cli::NewAdmin;
use crate::config::{self, Config, Secret};
use crate::domain::person::{Email, PASSWORD_CHARS, is_password};
use crate::domain::principal::{Subject, Team};
use crate::engine::newcomer;

/// Makes an installation admin who owns a team; says who it is.
pub async fn create(config: &Config, words: &NewAdmin) -> anyhow::Result<String> {
    let email = Email::parse(&words.email).context("--email is no e-mail address")?;
    let name = words.name.as_deref().unwrap_or(email.as_str());
    Subject::parse(name).context("--name")?;
    let team = Team::parse(&words.team).context("--team")?;
    let password = match config::admin_password()? {
        Some(password) => password,
        None => ask()?,
    };
    if !is_password(password.expose()) {
        let (least, most) = PASSWORD_CHARS.into_inner();
        bail!("a password has {least} to {most} characters");
    }
    let ctx = parts::ctx(config, "admin").await?;
    match newcomer::first(&ctx, (&email, name), password.expose(), &team).await? {
        Some(user) => Ok(format!("{} may sign in to the team {team} and manages teams", user.id)),
        None => bail!("somebody has this e-mail address already"),
    }
}

/// Asks for the password: a line of standard input, which a terminal does not show.
fn ask() -> anyhow::Result<Secret> {
    let stdin = std::io::stdin();
    let mut line = String::new();
    if stdin.is_terminal() {
        let mut prompt = std::io::stderr();
        write!(prompt, "password: ")?;
        prompt.flush()?;
        let shown = tcgetattr(&stdin).context("the terminal")?;
        let mut hidden = shown.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        set(&hidden)?;
        let read = stdin.read_line(&mut line);
        set(&shown)?;
        writeln!(prompt)?;
        read?;
    } else {
        stdin.read_line(&mut line)?;
    }
    Ok(Secret::from(line.trim_end_matches(['\r', '\n'])))
}

fn set(modes: &Termios) -> anyhow::Result<()> {
    tcsetattr(std::io::stdin(), OptionalActions::Flush, modes).context("the terminal")
}
