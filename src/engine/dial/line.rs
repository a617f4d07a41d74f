//! One connection to a target or to a proxy, plain or in TLS, as the client reads and writes it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// How HTTP/2 is called when a protocol is agreed on (RFC 7301, RFC 9113 section 3.2).
pub(super) const HTTP_2: &[u8] = b"h2";
/// And HTTP/1.1.
pub(super) const HTTP_1_1: &[u8] = b"http/1.1";

/// A connection.
pub(in crate::engine) struct Line {
    io: Io,
    /// Whether its requests name the whole URL, since a proxy reads them.
    asks_proxy: bool,
}

enum Io {
    Tcp(TokioIo<TcpStream>),
    Tls(Box<TokioIo<TlsStream<TokioIo<Line>>>>),
}

impl Line {
    /// A plain one.
    pub(super) fn tcp(stream: TokioIo<TcpStream>) -> Self {
        Self { io: Io::Tcp(stream), asks_proxy: false }
    }

    /// One in TLS, over another.
    pub(super) fn tls(stream: TlsStream<TokioIo<Self>>) -> Self {
        Self { io: Io::Tls(Box::new(TokioIo::new(stream))), asks_proxy: false }
    }

    /// The same, to a proxy that is told where each request is to go.
    pub(super) fn asking_proxy(self) -> Self {
        Self { asks_proxy: true, ..self }
    }
}

impl Connection for Line {
    fn connected(&self) -> Connected {
        let connected = Connected::new().proxy(self.asks_proxy);
        match &self.io {
            Io::Tls(stream) if stream.inner().get_ref().1.alpn_protocol() == Some(HTTP_2) => {
                connected.negotiated_h2()
            }
            Io::Tls(_) | Io::Tcp(_) => connected,
        }
    }
}

impl Read for Line {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.io {
            Io::Tcp(stream) => Pin::new(stream).poll_read(cx, buf),
            Io::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl Write for Line {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.io {
            Io::Tcp(stream) => Pin::new(stream).poll_write(cx, buf),
            Io::Tls(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.io {
            Io::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            Io::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.io {
            Io::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Io::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.io {
            Io::Tcp(stream) => stream.is_write_vectored(),
            Io::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.io {
            Io::Tcp(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
            Io::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
        }
    }
}
