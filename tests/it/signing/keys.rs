//! `AXLE_SECRET_KEY`: the wrong one is refused before anything is done with it, and it can be changed.

use std::sync::Arc;
use std::time::Duration;

use axle::domain::hidden::Hidden;
use axle::engine::secrets::{CannotOpen, Keyring, Purpose, Vault};
use axle::engine::{Limits, rewrap, run_token};
use reqwest::Method;
use serde_json::{Value, json};

use super::{make, place, rotate};
use crate::support::db::Db;
use crate::support::engine::{Engine, SECRET_KEY, vault};
use crate::support::process::Server;
use crate::support::program::axle;
use crate::support::rig::{PATH, Rig};
use crate::support::target::PATIENCE;

const OLD: &str = SECRET_KEY[0];
const NEW: &str = "another secret key of the tests with 40 bytes";

fn ring(keys: &[&str]) -> Keyring {
    let keys: Vec<_> = keys.iter().copied().map(Hidden::new).collect();
    Keyring::new(&keys).unwrap()
}

#[test]
fn what_is_sealed_opens_only_for_what_it_was_sealed_for() {
    let keys = ring(&[OLD]);
    let purpose = Purpose::Header("Authorization", "https://a.example");
    let sealed = keys.seal("acme", purpose, b"Bearer x").unwrap();
    assert!(sealed.starts_with(&keys.newest_prefix()), "{sealed}");
    assert_ne!(sealed, keys.seal("acme", purpose, b"Bearer x").unwrap(), "each has its own nonce");
    let same = Purpose::Header("authorization", "https://a.example");
    assert_eq!(keys.open("acme", same, &sealed).as_deref(), Ok(&b"Bearer x"[..]));
    for (team, other) in [
        ("rival", purpose),
        ("acme", Purpose::Header("X-Key", "https://a.example")),
        ("acme", Purpose::Header("Authorization", "https://b.example")),
        ("acme", Purpose::Header("Authorization", "https://a.example:444")),
        ("acme", Purpose::Masks),
        ("", Purpose::Masks),
    ] {
        assert_eq!(keys.open(team, other, &sealed), Err(CannotOpen::Altered), "{team} {other:?}");
    }
    let (id, encoded) = sealed.split_once('.').unwrap();
    for n in 0..encoded.len() {
        let mut bytes = encoded.as_bytes().to_vec();
        bytes[n] = if bytes[n] == b'A' { b'B' } else { b'A' };
        let altered = format!("{id}.{}", String::from_utf8(bytes).unwrap());
        assert_eq!(keys.open("acme", purpose, &altered), Err(CannotOpen::Altered), "{n}");
    }
    for cut in ["", ".", "x", id, &format!("{id}."), &format!("{id}.AAAA")] {
        assert!(keys.open("acme", purpose, cut).is_err(), "{cut}");
    }
}

#[test]
fn the_first_key_seals_and_all_open() {
    let (old, both, new) = (ring(&[OLD]), ring(&[NEW, OLD]), ring(&[NEW]));
    let sealed = old.seal("acme", Purpose::Masks, b"x").unwrap();
    assert_eq!(both.open("acme", Purpose::Masks, &sealed).as_deref(), Ok(&b"x"[..]));
    let unknown = CannotOpen::UnknownKey(old.ids()[0].to_owned());
    assert_eq!(new.open("acme", Purpose::Masks, &sealed), Err(unknown));
    let again = both.reseal("acme", Purpose::Masks, &sealed).unwrap().unwrap();
    assert_eq!(new.open("acme", Purpose::Masks, &again).as_deref(), Ok(&b"x"[..]));
    assert!(Keyring::new(&[]).is_none());
}

