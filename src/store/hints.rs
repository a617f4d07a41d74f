//! Hints between processes, over NOTIFY. The payload is a list of `shard:microseconds`.

use std::future::poll_fn;

use chrono::{DateTime, Utc};
use tokio_postgres::AsyncMessage;

use super::{Error, Store, sql};
use crate::domain::id::Shard;

/// PostgreSQL takes payloads of up to 7,999 bytes; a shard and its time take at most 22.
const MOST: usize = 300;

/// What a hint is about; each is a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// Jobs that are due.
    Jobs,
    /// Slots of schedules.
    Slots,
}

impl Topic {
    const fn channel(self) -> &'static str {
        match self {
            Self::Jobs => "axle_due",
            Self::Slots => "axle_slots",
        }
    }
}

/// Tells every listening process.
pub async fn notify(
    store: &Store,
    topic: Topic,
    dues: &std::collections::BTreeMap<Shard, DateTime<Utc>>,
) -> Result<(), Error> {
    let words: Vec<String> = dues
        .iter()
        .take(MOST)
        .map(|(shard, due_at)| format!("{}:{}", shard.0, due_at.timestamp_micros()))
        .collect();
    store.query(sql!("hints/notify"), &[&topic.channel(), &words.join(",")]).await.map(drop)
}

/// Hands every notification to `heard`, until the connection ends.
pub async fn listen(
    store: &Store,
    mut heard: impl FnMut(Topic, Vec<(Shard, DateTime<Utc>)>),
) -> Result<(), Error> {
    let (client, mut connection) = store.dedicated().await?;
    // The connection is driven here; LISTEN is sent by its first poll.
    let listening = client.batch_execute(sql!("hints/listen").text);
    tokio::pin!(listening);
    let mut asked = false;
    loop {
        tokio::select! {
            done = &mut listening, if !asked => {
                done?;
                asked = true;
            }
            message = poll_fn(|cx| connection.poll_message(cx)) => match message {
                Some(Ok(AsyncMessage::Notification(note))) => {
                    let topics = [Topic::Jobs, Topic::Slots];
                    let topic = topics.into_iter().find(|topic| topic.channel() == note.channel());
                    if let Some(topic) = topic {
                        heard(topic, read(note.payload()));
                    }
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error.into()),
                None => return Err(Error::closed()),
            },
        }
    }
}

/// Words that are no hints are passed over: anybody may send to a channel.
fn read(payload: &str) -> Vec<(Shard, DateTime<Utc>)> {
    payload
        .split(',')
        .filter_map(|word| {
            let (shard, micros) = word.split_once(':')?;
            let due_at = DateTime::from_timestamp_micros(micros.parse().ok()?)?;
            Some((Shard(shard.parse().ok()?), due_at))
        })
        .collect()
}
