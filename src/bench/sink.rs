//! The target of every job: it answers 200 with an empty body at once, and notes what came when.
//!
//! It is a thread of the bench, with a runtime of its own, and not one more process. The kernel
//! schedules threads as it does processes, so it takes the same share of the machine; while it
//! works the rest of the bench only waits; and what it notes needs no further traffic to be read
//! while something is measured. Both sides of a latency are then read from one monotonic clock.

use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use actix_web::dev::ServerHandle;
use actix_web::{App, HttpResponse, HttpServer, web};
use anyhow::Context as _;
use tokio::sync::Notify;
use tokio::time::Instant;

/// One call that came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// When it had come in full.
    pub(super) at: Instant,
    /// The number in its address.
    pub(super) number: usize,
}

/// The running sink.
pub(super) struct Sink {
    address: SocketAddr,
    seen: Arc<Seen>,
    handle: ServerHandle,
}

#[derive(Default)]
struct Seen {
    arrivals: Mutex<Vec<Arrival>>,
    news: Notify,
}

impl Sink {
    /// Starts it on a free port of this address.
    pub(super) fn start(ip: IpAddr) -> anyhow::Result<Self> {
        let listener = TcpListener::bind((ip, 0)).context("the sink's port")?;
        let address = listener.local_addr()?;
        let seen = Arc::new(Seen::default());
        let (sender, receiver) = mpsc::channel();
        let shared = Arc::clone(&seen);
        let serve = move || {
            let ended = actix_web::rt::System::new().block_on(async {
                let server = HttpServer::new(move || {
                    let seen = web::Data::from(Arc::clone(&shared));
                    App::new().app_data(seen).route("/{number}", web::post().to(receive))
                });
                let server = server.listen(listener)?.workers(1).disable_signals().run();
                // Nobody waits for the handle only if the start was given up.
                drop(sender.send(server.handle()));
                server.await
            });
            if let Err(error) = ended {
                tracing::error!(%error, "the sink ended");
            }
        };
        std::thread::Builder::new().name("sink".to_owned()).spawn(serve)?;
        let handle = receiver.recv().context("the sink did not start")?;
        Ok(Self { address, seen, handle })
    }

    /// Where it listens.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many calls have come since the last [`take`](Self::take).
    pub(super) fn count(&self) -> usize {
        self.seen.arrivals.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Takes out what has come.
    pub(super) fn take(&self) -> Vec<Arrival> {
        std::mem::take(&mut *self.seen.arrivals.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits for a call with this number; others that come meanwhile are dropped.
    pub(super) async fn wait_for(&self, number: usize) -> Arrival {
        loop {
            if let Some(found) = self.take().into_iter().find(|it| it.number == number) {
                return found;
            }
            self.seen.news.notified().await;
        }
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        // It stops without being waited for; its thread ends with it.
        drop(self.handle.stop(false));
    }
}

/// The body is taken in full, as a real target would, and so that the connection can be kept.
async fn receive(
    seen: web::Data<Seen>,
    number: web::Path<usize>,
    _body: web::Bytes,
) -> HttpResponse {
    let arrival = Arrival { at: Instant::now(), number: *number };
    seen.arrivals.lock().unwrap_or_else(PoisonError::into_inner).push(arrival);
    // Free while nobody waits, as in a drain.
    seen.news.notify_one();
    HttpResponse::Ok().finish()
}
