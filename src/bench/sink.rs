//! The target of every job: it answers with an empty body at once, 200 or, where it is to call back,
//! 202, and notes what came when.
//!
//! It is a thread of the bench, with a runtime of its own, and not one more process. The kernel
//! schedules threads as it does processes, so it takes the same share of the machine; while it
//! works the rest of the bench only waits; and what it notes needs no further traffic to be read
//! while something is measured. Both sides of a latency are then read from one monotonic clock.

use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use actix_web::dev::ServerHandle;
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use anyhow::Context as _;
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::Instant;
use url::{Position, Url};

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
    to_call_back: tokio::sync::Mutex<UnboundedReceiver<String>>,
    handle: ServerHandle,
}

struct Seen {
    arrivals: Mutex<Vec<Arrival>>,
    news: Notify,
    accepted: UnboundedSender<String>,
}

impl Sink {
    /// Starts it on a free port of this address.
    pub(super) fn start(ip: IpAddr) -> anyhow::Result<Self> {
        let listener = TcpListener::bind((ip, 0)).context("the sink's port")?;
        let address = listener.local_addr()?;
        let (accepted, to_call_back) = unbounded_channel();
        let seen = Seen { arrivals: Mutex::default(), news: Notify::new(), accepted };
        let seen = Arc::new(seen);
        let (sender, receiver) = mpsc::channel();
        let shared = Arc::clone(&seen);
        let serve = move || {
            let ended = actix_web::rt::System::new().block_on(async {
                let server = HttpServer::new(move || {
                    let seen = web::Data::from(Arc::clone(&shared));
                    let app = App::new().app_data(seen);
                    app.route("/{number}", web::post().to(receive))
                        .route("/callback/{number}", web::post().to(accept))
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
        let to_call_back = tokio::sync::Mutex::new(to_call_back);
        Ok(Self { address, seen, to_call_back, handle })
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

    /// Where the next call back goes, path and query; none when the sink has ended.
    pub(super) async fn next_callback(&self) -> Option<String> {
        self.to_call_back.lock().await.recv().await
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
    seen.note(*number);
    HttpResponse::Ok().finish()
}

/// Takes a job on; somebody else calls back.
async fn accept(
    seen: web::Data<Seen>,
    number: web::Path<usize>,
    request: HttpRequest,
    _body: web::Bytes,
) -> HttpResponse {
    let url = request.headers().get("axle-callback-url").and_then(|value| value.to_str().ok());
    let Some(url) = url.and_then(|url| Url::parse(url).ok()) else {
        return HttpResponse::BadRequest().finish();
    };
    // Nobody receives it only when the bench ends.
    drop(seen.accepted.send(url[Position::BeforePath..].to_owned()));
    seen.note(*number);
    HttpResponse::Accepted().insert_header(("Axle-Completion", "callback")).finish()
}

impl Seen {
    fn note(&self, number: usize) {
        let arrival = Arrival { at: Instant::now(), number };
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner).push(arrival);
        // Free while nobody waits, as in a drain.
        self.news.notify_one();
    }
}