#[tokio::test]
async fn a_wrong_or_missing_key_starts_no_server_and_changes_nothing() {
    let db = Db::new().await;
    vault(&db.store, &[OLD]).await.unwrap();
    let row = "SELECT sealed FROM vault";
    let before: String = db.ask(row).await.get(0);
    let env = |key: &'static str| {
        let mut env = vec![
            ("AXLE_DATABASE_URL", db.url.as_str()),
            ("AXLE_JWT_SECRET", OLD),
            ("AXLE_LISTEN", "127.0.0.1:0"),
            ("AXLE_ADMIN_LISTEN", "127.0.0.2:0"),
        ];
        env.extend((!key.is_empty()).then_some(("AXLE_SECRET_KEY", key)));
        env
    };
    for (key, sentence) in [
        (NEW, "AXLE_SECRET_KEY does not open the secrets of this database"),
        ("", "AXLE_SECRET_KEY is not set, and this database holds secrets"),
        ("short", "random text of at least 32 bytes"),
    ] {
        for command in [&["serve"][..], &["secrets", "rewrap"]] {
            let ended = axle(command, &env(key)).await;
            assert_eq!(ended.code, Some(1), "{command:?} {key}: {ended:?}");
            assert!(ended.err.contains(sentence), "{command:?} {key}: {ended:?}");
            assert!(!ended.err.contains(NEW) && !ended.err.contains(OLD), "{ended:?}");
        }
        let doctor = axle(&["doctor"], &env(key)).await;
        assert_eq!(doctor.code, Some(1), "{doctor:?}");
    }
    assert_eq!(db.ask(row).await.get::<_, String>(0), before);
    let doctor = axle(&["doctor"], &env(OLD)).await;
    assert!(doctor.out.contains("ok    secrets: AXLE_SECRET_KEY opens them"), "{doctor:?}");
}

#[tokio::test]
async fn processes_that_start_at_the_same_time_agree_on_one_canary() {
    let db = Db::new().await;
    let all = (0..8).map(|_| vault(&db.store, &[OLD]));
    let vaults = futures_util::future::join_all(all).await;
    let team = axle::domain::principal::Team::parse("acme").unwrap();
    let masks: std::collections::BTreeSet<_> =
        vaults.iter().map(|vault| vault.as_ref().unwrap().mask(&team, b"x")).collect();
    assert_eq!(masks.len(), 1, "{masks:?}");
}

/// The same parts with another key.
async fn under(rig: &Engine, keys: &[&str]) -> axle::engine::Ctx {
    let vault = vault(&rig.store, keys).await.map(Arc::new);
    let limits = Limits { vault, ..(*rig.limits).clone() };
    axle::engine::Ctx { limits: Arc::new(limits), ..rig.ctx.clone() }
}

#[tokio::test]
async fn rewrap_seals_everything_with_the_newest_key() {
    let rig = Rig::new().await;
    let secret = make(&rig, Value::Null).await;
    rotate(&rig, 600_000).await;
    let target = json!({"url": rig.target.url(PATH), "secret_headers": {"X-Key": "k"}});
    let job = json!({"target": target, "delay_ms": 60_000});
    let (_, made) = rig.tell(Method::POST, "/v1/jobs", &job).await;
    let definition = json!({"spec": {"cron": "0 0 1 1 *"}, "job": {"target": target}});
    let (_, schedule) = rig.tell(Method::PUT, "/v1/schedules/nightly", &definition).await;

    let both = under(&rig, &[NEW, OLD]).await;
    let vault = both.limits.vault.clone().unwrap();
    let done = rewrap::rewrap(&both, &vault).await.unwrap();
    assert_eq!(
        (done.signing, done.jobs, done.schedules, done.left.len()),
        (2, 1, 1, 0),
        "{done:?}"
    );
    let again = rewrap::rewrap(&both, &vault).await.unwrap();
    assert_eq!((again.signing, again.jobs, again.schedules), (0, 0, 0), "{again:?}");
    // To its owner nothing has changed.
    let (_, seen) = rig.ask(Method::GET, "/v1/schedules/nightly").await;
    assert_eq!(seen, schedule);

    // The old key alone starts nothing any more; the new one alone does all.
    assert!(Vault::open(&rig.store, Some(ring(&[OLD]))).await.is_err());
    let mut only_new = Engine::on_with(Db::at(rig.db.url.clone()), &[NEW]).await;
    only_new.ctx.clock = rig.clock.clone();
    let puller = only_new.puller("new", 10);
    rig.pass(Duration::from_mins(1));
    puller.step().await.unwrap();
    let call = rig.target.wait_calls(PATH, 1, PATIENCE).await[0].clone();
    assert_eq!(call.header("x-key"), Some("k"));
    assert_eq!(place(&call, &secret), Some(1));
    assert_eq!(made["target"]["secret_headers"], schedule["job"]["target"]["secret_headers"]);
}

