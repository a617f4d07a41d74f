//! Hints between processes, over NOTIFY.

use std::future::poll_fn;

use tokio_postgres::AsyncMessage;

use super::{Error, Store, sql};

/// What a hint is about; each is a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// Jobs that are due.
    Jobs,
    /// Slots of schedules.
    Slots,
}

impl Topic {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Jobs, Self::Slots];

    /// The channel's name.
    pub const fn channel(self) -> &'static str {
        match self {
            Self::Jobs => "axle_due",
            Self::Slots => "axle_slots",
        }
    }

    /// The topic with this channel.
    pub fn of(channel: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|topic| topic.channel() == channel)
    }
}

/// Tells every listening process; PostgreSQL takes texts of up to 7,999 bytes.
pub async fn notify(store: &Store, topic: Topic, text: &str) -> Result<(), Error> {
    store.query(sql!("hints/notify"), &[&topic.channel(), &text]).await.map(drop)
}

/// Hands every notification to `heard`, until the connection ends.
pub async fn listen(store: &Store, mut heard: impl FnMut(Topic, &str)) -> Result<(), Error> {
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
                    if let Some(topic) = Topic::of(note.channel()) {
                        heard(topic, note.payload());
                    }
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error.into()),
                None => return Err(Error::closed()),
            },
        }
    }
}
