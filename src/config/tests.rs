//! Settings from invented sources: no test here looks at the real environment or at a real file,
//! except one that goes through clap.

use std::collections::BTreeMap;
use std::io;

use clap::Command;

use super::settings::SETTINGS;
use super::*;

const SECRET: &str = "0123456789abcdef0123456789abcdef";
const PEM: &str = "-----BEGIN PUBLIC KEY-----\nMCow\n-----END PUBLIC KEY-----\n";

/// Files that an `AXLE_…_FILE` may name here.
fn read(path: &str) -> io::Result<String> {
    match path {
        "/run/secret" => Ok(format!("{SECRET}\n")),
        "/run/spaces" => Ok(format!(" {SECRET} \r\n")),
        "/run/two-lines" => Ok(format!("{SECRET}\n\n")),
        "/run/empty" => Ok(String::new()),
        "/run/pem" => Ok(PEM.to_owned()),
        _ => Err(io::ErrorKind::NotFound.into()),
    }
}

/// Loads from flags, variables and the text of `axle.toml`.
fn load(flags: &[(&str, &str)], env: &[(&str, &str)], file: &str) -> Result<Loaded, ConfigError> {
    let flags = flags.iter().map(|(key, text)| (*key, (*text).to_owned())).collect();
    let env = env.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    let file = Some(("axle.toml".to_owned(), file.to_owned()));
    Loaded::from_sources(Sources::new(flags, env, file, read))
}

fn problems(env: &[(&str, &str)], file: &str) -> Vec<String> {
    load(&[], env, file).expect_err("something is wrong here").problems
}

fn one_problem(env: &[(&str, &str)]) -> String {
    let problems = problems(env, "");
    assert_eq!(problems.len(), 1, "{problems:#?}");
    problems.concat()
}

fn line_of(loaded: &Loaded, key: &str) -> String {
    let shown = loaded.settings.iter().find(|shown| shown.key == key).unwrap();
    format!("{}  # {}", shown.line, shown.origin)
}

#[test]
fn the_defaults_of_the_table_are_those_of_config() {
    let mut config = Config::default();
    let before = format!("{config:?}");
    for setting in SETTINGS {
        let Some(text) = setting.default else { continue };
        setting.kind.set(&mut config, text).unwrap();
        assert_eq!(format!("{config:?}"), before, "{}", setting.key);
    }
    let loaded = Loaded::from_sources(Sources::new(BTreeMap::new(), [].into_iter(), None, read));
    assert_eq!(format!("{:?}", loaded.unwrap().config), before);
}

#[test]
fn the_names_of_a_setting_are_one_name_in_three_spellings() {
    for (at, setting) in SETTINGS.iter().enumerate() {
        let key = setting.key;
        assert_eq!(setting.env, format!("AXLE_{}", key.to_uppercase()));
        assert!(setting.flag.is_none_or(|flag| flag == key.replace('_', "-")), "{key}");
        assert!(!setting.secret || setting.flag.is_none() || key == "database_url", "{key}");
        assert!(!setting.meaning.ends_with('.'), "{key}");
        assert!(SETTINGS[..at].iter().all(|other| other.key != key), "{key} twice");
    }
}

#[test]
fn a_flag_beats_the_environment_beats_the_file_beats_the_default() {
    let (flag, env, file) = (("lease", "1m"), ("AXLE_LEASE", "40s"), "lease = \"50s\"");
    let lease = |flags: &[_], env: &[_], file| {
        let loaded = load(flags, env, file).unwrap();
        (loaded.config.lease.as_secs(), line_of(&loaded, "lease"))
    };
    let expect = |secs, line: &str| (secs, line.to_owned());
    assert_eq!(lease(&[flag], &[env], file), expect(60, "lease = \"1m\"  # --lease"));
    assert_eq!(lease(&[], &[env], file), expect(40, "lease = \"40s\"  # AXLE_LEASE"));
    assert_eq!(lease(&[], &[], file), expect(50, "lease = \"50s\"  # axle.toml"));
    assert_eq!(lease(&[], &[], ""), expect(30, "lease = \"30s\"  # default"));
}

