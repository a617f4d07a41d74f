//! Migrations: any number of processes at once, and what is refused.

use axle::store::Error;
use axle::store::migrate::{self, MIGRATIONS};
use futures_util::future::join_all;

use crate::support::db::Db;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn processes_that_migrate_at_once_do_it_once() {
    let db = Db::empty().await;
    let stores: Vec<_> = (0..8).map(|_| db.another_store()).collect();
    let ups = stores.iter().zip(1_u8..).map(|(store, nth)| migrate::up(store, [nth; 32]));
    let mut applied: Vec<_> = join_all(ups).await.into_iter().map(|up| up.unwrap().len()).collect();
    applied.sort_unstable();
    assert_eq!(applied, [0, 0, 0, 0, 0, 0, 0, MIGRATIONS.len()]);
    let row = db.ask("SELECT count(*) AS lines FROM schema_migrations").await;
    assert_eq!(usize::try_from(row.get::<_, i64>("lines")).unwrap(), MIGRATIONS.len());
    let key = axle::store::clock::key(&db.store).await.unwrap();
    assert!(key.len() == 32 && key.iter().all(|byte| *byte == key[0]), "one key, of one of them");
}

#[tokio::test]
async fn the_status_tells_what_is_pending_and_changes_nothing() {
    let db = Db::empty().await;
    for _ in 0..2 {
        let status = migrate::status(&db.store).await.unwrap();
        assert!(!status.is_current());
        assert_eq!(status.migrations.len(), MIGRATIONS.len());
        assert!(status.migrations.iter().all(|line| line.applied_at.is_none()));
    }
    migrate::up(&db.store, [1; 32]).await.unwrap();
    let status = migrate::status(&db.store).await.unwrap();
    assert!(status.is_current());
    assert!(migrate::up(&db.store, [2; 32]).await.unwrap().is_empty(), "nothing is left to do");
    assert_eq!(axle::store::clock::key(&db.store).await.unwrap(), [1; 32], "the key stays");
}

fn assert_broken<T: std::fmt::Debug>(result: Result<T, Error>, words: &str) {
    match result {
        Err(Error::Broken(text)) => assert!(text.contains(words), "{text}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_migration_that_was_changed_after_it_ran_is_refused() {
    let db = Db::new().await;
    db.execute("UPDATE schema_migrations SET checksum = '\\x00' WHERE version = 1").await;
    assert_broken(migrate::up(&db.store, [1; 32]).await, "(init) was changed after");
    assert_broken(migrate::status(&db.store).await, "(init) was changed after");
}

#[tokio::test]
async fn a_database_newer_than_the_binary_is_not_touched() {
    let db = Db::new().await;
    let newer = "INSERT INTO schema_migrations VALUES (9999, 'future', '', '9.9.9', '2030-01-01')";
    db.execute(newer).await;
    assert_broken(migrate::up(&db.store, [1; 32]).await, "migration 9999 (future)");
    // A process that runs goes on: what it knows is there.
    let status = migrate::status(&db.store).await.unwrap();
    assert!(status.is_current());
    assert_eq!(status.unknown().map(|line| (line.version, &*line.name)), Some((9999, "future")));
}

#[tokio::test]
async fn a_migration_that_fails_leaves_nothing_behind() {
    let db = Db::empty().await;
    // The last thing that the first migration makes is in the way.
    db.execute("CREATE TABLE standing ()").await;
    assert!(migrate::up(&db.store, [1; 32]).await.is_err());
    let row = db.ask("SELECT count(*) AS tables FROM pg_tables WHERE schemaname = 'public'").await;
    assert_eq!(row.get::<_, i64>("tables"), 1);
    db.execute("DROP TABLE standing").await;
    assert_eq!(migrate::up(&db.store, [1; 32]).await.unwrap().len(), MIGRATIONS.len());
}
