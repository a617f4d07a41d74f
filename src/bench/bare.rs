//! A bare HTTP/1.1 client: one connection, one request at a time, prepared bytes out and a status
//! back. A full client costs several times the CPU, which on a small machine is taken from what is
//! measured. It understands what our own servers answer and nothing else.

use std::fmt::Display;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use bytes::{Buf as _, Bytes, BytesMut};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// An answer later than this is none.
const LIMIT: Duration = Duration::from_secs(30);
/// The end of a head.
const BLANK_LINE: &[u8] = b"\r\n\r\n";

/// One connection, kept alive.
pub(super) struct Bare {
    stream: TcpStream,
    unread: BytesMut,
}

/// What came back.
pub(super) struct Answer {
    /// The status.
    pub(super) status: u16,
    /// The whole body.
    pub(super) body: Bytes,
}

/// The bytes of a POST of JSON to a host.
pub(super) fn post(host: impl Display, path: &str, token: Option<&str>, body: &[u8]) -> Vec<u8> {
    let bearer = token.map(|token| format!("Authorization: Bearer {token}\r\n"));
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {host}\r\n{}Content-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n",
        bearer.unwrap_or_default(),
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// The bytes of a GET.
pub(super) fn get(host: impl Display, path: &str, token: Option<&str>) -> Vec<u8> {
    let bearer = token.map(|token| format!("Authorization: Bearer {token}\r\n"));
    let bearer = bearer.unwrap_or_default();
    format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{bearer}\r\n").into_bytes()
}

impl Bare {
    /// Connects.
    pub(super) async fn connect(to: SocketAddr) -> anyhow::Result<Self> {
        let stream = timeout(LIMIT, TcpStream::connect(to)).await??;
        stream.set_nodelay(true)?;
        Ok(Self { stream, unread: BytesMut::with_capacity(16 * 1024) })
    }

    /// Sends a request that stands ready, and reads the whole answer.
    pub(super) async fn ask(&mut self, request: &[u8]) -> anyhow::Result<Answer> {
        let exchange = async {
            self.stream.write_all(request).await?;
            self.read_answer().await
        };
        timeout(LIMIT, exchange).await.context("no answer in time")?
    }

    async fn read_answer(&mut self) -> anyhow::Result<Answer> {
        let head_length = loop {
            if let Some(length) = self.unread.windows(4).position(|bytes| bytes == BLANK_LINE) {
                break length;
            }
            self.read_more().await?;
        };
        let head = self.unread.split_to(head_length);
        self.unread.advance(BLANK_LINE.len());
        let (status, length) = read_head(&head).context("an answer that is not understood")?;
        while self.unread.len() < length {
            self.read_more().await?;
        }
        Ok(Answer { status, body: self.unread.split_to(length).freeze() })
    }

    async fn read_more(&mut self) -> anyhow::Result<()> {
        let count = self.stream.read_buf(&mut self.unread).await?;
        ensure!(count > 0, "the connection was closed");
        Ok(())
    }
}

/// The status, and how long the body is.
fn read_head(head: &[u8]) -> Option<(u16, usize)> {
    let head = std::str::from_utf8(head).ok()?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let length = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    })?;
    Some((status, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_whatever_the_case_of_its_names() {
        let head = b"HTTP/1.1 201 Created\r\nContent-LENGTH: 12\r\nx: y";
        assert_eq!(read_head(head), Some((201, 12)));
        assert_eq!(read_head(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked"), None);
        assert_eq!(read_head(b"nonsense"), None);
    }
}