#[test]
fn the_file_takes_toml_types_where_they_fit() {
    let file = "concurrency = 7\nrequire_idempotency_key = true\nroles = [\"api\", \"puller\"]";
    let config = load(&[], &[], file).unwrap().config;
    assert_eq!(config.concurrency, 7);
    assert!(config.require_idempotency_key);
    assert_eq!(config.roles, Roles { api: true, puller: true, scheduler: false });
    assert_eq!(
        problems(&[], "lease = 30\nlisten = 1.5\n[log]\nx = 1"),
        [
            "listen: axle.toml has a float; it must be a string or a number",
            "lease: axle.toml is \"30\": the number 30 has no unit (d, h, m, s or ms); it must be \
             a duration from 5s to 10m",
            "log: axle.toml has a table; it must be a string or a number",
        ]
    );
}

#[test]
fn every_problem_is_reported_at_once() {
    let env = [("AXLE_CONCURRENCY", "0"), ("AXLE_ROLES", "api,pullr"), ("AXLE_LISTEN", "8080")];
    let error = load(&[("lease", "1h")], &env, "max_payload = \"1GB\"").unwrap_err();
    let text = error.to_string();
    assert_eq!(error.problems.len(), 5, "{text}");
    for part in [
        "concurrency: AXLE_CONCURRENCY is \"0\": it is too small; it must be a whole number from 1 \
         to 10000",
        "roles: AXLE_ROLES is \"api,pullr\": \"pullr\" is not a role; it must be `all`, or a list",
        "listen: AXLE_LISTEN is \"8080\": it is not an IP address and a port",
        "lease: --lease is \"1h\": it is too large; it must be a duration from 5s to 10m",
        "max_payload: axle.toml is \"1GB\": \"GB\" is not a unit (B, KiB or MiB)",
    ] {
        assert!(text.contains(part), "{part}\nnot in\n{text}");
    }
}

#[test]
fn a_broken_file_is_reported_without_its_text_and_beside_other_problems() {
    let problems = problems(&[("AXLE_LEASE", "x")], "lease = \"30s\"\njwt_secret = \"hunter2\n");
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems[0].starts_with("axle.toml, line 2: "), "{problems:?}");
    assert!(!problems.concat().contains("hunter2"), "{problems:?}");
}

#[test]
fn any_setting_may_stand_in_a_file_that_a_variable_names() {
    let loaded = load(&[], &[("AXLE_JWT_SECRET_FILE", "/run/secret")], "").unwrap();
    assert_eq!(loaded.config.jwt_secret.as_ref().unwrap().expose(), SECRET);
    let line = "jwt_secret = \"***\"  # /run/secret (AXLE_JWT_SECRET_FILE)";
    assert_eq!(line_of(&loaded, "jwt_secret"), line);
    let text = |path| {
        let config = load(&[], &[("AXLE_JWT_SECRET_FILE", path)], "").unwrap().config;
        config.jwt_secret.unwrap().expose().to_owned()
    };
    assert_eq!(text("/run/spaces"), format!(" {SECRET} "), "only the newline goes");
    assert_eq!(text("/run/two-lines"), format!("{SECRET}\n"), "and only one");
}

#[test]
fn a_named_file_that_is_empty_missing_or_one_too_many_is_a_problem() {
    let problem = one_problem(&[("AXLE_JWT_SECRET_FILE", "/run/empty")]);
    assert!(problem.contains("/run/empty (AXLE_JWT_SECRET_FILE)"), "{problem}");
    assert!(problem.contains("it is empty"), "{problem}");
    let problem = one_problem(&[("AXLE_JWT_SECRET_FILE", "/run/none")]);
    assert!(problem.starts_with("jwt_secret: AXLE_JWT_SECRET_FILE names /run/none: "), "{problem}");
    let both = [("AXLE_SECRET_KEY", SECRET), ("AXLE_SECRET_KEY_FILE", "/run/secret")];
    assert_eq!(
        one_problem(&both),
        "secret_key: AXLE_SECRET_KEY and AXLE_SECRET_KEY_FILE are both set; set one of them"
    );
}