#[tokio::test]
async fn what_no_key_opens_is_told_and_the_old_key_stays_needed() {
    let rig = Rig::new().await;
    make(&rig, Value::Null).await;
    rig.db.execute("UPDATE signing_secrets SET sealed = '00000000.AAAA'").await;
    let both = under(&rig, &[NEW, OLD]).await;
    let vault = both.limits.vault.clone().unwrap();
    let done = rewrap::rewrap(&both, &vault).await.unwrap();
    assert_eq!(done.left.len(), 1, "{done:?}");
    assert!(done.left[0].contains("00000000, which is not in AXLE_SECRET_KEY"), "{done:?}");
    assert!(Vault::open(&rig.store, Some(ring(&[NEW]))).await.is_err());
    // And a call is not sent unsigned.
    rig.start(rig.job()).await;
    let class = crate::support::program::eventually("the call fails", PATIENCE, async || {
        let found = rig.db.ask("SELECT max(error_class) FROM runs").await;
        found.get::<_, Option<String>>(0)
    });
    assert_eq!(class.await, "signing");
    assert_eq!(rig.target.calls(PATH).len(), 0);
}

#[tokio::test]
async fn a_server_without_a_key_keeps_no_secret_and_works() {
    let db = Db::new().await;
    let server = Server::start(&db.url, "api", &[]).await;
    let api = server.api();
    let target = json!({"url": "http://127.0.0.1:9/", "secret_headers": {"X-Key": "k"}});
    for (path, body) in [
        ("/v1/signing/secrets", json!({})),
        ("/v1/signing/secrets/rotate", json!({})),
        ("/v1/signing/verify", json!({"headers": {}})),
        ("/v1/jobs", json!({"target": target})),
        (
            "/v1/schedules",
            json!({"name": "n", "spec": {"cron": "* * * * *"}, "job": {"target": target}}),
        ),
    ] {
        let (status, reply) = api.post(path, &body).await;
        assert_eq!(
            (status, &reply["code"]),
            (409, &json!("secret-key-missing")),
            "{path}: {reply}"
        );
    }
    api.create(&json!({"target": {"url": "http://127.0.0.1:9/"}, "delay_ms": 60_000})).await;
}

#[tokio::test]
async fn the_command_rewraps_and_callbacks_of_before_still_count() {
    let db = Db::new().await;
    let old = Server::start(&db.url, "api", &[("AXLE_SECRET_KEY", OLD)]).await;
    assert_eq!(old.api().post("/v1/signing/secrets", &json!({})).await.0, 201);
    let id = old.api().create(&json!({"target": {"url": "http://127.0.0.1:9/"}})).await;
    drop(old);
    let both = format!("{NEW},{OLD}");
    let env = [("AXLE_DATABASE_URL", db.url.as_str()), ("AXLE_SECRET_KEY", both.as_str())];
    let ended = axle(&["secrets", "rewrap"], &env).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.out.contains("1 signing secrets") && ended.out.contains("the others can go"),
        "{ended:?}"
    );

    // A run that the old key's process has sent calls back to one that has both.
    let server = Server::start(&db.url, "api", &[("AXLE_SECRET_KEY", both.as_str())]).await;
    let engine = Engine::on_with(Db::at(db.url.clone()), &[NEW]).await;
    let job = id.parse::<axle::domain::id::JobId>().unwrap();
    let now = axle::engine::clock::system_now();
    let session = engine.store.session().await.unwrap();
    let times = (now, now + Duration::from_mins(1));
    let claimed =
        axle::store::live::claim(&session, job.shard(), ("test", 10), times, None).await.unwrap().0;
    let run = claimed[0].run;
    let base = axle::store::clock::key(&engine.store).await.unwrap();
    for (key, status) in [(OLD, 200), (NEW, 200), ("a key that nobody has of 32 bytes or so", 401)]
    {
        let token = run_token::token(&[&base, key.as_bytes()].concat(), run);
        let path = format!("/v1/runs/{run}/callback?token={token}");
        let (found, reply) = server.api().post(&path, &json!({"status": "progress"})).await;
        assert_eq!(found, status, "{reply}");
    }
}
