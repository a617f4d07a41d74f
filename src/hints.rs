//! Redis, where there is one: it passes hints between processes sooner than PostgreSQL does. Nothing is
//! kept there, and it may vanish at any moment: every wait for it has an end, and nobody waits for it
//! who has work to do. What is lost with it PostgreSQL's own hints and the pullers' looks bring up.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use deadpool_redis::redis::aio::PubSub;
use deadpool_redis::redis::{self, Client, Cmd, Value, cmd};
use deadpool_redis::{Config, Connection, Pool, Runtime};
use futures_util::StreamExt as _;
use sha2::{Digest as _, Sha256};
use tokio::time::{sleep, timeout};

/// A Redis server; cheap to clone.
#[derive(Clone)]
pub struct Redis {
    pool: Pool,
    client: Client,
    /// What the channels of this installation begin with.
    prefix: Arc<str>,
    is_up: Arc<AtomicBool>,
}

/// A connection that hints are sent over; made when it is first needed, and again when it broke.
#[derive(Default)]
pub struct Speaker(Option<Connection>);

/// Redis did not do it, in words for an operator.
#[derive(Debug, thiserror::Error)]
#[error("Redis: {0}")]
pub struct Error(String);

/// A hint is worth nothing after a longer wait for a connection or an answer.
const PATIENCE: Duration = Duration::from_millis(250);
/// How often a connection over which nothing comes is asked whether it still stands.
const SILENCE: Duration = Duration::from_secs(5);

impl Redis {
    /// The server at a `redis://` URL. Nothing is connected to yet.
    pub fn new(url: &str) -> Result<Self, Error> {
        let pool = Config::from_url(url)
            .builder()
            .map_err(|error| Error(error.to_string()))?
            .max_size(1)
            .wait_timeout(Some(PATIENCE))
            .create_timeout(Some(PATIENCE))
            .recycle_timeout(Some(PATIENCE))
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(|error| Error(error.to_string()))?;
        let client = Client::open(url)?;
        Ok(Self { pool, client, prefix: Arc::from("axle:"), is_up: Arc::default() })
    }

    /// The same with channels of its own; `installation` is what all processes of one installation
    /// know and those of no other.
    #[must_use]
    pub fn within(&self, installation: &[u8]) -> Self {
        let hash = Sha256::new().chain_update("hints").chain_update(installation).finalize();
        let mark = hash.iter().take(8).fold(0_u64, |mark, byte| mark << 8 | u64::from(*byte));
        Self { prefix: format!("axle:{mark:016x}:").into(), ..self.clone() }
    }

    /// Whether the last thing that it was asked to do succeeded.
    pub fn is_up(&self) -> bool {
        self.is_up.load(Ordering::Relaxed)
    }

    /// Sends a text to everybody who listens to a topic.
    pub async fn publish(
        &self,
        speaker: &mut Speaker,
        (topic, text): (&str, &str),
    ) -> Result<(), Error> {
        self.ask(speaker, cmd("PUBLISH").arg(self.channel(topic)).arg(text)).await
    }

    /// Looks whether it is there.
    pub async fn ping(&self, speaker: &mut Speaker) -> Result<(), Error> {
        self.ask(speaker, &cmd("PING")).await
    }

    async fn ask(&self, Speaker(connection): &mut Speaker, what: &Cmd) -> Result<(), Error> {
        let ask = async {
            let mut speaking = match connection.take() {
                Some(standing) => standing,
                None => self.pool.get().await.map_err(|error| Error(error.to_string()))?,
            };
            what.query_async::<Value>(&mut speaking).await?;
            // One that broke, or was given up in the middle, is not used again.
            *connection = Some(speaking);
            Ok(())
        };
        let answered = timeout(PATIENCE, ask).await.unwrap_or_else(|_| Err(silent()));
        self.note(answered.is_ok());
        answered
    }

    /// Hands every text of some topics to `heard`, with its topic, until the connection ends; `begun` is
    /// called once nothing more is missed.
    pub async fn listen(
        &self,
        topics: &[&str],
        begun: impl FnOnce(),
        heard: impl FnMut(&str, &str),
    ) -> Result<(), Error> {
        let listened = match timeout(PATIENCE, self.subscribe(topics)).await {
            Ok(Ok(listening)) => {
                self.note(true);
                begun();
                self.hear(listening, heard).await
            }
            Ok(Err(error)) => Err(error),
            Err(_elapsed) => Err(silent()),
        };
        self.note(listened.is_ok());
        listened
    }

    async fn subscribe(&self, topics: &[&str]) -> Result<PubSub, Error> {
        let channels: Vec<String> = topics.iter().map(|topic| self.channel(topic)).collect();
        let mut listening = self.client.get_async_pubsub().await?;
        listening.subscribe(&channels).await?;
        Ok(listening)
    }

    async fn hear(
        &self,
        listening: PubSub,
        mut heard: impl FnMut(&str, &str),
    ) -> Result<(), Error> {
        let (mut asking, mut messages) = listening.split();
        loop {
            tokio::select! {
                message = messages.next() => {
                    let Some(message) = message else { return Err(Error("it hung up".to_owned())) };
                    let topic = message.get_channel_name().strip_prefix(&*self.prefix);
                    // Anybody may send to a channel: what is no text is no hint.
                    if let (Some(topic), Ok(text)) = (topic, str::from_utf8(message.get_payload_bytes())) {
                        heard(topic, text);
                    }
                }
                () = sleep(SILENCE) => {
                    timeout(PATIENCE, asking.ping::<Value>()).await.or(Err(silent()))??;
                }
            }
        }
    }

    fn channel(&self, topic: &str) -> String {
        [&self.prefix, topic].concat()
    }

    fn note(&self, is_up: bool) {
        self.is_up.store(is_up, Ordering::Relaxed);
    }
}

impl fmt::Debug for Redis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redis").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

impl From<redis::RedisError> for Error {
    fn from(error: redis::RedisError) -> Self {
        Self(error.to_string())
    }
}

fn silent() -> Error {
    Error(format!("no answer within {} ms", PATIENCE.as_millis()))
}