#[test]
fn an_empty_variable_counts_as_absent() {
    let env = [("AXLE_LEASE", ""), ("AXLE_JWT_SECRET", ""), ("AXLE_NONSENSE", "")];
    let loaded = load(&[], &env, "lease = \"50s\"").unwrap();
    assert_eq!(loaded.config.lease.as_secs(), 50);
    assert!(loaded.config.jwt_key().is_none());
    assert!(loaded.warnings.is_empty());
    assert!(load(&[("lease", "")], &[], "").is_err(), "an empty flag is a mistake");
}

#[test]
fn unknown_names_are_warned_of_with_the_nearest() {
    let env = [("AXLE_CONCURENCY", "5"), ("AXLE_TOKEN", "t"), ("AXLE_CONFIG", "axle.toml")];
    let loaded = load(&[], &env, "leese = \"5s\"\n[jwt]\nsecret = \"x\"").unwrap();
    assert_eq!(
        loaded.warnings[..2],
        [
            "AXLE_CONCURENCY is not a setting and has no effect; the nearest is AXLE_CONCURRENCY",
            "axle.toml: jwt is not a setting and has no effect; the nearest is log",
        ]
        .map(str::to_owned)
    );
    assert!(loaded.warnings[2].contains("leese"), "{:?}", loaded.warnings);
    assert!(loaded.warnings[2].ends_with("the nearest is lease"), "{:?}", loaded.warnings);
}

#[test]
fn the_database_may_be_named_as_other_programs_do() {
    let url =
        |env: &[_], file| load(&[], env, file).unwrap().config.database_url.expose().to_owned();
    let axle = ("AXLE_DATABASE_URL", "postgres://axle/a");
    let general = ("DATABASE_URL", "postgres://general/g");
    let libpq = [("PGHOST", "/run/postgresql"), ("PGUSER", "o'axle"), ("PGPASSWORD", "p@s/s")];
    let file = "database_url = \"postgres://file/f\"";
    assert_eq!(url(&[axle, general, libpq[0]], file), "postgres://axle/a");
    assert_eq!(url(&[general, libpq[0]], file), "postgres://file/f");
    assert_eq!(url(&[general, libpq[0]], ""), "postgres://general/g");
    assert_eq!(url(&libpq, ""), "postgres://o%27axle:p%40s%2Fs@%2Frun%2Fpostgresql:5432");
    assert_eq!(url(&[("PGPORT", "1"), ("PGPASSWORD", "p")], ""), "", "too little to go by");
    let rest = [
        ("PGHOST", "a,::1"),
        ("PGPORT", "1"),
        ("PGDATABASE", "x"),
        ("PGPASSWORD", "p"),
        ("PGSSLMODE", "require"),
    ];
    assert_eq!(url(&rest, ""), "postgres://a:1,[::1]:1/x?password=p&sslmode=require");
}

#[test]
fn every_url_built_from_libpq_variables_means_the_same_to_the_driver() {
    use tokio_postgres::config::Host;
    let env = [("PGHOST", "db,::1"), ("PGUSER", "a:@/?%"), ("PGPASSWORD", "b:@/?%&= é")];
    let url = load(&[], &env, "").unwrap().config.database_url;
    let driver: tokio_postgres::Config = url.expose().parse().unwrap();
    assert_eq!(driver.get_user(), Some("a:@/?%"));
    assert_eq!(driver.get_password(), Some("b:@/?%&= é".as_bytes()));
    assert_eq!(driver.get_hosts(), ["db", "::1"].map(|host| Host::Tcp(host.to_owned())));
}

#[test]
fn no_secret_is_ever_printed() {
    let env = [
        ("AXLE_DATABASE_URL", "postgres://axle:hunter2@db/axle"),
        ("AXLE_SECRET_KEY", "hunter2hunter2hunter2hunter2hunter2"),
        ("AXLE_JWT_SECRET", "hunter2hunter2hunter2hunter2hunter2"),
    ];
    let loaded = load(&[], &env, "").unwrap();
    let printed = format!("{} {loaded:?}", loaded.show(true));
    assert!(!printed.contains("hunter2"), "{printed}");
    assert!(printed.contains("database_url = \"postgres://axle:***@db/axle\""), "{printed}");
    for (variable, text) in [
        ("AXLE_DATABASE_URL", "mysql://axle:hunter2@db"),
        ("AXLE_REDIS_URL", "rediss://axle:hunter2@db"),
        ("AXLE_REDIS_URL", "http://axle:hunter2@db"),
        ("AXLE_DATABASE_URL", "host=db password=hunter2"),
        ("AXLE_JWT_SECRET", "hunter2"),
        ("AXLE_JWT_PUBLIC_KEY", "-----BEGIN PRIVATE KEY-----hunter2"),
        ("AXLE_JWT_JWKS_URL", "https://u:hunter2@issuer/keys"),
    ] {
        let problem = one_problem(&[(variable, text)]);
        assert!(problem.contains(&format!("{variable} is \"")), "{problem}");
        assert!(!problem.contains("hunter2") && problem.contains("***"), "{problem}");
    }
}

