//! Performs one step of a script on a connection. While it does, the socket is watched, so that a
//! caller that hangs up is noticed at once. (A caller that only shuts down its sending half counts
//! as gone: HTTP/1.1 clients don't do that.)

use std::future::pending;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use reqwest::StatusCode;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::time::sleep;

use super::gate::Held;
use super::play::{Afterwards, Answer, Flow, Play};
use super::record::Call;
use super::serve::Stage;
use super::wire::{HEAD_MAX, Wire};

/// Bytes per write of a flow without a pace.
const BLOCK: usize = 64 * 1024;

/// Plays the path's next step for this call, and notes it when the caller hung up meanwhile.
pub(super) async fn play(wire: &mut Wire, stage: &Arc<Stage>, call: &Arc<Call>) -> Afterwards {
    let step = stage.next_play(&call.path);
    let (reader, writer) = wire.stream.split();
    let mut pen = Pen { writer, sent: 0 };
    let played = tokio::select! {
        biased; // a caller may leave as soon as it has its answer
        played = perform(&mut pen, stage, call, step) => played.ok(),
        () = hung_up(reader, &mut wire.inbox) => None,
    };
    let sent = pen.sent;
    played.unwrap_or_else(|| {
        stage.note(|record| record.hang_up(call, sent));
        Afterwards::Close
    })
}

/// Returns when the peer is gone. What it sends meanwhile is kept, up to a bound.
async fn hung_up(mut reader: ReadHalf<'_>, inbox: &mut BytesMut) {
    while inbox.len() < HEAD_MAX {
        inbox.reserve(1024);
        if !matches!(reader.read_buf(inbox).await, Ok(1..)) {
            return;
        }
    }
    pending::<()>().await;
}

/// Performs a step; an error means that the peer is gone.
async fn perform(
    pen: &mut Pen<'_>,
    stage: &Arc<Stage>,
    call: &Arc<Call>,
    mut step: Play,
) -> io::Result<Afterwards> {
    loop {
        match step {
            Play::Answer(answer) => return perform_answer(pen, stage, call, &answer).await,
            Play::Flow(flow) => {
                return perform_flow(pen, &flow).await.map(|()| Afterwards::Close);
            }
            Play::Hang => pending().await,
            Play::Reset => return Ok(Afterwards::Reset),
            Play::Close => return Ok(Afterwards::Close),
            Play::Gate(entrance) => {
                let (held, decided) = Held::new(Arc::clone(call));
                // With the gate gone, `held` is dropped in the error, and `decided` says so.
                drop(entrance.send(held));
                step = decided.await.unwrap_or(Play::Close);
            }
        }
    }
}

async fn perform_answer(
    pen: &mut Pen<'_>,
    stage: &Arc<Stage>,
    call: &Arc<Call>,
    answer: &Answer,
) -> io::Result<Afterwards> {
    for body in &answer.callback_first {
        drop(stage.call_back(call, Duration::ZERO, body).await);
    }
    pause(answer.delay).await;
    let mut bytes = head_of(answer);
    if call.method != "HEAD" {
        bytes.extend_from_slice(&answer.body);
    }
    pen.write(&bytes).await?;
    for (after, body) in &answer.callback_after {
        drop(stage.call_back(call, *after, body));
    }
    let asked_to_close = call.header("connection") == Some("close");
    Ok(if asked_to_close { Afterwards::Close } else { answer.afterwards })
}

async fn perform_flow(pen: &mut Pen<'_>, flow: &Flow) -> io::Result<()> {
    pen.write(&flow.opening).await?;
    match flow.pace {
        Some(pace) => pen.drip(&flow.repeat, flow.total, pace).await?,
        None => pen.flood(&flow.repeat, flow.total).await?,
    }
    pen.write(&flow.closing).await
}

/// Sleeps, but not at all for zero, which the timer would round up to a millisecond.
pub(super) async fn pause(time: Duration) {
    if !time.is_zero() {
        sleep(time).await;
    }
}

/// The status line and headers, with the empty line.
pub(super) fn head_of(answer: &Answer) -> Vec<u8> {
    let code = answer.status;
    let reason = StatusCode::from_u16(code).ok().and_then(|code| code.canonical_reason());
    let mut head = format!("HTTP/1.1 {code} {}\r\n", reason.unwrap_or_default()).into_bytes();
    for (name, value) in &answer.headers {
        head.extend_from_slice(name.as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value);
        head.extend_from_slice(b"\r\n");
    }
    if answer.afterwards == Afterwards::Close {
        head.extend_from_slice(b"connection: close\r\n");
    }
    let framed = answer.headers.iter().any(|(name, _)| {
        ["content-length", "transfer-encoding"].iter().any(|it| name.eq_ignore_ascii_case(it))
    });
    // RFC 9110, 8.6: no length with 1xx and 204; with 304 it would speak of another body.
    if !framed && !matches!(code, 100..=199 | 204 | 304) {
        head.extend_from_slice(format!("content-length: {}\r\n", answer.body.len()).as_bytes());
    }
    head.extend_from_slice(b"\r\n");
    head
}

/// The sending half of a socket, which counts what the kernel took.
struct Pen<'a> {
    writer: WriteHalf<'a>,
    sent: u64,
}

impl Pen<'_> {
    async fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let taken = self.writer.write(bytes).await?;
            self.sent += u64::try_from(taken).unwrap_or(u64::MAX);
            bytes = &bytes[taken..];
        }
        Ok(())
    }

    /// `repeat` over and over, a byte per `pace`, until `total` bytes are sent.
    async fn drip(&mut self, repeat: &[u8], total: u64, pace: Duration) -> io::Result<()> {
        let total = usize::try_from(total).unwrap_or(usize::MAX);
        for byte in repeat.iter().cycle().take(total) {
            self.write(&[*byte]).await?;
            pause(pace).await;
        }
        Ok(())
    }

    /// `repeat` over and over, as fast as the peer takes it, until `total` bytes are sent.
    async fn flood(&mut self, repeat: &[u8], mut total: u64) -> io::Result<()> {
        let block = repeat.repeat(BLOCK / repeat.len().max(1));
        while total > 0 {
            let take = usize::try_from(total).unwrap_or(usize::MAX).min(block.len());
            self.write(&block[..take]).await?;
            total -= u64::try_from(take).unwrap_or(total);
        }
        Ok(())
    }
}
