//! `axle doctor`: looks at everything that a server needs, and says what is wrong in one go.

use std::time::Duration;

use tokio::time::Instant;

use super::{auth, certificate, parts};
use crate::config::Config;
use crate::engine::clock::system_now;
use crate::engine::invoke::Invoker;
use crate::engine::secrets::Vault;
use crate::hints::{Redis, Speaker};
use crate::store::{self, Store, migrate};

/// What one check found.
#[derive(Debug)]
pub struct Finding {
    /// What was looked at.
    pub what: &'static str,
    /// Good news, or what is wrong and what to do.
    pub found: Result<String, String>,
}

/// Looks at everything.
pub async fn examine(config: &Config) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut say = |what, found| findings.push(Finding { what, found });
    let tokens = auth::from_config(config).map(|_| "a key is set".to_owned());
    if config.roles.api {
        say("callers", tokens.map_err(|error| format!("{error:#}")));
        say("TLS", certificate::examine(config, system_now()));
    }
    let guard = parts::guard(config);
    let client = Invoker::new(&parts::public_url(config), &guard);
    say("HTTP client", client.map(|_| "ready".into()).map_err(|error| error.to_string()));
    let closed = "closed, save what target_allow names".to_owned();
    say("targets", if guard.is_open() { Err(parts::OPEN.to_owned()) } else { Ok(closed) });
    let url = parts::public_url(config);
    let reachable = config.public_url.is_some();
    say(
        "public URL",
        if reachable {
            Ok(format!("targets call back at {url}"))
        } else {
            Ok(format!("not set: targets call back at {url}, which only this machine reaches"))
        },
    );
    match parts::redis(config) {
        Ok(None) => {}
        Ok(Some(redis)) => say("Redis", look_at(&redis).await),
        Err(error) => say("Redis", Err(format!("{error:#}"))),
    }
    match Store::new(&parts::store_settings(config, "doctor")) {
        Err(error) => say("database", Err(error.to_string())),
        Ok(store) => database(&store, config, &mut say).await,
    }
    findings
}

async fn database(
    store: &Store,
    config: &Config,
    say: &mut impl FnMut(&'static str, Result<String, String>),
) {
    let asked = Instant::now();
    let status = migrate::status(store).await;
    let took = asked.elapsed();
    match status {
        Err(error) => return say("database", Err(error.to_string())),
        Ok(status) => {
            say("database", Ok(format!("answers in {took:?}")));
            let current = status.is_current();
            let pending = "migrations are pending: run `axle migrate up`".to_owned();
            say("schema", if current { Ok("up to date".into()) } else { Err(pending) });
            if current {
                say("secrets", secrets(store, config).await);
            }
        }
    }
    match store::settings::durability(store).await {
        Ok(off) if off.is_empty() => say("durability", Ok("on".into())),
        Ok(off) => {
            let advice = "a crash of the database may lose jobs that were answered 201";
            say("durability", Err(format!("{} off: {advice}", off.join(", "))));
        }
        Err(error) => say("durability", Err(error.to_string())),
    }
    let round_trip = Instant::now();
    if store.session().await.is_ok() && round_trip.elapsed() > Duration::from_millis(50) {
        say(
            "latency",
            Err("a connection takes more than 50 ms: put Axle near its database".into()),
        );
    }
}

/// Nothing is lost without it; but whoever names one wants it.
async fn look_at(redis: &Redis) -> Result<String, String> {
    match redis.ping(&mut Speaker::default()).await {
        Ok(()) => Ok("passes hints on".to_owned()),
        Err(error) => Err(format!("{error}; hints come by PostgreSQL alone")),
    }
}

/// Whether the secret key is the one that this database needs.
async fn secrets(store: &Store, config: &Config) -> Result<String, String> {
    match Vault::look(store, parts::keyring(config).as_ref()).await {
        Ok(true) => Ok("AXLE_SECRET_KEY opens them".into()),
        Ok(false) => {
            Ok("AXLE_SECRET_KEY is not set: calls cannot be signed, and no secret is kept".into())
        }
        Err(error) => Err(error.to_string()),
    }
}