#[test]
fn one_key_for_tokens_at_most_and_an_algorithm_that_fits_it() {
    let secret = ("AXLE_JWT_SECRET", SECRET);
    let pem = ("AXLE_JWT_PUBLIC_KEY_FILE", "/run/pem");
    let jwks = ("AXLE_JWT_JWKS_URL", "https://issuer/keys");
    let algorithm = |name| ("AXLE_JWT_ALGORITHM", name);
    let key = |env: &[_]| format!("{:?}", load(&[], env, "").unwrap().config.jwt_key());
    assert_eq!(key(&[]), "None");
    assert_eq!(key(&[secret, algorithm("HS256")]), "Some(Secret(***))");
    assert!(key(&[pem, algorithm("EdDSA")]).starts_with("Some(PublicKey("));
    assert_eq!(key(&[jwks, algorithm("RS256")]), "Some(JwksUrl(\"https://issuer/keys\"))");
    let both = one_problem(&[secret, jwks]);
    assert!(
        both.contains("jwt_secret (AXLE_JWT_SECRET), jwt_jwks_url (AXLE_JWT_JWKS_URL)"),
        "{both}"
    );
    assert!(
        one_problem(&[pem, algorithm("HS256")]).contains("needs jwt_secret, not jwt_public_key")
    );
    assert!(one_problem(&[secret, algorithm("RS256")]).contains("needs jwt_public_key or"));
    assert!(one_problem(&[algorithm("HS256")]).contains("needs jwt_secret, not no key"));
    let names =
        [("AXLE_JWT_ROLE_CLAIM", "realm_access.roles"), ("AXLE_JWT_ROLE_MAP", "ops=operator")];
    let claims = load(&[], &[jwks, names[0], names[1]], "").unwrap().config.jwt_claims;
    assert_eq!(
        (claims.role.to_string(), claims.team.to_string().as_str()),
        (names[0].1.into(), "team")
    );
    assert!(claims.roles.role("ops").is_some() && claims.roles.role("owner").is_none());
    let own = one_problem(&[secret, names[0]]);
    assert!(
        own.contains("jwt_role_claim (AXLE_JWT_ROLE_CLAIM): it is for tokens of an outside"),
        "{own}"
    );
    assert!(
        one_problem(&[jwks, ("AXLE_JWT_TEAM_CLAIM", "a..b")]).contains("a name in it is empty")
    );
    assert!(
        one_problem(&[jwks, ("AXLE_JWT_ROLE_MAP", "ops=root")]).contains("a role is one of owner")
    );
    assert!(one_problem(&[algorithm("none")]).contains("it is not an accepted algorithm"));
    let short = ("AXLE_JWT_SECRET", "x".repeat(31));
    let short = one_problem(&[(short.0, &short.1), algorithm("HS256")]);
    assert!(short.contains("it has 31 bytes; it must be text of at least 32 bytes"), "{short}");
}

#[test]
fn an_open_key_set_is_warned_of_unless_it_is_local() {
    let warnings = |url| load(&[], &[("AXLE_JWT_JWKS_URL", url)], "").unwrap().warnings.len();
    assert_eq!(warnings("http://issuer/keys"), 1);
    assert_eq!(warnings("http://127.0.0.1:1/keys"), 0);
    assert_eq!(warnings("http://localhost/keys"), 0);
    assert_eq!(warnings("https://issuer/keys"), 0);
}

