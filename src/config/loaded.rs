//! From sources to a `Config`: every row of the table is found, set and checked, then what only
//! shows between settings; and whatever is wrong is reported together.

use std::collections::BTreeMap;
use std::fmt;

use url::{Host, Url};

use super::kind::Kind;
use super::secret::{MASK, mask_url};
use super::settings::{SETTINGS, Setting};
use super::sources::{Given, Sources};
use super::{Config, JwtAlgorithm};

/// A usable configuration, with what is worth saying about it.
#[derive(Debug)]
pub struct Loaded {
    /// The settings.
    pub config: Config,
    /// What has no effect or is unwise; for standard error.
    pub warnings: Vec<String>,
    /// Every setting as text, in the order of the table.
    pub settings: Vec<Shown>,
}

/// One setting, fit to be printed.
#[derive(Debug)]
pub struct Shown {
    /// Its name.
    pub key: &'static str,
    /// `key = value` as in a settings file, a secret masked; a comment when it is not set.
    pub line: String,
    /// Who gave it.
    pub origin: Origin,
}

/// Who gave a setting.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Origin {
    /// The command line, by this flag (without its dashes).
    Flag(&'static str),
    /// This environment variable; `PG*` for libpq's variables together.
    Variable(String),
    /// A file that an `AXLE_…_FILE` named.
    NamedFile {
        /// The file.
        path: String,
        /// Who named it.
        variable: String,
    },
    /// The settings file of this path.
    SettingsFile(String),
    /// Nobody.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "--{flag}"),
            Self::Variable(name) => f.write_str(name),
            Self::NamedFile { path, variable } => write!(f, "{path} ({variable})"),
            Self::SettingsFile(path) => f.write_str(path),
            Self::Default => f.write_str("default"),
        }
    }
}

/// Everything that is wrong with the settings, a sentence each, secrets masked.
#[derive(Debug)]
pub struct ConfigError {
    /// The sentences; never empty.
    pub problems: Vec<String>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the settings cannot be used:")?;
        self.problems.iter().try_for_each(|problem| write!(f, "\n  {problem}"))
    }
}

impl std::error::Error for ConfigError {}

/// The origins of the settings that somebody gave, by key.
type Origins = BTreeMap<&'static str, Origin>;

impl Loaded {
    /// Reads and checks the whole table.
    pub(super) fn from_sources(mut sources: Sources) -> Result<Self, ConfigError> {
        let mut config = Config::default();
        let mut origins = Origins::new();
        let mut settings = Vec::with_capacity(SETTINGS.len());
        for setting in SETTINGS {
            let given = sources.find(setting);
            settings.push(shown(setting, given.as_ref()));
            let Some(Given { text, origin }) = given else { continue };
            if let Err(reason) = setting.kind.set(&mut config, &text) {
                sources.problems.push(problem(setting, &text, &origin, &reason));
            }
            origins.insert(setting.key, origin);
        }
        let mut problems = std::mem::take(&mut sources.problems);
        problems.extend(jwt_problem(&config, &origins));
        problems.extend(listen_problem(&config));
        problems.extend(tls_problem(&origins));
        if !problems.is_empty() {
            return Err(ConfigError { problems });
        }
        let mut warnings = sources.unknown_names();
        warnings.extend(jwks_warning(&config));
        Ok(Self { config, warnings, settings })
    }

    /// The settings in force, a line each, in the syntax of a settings file; with `with_origin`,
    /// each says in a comment who gave it. Secrets are masked.
    pub fn show(&self, with_origin: bool) -> String {
        let lines = self.settings.iter().map(|Shown { line, origin, .. }| {
            let origin = if with_origin { format!("  # {origin}") } else { String::new() };
            format!("{line}{origin}\n")
        });
        lines.collect()
    }
}

fn shown(setting: &Setting, given: Option<&Given>) -> Shown {
    let key = setting.key;
    let text = given.map(|given| given.text.as_str()).or(setting.default);
    let line = match (text, setting.kind) {
        (None, _) => format!("# {key} is not set"),
        (Some(text), Kind::Count { .. } | Kind::Switch(_)) => format!("{key} = {text}"),
        // JSON's strings are TOML's basic strings.
        (Some(text), _) => format!("{key} = {}", serde_json::Value::from(masked(setting, text))),
    };
    Shown { key, line, origin: given.map_or(Origin::Default, |given| given.origin.clone()) }
}

