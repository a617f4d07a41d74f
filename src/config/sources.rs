//! Where settings come from: flags, environment, settings file, and the files that variables name.
//! `Sources` holds their text, so that finding a setting in them is pure; only `of_process` looks
//! at the real process.

use std::collections::BTreeMap;
use std::io;

use clap::ArgMatches;
use toml::{Table, Value};

use super::loaded::Origin;
use super::nearest::nearest;
use super::settings::{SETTINGS, Setting};

/// The variables that only the client reads, and the one that names the settings file.
const OTHER_VARIABLES: &[&str] = &[
    "AXLE_ADMIN_PASSWORD",
    "AXLE_ADMIN_PASSWORD_FILE",
    "AXLE_CONFIG",
    "AXLE_DEV",
    "AXLE_NO_UPDATE_CHECK",
    "AXLE_OUTPUT",
    "AXLE_PROFILE",
    "AXLE_TEAM",
    "AXLE_TOKEN",
    "AXLE_TOKEN_FILE",
    "AXLE_URL",
];

/// Everything settings are read from.
pub(super) struct Sources {
    flags: BTreeMap<String, String>,
    env: BTreeMap<String, String>,
    /// The settings file's path and its content.
    file: (String, Table),
    /// Reads the file that an `AXLE_…_FILE` names.
    read: fn(&str) -> io::Result<String>,
    /// What is wrong with the sources themselves.
    pub(super) problems: Vec<String>,
}

/// One setting as it was found: the text, and who gave it.
pub(super) struct Given {
    pub(super) text: String,
    pub(super) origin: Origin,
}

impl Sources {
    /// `flags` by key; an empty variable counts as absent, since that is how Compose and shells
    /// pass on what is not set.
    pub(super) fn new(
        flags: BTreeMap<&str, String>,
        env: impl Iterator<Item = (String, String)>,
        file: Option<(String, String)>,
        read: fn(&str) -> io::Result<String>,
    ) -> Self {
        let mut problems = Vec::new();
        let (path, text) = file.unwrap_or_default();
        let table = text.parse().unwrap_or_else(|error| {
            problems.push(syntax_problem(&path, &text, &error));
            Table::new()
        });
        let flags = flags.into_iter().map(|(key, text)| (key.to_owned(), text)).collect();
        let env = env.filter(|(_, text)| !text.is_empty()).collect();
        Self { flags, env, file: (path, table), read, problems }
    }

    /// The sources of this process. What cannot be read is a problem among the others.
    pub(super) fn of_process(matches: &ArgMatches) -> Self {
        let mut problems = Vec::new();
        let env = environment(&mut problems);
        let flags = Self::of_flags(matches);
        let variable = || env.get("AXLE_CONFIG").filter(|path| !path.is_empty()).cloned();
        let file = flag_text(matches, "config").or_else(variable).and_then(|path| {
            let text = std::fs::read_to_string(&path);
            let text = text.map_err(|error| problems.push(format!("{path}: {error}"))).ok()?;
            Some((path, text))
        });
        let mut sources =
            Self::new(flags, env.into_iter(), file, |path| std::fs::read_to_string(path));
        sources.problems.append(&mut problems);
        sources
    }

    /// The environment of this process alone.
    pub(super) fn of_environment() -> Self {
        let mut problems = Vec::new();
        let env = environment(&mut problems).into_iter();
        let mut sources =
            Self::new(BTreeMap::new(), env, None, |path| std::fs::read_to_string(path));
        sources.problems.append(&mut problems);
        sources
    }

    /// The flags that were given, by key.
    pub(super) fn of_flags(matches: &ArgMatches) -> BTreeMap<&'static str, String> {
        let given = |setting: &Setting| Some((setting.key, flag_text(matches, setting.key)?));
        SETTINGS.iter().filter_map(given).collect()
    }

    /// Finds one setting, the strongest source first. What stands in the way is added to the
    /// problems.
    pub(super) fn find(&mut self, setting: &Setting) -> Option<Given> {
        let Setting { key, env, .. } = *setting;
        if let (Some(text), Some(flag)) = (self.flags.get(key).cloned(), setting.flag) {
            self.refuse_both(key, env);
            return Some(Given { text, origin: Origin::Flag(flag) });
        }
        self.find_in_environment(key, env)
            .or_else(|| self.find_in_settings_file(key))
            .or_else(|| self.find_elsewhere(key))
    }

    /// Finds what a variable says, or the file that `…_FILE` names.
    pub(super) fn find_in_environment(&mut self, key: &str, env: &str) -> Option<Given> {
        self.refuse_both(key, env);
        if let Some(text) = self.env.get(env).cloned() {
            return Some(Given { text, origin: Origin::Variable(env.to_owned()) });
        }
        let variable = format!("{env}_FILE");
        let path = self.env.get(&variable).cloned()?;
        self.find_in_named_file(key, variable, path)
    }

    fn refuse_both(&mut self, key: &str, env: &str) {
        let file = format!("{env}_FILE");
        if self.env.contains_key(env) && self.env.contains_key(&file) {
            self.problems.push(format!("{key}: {env} and {file} are both set; set one of them"));
        }
    }

    /// Warnings about names that look like settings and are none.
    pub(super) fn unknown_names(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let variables: Vec<_> = SETTINGS
            .iter()
            .flat_map(|setting| [setting.env.to_owned(), format!("{}_FILE", setting.env)])
            .chain(OTHER_VARIABLES.iter().map(|name| (*name).to_owned()))
            .collect();
        for name in self.env.keys().filter(|name| name.starts_with("AXLE_")) {
            if !variables.contains(name) {
                let near = nearest(name, variables.iter().map(String::as_str));
                warnings.push(unknown(name, near));
            }
        }
        let (path, table) = &self.file;
        for key in table.keys() {
            if SETTINGS.iter().all(|setting| setting.key != key) {
                let near = nearest(key, SETTINGS.iter().map(|setting| setting.key));
                warnings.push(format!("{path}: {}", unknown(key, near)));
            }
        }
        warnings
    }

    fn find_in_named_file(&mut self, key: &str, variable: String, path: String) -> Option<Given> {
        match (self.read)(&path) {
            Ok(text) => {
                let line = text.strip_suffix('\n').unwrap_or(&text);
                let text = line.strip_suffix('\r').unwrap_or(line).to_owned();
                Some(Given { text, origin: Origin::NamedFile { path, variable } })
            }
            Err(error) => {
                self.problems.push(format!("{key}: {variable} names {path}: {error}"));
                None
            }
        }
    }

    fn find_in_settings_file(&mut self, key: &str) -> Option<Given> {
        let (path, table) = &self.file;
        let value = table.get(key)?;
        if let Some(text) = toml_text(value) {
            return Some(Given { text, origin: Origin::SettingsFile(path.clone()) });
        }
        let found = value.type_str();
        self.problems.push(format!("{key}: {path} has a {found}; it must be a string or a number"));
        None
    }

    /// The names by which other programs know a database stand in for the default only: what was
    /// said to Axle by name, even in its file, is stronger than what was said to every program.
    fn find_elsewhere(&self, key: &str) -> Option<Given> {
        if key != "database_url" {
            return None;
        }
        let url = self.env.get("DATABASE_URL").cloned();
        let url = url.map(|text| (text, "DATABASE_URL"));
        let (text, origin) = url.or_else(|| Some((postgres_url(&self.env)?, "PG*")))?;
        Some(Given { text, origin: Origin::Variable(origin.to_owned()) })
    }
}