#[test]
fn two_listeners_need_two_addresses() {
    let problem = one_problem(&[("AXLE_ADMIN_LISTEN", "127.0.0.1:8080")]);
    assert_eq!(problem, "admin_listen: 127.0.0.1:8080 is also listen; they must differ");
    let any = [("AXLE_LISTEN", "127.0.0.1:0"), ("AXLE_ADMIN_LISTEN", "127.0.0.1:0")];
    assert!(load(&[], &any, "").is_ok());
}

#[test]
fn the_default_zone_is_one_that_schedules_know_and_not_the_hosts() {
    let zone = |env: &[_]| load(&[], env, "").map(|loaded| loaded.config.default_time_zone);
    assert_eq!(zone(&[("TZ", "Asia/Tokyo")]).unwrap(), "UTC");
    assert_eq!(zone(&[("AXLE_DEFAULT_TIME_ZONE", "Europe/Berlin")]).unwrap(), "Europe/Berlin");
    let problem = one_problem(&[("AXLE_DEFAULT_TIME_ZONE", "berlin")]);
    assert!(problem.starts_with("default_time_zone: AXLE_DEFAULT_TIME_ZONE is"), "{problem}");
    assert!(problem.contains("write Europe/Berlin; it must be an IANA time zone"), "{problem}");
}

#[test]
fn the_client_is_told_where_the_server_is_and_who_asks() {
    let remote = |env: &[(&str, &str)]| {
        let env = env.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        Remote::from_sources(Sources::new(BTreeMap::new(), env, None, read))
    };
    let nothing = remote(&[]).unwrap();
    assert_eq!((nothing.url.as_str(), nothing.token.is_none()), ("http://127.0.0.1:8080", true));
    let told = remote(&[("AXLE_URL", "https://a.example/"), ("AXLE_TOKEN_FILE", "/run/secret")]);
    let told = told.unwrap();
    assert_eq!((told.url.as_str(), told.token.unwrap().expose()), ("https://a.example", SECRET));
    let wrong = [("AXLE_URL", "a.example"), ("AXLE_TOKEN", "hunter 2")];
    let wrong = remote(&wrong).unwrap_err().to_string();
    assert!(wrong.contains("url: AXLE_URL: ") && wrong.contains("token: AXLE_TOKEN: "), "{wrong}");
    assert!(!wrong.contains("hunter"), "{wrong}");
    let both = remote(&[("AXLE_TOKEN", "a"), ("AXLE_TOKEN_FILE", "/run/secret")]).unwrap_err();
    assert!(both.to_string().contains("are both set"), "{both}");
}

#[test]
fn what_is_shown_is_a_settings_file_that_loads_to_the_same() {
    let env = [("AXLE_LOG", "warn,axle=debug"), ("AXLE_PUBLIC_URL", "https://a.example/")];
    let first = load(&[("roles", "puller")], &env, "").unwrap();
    let second = load(&[], &[], &first.show(true)).unwrap();
    assert_eq!(format!("{:?}", first.config), format!("{:?}", second.config));
    assert_eq!(first.show(false), second.show(false));
    assert!(first.show(false).contains("# jwt_issuer is not set\n"));
}

#[test]
fn flags_come_through_clap() {
    let command = Command::new("axle").args(flags());
    command.clone().debug_assert();
    let line = ["axle", "--lease", "45s", "--require-idempotency-key", "--listen=:1"];
    let matches = command.clone().try_get_matches_from(line).unwrap();
    let sources = Sources::of_flags(&matches);
    assert_eq!(
        sources.into_iter().map(|(key, text)| format!("{key}={text}")).collect::<Vec<_>>(),
        ["lease=45s", "listen=:1", "require_idempotency_key=true"]
    );
    assert!(command.try_get_matches_from(["axle", "--jwt-secret", SECRET]).is_err());
    let without = Command::new("axle").try_get_matches_from(["axle"]).unwrap();
    assert!(Sources::of_flags(&without).is_empty());
}

#[test]
fn the_readme_table_has_a_row_for_each_setting() {
    let table = markdown();
    assert_eq!(table.lines().count(), 2 + SETTINGS.len());
    let columns = |line: &str| line.matches('|').count();
    assert!(table.lines().all(|line| columns(line) == 6), "{table}");
    assert!(table.contains("| `lease` | `AXLE_LEASE` | `--lease` | `30s` | How long"), "{table}");
}
