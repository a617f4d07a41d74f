//! A gate holds calls until the test lets them go, so that a test orders events without sleeping.

use std::sync::Arc;

use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::time::timeout;

use super::PATIENCE;
use super::play::Play;
use super::record::Call;

/// Holds the calls that play it. When a gate is dropped, its calls are closed without an answer.
pub struct Gate {
    entrance: mpsc::UnboundedSender<Held>,
    // Behind a lock so that several tasks of a test can wait at one gate.
    arrivals: Mutex<mpsc::UnboundedReceiver<Held>>,
}

impl Gate {
    /// A gate for a step of a script; for all calls of a path see [`super::Target::gate`].
    pub fn new() -> Self {
        let (entrance, arrivals) = mpsc::unbounded_channel();
        Self { entrance, arrivals: Mutex::new(arrivals) }
    }

    /// The step that leads a call to this gate.
    pub fn play(&self) -> Play {
        Play::Gate(self.entrance.clone())
    }

    /// The next call that came to the gate, in order of arrival; panics after [`PATIENCE`].
    pub async fn arrived(&self) -> Held {
        let next = async { self.arrivals.lock().await.recv().await };
        let Ok(held) = timeout(PATIENCE, next).await else {
            panic!("no call came to the gate within {PATIENCE:?}");
        };
        held.expect("the gate keeps its own entrance open")
    }
}

/// A call that waits for the test. When dropped, it is closed without an answer.
#[must_use = "a held call that is dropped is closed without an answer"]
#[derive(Debug)]
pub struct Held {
    /// The call as it was recorded.
    pub call: Arc<Call>,
    let_go: oneshot::Sender<Play>,
}

impl Held {
    pub(super) fn new(call: Arc<Call>) -> (Self, oneshot::Receiver<Play>) {
        let (let_go, decided) = oneshot::channel();
        (Self { call, let_go }, decided)
    }

    /// Lets the call go on with this answer or play. False when its caller had already hung up.
    pub fn release(self, play: impl Into<Play>) -> bool {
        self.let_go.send(play.into()).is_ok()
    }
}