/// A command need not define every flag, so an unknown id counts as not given.
fn flag_text(matches: &ArgMatches, id: &str) -> Option<String> {
    matches.try_get_one::<String>(id).ok().flatten().cloned()
}

/// The variables that may matter here. One that is not UTF-8 is a problem, not a replacement
/// character in somebody's password.
fn environment(problems: &mut Vec<String>) -> BTreeMap<String, String> {
    let mut variables = BTreeMap::new();
    for (name, value) in std::env::vars_os() {
        let Some(name) = name.to_str() else { continue };
        if !["AXLE_", "DATABASE_URL", "PG"].iter().any(|prefix| name.starts_with(prefix)) {
            continue;
        }
        match value.into_string() {
            Ok(value) => drop(variables.insert(name.to_owned(), value)),
            Err(_) => problems.push(format!("{name} is not UTF-8")),
        }
    }
    variables
}

/// The parser's own rendering quotes the line, which may hold a secret: its message does not.
fn syntax_problem(path: &str, text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start));
    let line = before.map_or(1, |before| before.matches('\n').count() + 1);
    format!("{path}, line {line}: {}", error.message())
}

/// A value of the file as one would write it on the command line; lists become comma lists.
fn toml_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Boolean(truth) => Some(truth.to_string()),
        Value::Array(items) => {
            let items: Option<Vec<_>> = items.iter().map(Value::as_str).collect();
            Some(items?.join(","))
        }
        Value::Float(_) | Value::Datetime(_) | Value::Table(_) => None,
    }
}

/// The URL that libpq's variables describe, once one of them names a host, a user or a database.
/// `PGSSLMODE` is kept, since leaving it out would quietly weaken the connection.
fn postgres_url(env: &BTreeMap<String, String>) -> Option<String> {
    let variable = |name| env.get(name).map(String::as_str);
    let (host, user, name) = (variable("PGHOST"), variable("PGUSER"), variable("PGDATABASE"));
    host.or(user).or(name)?;
    let ports: Vec<_> = variable("PGPORT").unwrap_or("5432").split(',').collect();
    let places: Vec<_> = host
        .unwrap_or("localhost")
        .split(',')
        .enumerate()
        .map(|(at, host)| {
            let port = ports.get(at).or(ports.last()).unwrap_or(&"5432");
            let host = if host.contains(':') { format!("[{host}]") } else { escape(host) };
            format!("{host}:{port}")
        })
        .collect();
    let password = variable("PGPASSWORD");
    let credentials = match (user, password) {
        (Some(user), Some(password)) => format!("{}:{}@", escape(user), escape(password)),
        (Some(user), None) => format!("{}@", escape(user)),
        (None, _) => String::new(),
    };
    let parameters: Vec<_> = [
        password.filter(|_| user.is_none()).map(|text| ("password", text)),
        variable("PGSSLMODE").map(|text| ("sslmode", text)),
    ]
    .into_iter()
    .flatten()
    .map(|(name, text)| format!("{name}={}", escape(text)))
    .collect();
    let path = name.map(|name| format!("/{}", escape(name))).unwrap_or_default();
    let query = if parameters.is_empty() { "" } else { "?" };
    Some(format!(
        "postgres://{credentials}{}{path}{query}{}",
        places.join(","),
        parameters.join("&")
    ))
}

/// Percent-encodes all but RFC 3986's unreserved characters.
fn escape(text: &str) -> String {
    let escaped = text.bytes().map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    });
    escaped.collect()
}

fn unknown(name: &str, near: Option<&str>) -> String {
    let near = near.map(|near| format!("; the nearest is {near}")).unwrap_or_default();
    format!("{name} is not a setting and has no effect{near}")
}
