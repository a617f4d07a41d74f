//! What a path of the target can play, and the words in which a test writes it. Values only:
//! `serve` performs them.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use tokio::sync::mpsc;

use super::gate::Held;

/// What a path plays: one step per call; the last step repeats.
#[derive(Clone, Debug, Default)]
pub struct Script {
    steps: VecDeque<Play>,
}

impl Script {
    /// A script without steps, which answers 200 with an empty body.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds what the next call gets.
    pub fn then(mut self, play: impl Into<Play>) -> Self {
        self.steps.push_back(play.into());
        self
    }

    pub(super) fn next(&mut self) -> Play {
        let step = match self.steps.len() {
            0 | 1 => self.steps.front().cloned(),
            _ => self.steps.pop_front(),
        };
        step.unwrap_or_else(|| ok().into())
    }
}

impl From<Play> for Script {
    fn from(play: Play) -> Self {
        Self::new().then(play)
    }
}

impl From<Answer> for Script {
    fn from(answer: Answer) -> Self {
        Self::new().then(answer)
    }
}

/// What one call gets.
#[derive(Clone, Debug)]
pub enum Play {
    /// A well-formed answer.
    Answer(Answer),
    /// A stream of bytes, then the end of the connection.
    Flow(Flow),
    /// Nothing, for as long as the caller stays.
    Hang,
    /// The connection is reset (RST) without an answer.
    Reset,
    /// The connection is closed (FIN) without an answer.
    Close,
    /// What the test decides while the call is held; see [`super::Gate`].
    Gate(mpsc::UnboundedSender<Held>),
}

impl From<Answer> for Play {
    fn from(answer: Answer) -> Self {
        Self::Answer(answer)
    }
}

/// A well-formed answer. `Content-Length` is added where HTTP allows one, unless a header of the
/// script frames the body.
#[derive(Clone, Debug)]
pub struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, Vec<u8>)>,
    pub(super) body: Bytes,
    pub(super) delay: Duration,
    pub(super) callback_first: Vec<Value>,
    pub(super) callback_after: Vec<(Duration, Value)>,
    pub(super) afterwards: Afterwards,
}

/// What becomes of a connection when a call was played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Afterwards {
    /// It waits for the next request.
    Keep,
    /// It waits so long for the next request, then closes.
    KeepFor(Duration),
    /// It looks kept, and dies under the next request.
    Stale,
    /// It is closed.
    Close,
    /// It is reset.
    Reset,
}

impl Answer {
    /// Adds a header. Neither name nor value is checked: a test may want what HTTP forbids.
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    /// Sets the body.
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    /// Waits so long before the answer.
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Posts this callback and waits for its reply before the delay and the answer begin. Several
    /// are posted one after the other. `run_id` and `fence` are taken from the call where the
    /// object lacks them.
    pub fn callback_first(mut self, callback: Value) -> Self {
        self.callback_first.push(callback);
        self
    }

    /// Posts this callback so long after the answer was written, filled in as
    /// [`Self::callback_first`] says. Several are posted independently of each other.
    pub fn callback_after(mut self, after: Duration, callback: Value) -> Self {
        self.callback_after.push((after, callback));
        self
    }

    /// Announces `Connection: close` and closes.
    pub fn close(mut self) -> Self {
        self.afterwards = Afterwards::Close;
        self
    }

    /// Closes, unannounced, when the connection was idle for so long.
    pub fn close_idle(mut self, idle: Duration) -> Self {
        self.afterwards = Afterwards::KeepFor(idle);
        self
    }

    /// Keeps the connection, and closes it without reading as soon as the next request arrives.
    pub fn stale_keep_alive(mut self) -> Self {
        self.afterwards = Afterwards::Stale;
        self
    }
}

/// Bytes that end with the connection: `opening`, then `repeat` over and over until `total` bytes
/// of it are sent, then `closing`. Without a pace as fast as the caller reads.
#[derive(Clone, Debug)]
pub struct Flow {
    pub(super) opening: Bytes,
    pub(super) repeat: Bytes,
    pub(super) total: u64,
    pub(super) pace: Option<Duration>,
    pub(super) closing: Bytes,
}

/// For ever, in effect.
const ENDLESS: u64 = u64::MAX;

/// 200 with an empty body.
pub fn ok() -> Answer {
    status(200)
}

/// 202 with an empty body: in callback mode, "accepted".
pub fn accepted() -> Answer {
    status(202)
}

/// This status with an empty body.
pub fn status(status: u16) -> Answer {
    Answer {
        status,
        headers: Vec::new(),
        body: Bytes::new(),
        delay: Duration::ZERO,
        callback_first: Vec::new(),
        callback_after: Vec::new(),
        afterwards: Afterwards::Keep,
    }
}

/// This status with a JSON body.
pub fn json(code: u16, body: &Value) -> Answer {
    status(code).header("content-type", "application/json").body(body.to_string())
}

/// This status (301, 302, 303, 307, 308) with a `Location`.
pub fn redirect(code: u16, location: &str) -> Answer {
    status(code).header("location", location)
}

/// These bytes as they are, then the end of the connection. A body shorter than its announced
/// length, a status line that is none: whatever HTTP forbids.
pub fn raw(bytes: impl Into<Bytes>) -> Play {
    flow(bytes, Bytes::new(), 0, None)
}

/// These bytes, one per `pace`, then the end of the connection.
pub fn drip(bytes: impl Into<Bytes>, pace: Duration) -> Play {
    let bytes = bytes.into();
    let total = u64::try_from(bytes.len()).unwrap_or(ENDLESS);
    flow(Bytes::new(), bytes, total, Some(pace))
}

/// A header that grows by one byte per `pace`, for ever.
pub fn drip_head(pace: Duration) -> Play {
    flow("HTTP/1.1 200 OK\r\nx-drip: ", "a", ENDLESS, Some(pace))
}

/// A whole head, then a body that grows by one byte per `pace`, for ever.
pub fn drip_body(pace: Duration) -> Play {
    flow("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n", "a", ENDLESS, Some(pace))
}

/// 200 with so many zero bytes, as fast as the caller reads and at no cost in memory.
pub fn huge_body(len: u64) -> Play {
    let head = format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {len}\r\n\r\n");
    flow(head, &b"\0"[..], len, None)
}

/// 200 with header after header, for ever, as fast as the caller reads.
pub fn endless_headers() -> Play {
    flow("HTTP/1.1 200 OK\r\n", "x-more: of the same\r\n", ENDLESS, None)
}

/// So many `100 Continue` (`u64::MAX`: for ever), then 200 with an empty body.
pub fn continue_flood(times: u64) -> Play {
    const CONTINUE: &str = "HTTP/1.1 100 Continue\r\n\r\n";
    let len = u64::try_from(CONTINUE.len()).unwrap_or(ENDLESS);
    Play::Flow(Flow {
        opening: Bytes::new(),
        repeat: CONTINUE.into(),
        total: times.saturating_mul(len),
        pace: None,
        closing: "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n".into(),
    })
}

fn flow(
    opening: impl Into<Bytes>,
    repeat: impl Into<Bytes>,
    total: u64,
    pace: Option<Duration>,
) -> Play {
    let (opening, repeat) = (opening.into(), repeat.into());
    Play::Flow(Flow { opening, repeat, total, pace, closing: Bytes::new() })
}
