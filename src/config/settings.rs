//! The table of settings, from which all else derives. To add a setting, add a row here and a field
//! with its default to `Config`; the tests compare the two.

use std::time::Duration;

use super::kind::Kind;
use super::read::{log_filter, postgres_url, public_key, redis_url, secret_keys, time_zone};
use super::{JwtAlgorithm, LogFormat, Roles};
use super::{edge, egress, jwt, quota, retention};

/// One setting.
pub(super) struct Setting {
    /// Its name, as in the TOML file.
    pub(super) key: &'static str,
    /// Its environment variable; with `_FILE` behind, the variable that names a file of it.
    pub(super) env: &'static str,
    /// Its flag. A secret has none, since other users of a machine see a process's arguments; the
    /// database's URL is excepted, for it may hold no password.
    pub(super) flag: Option<&'static str>,
    /// What holds when nobody says anything, as one would write it; `None`: it stays unset.
    pub(super) default: Option<&'static str>,
    /// Whether its value is kept out of whatever is printed.
    pub(super) secret: bool,
    /// What it is for, in one line.
    pub(super) meaning: &'static str,
    /// What it may be.
    pub(super) kind: Kind,
}

const MIB: usize = 1024 * 1024;

/// RFC 7518, section 3.2: an HS256 key has at least as many bits as the hash's output.
const HS256_KEY_BYTES: usize = 32;

