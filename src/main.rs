//! The program: reads the command line, does what it names, and maps the end to an exit status.

use std::process::ExitCode;

use axle::{app, cli};

fn main() -> ExitCode {
    let (command, flags) = cli::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let ended = match runtime {
        Ok(runtime) => runtime.block_on(app::command::run(command, &flags)),
        Err(error) => Err(error.into()),
    };
    ended.unwrap_or_else(|error| {
        app::command::complain(&format!("{error:#}"));
        ExitCode::FAILURE
    })
}
