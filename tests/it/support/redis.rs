//! A real Redis of a test's own, on a free port of loopback: stopped, held still and started again as
//! the test likes, and killed at its end.

use std::net::{Ipv4Addr, TcpListener};
use std::process::Stdio;

use deadpool_redis::redis::{Client, cmd};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::process::{Child, Command};

use super::program::eventually;
use super::target::PATIENCE;

/// The server; killed when dropped.
pub struct Redis {
    /// Where it is.
    pub url: String,
    port: u16,
    child: Child,
    folder: TempDir,
}

impl Redis {
    /// Starts one and waits until it answers.
    pub async fn start() -> Self {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let folder = tempfile::tempdir().unwrap();
        let child = spawn(port, &folder);
        let redis = Self { url: format!("redis://127.0.0.1:{port}/"), port, child, folder };
        redis.wait_until_it_answers().await;
        redis
    }

    /// Ends it at once, as a crash does.
    pub async fn kill(&mut self) {
        self.child.kill().await.unwrap();
    }

    /// Starts it again where it was.
    pub async fn restart(&mut self) {
        self.child = spawn(self.port, &self.folder);
        self.wait_until_it_answers().await;
    }

    /// Holds it still: connections stand, and nothing is answered.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets it go on.
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    /// Sends bytes to every channel that somebody listens to; returns how many there are.
    pub async fn shout(&self, bytes: &[u8]) -> usize {
        let client = Client::open(&*self.url).unwrap();
        let mut connection = client.get_multiplexed_async_connection().await.unwrap();
        let channels: Vec<String> =
            cmd("PUBSUB").arg("CHANNELS").query_async(&mut connection).await.unwrap();
        for channel in &channels {
            let mut publish = cmd("PUBLISH");
            publish.arg(channel).arg(bytes);
            publish.query_async::<i64>(&mut connection).await.unwrap();
        }
        channels.len()
    }

    async fn wait_until_it_answers(&self) {
        let client = Client::open(&*self.url).unwrap();
        eventually("Redis answers", PATIENCE, async || {
            let mut connection = client.get_multiplexed_async_connection().await.ok()?;
            cmd("PING").query_async::<String>(&mut connection).await.ok()
        })
        .await;
    }

    fn signal(&self, signal: Signal) {
        let id = self.child.id().expect("it runs");
        kill_process(Pid::from_raw(id.try_into().unwrap()).unwrap(), signal).unwrap();
    }
}

fn spawn(port: u16, folder: &TempDir) -> Child {
    let port = port.to_string();
    let mut command = Command::new("redis-server");
    command.args(["--port", &port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]);
    command.arg("--dir").arg(folder.path()).stdin(Stdio::null()).stdout(Stdio::null());
    let started = command.kill_on_drop(true).spawn();
    started.expect("redis-server is there: `.ci/setup test` installs it")
}