fn masked(setting: &Setting, text: &str) -> String {
    let url = ["database_url", "redis_url"].contains(&setting.key)
        || matches!(setting.kind, Kind::Url(_)) && text.contains('@');
    match (url, setting.secret) {
        (true, _) => mask_url(text),
        (false, true) => MASK.to_owned(),
        (false, false) => text.to_owned(),
    }
}

fn problem(setting: &Setting, text: &str, origin: &Origin, reason: &str) -> String {
    let Setting { key, kind, .. } = setting;
    let text = masked(setting, text);
    format!("{key}: {origin} is {text:?}: {reason}; it must be {kind}")
}

/// One kind of key at most, and an algorithm that goes with it: a public key used as an HMAC
/// secret is a well-known way to forge tokens (RFC 8725, section 2.1).
///
/// Judged by what was given, not by what was usable: a bad key has its own problem already.
fn jwt_problem(config: &Config, origins: &Origins) -> Option<String> {
    let keys: Vec<_> = ["jwt_secret", "jwt_public_key", "jwt_jwks_url"]
        .into_iter()
        .filter_map(|key| Some((key, origins.get(key)?)))
        .collect();
    if keys.len() > 1 {
        let keys: Vec<_> = keys.iter().map(|(key, origin)| format!("{key} ({origin})")).collect();
        return Some(format!("{}: all given; give one of them", keys.join(", ")));
    }
    let names = ["jwt_team_claim", "jwt_role_claim", "jwt_role_map"];
    let named = names.into_iter().find_map(|key| Some((key, origins.get(key)?)));
    if let (Some((key, origin)), Some(("jwt_secret", _))) = (named, keys.first()) {
        let why = "with jwt_secret this server signs tokens itself, with its own names";
        return Some(format!("{key} ({origin}): it is for tokens of an outside issuer; {why}"));
    }
    let algorithm = config.jwt_algorithm?;
    let origin = origins.get("jwt_algorithm").unwrap_or(&Origin::Default);
    let by_secret = matches!(keys.first(), Some(("jwt_secret", _)));
    let (needed, fits) = match algorithm {
        JwtAlgorithm::Hs256 => ("jwt_secret", by_secret),
        JwtAlgorithm::Rs256 | JwtAlgorithm::Es256 | JwtAlgorithm::EdDsa => {
            ("jwt_public_key or jwt_jwks_url", !by_secret && !keys.is_empty())
        }
    };
    if fits {
        return None;
    }
    let given = keys.first().map_or("no key", |(key, _)| key);
    let algorithm = algorithm.as_str();
    Some(format!("jwt_algorithm: {origin} is {algorithm:?}, which needs {needed}, not {given}"))
}

/// Port 0 lets the system choose, so two of them differ.
fn listen_problem(config: &Config) -> Option<String> {
    let Config { listen, admin_listen, .. } = config;
    let same = listen == admin_listen && listen.port() != 0;
    same.then(|| format!("admin_listen: {listen} is also listen; they must differ"))
}

/// With half a pair the API would not be what its operator thinks it is.
fn tls_problem(origins: &Origins) -> Option<String> {
    let (given, missing) = match (origins.get("tls_cert"), origins.get("tls_key")) {
        (Some(origin), None) => (format!("tls_cert ({origin})"), "tls_key"),
        (None, Some(origin)) => (format!("tls_key ({origin})"), "tls_cert"),
        (None, None) | (Some(_), Some(_)) => return None,
    };
    Some(format!("{given}: given without {missing}; TLS needs both"))
}

/// Whoever can alter an unencrypted key set on its way can sign any token.
fn jwks_warning(config: &Config) -> Option<String> {
    let url = Url::parse(config.jwt_jwks_url.as_deref()?).ok()?;
    let local = match url.host()? {
        Host::Domain(name) => name == "localhost",
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    };
    let open = url.scheme() == "http" && !local;
    open.then(|| "jwt_jwks_url is http: whoever can alter the answer can sign tokens".to_owned())
}
