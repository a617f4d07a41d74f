//! Ends connections whose client dawdles between requests. The framework bounds only the first head
//! of a connection; a later one that comes a byte at a time, an answer that is not fetched, or the
//! rest of a body that nobody reads would hold the connection for ever (bug B142).

use std::any::Any;
use std::cell::{Cell, OnceCell};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::rc::{Rc, Weak};
use std::time::Duration;

use actix_tls::accept::rustls_0_23::TlsStream;
use actix_web::HttpRequest;
use actix_web::dev::Extensions;
use actix_web::rt::{self, net, task::JoinHandle};
use tokio::time::{Instant, sleep};

/// One connection, as the server sees it.
pub(super) struct Watch {
    /// Our own handle of its socket, closed with the connection.
    socket: TcpStream,
    /// Since when no request is at work; none while one is.
    idle_since: Cell<Option<Instant>>,
    guard: OnceCell<JoinHandle<()>>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(guard) = self.guard.get() {
            guard.abort();
        }
    }
}

/// Watches a new connection: `limit` after an answer is ready, it must have been fetched and the
/// next request's head must be there.
pub(super) fn begin(io: &dyn Any, connection: &mut Extensions, limit: Duration) {
    let plain = io.downcast_ref::<net::TcpStream>();
    let secure = || io.downcast_ref::<TlsStream<net::TcpStream>>().map(|tls| tls.get_ref().0);
    // Without a free file descriptor this one goes unwatched, and the next is not even accepted.
    let socket = plain.or_else(secure).and_then(|tcp| tcp.as_fd().try_clone_to_owned().ok());
    let Some(socket) = socket.map(TcpStream::from) else { return };
    let idle_since = Cell::new(Some(Instant::now()));
    let watch = Rc::new(Watch { socket, idle_since, guard: OnceCell::new() });
    let guard = rt::spawn(guard(Rc::downgrade(&watch), limit));
    watch.guard.get_or_init(|| guard);
    connection.insert(watch);
}

/// The watch of the connection that a request came over.
pub(super) fn of(request: &HttpRequest) -> Option<Rc<Watch>> {
    request.conn_data::<Rc<Watch>>().map(Rc::clone)
}

impl Watch {
    /// A request is at work. It has bounds of its own.
    pub(super) fn busy(&self) {
        self.idle_since.set(None);
    }

    /// Its answer is ready.
    pub(super) fn idle(&self) {
        self.idle_since.set(Some(Instant::now()));
    }
}

async fn guard(watch: Weak<Watch>, limit: Duration) {
    let mut wait = limit;
    loop {
        sleep(wait).await;
        let Some(watch) = watch.upgrade() else { return };
        wait = match watch.idle_since.get() {
            None => limit / 8,
            Some(since) => (since + limit).saturating_duration_since(Instant::now()),
        };
        if wait.is_zero() {
            // What was closed already needs no end.
            _ = watch.socket.shutdown(Shutdown::Both);
            return;
        }
    }
}
