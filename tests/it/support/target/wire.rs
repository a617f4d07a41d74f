//! Reads HTTP/1.1 requests off a socket within fixed bounds. It is strict, since what it reads is
//! what Axle writes: a request that an upstream might read in two ways is broken.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

/// The longest request line with headers, and the most that is read ahead while a call is played.
pub(super) const HEAD_MAX: usize = 64 * 1024;

/// The longest body: far over any payload that Axle accepts.
const BODY_MAX: usize = 16 * 1024 * 1024;

/// Room for one read.
const READ: usize = 16 * 1024;

/// A connection and what was read from it but not yet used.
pub(super) struct Wire {
    pub(super) stream: TcpStream,
    pub(super) inbox: BytesMut,
}

/// A request, read whole; the fields of [`super::Call`].
pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) query: Option<String>,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) head: Bytes,
    pub(super) body: Bytes,
}

/// Why a request could not be read whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// The peer left, or reset the connection, in the middle of it.
    CutOff,
    /// It is not HTTP/1.1, or its framing is ambiguous.
    Malformed,
    /// It is longer than the target keeps.
    TooLarge,
}

impl Wire {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self { stream, inbox: BytesMut::new() }
    }

    /// Waits until the next request begins; false when the peer closed instead.
    pub(super) async fn begins(&mut self) -> bool {
        !self.inbox.is_empty() || self.fill().await.is_ok()
    }

    /// The request that began.
    pub(super) async fn request(&mut self) -> Result<Request, Broken> {
        // A TLS hello has no line end to wait for: the first byte tells.
        if !self.inbox.first().is_some_and(u8::is_ascii_uppercase) {
            return Err(Broken::Malformed);
        }
        let head = self.until(b"\r\n\r\n").await?;
        let mut request = parse_head(head).ok_or(Broken::Malformed)?;
        request.body = match body_length(&request.headers).ok_or(Broken::Malformed)? {
            Length::Known(len) => self.exactly(len, BODY_MAX).await?,
            Length::Chunked => self.chunks().await?,
        };
        Ok(request)
    }

    async fn chunks(&mut self) -> Result<Bytes, Broken> {
        let mut body = BytesMut::new();
        loop {
            let line = self.until(b"\r\n").await?;
            let size = chunk_size(&line).ok_or(Broken::Malformed)?;
            if size == 0 {
                break;
            }
            body.extend_from_slice(&self.exactly(size, BODY_MAX - body.len()).await?);
            if self.until(b"\r\n").await?.as_ref() != b"\r\n" {
                return Err(Broken::Malformed);
            }
        }
        // Trailers are read and forgotten, up to the empty line.
        while self.until(b"\r\n").await?.as_ref() != b"\r\n" {}
        Ok(body.freeze())
    }

    /// Everything up to and with `end`.
    async fn until(&mut self, end: &[u8]) -> Result<Bytes, Broken> {
        let mut searched = 0;
        loop {
            let tail = &self.inbox[searched..];
            if let Some(found) = tail.windows(end.len()).position(|bytes| bytes == end) {
                return Ok(self.inbox.split_to(searched + found + end.len()).freeze());
            }
            if self.inbox.len() > HEAD_MAX {
                return Err(Broken::TooLarge);
            }
            // The end may lie across two reads.
            searched = self.inbox.len().saturating_sub(end.len() - 1);
            self.fill().await?;
        }
    }

    async fn exactly(&mut self, len: usize, max: usize) -> Result<Bytes, Broken> {
        if len > max {
            return Err(Broken::TooLarge);
        }
        while self.inbox.len() < len {
            self.fill().await?;
        }
        Ok(self.inbox.split_to(len).freeze())
    }

    async fn fill(&mut self) -> Result<(), Broken> {
        self.inbox.reserve(READ);
        match self.stream.read_buf(&mut self.inbox).await {
            Ok(0) | Err(_) => Err(Broken::CutOff),
            Ok(_) => Ok(()),
        }
    }
}

/// How the end of a body is known.
enum Length {
    Known(usize),
    Chunked,
}

fn parse_head(head: Bytes) -> Option<Request> {
    let text = String::from_utf8_lossy(&head);
    let mut lines = text.split("\r\n");
    let (method, path, query) = parse_request_line(lines.next()?)?;
    let mut headers = BTreeMap::<String, String>::new();
    for line in lines.take_while(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':')?;
        if name.is_empty() || name.contains(char::is_whitespace) {
            return None;
        }
        let (name, value) = (name.to_ascii_lowercase(), value.trim());
        headers
            .entry(name)
            .and_modify(|joined| *joined = format!("{joined}, {value}"))
            .or_insert_with(|| value.to_owned());
    }
    Some(Request { method, path, query, headers, head, body: Bytes::new() })
}

fn parse_request_line(line: &str) -> Option<(String, String, Option<String>)> {
    let mut words = line.split(' ');
    let (method, uri, version) = (words.next()?, words.next()?, words.next()?);
    if words.next().is_some() || version != "HTTP/1.1" || !uri.starts_with('/') {
        return None;
    }
    let (path, query) = match uri.split_once('?') {
        Some((path, query)) => (path, Some(query.to_owned())),
        None => (uri, None),
    };
    Some((method.to_owned(), path.to_owned(), query))
}

fn body_length(headers: &BTreeMap<String, String>) -> Option<Length> {
    match (headers.get("transfer-encoding"), headers.get("content-length")) {
        (None, None) => Some(Length::Known(0)),
        // A repeated length was joined with a comma and does not parse.
        (None, Some(len)) => len.parse().ok().map(Length::Known),
        (Some(coding), None) if coding.eq_ignore_ascii_case("chunked") => Some(Length::Chunked),
        (Some(_), _) => None,
    }
}

fn chunk_size(line: &[u8]) -> Option<usize> {
    let line = std::str::from_utf8(line).ok()?;
    let digits = line.split(';').next()?.trim();
    usize::from_str_radix(digits, 16).ok()
}
