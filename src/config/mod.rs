//! Settings: the only reader of the environment.
//!
//! One table (`settings.rs`) names every setting; flags, variables, keys of the TOML file,
//! defaults, help, `axle config show` and the README's table all derive from it. The order is
//! flag, environment, file, default. Everything is checked as a whole, and every mistake is
//! reported at once. This room opens nothing but the files that hold settings, and uses no other room
//! but `domain`, which knows time zones and targets.

mod edge;
mod egress;
mod jwt;
mod kind;
mod loaded;
mod nearest;
mod parse;
mod person;
mod quota;
mod read;
mod remote;
mod retention;
mod secret;
mod settings;
mod sources;
mod surface;
#[cfg(test)]
mod tests;
mod values;

pub use loaded::{ConfigError, Loaded, Origin, Shown};
pub use parse::{DurationError, parse_duration};
pub use person::admin_password;
pub use remote::{REMOTE_VARIABLES, Remote};
pub use secret::{Secret, mask_url};
pub use surface::{flags, markdown};
pub use values::{JwtAlgorithm, JwtKey, LogFormat, Roles};

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::ArgMatches;

use crate::domain::claim::ClaimNames;
use crate::domain::egress::Pattern;
use crate::domain::proxy::Proxies;
use sources::Sources;

/// What a process was told, typed and within its bounds. `settings.rs` says what each field means.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where PostgreSQL is, as a URL; empty when nobody said.
    pub database_url: Secret,
    /// Connections this process keeps to PostgreSQL, at most.
    pub database_pool: usize,
    /// Where Redis is, as a URL, if there is one.
    pub redis_url: Option<Secret>,
    /// How long one statement may take before PostgreSQL cancels it.
    pub statement_timeout: Duration,
    /// Where the API listens.
    pub listen: SocketAddr,
    /// Where health checks and metrics listen.
    pub admin_listen: SocketAddr,
    /// How callers reach the API from outside, without a trailing slash.
    pub public_url: Option<String>,
    /// What this process does.
    pub roles: Roles,
    /// Runs in flight per process, at most.
    pub concurrency: usize,
    /// Runs in flight per process to one target, at most; if unset, a share that grows with health.
    pub target_concurrency: Option<usize>,
    /// How long a claim holds without renewal.
    pub lease: Duration,
    /// How often lost and timed-out runs are looked for.
    pub sweep_interval: Duration,
    /// How long a stopping process waits for what runs.
    pub shutdown_grace: Duration,
    /// The largest payload of a job, in bytes.
    pub max_payload: usize,
    /// How long an `Idempotency-Key` is remembered.
    pub idempotency_ttl: Duration,
    /// How long finished jobs are kept; none means for ever.
    pub retention: Option<Duration>,
    /// Whether a create or an action without `Idempotency-Key` is refused.
    pub require_idempotency_key: bool,
    /// The IANA name of the zone of a schedule that names none.
    pub default_time_zone: String,
    /// The keys under which stored secrets are encrypted, the newest first, with commas between.
    pub secret_key: Option<Secret>,
    /// The shared secret of HS256 tokens.
    pub jwt_secret: Option<Secret>,
    /// The public key of signed tokens, as PEM.
    pub jwt_public_key: Option<String>,
    /// Where the issuer publishes its public keys.
    pub jwt_jwks_url: Option<String>,
    /// The one algorithm accepted; when unset it follows from the key.
    pub jwt_algorithm: Option<JwtAlgorithm>,
    /// The `iss` a token must have.
    pub jwt_issuer: Option<String>,
    /// The `aud` a token must have.
    pub jwt_audience: Option<String>,
    /// Where tokens of an outside issuer say team and role.
    pub jwt_claims: ClaimNames,
    /// Which log lines are kept, in the syntax of `tracing-subscriber`'s `EnvFilter`.
    pub log: String,
    /// How log lines look.
    pub log_format: LogFormat,
    /// Connections to the API per process, at most.
    pub max_connections: usize,
    /// The API's certificate chain: a PEM file, or its text.
    pub tls_cert: Option<String>,
    /// Its private key: a PEM file, or its text.
    pub tls_key: Option<Secret>,
    /// The reverse proxies whose word about a caller's address is taken.
    pub trusted_proxies: Proxies,
    /// The origins of pages that may call the API from a browser.
    pub cors_origins: Vec<String>,
    /// What may be called although it is private.
    pub target_allow: Vec<Pattern>,
    /// What is never called.
    pub target_deny: Vec<Pattern>,
    /// Whether everybody may call private addresses.
    pub allow_private_targets: bool,
    /// The proxy that all calls go through.
    pub egress_proxy: Option<String>,
    /// Writes per second of a team without a limit of its own.
    pub team_writes_per_second: Option<usize>,
    /// Unfinished jobs of such a team.
    pub team_unfinished_jobs: Option<usize>,
    /// Schedules of such a team.
    pub team_schedules: Option<usize>,
    /// Bytes of payloads of unfinished jobs of such a team.
    pub team_payload_bytes: Option<usize>,
    /// Runs of such a team at the same time.
    pub team_concurrent_runs: Option<usize>,
}

