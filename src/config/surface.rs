//! What people see of the table of settings: the flags with their help, and the README's table.

use std::fmt::Write;

use clap::Arg;

use super::kind::Kind;
use super::settings::{SETTINGS, Setting};

/// The flags of all settings that have one, and `--config`; an argument's id is its setting's key.
/// They carry no default and no variable for clap to fill in, because `Config::load` must see
/// which were given.
pub fn flags() -> Vec<Arg> {
    let config = Arg::new("config")
        .long("config")
        .value_name("FILE")
        .help("The TOML file with settings [env: AXLE_CONFIG]")
        .help_heading("Settings");
    let settings = SETTINGS.iter().filter_map(|setting| Some(flag(setting, setting.flag?)));
    std::iter::once(config).chain(settings).collect()
}

/// The README's table of settings.
pub fn markdown() -> String {
    let mut table = "| Setting | Variable | Flag | Default | Meaning |\n\
                     | --- | --- | --- | --- | --- |\n"
        .to_owned();
    for Setting { key, env, flag, default, meaning, kind, .. } in SETTINGS {
        let flag = flag.map(|flag| format!("`--{flag}`")).unwrap_or_default();
        let default = default.map(|default| format!("`{default}`")).unwrap_or_default();
        let row = writeln!(table, "| `{key}` | `{env}` | {flag} | {default} | {meaning}: {kind} |");
        debug_assert!(row.is_ok(), "a String takes every text");
    }
    table
}

fn flag(setting: &Setting, long: &'static str) -> Arg {
    let Setting { key, env, default, meaning, kind, .. } = setting;
    let default = default.map(|default| format!(" [default: {default}]")).unwrap_or_default();
    let arg = Arg::new(*key)
        .long(long)
        .value_name(kind.value_name())
        .help(format!("{meaning}: {kind}{default} [env: {env}]").replace('`', ""))
        .help_heading("Settings");
    if matches!(kind, Kind::Switch(_)) {
        return arg.num_args(0..=1).require_equals(true).default_missing_value("true");
    }
    arg
}
