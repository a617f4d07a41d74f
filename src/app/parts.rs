//! The parts that every role is made of, from settings.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use tokio::time::{Instant, sleep};

use crate::config::Config;
use crate::domain::egress::Egress;
use crate::domain::hidden::Hidden;
use crate::domain::quota::Quotas;
use crate::engine::login::Signer;
use crate::engine::secrets::{Keyring, Vault};
use crate::engine::{
    Access, Clock, Ctx, Group, Guard, Limits, Roster, Wake, every::back_off, quota,
};
use crate::hints::Redis;
use crate::store::{self, Store, StoreSettings, migrate};

/// How long a starting process waits for its database, which may be starting too.
const PATIENCE: Duration = Duration::from_secs(30);

/// How the store is reached.
pub fn store_settings(config: &Config, what: &str) -> StoreSettings {
    StoreSettings {
        url: config.database_url.expose().to_owned(),
        pool_size: config.database_pool,
        statement_timeout: config.statement_timeout,
        application_name: format!("axle {what}"),
    }
}

/// Redis, if one is set; nothing is connected to yet.
pub fn redis(config: &Config) -> anyhow::Result<Option<Redis>> {
    let url = config.redis_url.as_ref();
    url.map(|url| Redis::new(url.expose()).context("redis_url cannot be used")).transpose()
}

/// The database alone, once it is there and has the schema we know.
pub async fn store(config: &Config, what: &str) -> anyhow::Result<Store> {
    let store = Store::new(&store_settings(config, what))?;
    await_schema(&store).await?;
    Ok(store)
}

/// The context of every use case, over a database that is there and has the schema we know.
pub async fn ctx(config: &Config, what: &str) -> anyhow::Result<Ctx> {
    let store = store(config, what).await?;
    warn_of_durability(&store).await?;
    let clock = Clock::synced(&store).await.context("asking the database for its time")?;
    let shards = store::shards::list(&store).await.context("reading the shards")?;
    if shards.is_empty() {
        bail!("the table shards is empty: this database was not set up by `axle migrate up`");
    }
    let installation = store::clock::key(&store).await.context("reading the callback key")?;
    // Whoever has only the database cannot forge a callback if a secret key is set.
    let secret_keys = config.secret_keys();
    let mut callback_keys =
        secret_keys.iter().map(|key| [&installation, key.expose().as_bytes()].concat());
    let callback_key = callback_keys.next().unwrap_or_else(|| installation.clone());
    let other_callback_keys = callback_keys.collect();
    let vault = Vault::open(&store, keyring(config)).await?;
    let limits = Limits {
        max_payload: config.max_payload,
        idempotency_ttl: config.idempotency_ttl,
        retention: config.retention,
        lease: config.lease,
        public_url: public_url(config),
        people_url: config.public_url.clone(),
        callback_key,
        other_callback_keys,
        default_time_zone: config.default_time_zone.clone(),
        guard: guard(config),
        vault: vault.map(Arc::new),
    };
    let (roster, wake) = (Roster::default(), Wake::default());
    Ok(Ctx {
        group: Group::new(store.clone(), wake.clone()),
        store,
        clock,
        wake,
        shards: Arc::from(shards),
        limits: Arc::new(limits),
        access: Access::new(signer(config)),
        quotas: quota::Desk::new(roster.clone(), quotas(config)),
        roster,
    })
}

/// What teams may use that have no limits of their own.
fn quotas(config: &Config) -> Quotas {
    let limit = |set: Option<usize>| set.and_then(|limit| u64::try_from(limit).ok());
    Quotas {
        writes_per_second: limit(config.team_writes_per_second),
        unfinished_jobs: limit(config.team_unfinished_jobs),
        schedules: limit(config.team_schedules),
        payload_bytes: limit(config.team_payload_bytes),
        concurrent_runs: limit(config.team_concurrent_runs),
    }
}

/// What people's tokens are signed with: the secret that all tokens are verified with, if that is how.
fn signer(config: &Config) -> Option<Signer> {
    config.jwt_secret.as_ref().map(|secret| Signer {
        secret: secret.expose().as_bytes().to_vec(),
        issuer: config.jwt_issuer.clone(),
        audience: config.jwt_audience.clone(),
    })
}

/// What may be called. The listeners are those of this process; others run elsewhere, and are met by
/// what their addresses are.
pub fn guard(config: &Config) -> Guard {
    let api = config.roles.api.then_some(config.listen);
    let egress = Egress {
        allow: config.target_allow.clone(),
        deny: config.target_deny.clone(),
        allow_private: config.allow_private_targets,
        own: api.into_iter().chain([config.admin_listen]).collect(),
        ..Egress::default()
    };
    Guard::new(egress, config.egress_proxy.clone())
}

/// What an operator should know who has opened private addresses to every caller.
pub const OPEN: &str = "allow_private_targets is on: whoever may register a job can make Axle call \
                        this machine and its private networks; name what is needed in target_allow \
                        instead";

/// The keys that secrets are sealed with, if any is set.
pub fn keyring(config: &Config) -> Option<Keyring> {
    let keys: Vec<_> = config.secret_keys().iter().map(|key| Hidden::new(key.expose())).collect();
    Keyring::new(&keys)
}

/// An answered registration is durable only as far as the database is (trust.md section 2).
async fn warn_of_durability(store: &Store) -> anyhow::Result<()> {
    let off = store::settings::durability(store).await?;
    if !off.is_empty() {
        let off = off.join(", ");
        tracing::warn!(off, "a crash of the database may lose jobs that were answered 201");
    }
    Ok(())
}

/// Waits until the database answers, and refuses a schema that is not the one we know.
async fn await_schema(store: &Store) -> anyhow::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    let mut errors = 0;
    loop {
        match migrate::status(store).await {
            Ok(status) if status.is_current() => {
                return status
                    .unknown()
                    .map_or(Ok(()), |newer| Err(migrate::too_new(newer).into()));
            }
            Ok(_) => bail!("the database has migrations pending: run `axle migrate up` first"),
            Err(store::Error::Busy(cause)) if Instant::now() < deadline => {
                errors += 1;
                tracing::warn!(cause, "waiting for the database");
                sleep(back_off(errors)).await;
            }
            Err(error) => return Err(error).context("the database cannot be used"),
        }
    }
}

/// Where targets reach the API: as set, or the address that it listens on.
pub fn public_url(config: &Config) -> String {
    let scheme = if config.tls_cert.is_some() { "https" } else { "http" };
    let here = || format!("{scheme}://{}", reachable(config.listen));
    config.public_url.clone().unwrap_or_else(here)
}

/// An address to connect to, for one to listen on: a wildcard becomes loopback.
pub fn reachable(mut listen: SocketAddr) -> SocketAddr {
    if listen.ip().is_unspecified() {
        let loopback: std::net::IpAddr = match listen {
            SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
        };
        listen.set_ip(loopback);
    }
    listen
}
