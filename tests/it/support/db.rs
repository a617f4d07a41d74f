//! Real PostgreSQL for the tests: one private cluster per run of the test binary, and in it a
//! database per test, copied from a template that was migrated once.
//!
//! Databases are not dropped: all of them end with the cluster. Statics are never dropped either,
//! so a small watcher process ends the cluster when this process has ended, however it ended.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axle::dev::{Cluster, Durability, Options};
use axle::store::{Store, StoreSettings, migrate};
use tokio::runtime::Builder;
use tokio::sync::OnceCell;
use tokio_postgres::{Client, NoTls, Row};
use tokio_util::task::TaskTracker;

use super::target::PATIENCE;

/// The name of the database that every other one is copied from.
const TEMPLATE: &str = "template";

/// A database of one test.
pub struct Db {
    /// A pool of connections to it.
    pub store: Store,
    /// Where it is reached, as the superuser.
    pub url: String,
    /// A connection beside the pool, made when it is first needed.
    aside: OnceCell<Client>,
}

impl Db {
    /// A migrated database with nothing in it.
    pub async fn new() -> Self {
        Self::create(&format!("TEMPLATE {TEMPLATE}")).await
    }

    /// A database that was never migrated.
    pub async fn empty() -> Self {
        Self::create("").await
    }

    async fn create(how: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("test_{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let server = server();
        let admin = connect(&server.url("axle")).await;
        admin.batch_execute(&format!("CREATE DATABASE {name} {how}")).await.unwrap();
        Self::at(server.url(&name))
    }

    /// The database that another test, on a runtime of its own, made at `url`.
    pub fn at(url: String) -> Self {
        Self { store: store(&url, 16), url, aside: OnceCell::new() }
    }

    /// Another pool, as another process would have.
    pub fn another_store(&self) -> Store {
        store(&self.url, 4)
    }

    /// A connection of the caller's own.
    pub async fn connect(&self) -> Client {
        connect(&self.url).await
    }

    /// Runs text that is not a statement of the store.
    pub async fn execute(&self, text: &str) {
        self.aside().await.batch_execute(text).await.unwrap();
    }

    /// The one row of a question that is not a statement of the store.
    pub async fn ask(&self, text: &str) -> Row {
        self.aside().await.query_one(text, &[]).await.unwrap()
    }

    async fn aside(&self) -> &Client {
        self.aside.get_or_init(|| self.connect()).await
    }

    /// Waits until `count` sessions of this database wait for a lock.
    pub async fn wait_for_lock_waiters(&self, count: i64) {
        self.wait_for_sessions("wait_event_type = 'Lock'", count).await;
    }

    /// Waits until `count` sessions of this database have a transaction open and nothing to do.
    pub async fn wait_for_open_transactions(&self, count: i64) {
        self.wait_for_sessions("state = 'idle in transaction'", count).await;
    }

    async fn wait_for_sessions(&self, condition: &str, count: i64) {
        let client = self.connect().await;
        let question = format!(
            "SELECT count(*) FROM pg_stat_activity \
             WHERE datname = current_database() AND {condition}"
        );
        let reached = async {
            while client.query_one(&question, &[]).await.unwrap().get::<_, i64>(0) < count {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let in_time = tokio::time::timeout(PATIENCE, reached).await;
        in_time.unwrap_or_else(|_| panic!("no {count} sessions with {condition}"));
    }

    /// Deadlocks that PostgreSQL has had to end in this database. Ends every other session: they
    /// count when they leave.
    pub async fn deadlocks(&self) -> i64 {
        let client = self.connect().await;
        let end = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity \
                   WHERE datname = current_database() AND pid <> pg_backend_pid()";
        client.query(end, &[]).await.unwrap();
        let count = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
        client.query_one(count, &[]).await.unwrap().get(0)
    }
}

fn store(url: &str, pool_size: usize) -> Store {
    let settings = StoreSettings {
        url: url.to_owned(),
        pool_size,
        statement_timeout: Duration::from_secs(30),
        application_name: "axle-tests".to_owned(),
    };
    Store::new(&settings).unwrap()
}

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    // It ends when the client is dropped.
    TaskTracker::new().spawn(connection);
    client
}

/// The cluster of this run, and who ends it.
struct Server {
    cluster: Cluster,
    /// Holds our end of the watcher's pipe.
    _watcher: Child,
}

impl Server {
    fn url(&self, database: &str) -> String {
        self.cluster.url(database)
    }
}

/// Starts the cluster when the first test asks. Every test has a runtime of its own, so this needs
/// one that is nobody's.
fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| {
        let start =
            || Builder::new_current_thread().enable_all().build().unwrap().block_on(start());
        std::thread::spawn(start).join().expect("PostgreSQL starts")
    })
}

async fn start() -> Server {
    let dir = tempfile::Builder::new().prefix("axle-it-").tempdir().unwrap().keep();
    let watcher = watch(&dir);
    let cluster = Cluster::start(Options {
        data_dir: dir,
        durability: Durability::Ephemeral,
        pg_bin: None,
        max_connections: 200,
        settings: vec![
            ("shared_buffers".to_owned(), "256MB".to_owned()),
            ("max_wal_size".to_owned(), "4GB".to_owned()),
            ("log_checkpoints".to_owned(), "off".to_owned()),
        ],
    });
    let cluster = cluster.await.unwrap();
    let admin = connect(&cluster.url("axle")).await;
    admin.batch_execute(&format!("CREATE DATABASE {TEMPLATE}")).await.unwrap();
    migrate::up(&store(&cluster.url(TEMPLATE), 1), [7; 32]).await.unwrap();
    // A database that somebody is connected to cannot be copied.
    let leave = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = $1";
    admin.query(leave, &[&TEMPLATE]).await.unwrap();
    Server { cluster, _watcher: watcher }
}

/// A shell that reads a pipe whose other end only this process holds: end of file means that this
/// process has ended, by return, panic or signal. Then it stops the server and removes its folder.
fn watch(dir: &Path) -> Child {
    const SCRIPT: &str = r#"
        cat
        if read -r pid < "$1/data/postmaster.pid"; then
            kill -QUIT "$pid"
            for _ in $(seq 200); do [ -e "$1/data/postmaster.pid" ] || break; sleep 0.05; done
        fi
        rm -rf "$1"
    "#;
    Command::new("/bin/sh")
        .args(["-c", SCRIPT, "axle-it-watcher"])
        .arg(dir)
        .stdin(Stdio::piped())
        // Whoever reads our output must not wait for the watcher to close it.
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // Out of reach of a Ctrl-C, which is meant for us.
        .process_group(0)
        .spawn()
        .unwrap()
}