/// The defaults of the table. A test compares the two, field by field.
impl Default for Config {
    fn default() -> Self {
        Self {
            database_url: Secret::default(),
            database_pool: 16,
            redis_url: None,
            statement_timeout: Duration::from_secs(5),
            listen: loopback(8080),
            admin_listen: loopback(9090),
            public_url: None,
            roles: Roles::ALL,
            concurrency: 100,
            target_concurrency: None,
            lease: Duration::from_secs(30),
            sweep_interval: Duration::from_secs(1),
            shutdown_grace: Duration::from_secs(25),
            max_payload: 256 * 1024,
            idempotency_ttl: Duration::from_hours(24),
            retention: retention::DEFAULT,
            require_idempotency_key: false,
            default_time_zone: "UTC".to_owned(),
            secret_key: None,
            jwt_secret: None,
            jwt_public_key: None,
            jwt_jwks_url: None,
            jwt_algorithm: None,
            jwt_issuer: None,
            jwt_audience: None,
            jwt_claims: ClaimNames::default(),
            log: "info".to_owned(),
            log_format: LogFormat::Auto,
            max_connections: 4096,
            tls_cert: None,
            tls_key: None,
            trusted_proxies: Proxies::default(),
            cors_origins: Vec::new(),
            target_allow: Vec::new(),
            target_deny: Vec::new(),
            allow_private_targets: false,
            egress_proxy: None,
            team_writes_per_second: None,
            team_unfinished_jobs: None,
            team_schedules: None,
            team_payload_bytes: None,
            team_concurrent_runs: None,
        }
    }
}

impl Config {
    /// Reads flags, the environment, the settings file and the files that `AXLE_…_FILE` name.
    /// A flag that `flags` does not define (a command may offer few or none) counts as not given.
    pub fn load(flags: &ArgMatches) -> Result<Loaded, ConfigError> {
        Loaded::from_sources(Sources::of_process(flags))
    }

    /// The keys in `secret_key`, the newest first.
    pub fn secret_keys(&self) -> Vec<Secret> {
        let text = self.secret_key.iter().flat_map(|text| text.expose().split(','));
        text.map(|key| Secret::from(key.trim())).collect()
    }

    /// What tokens are checked with. `None` is legal here; the `api` role must refuse to start
    /// with it, since nobody could sign in.
    pub fn jwt_key(&self) -> Option<JwtKey<'_>> {
        let secret = self.jwt_secret.as_ref().map(JwtKey::Secret);
        let public_key = || self.jwt_public_key.as_deref().map(JwtKey::PublicKey);
        let jwks_url = || self.jwt_jwks_url.as_deref().map(JwtKey::JwksUrl);
        secret.or_else(public_key).or_else(jwks_url)
    }
}

/// The folder of PostgreSQL's programs that `PG_BIN` names, for the embedded PostgreSQL.
pub fn pg_bin() -> Option<PathBuf> {
    std::env::var_os("PG_BIN").filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// The caller's home, where `axle dev` keeps its database; none for root, whose home no other
/// account can enter.
pub fn home() -> Option<PathBuf> {
    let is_root = rustix::process::getuid().is_root();
    std::env::var_os("HOME").filter(|path| !is_root && !path.is_empty()).map(PathBuf::from)
}

const fn loopback(port: u16) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)
}