/// Every setting, in the order of help and README.
pub(super) const SETTINGS: &[Setting] = &[
    Setting {
        key: "database_url",
        env: "AXLE_DATABASE_URL",
        flag: Some("database-url"),
        default: None,
        secret: true,
        meaning: "Where PostgreSQL is; if nothing says so, `DATABASE_URL`, then `PGHOST`, \
                  `PGPORT`, `PGUSER`, `PGPASSWORD`, `PGDATABASE` and `PGSSLMODE` are asked",
        kind: Kind::Own {
            name: "URL",
            form: "a URL such as `postgres://user@host:5432/name`",
            set: |config, text| {
                config.database_url = postgres_url(text)?.into();
                Ok(())
            },
        },
    },
    Setting {
        key: "database_pool",
        env: "AXLE_DATABASE_POOL",
        flag: Some("database-pool"),
        default: Some("16"),
        secret: false,
        meaning: "Connections this process keeps to PostgreSQL, at most",
        kind: Kind::Count { least: 1, most: 1000, slot: |config| &mut config.database_pool },
    },
    Setting {
        key: "redis_url",
        env: "AXLE_REDIS_URL",
        flag: None,
        default: None,
        secret: true,
        meaning: "Where Redis is, if there is one: processes then wake one another sooner; without it, \
                  or while it is away, nothing is lost but a millisecond",
        kind: Kind::Own {
            name: "URL",
            form: "a URL such as `redis://user:password@host:6379/0`",
            set: |config, text| {
                config.redis_url = Some(redis_url(text)?.into());
                Ok(())
            },
        },
    },
    Setting {
        key: "statement_timeout",
        env: "AXLE_STATEMENT_TIMEOUT",
        flag: Some("statement-timeout"),
        default: Some("5s"),
        secret: false,
        meaning: "How long one statement may take before PostgreSQL cancels it",
        kind: Kind::Duration {
            least: Duration::from_millis(100),
            most: Duration::from_mins(10),
            slot: |config| &mut config.statement_timeout,
        },
    },
    Setting {
        key: "listen",
        env: "AXLE_LISTEN",
        flag: Some("listen"),
        default: Some("127.0.0.1:8080"),
        secret: false,
        meaning: "Where the API listens",
        kind: Kind::Address(|config| &mut config.listen),
    },
    Setting {
        key: "admin_listen",
        env: "AXLE_ADMIN_LISTEN",
        flag: Some("admin-listen"),
        default: Some("127.0.0.1:9090"),
        secret: false,
        meaning: "Where health checks and metrics listen",
        kind: Kind::Address(|config| &mut config.admin_listen),
    },
    Setting {
        key: "public_url",
        env: "AXLE_PUBLIC_URL",
        flag: Some("public-url"),
        default: None,
        secret: false,
        meaning: "How callers and targets reach the API from outside",
        kind: Kind::Url(|config| &mut config.public_url),
    },
    Setting {
        key: "roles",
        env: "AXLE_ROLES",
        flag: Some("roles"),
        default: Some("all"),
        secret: false,
        meaning: "What this process does",
        kind: Kind::Own {
            name: "ROLES",
            form: "`all`, or a list of `api`, `puller` and `scheduler` such as `api,puller`",
            set: |config, text| {
                config.roles = Roles::parse(text)?;
                Ok(())
            },
        },
    },
    Setting {
        key: "concurrency",
        env: "AXLE_CONCURRENCY",
        flag: Some("concurrency"),
        default: Some("100"),
        secret: false,
        meaning: "Runs in flight per process, at most",
        kind: Kind::Count { least: 1, most: 10_000, slot: |config| &mut config.concurrency },
    },
    Setting {
        key: "target_concurrency",
        env: "AXLE_TARGET_CONCURRENCY",
        flag: Some("target-concurrency"),
        default: None,
        secret: false,
        meaning: "Runs in flight per process to one host and port of a team, at most; if unset, a \
                  quarter of `concurrency`, and more while the target answers within a second",
        kind: Kind::Optional {
            least: 1,
            most: 10_000,
            slot: |config| &mut config.target_concurrency,
        },
    },
    Setting {
        key: "lease",
        env: "AXLE_LEASE",
        flag: Some("lease"),
        default: Some("30s"),
        secret: false,
        meaning: "How long a claim holds without renewal; a dead puller is noticed after it",
        kind: Kind::Duration {
            least: Duration::from_secs(5),
            most: Duration::from_mins(10),
            slot: |config| &mut config.lease,
        },
    },
    Setting {
        key: "sweep_interval",
        env: "AXLE_SWEEP_INTERVAL",
        flag: Some("sweep-interval"),
        default: Some("1s"),
        secret: false,
        meaning: "How often lost and timed-out runs are looked for",
        kind: Kind::Duration {
            least: Duration::from_millis(100),
            most: Duration::from_mins(1),
            slot: |config| &mut config.sweep_interval,
        },
    },
    Setting {
        key: "shutdown_grace",
        env: "AXLE_SHUTDOWN_GRACE",
        flag: Some("shutdown-grace"),
        default: Some("25s"),
        secret: false,
        meaning: "How long a stopping process waits for what runs",
        kind: Kind::Duration {
            least: Duration::ZERO,
            most: Duration::from_hours(1),
            slot: |config| &mut config.shutdown_grace,
        },
    },
    Setting {
        key: "max_payload",
        env: "AXLE_MAX_PAYLOAD",
        flag: Some("max-payload"),
        default: Some("256KiB"),
        secret: false,
        meaning: "The largest payload of a job; API and pullers hold payloads in memory",
        kind: Kind::Size { least: 1, most: 16 * MIB, slot: |config| &mut config.max_payload },
    },
    Setting {
        key: "idempotency_ttl",
        env: "AXLE_IDEMPOTENCY_TTL",
        flag: Some("idempotency-ttl"),
        default: Some("24h"),
        secret: false,
        meaning: "How long an `Idempotency-Key` is remembered",
        kind: Kind::Duration {
            least: Duration::from_hours(1),
            most: Duration::from_hours(90 * 24),
            slot: |config| &mut config.idempotency_ttl,
        },
    },
    retention::RETENTION,
    Setting {
        key: "require_idempotency_key",
        env: "AXLE_REQUIRE_IDEMPOTENCY_KEY",
        flag: Some("require-idempotency-key"),
        default: Some("false"),
        secret: false,
        meaning: "Whether a create or an action without `Idempotency-Key` is refused",
        kind: Kind::Switch(|config| &mut config.require_idempotency_key),
    },
    Setting {
        key: "default_time_zone",
        env: "AXLE_DEFAULT_TIME_ZONE",
        flag: Some("default-time-zone"),
        default: Some("UTC"),
        secret: false,
        meaning: "The zone of a schedule that names none; the host's own zone decides nothing",
        kind: Kind::Own {
            name: "ZONE",
            form: "an IANA time zone such as `Europe/Berlin`, or `UTC`",
            set: |config, text| {
                config.default_time_zone = time_zone(text)?;
                Ok(())
            },
        },
    },
    Setting {
        key: "secret_key",
        env: "AXLE_SECRET_KEY",
        flag: None,
        default: None,
        secret: true,
        meaning: "Encrypts the secrets in the database and goes into the tokens of callback URLs, \
                  so that the database alone gives nothing away; the same for every process",
        kind: Kind::Own {
            name: "KEYS",
            form: "random text of at least 32 bytes, or several such, the newest first, with commas \
                   between",
            set: |config, text| {
                config.secret_key = Some(secret_keys(text)?.into());
                Ok(())
            },
        },
    },
    Setting {
        key: "jwt_secret",
        env: "AXLE_JWT_SECRET",
        flag: None,
        default: None,
        secret: true,
        meaning: "The shared secret of HS256 tokens; of the three `jwt_secret`, `jwt_public_key` \
                  and `jwt_jwks_url` the `api` role needs exactly one",
        kind: Kind::Secret { least: HS256_KEY_BYTES, slot: |config| &mut config.jwt_secret },
    },
    Setting {
        key: "jwt_public_key",
        env: "AXLE_JWT_PUBLIC_KEY",
        flag: None,
        default: None,
        secret: true, // what is given here by mistake may be the private key
        meaning: "The public key of signed tokens; easier as a file: `AXLE_JWT_PUBLIC_KEY_FILE`",
        kind: Kind::Own {
            name: "PEM",
            form: "a public key as PEM, beginning with `-----BEGIN PUBLIC KEY-----`",
            set: |config, text| {
                config.jwt_public_key = Some(public_key(text)?);
                Ok(())
            },
        },
    },
    Setting {
        key: "jwt_jwks_url",
        env: "AXLE_JWT_JWKS_URL",
        flag: Some("jwt-jwks-url"),
        default: None,
        secret: false,
        meaning: "Where the issuer of tokens publishes its public keys",
        kind: Kind::Url(|config| &mut config.jwt_jwks_url),
    },
    Setting {
        key: "jwt_algorithm",
        env: "AXLE_JWT_ALGORITHM",
        flag: Some("jwt-algorithm"),
        default: None,
        secret: false,
        meaning: "The one algorithm accepted on tokens; if unset, it follows from the key",
        kind: Kind::Own {
            name: "ALGORITHM",
            form: "`HS256`, `RS256`, `ES256` or `EdDSA`",
            set: |config, text| {
                config.jwt_algorithm = Some(JwtAlgorithm::parse(text)?);
                Ok(())
            },
        },
    },
    Setting {
        key: "jwt_issuer",
        env: "AXLE_JWT_ISSUER",
        flag: Some("jwt-issuer"),
        default: None,
        secret: false,
        meaning: "The `iss` that a token must have",
        kind: Kind::Text(|config| &mut config.jwt_issuer),
    },
    Setting {
        key: "jwt_audience",
        env: "AXLE_JWT_AUDIENCE",
        flag: Some("jwt-audience"),
        default: None,
        secret: false,
        meaning: "The `aud` that a token must have",
        kind: Kind::Text(|config| &mut config.jwt_audience),
    },
    jwt::TEAM_CLAIM,
    jwt::ROLE_CLAIM,
    jwt::ROLE_MAP,
    Setting {
        key: "log",
        env: "AXLE_LOG",
        flag: Some("log"),
        default: Some("info"),
        secret: false,
        meaning: "Which log lines are kept",
        kind: Kind::Own {
            name: "FILTER",
            form: "a filter such as `info` or `warn,axle::engine=debug`",
            set: |config, text| {
                config.log = log_filter(text)?;
                Ok(())
            },
        },
    },
    Setting {
        key: "log_format",
        env: "AXLE_LOG_FORMAT",
        flag: Some("log-format"),
        default: Some("auto"),
        secret: false,
        meaning: "How log lines look; `auto` is text on a terminal and JSON else",
        kind: Kind::Own {
            name: "FORMAT",
            form: "`auto`, `text` or `json`",
            set: |config, text| {
                config.log_format = LogFormat::parse(text)?;
                Ok(())
            },
        },
    },
    edge::MAX_CONNECTIONS,
    edge::TLS_CERT,
    edge::TLS_KEY,
    edge::TRUSTED_PROXIES,
    edge::CORS_ORIGINS,
    egress::TARGET_ALLOW,
    egress::TARGET_DENY,
    egress::ALLOW_PRIVATE_TARGETS,
    egress::EGRESS_PROXY,
    quota::TEAM_WRITES_PER_SECOND,
    quota::TEAM_UNFINISHED_JOBS,
    quota::TEAM_SCHEDULES,
    quota::TEAM_PAYLOAD_BYTES,
    quota::TEAM_CONCURRENT_RUNS,
];
